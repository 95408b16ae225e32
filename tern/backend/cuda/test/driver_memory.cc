// SPDX-License-Identifier: Apache-2.0
//
// Memory and copies of the stand-in driver.
#include <cstdlib>
#include <cstring>

#include "tern/backend/cuda/test/driver_state.h"

using namespace tern::backend::cuda;
using namespace tern::backend::cuda::standin;

namespace {

constexpr size_t kAlignment = 256;

// Addresses of devices are numbers to their users.
void* MemoryAt(uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

// Memory that nobody wrote is no number.
uint64_t NewMemory(Driver& driver, size_t bytes, int device) {
  size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, whole);
  std::memset(memory, 0xff, whole);
  auto address = reinterpret_cast<uint64_t>(memory);
  driver.memory[address] = {bytes, device};
  return address;
}

int FreeMemory(Driver& driver, uint64_t address, bool is_host) {
  auto it = driver.memory.find(address);
  if (it == driver.memory.end())
    return Misuse(kErrorInvalidValue, "the address is not that of an allocation, or was freed");
  if ((it->second.device < 0) != is_host)
    return Misuse(kErrorInvalidValue,
                  is_host ? "that is memory of a device" : "that is memory of the host");
  for (int device = 0; device < driver.num_devices(); ++device)
    if (is_host || it->second.device == device) driver.DrainDevice(device);
  std::free(MemoryAt(address));
  driver.memory.erase(it);
  return 0;
}

// The bytes are memory of that device.
int CheckBytes(Driver& driver, Context* context, const char* what, uint64_t address, size_t bytes) {
  std::string why;
  const Allocation* allocation = driver.Find(address, bytes, &why);
  if (!allocation)
    return Misuse(kErrorInvalidValue,
                  std::string("the ") + what + " has " + std::to_string(bytes) + " bytes " + why);
  if (allocation->device >= 0 && allocation->device != context->device)
    return Misuse(kErrorInvalidValue, std::string("the ") + what + " is memory of device " +
                                          std::to_string(allocation->device));
  if (allocation->device < 0)
    return Misuse(kErrorInvalidValue, std::string("the ") + what + " is memory of the host");
  return 0;
}

int CheckHost(Driver& driver, const char* what, const void* address, size_t bytes,
              bool* is_pinned) {
  std::string why;
  if (!address) return Misuse(kErrorInvalidValue, std::string("the ") + what + " is null");
  const Allocation* allocation = driver.Find(reinterpret_cast<uint64_t>(address), bytes, &why);
  *is_pinned = allocation != nullptr;
  if (allocation && allocation->device >= 0)
    return Misuse(kErrorInvalidValue, std::string("the ") + what + " is memory of a device");
  return 0;
}

}  // namespace

TERN_STANDIN_API cuMemAlloc_v2(cu::DevicePointer* out, size_t bytes) {
  return Call("cuMemAlloc", kInit | kCurrent | kNoCapture, [&](Driver& driver, Context* context) {
    if (!out || bytes == 0) return Misuse(kErrorInvalidValue, "an empty allocation");
    if (bytes > driver.memory_bytes() - driver.used_bytes(context->device))
      return Refuse(kErrorOutOfMemory,
                    "there is no memory for " + std::to_string(bytes) + " bytes");
    *out = NewMemory(driver, bytes, context->device);
    return 0;
  });
}

TERN_STANDIN_API cuMemFree_v2(cu::DevicePointer address) {
  return Call("cuMemFree", kInit | kCurrent | kNoCapture,
              [&](Driver& driver, Context*) { return FreeMemory(driver, address, false); });
}

TERN_STANDIN_API cuMemHostAlloc(void** out, size_t bytes, unsigned) {
  return Call("cuMemHostAlloc", kInit | kCurrent | kNoCapture, [&](Driver& driver, Context*) {
    if (!out || bytes == 0) return Misuse(kErrorInvalidValue, "an empty allocation");
    *out = MemoryAt(NewMemory(driver, bytes, -1));
    return 0;
  });
}

TERN_STANDIN_API cuMemFreeHost(void* memory) {
  return Call("cuMemFreeHost", kInit | kCurrent | kNoCapture, [&](Driver& driver, Context*) {
    return FreeMemory(driver, reinterpret_cast<uint64_t>(memory), true);
  });
}

TERN_STANDIN_API cuMemGetInfo_v2(size_t* unused, size_t* total) {
  return Call("cuMemGetInfo", kInit | kCurrent, [&](Driver& driver, Context* context) {
    *total = driver.memory_bytes();
    *unused = *total - driver.used_bytes(context->device);
    return 0;
  });
}

// Of memory that is not page-locked the driver takes a copy before it returns.
TERN_STANDIN_API cuMemcpyHtoDAsync_v2(cu::DevicePointer target, const void* source, size_t bytes,
                                      cu::Stream handle) {
  return Call("cuMemcpyHtoDAsync", kInit | kCurrent, [&](Driver& driver, Context* context) {
    Stream* stream = CheckStream(driver, context, handle);
    if (!stream) return int{kErrorInvalidHandle};
    bool is_pinned = false;
    if (int code = CheckBytes(driver, context, "target", target, bytes)) return code;
    if (int code = CheckHost(driver, "source", source, bytes, &is_pinned)) return code;
    void* to = MemoryAt(target);
    if (is_pinned) {
      driver.Enqueue(*stream, NodeKind::kCopy,
                     [=] { return std::memcpy(to, source, bytes), KernelError{}; });
    } else {
      if (stream->capture)
        return Misuse(kErrorCaptureUnsupported, "the host's memory is not page-locked");
      std::string copy(static_cast<const char*>(source), bytes);
      driver.Enqueue(*stream, NodeKind::kCopy,
                     [=] { return std::memcpy(to, copy.data(), bytes), KernelError{}; });
    }
    return 0;
  });
}

TERN_STANDIN_API cuMemcpyDtoHAsync_v2(void* target, cu::DevicePointer source, size_t bytes,
                                      cu::Stream handle) {
  return Call("cuMemcpyDtoHAsync", kInit | kCurrent, [&](Driver& driver, Context* context) {
    Stream* stream = CheckStream(driver, context, handle);
    if (!stream) return int{kErrorInvalidHandle};
    bool is_pinned = false;
    if (int code = CheckBytes(driver, context, "source", source, bytes)) return code;
    if (int code = CheckHost(driver, "target", target, bytes, &is_pinned)) return code;
    const void* from = MemoryAt(source);
    driver.Enqueue(*stream, NodeKind::kCopy,
                   [=] { return std::memcpy(target, from, bytes), KernelError{}; });
    return 0;
  });
}

TERN_STANDIN_API cuMemcpyDtoDAsync_v2(cu::DevicePointer target, cu::DevicePointer source,
                                      size_t bytes, cu::Stream handle) {
  return Call("cuMemcpyDtoDAsync", kInit | kCurrent, [&](Driver& driver, Context* context) {
    Stream* stream = CheckStream(driver, context, handle);
    if (!stream) return int{kErrorInvalidHandle};
    if (int code = CheckBytes(driver, context, "target", target, bytes)) return code;
    if (int code = CheckBytes(driver, context, "source", source, bytes)) return code;
    void *to = MemoryAt(target), *from = MemoryAt(source);
    driver.Enqueue(*stream, NodeKind::kCopy,
                   [=] { return std::memmove(to, from, bytes), KernelError{}; });
    return 0;
  });
}

TERN_STANDIN_API cuMemcpyPeerAsync(cu::DevicePointer target, cu::Context to_handle,
                                   cu::DevicePointer source, cu::Context from_handle, size_t bytes,
                                   cu::Stream handle) {
  return Call("cuMemcpyPeerAsync", kInit | kCurrent, [&](Driver& driver, Context* context) {
    Stream* stream = CheckStream(driver, context, handle);
    if (!stream) return int{kErrorInvalidHandle};
    auto* to_context = reinterpret_cast<Context*>(to_handle);
    auto* from_context = reinterpret_cast<Context*>(from_handle);
    if (!to_context || !from_context) return Misuse(kErrorInvalidContext, "a context is null");
    if (int code = CheckBytes(driver, to_context, "target", target, bytes)) return code;
    if (int code = CheckBytes(driver, from_context, "source", source, bytes)) return code;
    void *to = MemoryAt(target), *from = MemoryAt(source);
    driver.Enqueue(*stream, NodeKind::kCopy,
                   [=] { return std::memmove(to, from, bytes), KernelError{}; });
    return 0;
  });
}
