// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/runtime/driver.h"

#include <dlfcn.h>

namespace tern::backend::cuda {

static constexpr const char* kLibrary = "libcuda.so.1";

namespace cu {
namespace {

Functions FindFunctions(void* library) {
  Functions functions;
#define TERN_CUDA_FIND(name, symbol, ...)                                             \
  functions.name = reinterpret_cast<Result (*)(__VA_ARGS__)>(dlsym(library, symbol)); \
  if (!functions.name) TERN_THROW(RuntimeError) << kLibrary << " has no function " << symbol;
  TERN_CUDA_FUNCTIONS(TERN_CUDA_FIND)
#undef TERN_CUDA_FIND
#define TERN_CUDA_FIND(name, symbol, ...) \
  functions.name = reinterpret_cast<Result (*)(__VA_ARGS__)>(dlsym(library, symbol));
  TERN_CUDA_OPTIONAL_FUNCTIONS(TERN_CUDA_FIND)
#undef TERN_CUDA_FIND
  return functions;
}

}  // namespace
}  // namespace cu

namespace {

std::string Describe(const cu::Functions& functions, cu::Result result) {
  const char *name = nullptr, *text = nullptr;
  functions.GetErrorName(result, &name);
  functions.GetErrorString(result, &text);
  return std::string(name ? name : "error") + " (" + std::to_string(result) +
         (text ? std::string(": ") + text : "") + ")";
}

}  // namespace

void Check(cu::Result result, const char* call) {
  if (result != cu::kSuccess)
    TERN_THROW(RuntimeError) << call << " failed: " << Describe(Cu(), result);
}

std::string Device::name() const {
  char text[256] = {};
  Check(Cu().DeviceGetName(text, sizeof text, handle_), "cuDeviceGetName");
  return text;
}

int Device::Attribute(int attribute) const {
  int value = 0;
  Check(Cu().DeviceGetAttribute(&value, attribute, handle_), "cuDeviceGetAttribute");
  return value;
}

uint64_t Device::memory() const {
  size_t bytes = 0;
  Check(Cu().DeviceTotalMem(&bytes, handle_), "cuDeviceTotalMem");
  return bytes;
}

std::string Device::architecture() const {
  return "sm_" + std::to_string(Attribute(cu::kComputeCapabilityMajor)) +
         std::to_string(Attribute(cu::kComputeCapabilityMinor));
}

cu::Context Device::RetainContext() {
  std::lock_guard lock(mutex_);
  cu::Context context = context_.load(std::memory_order_relaxed);
  if (context) return context;
  Check(Cu().PrimaryContextRetain(&context, handle_), "cuDevicePrimaryCtxRetain");
  context_.store(context, std::memory_order_release);
  return context;
}

void Current::Enter(cu::Context wanted, cu::Context found) {
  if (!found) {
    Check(Cu().ContextSetCurrent(wanted), "cuCtxSetCurrent");
    return;
  }
  Check(Cu().ContextPush(wanted), "cuCtxPushCurrent");
  is_pushed_ = true;
}
void Current::Leave() {
  cu::Context popped = nullptr;
  Cu().ContextPop(&popped);
}

Driver& Driver::Get() {
  // If the constructor throws, the next use tries again.
  static Driver* driver = new Driver;
  return *driver;
}

Driver::Driver() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    absence_ = std::string(kLibrary) + " cannot be opened: " + dlerror();
    return;
  }
  functions_ = cu::FindFunctions(library);
  ListDevices();
}

void Driver::ListDevices() {
  cu::Result result = functions_.Init(0);
  int count = 0;
  if (result == cu::kSuccess) result = functions_.DeviceGetCount(&count);
  if (result != cu::kSuccess) {
    absence_ = std::string(kLibrary) + " finds no device: " + Describe(functions_, result);
    return;
  }
  for (int i = 0; i < count; ++i) {
    cu::Device handle = 0;
    if (functions_.DeviceGet(&handle, i) == cu::kSuccess)
      devices_.push_back(new Device(handle, static_cast<int32_t>(devices_.size())));
  }
  if (devices_.empty()) absence_ = std::string(kLibrary) + " lists no device";
}

Device& Driver::device(int32_t number) {
  if (number < 0 || number >= count())
    TERN_THROW(ValueError) << "no such device: cuda:" << number << "; "
                           << (absence_.empty() ? "there are " + std::to_string(count())
                                                : absence_);
  return *devices_[static_cast<size_t>(number)];
}

std::string Driver::version() const {
  int version = 0;
  Check(functions_.DriverGetVersion(&version), "cuDriverGetVersion");
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace tern::backend::cuda
