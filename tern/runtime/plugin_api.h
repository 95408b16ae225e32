// SPDX-License-Identifier: Apache-2.0
//
// The boundary between the runtime and a backend's plugin, in C. A plugin is a shared object that
// exports `tern_plugin`; it links against nothing of Tern and no C++ type crosses.
//
// An older plugin runs in a newer runtime. The tables start with {size, version}:
//   - version is that of the header that the plugin was compiled with. A plugin that is newer than
//     the runtime is refused.
//   - size is that of the table in that header. The runtime reads no further; members that the
//     table is too small for count as NULL.
// Tables, TernCopy and TernLaunch only ever grow at the end, with a new version. The others never
// change. test_plugins/boundary has the header of each version, and the tests run plugins that are
// built with them.
// Version 2 added memory_info, the events and detect to TernDeviceApi, version 3 the cache to
// TernHostApi and alloc_host to TernDeviceApi, version 4 arg_is_memory to TernLaunch, version 5 the
// graphs to TernDeviceApi, launch_flags to TernKernelLoader and what follows arg_is_memory to
// TernLaunch, version 6 prepare to TernKernelLoader.
//
// A plugin supplies what only it can know: a device (memory, copies, streams) and a kernel loader
// (make a program of a payload, launch a kernel). Modules, serialization, lazy loading and locking
// are the runtime's, once for all.
//
// All functions that return int return 0, or -1 after TernHostApi::set_error. None may throw; what
// a plugin written in C++ throws nevertheless is taken for an error where it can be.
//
// In a forked child the runtime calls no function of a plugin whose functions were called before
// the fork: a driver does not survive it.
#ifndef TERN_RUNTIME_PLUGIN_API_H_
#define TERN_RUNTIME_PLUGIN_API_H_

#include <stddef.h>

#include "tern/ffi/c_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TERN_PLUGIN_API_VERSION 6

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

// Receives one property of a device: an integer, a bool, a finite float or a text. The strings and
// the value are borrowed.
typedef void (*TernPropertySink)(void* sink, const char* name, const TernAny* value);

// A device kind. Devices have the numbers from 0 on, at most 1024 of them; a number of one that is
// not there comes to the plugin only as 0. No function may be called before the driver is there
// except device_count, which reports 0 devices where the driver is absent and an error where it is
// broken.
typedef struct TernDeviceApi {
  uint32_t size;
  uint32_t version;
  int32_t device_type;  // DLPack's code
  int (*device_count)(int32_t* count);
  // Emits what is known of a live device: "name" (string), "driver" (string) and the target
  // attributes of its kind.
  int (*describe)(int32_t device_id, void* sink, TernPropertySink emit);
  // Not NULL, unless for 0 bytes.
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

  // Since version 3. Memory of the host that is copied from and to while the host goes on; both may
  // be NULL.
  int (*alloc_host)(int32_t device_id, uint64_t bytes, void** out);
  int (*free_host)(int32_t device_id, void* memory);

  // Since version 5. Graphs: what is given to a stream is recorded, and done again by one call. All
  // or none.
  // From now on launches and copies that this thread gives to the stream are recorded, and not
  // done; other streams and threads go on. Not for the default stream. While a thread records,
  // `alloc` and `free` work as ever and are no part of the graph; what waits for the device is an
  // error, and so is `load`.
  int (*begin_capture)(int32_t device_id, void* stream);
  // By the same thread. The recording is over in any case; -1 where a call could not be recorded.
  int (*end_capture)(int32_t device_id, void* stream, void** graph);
  int (*destroy_graph)(int32_t device_id, void* graph);
  // What can be launched. It does not need the graph any more, but all that the graph uses: kernels
  // and memory.
  int (*instantiate_graph)(int32_t device_id, void* graph, void** executable);
  // Later launches take their arguments and sizes from this graph, which has the same nodes in the
  // same order. A ValueError where it has not: the executable is as before then.
  int (*update_graph)(int32_t device_id, void* executable, void* graph);
  int (*launch_graph)(int32_t device_id, void* executable, void* stream);
  // Waits for launches that are under way, where the driver does not keep it for them.
  int (*destroy_executable)(int32_t device_id, void* executable);
} TernDeviceApi;
// What the first version of the table had.
#define TERN_DEVICE_API_MIN_SIZE offsetof(TernDeviceApi, memory_info)

// What an argument of a kernel is.
typedef enum TernArgKind {
  kTernArgNumber = 0,
  kTernArgMemory = 1,     // the pointer that TernDeviceApi::alloc gave
  kTernArgTensorMap = 2,  // a TernTensorMap: the kernel gets what the device makes of it
} TernArgKind;

// A tensor of which a kernel copies boxes by single instructions. Axes are listed from the
// outermost to the innermost, whose elements lie side by side.
typedef struct TernTensorMap {
  void* memory;
  uint64_t offset;  // of the first element, in bytes
  TernDType dtype;
  int32_t ndim;           // 1 to 5
  int32_t swizzle;        // bytes of a row within which 16-byte pieces are permuted: 0, 32, 64, 128
  const uint64_t* shape;  // elements
  const uint64_t* strides;  // bytes
  const uint32_t* box;      // elements; those outside of the tensor are read as zero, not written
} TernTensorMap;

// What a launch uses beyond grid, block and plain arguments: bits of TernLaunch::flags, and of
// TernKernelLoader::launch_flags.
typedef enum TernLaunchFlag {
  kTernLaunchClusters = 1,    // TernLaunch::cluster
  kTernLaunchTensorMaps = 2,  // arguments of kind kTernArgTensorMap
  // It may begin before the launch ahead of it on the stream has ended; the kernel itself waits for
  // it where it has to.
  kTernLaunchOverlap = 4,
} TernLaunchFlag;

typedef struct TernLaunch {
  uint32_t grid[3];
  uint32_t block[3];
  uint64_t dynamic_shared_bytes;
  int32_t num_args;
  const void* const* args;    // each points to the argument's value
  const uint64_t* arg_sizes;  // bytes; a buffer is the pointer that TernDeviceApi::alloc gave
  void* stream;
  // Since version 4. For each argument, 1 where it is such a pointer, 0 where it is a number.
  const uint8_t* arg_is_memory;
  // Since version 5: those of the runtime's header.
  uint32_t size;
  uint32_t version;
  const uint8_t* arg_kinds;  // of each argument, a TernArgKind
  uint32_t cluster[3];       // blocks of a cluster along each axis, which divide those of the grid
  uint32_t flags;            // TernLaunchFlag; none that the loader's launch_flags does not have
} TernLaunch;

// Makes programs of payloads. Calls for one program are serialized by the runtime except `launch`.
// The number, sizes and kinds of the arguments are the same at all launches of a kernel, so that
// they need to be checked but once.
typedef struct TernKernelLoader {
  uint32_t size;
  uint32_t version;
  int (*load)(int32_t device_id, const char* fmt, const TernBlob* blobs, int32_t num_blobs,
              void** program);
  void (*unload)(void* program);
  // The kernel lives as long as its program.
  int (*get_kernel)(void* program, const char* name, void** kernel);
  int (*launch)(void* kernel, const TernLaunch* launch);

  // Since version 5. The bits of TernLaunchFlag that `launch` takes. A launch that has others is
  // refused by the runtime.
  uint64_t launch_flags;

  // Since version 6. Makes all kernels of the program ready, in parallel where that is faster: most
  // of them will be used, as those of a model are. May be NULL; get_kernel makes the one that it is
  // asked for, of which a function with versions for other sizes has many.
  int (*prepare)(void* program);
} TernKernelLoader;
// What the first version of the table had.
#define TERN_KERNEL_LOADER_MIN_SIZE offsetof(TernKernelLoader, launch_flags)

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
