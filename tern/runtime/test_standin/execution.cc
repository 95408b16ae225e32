// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/test_standin/execution.h"

#include "tern/runtime/test_standin/runner.h"

namespace tern::standin {

Failure RunGrid(const Grid& grid) { return Runner::Get().Run(grid); }

const tern_standin::Host& KernelHost() {
  using R = Runner;
  static const tern_standin::Host host = {
      .access = [](const void* p, unsigned long n, AccessKind k) { R::Get().Access(p, n, k); },
      .barrier = [] { R::Get().Barrier(); },
      .collective = [](const char* instruction, unsigned mask, const void* in, unsigned long size,
                       void* all) { R::Get().Collective(instruction, mask, in, size, all); },
      .order_warp = [] { R::Get().OrderWarp(); },
      .dynamic_shared = [] { return R::Get().dynamic_shared(); },
      .shared_address = [](const void* p) { return R::Get().SharedAddress(p); },
      .shared_pointer = [](unsigned a, unsigned long n) { return R::Get().SharedPointer(a, n); },
      .copy = [](unsigned target, const void* source, unsigned long size,
                 unsigned long bytes) { R::Get().Copy(target, source, size, bytes); },
      .commit = [] { R::Get().Commit(); },
      .wait = [](unsigned groups) { R::Get().Wait(groups); },
      .thread_memory = [](unsigned long bytes) { return R::Get().ThreadMemory(bytes); },
      .async_read = [](unsigned a, unsigned long n) { R::Get().AsyncRead(a, n); },
      .fence_async = [] { R::Get().FenceAsync(); },
      .object_init = [](unsigned a, unsigned count) { R::Get().ObjectInit(a, count); },
      .object_arrive = [](unsigned a, unsigned long bytes) { R::Get().ObjectArrive(a, bytes); },
      .object_wait = [](unsigned a, unsigned parity) { R::Get().ObjectWait(a, parity); },
      .bulk_copy = [](unsigned target, const void* map, const int* at, int axes,
                      unsigned barrier) { R::Get().BulkCopy(target, map, at, axes, barrier); },
      .misaligned = [](const void* p, unsigned long n) { R::Get().Misaligned(p, n); },
      .fail = [](const char* message) { R::Get().Fail(Fault::kWrong, message); },
  };
  return host;
}

}  // namespace tern::standin
