// SPDX-License-Identifier: Apache-2.0
//
// The boundary between the runtime and a backend's plugin, in C. A plugin is a shared object that
// exports `tern_plugin`; it links against nothing of Tern and no C++ type crosses. Every structure
// starts with {size, version} and only ever grows at the end, so an older plugin runs in a newer
// runtime.
// Version 2 added memory_info and the events to TernDeviceApi, version 3 the cache to TernHostApi.
//
// A plugin supplies what only it can know: a device (memory, copies, streams) and a kernel loader
// (make a program of a payload, launch a kernel). Modules, serialization, lazy loading and locking
// are the runtime's, once for all.
//
// All functions that return int return 0, or -1 after TernHostApi::set_error.
#ifndef TERN_RUNTIME_PLUGIN_API_H_
#define TERN_RUNTIME_PLUGIN_API_H_

#include <stddef.h>

#include "tern/ffi/c_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TERN_PLUGIN_API_VERSION 3

// One part of a payload: a whole program (name is "") or one kernel's code. And one part of what a
// value of the cache depends on.
typedef struct TernBlob {
  const char* name;
  const char* data;
  uint64_t size;
} TernBlob;

// What the runtime offers to a plugin. Valid for the life of the process.
typedef struct TernHostApi {
  uint32_t size;
  uint32_t version;
  void (*set_error)(const char* kind, const char* message);  // thread local; copies both strings
  void (*warn)(const char* message);

  // Since version 3. What the driver made of a program, kept on disk under a hash of `parts`, which
  // are all that it depends on: the source, the device, the driver's version, options. Returns 1
  // after `emit`, 0 where there is none. See plugin::CachedProgram.
  int (*find_program)(const char* kind, const TernBlob* parts, int32_t num_parts, void* sink,
                      void (*emit)(void* sink, const char* data, uint64_t size));
  void (*store_program)(const char* kind, const TernBlob* parts, int32_t num_parts,
                        const char* data, uint64_t size);
} TernHostApi;

typedef struct TernCopy {
  const void* src;
  uint64_t src_offset;
  TernDevice src_device;
  void* dst;
  uint64_t dst_offset;
  TernDevice dst_device;
  uint64_t bytes;
  void* stream;  // NULL: the default stream
} TernCopy;

// Receives one property of a device; the strings and the value are borrowed.
typedef void (*TernPropertySink)(void* sink, const char* name, const TernAny* value);

// A device kind. No function may be called before the driver is there except device_count, which
// reports 0 devices where the driver is absent and an error where it is broken.
typedef struct TernDeviceApi {
  uint32_t size;
  uint32_t version;
  int32_t device_type;  // DLPack's code
  int (*device_count)(int32_t* count);
  // Emits what is known of a live device: "name" (string), "driver" (string) and the target
  // attributes of its kind.
  int (*describe)(int32_t device_id, void* sink, TernPropertySink emit);
  int (*alloc)(int32_t device_id, uint64_t bytes, uint64_t alignment, void** out);
  int (*free)(int32_t device_id, void* memory);
  // One side at least is this device; the other is this device or the host. May return before the
  // copy is done.
  int (*copy)(const TernCopy* copy);
  int (*create_stream)(int32_t device_id, void** out);
  int (*destroy_stream)(int32_t device_id, void* stream);
  int (*synchronize)(int32_t device_id, void* stream);

  // Since version 2. Each may be NULL; events are there all or none.
  int (*memory_info)(int32_t device_id, uint64_t* free_bytes, uint64_t* total_bytes);
  // An event marks a place in a stream. It can be recorded again, which forgets the place before.
  int (*create_event)(int32_t device_id, void** out);
  int (*destroy_event)(int32_t device_id, void* event);
  int (*record_event)(int32_t device_id, void* event, void* stream);
  // What is given to the stream from now on waits for the event; the caller does not.
  int (*wait_event)(int32_t device_id, void* event, void* stream);
  int (*synchronize_event)(int32_t device_id, void* event);
  // From one event to another; waits for both.
  int (*elapsed)(int32_t device_id, void* start, void* stop, double* seconds);
  // Emits the target attributes that code for this very device should be compiled with. May be
  // null: the kind has no detector.
  int (*detect)(int32_t device_id, void* sink, TernPropertySink emit);
} TernDeviceApi;
// What the first version of the table had.
#define TERN_DEVICE_API_MIN_SIZE offsetof(TernDeviceApi, memory_info)

typedef struct TernLaunch {
  uint32_t grid[3];
  uint32_t block[3];
  uint64_t dynamic_shared_bytes;
  int32_t num_args;
  const void* const* args;    // each points to the argument's value
  const uint64_t* arg_sizes;  // bytes; a buffer is the pointer that TernDeviceApi::alloc gave
  void* stream;
} TernLaunch;

// Makes programs of payloads. Calls for one program are serialized by the runtime except `launch`.
typedef struct TernKernelLoader {
  uint32_t size;
  uint32_t version;
  int (*load)(int32_t device_id, const char* fmt, const TernBlob* blobs, int32_t num_blobs,
              void** program);
  void (*unload)(void* program);
  // The kernel lives as long as its program.
  int (*get_kernel)(void* program, const char* name, void** kernel);
  int (*launch)(void* kernel, const TernLaunch* launch);
} TernKernelLoader;

// Where a plugin registers. Nothing takes effect unless tern_plugin returns 0. The structures
// passed must live as long as the process; strings are copied.
typedef struct TernRegistrar {
  uint32_t size;
  uint32_t version;
  void* self;
  int (*add_device)(struct TernRegistrar*, const char* kind, const TernDeviceApi* api);
  int (*add_kernel_loader)(struct TernRegistrar*, const char* kind, const TernKernelLoader* loader);
  int (*add_function)(struct TernRegistrar*, const char* name, TernSafeCall call, void* handle);
} TernRegistrar;

// The plugin's entry. Calls no driver.
typedef int (*TernPluginEntry)(const TernHostApi* host, TernRegistrar* registrar);
#define TERN_PLUGIN_ENTRY "tern_plugin"

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TERN_RUNTIME_PLUGIN_API_H_
