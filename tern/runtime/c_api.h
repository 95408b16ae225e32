// SPDX-License-Identifier: Apache-2.0
//
// The runtime for C99 and every language that can call C. Values, tensors and devices are those of
// tern/ffi/c_abi.h.
//
// A function that returns int returns 0, or -1 where it failed; tern_last_error says why. All are
// safe from many threads.
#ifndef TERN_RUNTIME_C_API_H_
#define TERN_RUNTIME_C_API_H_

#include "tern/ffi/c_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

// "0.1.0"
const char* tern_version(void);

// "ValueError: ...": why the last call of this thread that returned -1 did so. Valid until the next
// call of a function of this header by this thread.
const char* tern_last_error(void);

// The host code of a file with all that it imports.
typedef struct TernModule TernModule;

// Loads x.so or x.tern; the file is verified before anything of it is mapped.
int tern_module_load(const char* path, TernModule** module);
// Its functions stay usable. NULL is ignored.
void tern_module_free(TernModule* module);

// A function of the file: an object that the caller gives back by tern_object_release.
int tern_module_get_function(TernModule* module, const char* name, TernObject** function);

// Calls a function object. Arguments are borrowed; tensors are passed as views (kTernTensorView).
// `result` may be NULL; else it is set, and an object in it (type_index of kTernObjectBegin or
// more) belongs to the caller.
int tern_function_call(TernObject* function, const TernAny* args, int32_t num_args,
                       TernAny* result);

// Gives an object back. NULL is ignored.
void tern_object_release(TernObject* object);

// Devices: "cpu", or the name of a plugin, which is loaded.
int tern_device_find(const char* kind, int32_t id, TernDevice* device);
int tern_device_alloc(TernDevice device, uint64_t bytes, uint64_t alignment, void** memory);
int tern_device_free(TernDevice device, void* memory);
// Between the host and a device, or within one of them; done when it returns.
int tern_device_copy(void* to, TernDevice to_device, const void* from, TernDevice from_device,
                     uint64_t bytes);
// Waits for what functions have started there.
int tern_device_synchronize(TernDevice device);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TERN_RUNTIME_C_API_H_
