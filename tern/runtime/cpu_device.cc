// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/cpu_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tern/ffi/function.h"
#include "tern/runtime/elf_file.h"

namespace tern::runtime {
namespace {

int Count(int32_t* count) {
  *count = 1;
  return 0;
}

int Describe(int32_t, void* sink, TernPropertySink emit) {
  return ffi::Guard([&] {
    emit(sink, "name", &ffi::Any(ElfMachineName(HostElfMachine())).raw());
    emit(sink, "num_threads", &ffi::Any(std::thread::hardware_concurrency()).raw());
  });
}

int Alloc(int32_t, uint64_t bytes, uint64_t alignment, void** out) {
  return ffi::Guard([&] {
    // An empty tensor has an address too.
    alignment = std::max<uint64_t>(alignment, alignof(std::max_align_t));
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, std::max<uint64_t>(bytes, 1)) != 0)
      TERN_THROW(MemoryError) << "cannot allocate " << bytes << " bytes on the host";
    *out = memory;
  });
}

int Free(int32_t, void* memory) {
  std::free(memory);
  return 0;
}

int Copy(const TernCopy* copy) {
  std::memmove(static_cast<char*>(copy->dst) + copy->dst_offset,
               static_cast<const char*>(copy->src) + copy->src_offset, copy->bytes);
  return 0;
}

int CreateStream(int32_t, void** out) {
  *out = nullptr;
  return 0;
}

int IgnoreStream(int32_t, void*) { return 0; }

}  // namespace

const TernDeviceApi* CpuDeviceApi() {
  static constexpr TernDeviceApi kApi = {
      .size = sizeof(TernDeviceApi),
      .version = TERN_PLUGIN_API_VERSION,
      .device_type = kTernDeviceCpu,
      .device_count = Count,
      .describe = Describe,
      .alloc = Alloc,
      .free = Free,
      .copy = Copy,
      .create_stream = CreateStream,
      .destroy_stream = IgnoreStream,
      .synchronize = IgnoreStream,
  };
  return &kApi;
}

}  // namespace tern::runtime
