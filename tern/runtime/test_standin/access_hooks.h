// SPDX-License-Identifier: Apache-2.0
//
// What the compiler's instrumentation calls in kernels that run on the CPU. Part of one file of
// each image.
#ifndef TERN_RUNTIME_TEST_STANDIN_ACCESS_HOOKS_H_
#define TERN_RUNTIME_TEST_STANDIN_ACCESS_HOOKS_H_

#include "tern/runtime/test_standin/device_abi.h"

namespace tern_standin {
inline State state;
inline Host host;
}  // namespace tern_standin

// ---- Every access, as the compiler's instrumentation reports it (-fsanitize=thread).

#define TERN_ACCESS(name, size, kind)                                                             \
  extern "C" inline __attribute__((used, visibility("hidden"), no_sanitize("thread"))) void name( \
      void* address) {                                                                            \
    tern_standin::host.access(address, size, tern_standin::kind);                                 \
  }
// Of a type that asks for less alignment than its size: byte by byte.
#define TERN_BYTES(name, size, kind)                                                              \
  extern "C" inline __attribute__((used, visibility("hidden"), no_sanitize("thread"))) void name( \
      void* address) {                                                                            \
    for (int i = 0; i < size; ++i)                                                                \
      tern_standin::host.access(static_cast<char*>(address) + i, 1, tern_standin::kind);          \
  }
#define TERN_ACCESSES(size)                              \
  TERN_ACCESS(__tsan_read##size, size, kRead)            \
  TERN_ACCESS(__tsan_write##size, size, kWrite)          \
  TERN_BYTES(__tsan_unaligned_read##size, size, kRead)   \
  TERN_BYTES(__tsan_unaligned_write##size, size, kWrite) \
  TERN_ACCESS(__tsan_volatile_read##size, size, kRead)   \
  TERN_ACCESS(__tsan_volatile_write##size, size, kWrite)
TERN_ACCESSES(1)
TERN_ACCESSES(2)
TERN_ACCESSES(4)
TERN_ACCESSES(8)
TERN_ACCESSES(16)
#define TERN_HOOK \
  extern "C" inline __attribute__((used, visibility("hidden"), no_sanitize("thread"))) void
TERN_HOOK __tsan_read_range(void* address, unsigned long size) {
  tern_standin::host.access(address, size, tern_standin::kRead);
}
TERN_HOOK __tsan_write_range(void* address, unsigned long size) {
  tern_standin::host.access(address, size, tern_standin::kWrite);
}
// Of parts of memory that are copied or filled, whatever their alignment.
TERN_HOOK tern_standin_bytes(void* address, unsigned long size, tern_standin::AccessKind kind) {
  for (unsigned long i = 0; i < size; ++i)
    tern_standin::host.access(static_cast<char*>(address) + i, 1, kind);
}
#define TERN_BYTES_HOOK \
  extern "C" inline __attribute__((used, visibility("hidden"), no_sanitize("thread"))) void*
TERN_BYTES_HOOK __tsan_memcpy(void* target, void* source, unsigned long size) {
  tern_standin_bytes(source, size, tern_standin::kRead);
  tern_standin_bytes(target, size, tern_standin::kWrite);
  return __builtin_memcpy(target, source, size);
}
TERN_BYTES_HOOK __tsan_memmove(void* target, void* source, unsigned long size) {
  tern_standin_bytes(source, size, tern_standin::kRead);
  tern_standin_bytes(target, size, tern_standin::kWrite);
  return __builtin_memmove(target, source, size);
}
TERN_BYTES_HOOK __tsan_memset(void* target, int value, unsigned long size) {
  tern_standin_bytes(target, size, tern_standin::kWrite);
  return __builtin_memset(target, value, size);
}
// And every pointer whose type asks for more than its address has (-fsanitize=alignment).
struct TernTypeMismatch {
  const char* file;
  unsigned line, column;
  const void* type;
  unsigned char log_alignment, kind;
};
TERN_HOOK __ubsan_handle_type_mismatch_v1_abort(TernTypeMismatch* data, void* address) {
  tern_standin::host.misaligned(address, 1ul << data->log_alignment);
}
TERN_HOOK __tsan_func_entry(void*) {}
TERN_HOOK __tsan_func_exit() {}
TERN_HOOK __tsan_init() {}

#endif  // TERN_RUNTIME_TEST_STANDIN_ACCESS_HOOKS_H_
