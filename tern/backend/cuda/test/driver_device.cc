// SPDX-License-Identifier: Apache-2.0
//
// Errors, devices and contexts of the stand-in driver.
#include <cstdlib>
#include <cstring>

#include "tern/backend/cuda/test/driver_state.h"

using namespace tern::backend::cuda;
using namespace tern::backend::cuda::standin;

namespace {

const char* SymbolOf(int code) {
  switch (code) {
    case 0:
      return "CUDA_SUCCESS";
#define TERN_CUDA_ERROR(name, number, symbol) \
  case number:                                \
    return symbol;
      TERN_CUDA_ERRORS(TERN_CUDA_ERROR)
#undef TERN_CUDA_ERROR
    default:
      return nullptr;
  }
}

int AttributeOf(int attribute) {
  if (attribute >= cu::kMaxBlockDimX && attribute < cu::kMaxBlockDimX + 3)
    return kMaxBlock[attribute - cu::kMaxBlockDimX];
  if (attribute >= cu::kMaxGridDimX && attribute < cu::kMaxGridDimX + 3)
    return kMaxGrid[attribute - cu::kMaxGridDimX];
  switch (attribute) {
    case cu::kMaxThreadsPerBlock:
      return kMaxThreads;
    case cu::kMaxSharedMemoryPerBlock:
      return kStaticShared;
    case cu::kMaxSharedMemoryPerBlockOptin:
      return kOptinShared;
    case cu::kWarpSize:
      return 32;
    case cu::kMultiprocessorCount:
      return 2;
    case cu::kComputeCapabilityMajor:
      return ArchitectureNumber(Architecture()) / 10;
    case cu::kComputeCapabilityMinor:
      return ArchitectureNumber(Architecture()) % 10;
    default:
      return -1;
  }
}

int OnDevice(const char* name, int device, const std::function<int(Driver&, Context&)>& body) {
  return Call(name, kInit, [&](Driver& driver, Context*) {
    if (device < 0 || device >= driver.num_devices())
      return Misuse(kErrorInvalidDevice, "there is no device " + std::to_string(device));
    return body(driver, *driver.contexts[static_cast<size_t>(device)]);
  });
}

}  // namespace

TERN_STANDIN_API cuInit(unsigned flags) {
  return Call("cuInit", kNothing, [&](Driver& driver, Context*) {
    if (flags != 0) return Misuse(kErrorInvalidValue, "the flags are 0");
    driver.is_initialized = true;
    return driver.num_devices() ? 0 : Refuse(kErrorNoDevice, "there is none");
  });
}

TERN_STANDIN_API cuDriverGetVersion(int* version) {
  return Call("cuDriverGetVersion", kNothing, [&](Driver&, Context*) {
    if (!version) return Misuse(kErrorInvalidValue, "no place for the result");
    *version = 13000;
    return 0;
  });
}

TERN_STANDIN_API cuGetErrorName(int code, const char** name) {
  *name = SymbolOf(code);
  return *name ? 0 : kErrorInvalidValue;
}

TERN_STANDIN_API cuGetErrorString(int code, const char** text) {
  const std::string* last = TextOf(code);
  *text = last ? last->c_str() : SymbolOf(code);
  return *text ? 0 : kErrorInvalidValue;
}

TERN_STANDIN_API cuDeviceGetCount(int* count) {
  return Call("cuDeviceGetCount", kInit, [&](Driver& driver, Context*) {
    *count = driver.num_devices();
    return 0;
  });
}

TERN_STANDIN_API cuDeviceGet(int* device, int number) {
  return OnDevice("cuDeviceGet", number, [&](Driver&, Context&) {
    *device = number;
    return 0;
  });
}

TERN_STANDIN_API cuDeviceGetName(char* name, int size, int device) {
  return OnDevice("cuDeviceGetName", device, [&](Driver&, Context&) {
    if (!name || size < 1) return Misuse(kErrorInvalidValue, "no place for the name");
    std::strncpy(name, "Tern stand-in", static_cast<size_t>(size) - 1);
    name[size - 1] = '\0';
    return 0;
  });
}

TERN_STANDIN_API cuDeviceGetAttribute(int* value, int attribute, int device) {
  return OnDevice("cuDeviceGetAttribute", device, [&](Driver&, Context&) {
    *value = AttributeOf(attribute);
    return *value >= 0 ? 0
                       : Misuse(kErrorInvalidValue,
                                "attribute " + std::to_string(attribute) + " is not known here");
  });
}

TERN_STANDIN_API cuDeviceTotalMem_v2(size_t* bytes, int device) {
  return OnDevice("cuDeviceTotalMem", device, [&](Driver& driver, Context&) {
    *bytes = driver.memory_bytes();
    return 0;
  });
}

TERN_STANDIN_API cuDevicePrimaryCtxRetain(cu::Context* out, int device) {
  return OnDevice("cuDevicePrimaryCtxRetain", device, [&](Driver&, Context& context) {
    ++context.retained;
    *out = reinterpret_cast<cu::Context>(&context);
    return 0;
  });
}

TERN_STANDIN_API cuDevicePrimaryCtxRelease_v2(int device) {
  return OnDevice("cuDevicePrimaryCtxRelease", device, [&](Driver&, Context& context) {
    if (context.retained == 0) return Misuse(kErrorInvalidContext, "the context is not retained");
    --context.retained;
    return 0;
  });
}

TERN_STANDIN_API cuCtxGetCurrent(cu::Context* out) {
  return Call("cuCtxGetCurrent", kInit, [&](Driver&, Context*) {
    *out = ContextStack().empty() ? nullptr : reinterpret_cast<cu::Context>(ContextStack().back());
    return 0;
  });
}

// In place of the one on top of the stack.
TERN_STANDIN_API cuCtxSetCurrent(cu::Context handle) {
  return Call("cuCtxSetCurrent", kInit, [&](Driver& driver, Context*) {
    auto* context = reinterpret_cast<Context*>(handle);
    for (const auto& known : driver.contexts)
      if (known.get() == context && context->retained > 0) {
        if (!ContextStack().empty()) ContextStack().pop_back();
        ContextStack().push_back(context);
        return 0;
      }
    return Misuse(kErrorInvalidContext, "the context is not one, or is not retained");
  });
}

TERN_STANDIN_API cuCtxPushCurrent_v2(cu::Context handle) {
  return Call("cuCtxPushCurrent", kInit, [&](Driver& driver, Context*) {
    auto* context = reinterpret_cast<Context*>(handle);
    for (const auto& known : driver.contexts)
      if (known.get() == context && context->retained > 0) {
        ContextStack().push_back(context);
        return 0;
      }
    return Misuse(kErrorInvalidContext, "the context is not one, or is not retained");
  });
}

TERN_STANDIN_API cuCtxPopCurrent_v2(cu::Context* out) {
  return Call("cuCtxPopCurrent", kInit, [&](Driver&, Context*) {
    if (ContextStack().empty()) return Misuse(kErrorInvalidContext, "no context is current");
    if (out) *out = reinterpret_cast<cu::Context>(ContextStack().back());
    ContextStack().pop_back();
    return 0;
  });
}
