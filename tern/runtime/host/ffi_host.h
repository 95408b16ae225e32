// SPDX-License-Identifier: Apache-2.0
//
// What compiled code finds here by name, with dlsym, where its caller is another host than this
// runtime (tern/backend/cpu/codegen/ffi_host.c). Errors are returned, not raised: the host has its
// own place for them.
#ifndef TERN_RUNTIME_HOST_FFI_HOST_H_
#define TERN_RUNTIME_HOST_FFI_HOST_H_

#include "tern/ffi/c_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

// Calls `body` on pieces that make up 0..extent, on the threads of the pool. Returns 0, or -1 where
// a piece returned something else.
int tern_parallel_for(int64_t extent, int (*body)(void* context, int64_t begin, int64_t end),
                      void* context);

// Temporary memory of a device, or NULL where there is none. The thread gives it back, last
// allocated first.
void* tern_alloc_workspace(int32_t device_type, int32_t device_id, int64_t bytes,
                           int64_t alignment);
void tern_free_workspace(int32_t device_type, int32_t device_id, void* memory);

// Calls a function that the shared object around the address `in_library` imports, or a registered
// one.
// Returns 0, or -1 with the error's kind and message, which live until the thread's next call.
int tern_call_import(const void* in_library, const char* name, const TernAny* args,
                     int32_t num_args, TernAny* result, const char** kind, const char** message);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TERN_RUNTIME_HOST_FFI_HOST_H_
