// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/cpu_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tern/ffi/function.h"
#include "tern/runtime/artifact/elf_file.h"

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

// Large tensors, such as arenas of models, are in huge pages where the system has them: strides of
// 4 KiB pages miss the TLB, and each page is faulted in by itself.
constexpr uint64_t kHugePage = uint64_t{2} << 20, kLargeBytes = 2 * kHugePage;

int Alloc(int32_t, uint64_t bytes, uint64_t alignment, void** out) {
  return ffi::Guard([&] {
    // An empty tensor has an address too.
    alignment = std::max<uint64_t>(alignment, alignof(std::max_align_t));
    bool is_large = bytes >= kLargeBytes;
    if (is_large) alignment = std::max(alignment, kHugePage);
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment, std::max<uint64_t>(bytes, 1)) != 0)
      TERN_THROW(MemoryError) << "cannot allocate " << bytes << " bytes on the host";
#ifdef MADV_HUGEPAGE
    // Whole pages alone: the rest would take another one. A wish, which may be refused.
    if (is_large) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
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

int MemoryInfo(int32_t, uint64_t* free_bytes, uint64_t* total_bytes) {
  auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  *free_bytes = static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
  *total_bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * page;
  return 0;
}

// Whatever was given to the host has been done, so an event is the time of its recording.
using Clock = std::chrono::steady_clock;

int CreateEvent(int32_t, void** out) {
  return ffi::Guard([&] { *out = new Clock::time_point(Clock::now()); });
}

int DestroyEvent(int32_t, void* event) {
  delete static_cast<Clock::time_point*>(event);
  return 0;
}

int RecordEvent(int32_t, void* event, void*) {
  *static_cast<Clock::time_point*>(event) = Clock::now();
  return 0;
}

int IgnoreEvent(int32_t, void*, void*) { return 0; }

int Elapsed(int32_t, void* start, void* stop, double* seconds) {
  std::chrono::duration<double> time =
      *static_cast<Clock::time_point*>(stop) - *static_cast<Clock::time_point*>(start);
  *seconds = time.count();
  return 0;
}

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
      .memory_info = MemoryInfo,
      .create_event = CreateEvent,
      .destroy_event = DestroyEvent,
      .record_event = RecordEvent,
      .wait_event = IgnoreEvent,
      .synchronize_event = IgnoreStream,
      .elapsed = Elapsed,
  };
  return &kApi;
}

}  // namespace tern::runtime
