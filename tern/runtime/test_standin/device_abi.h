// SPDX-License-Identifier: Apache-2.0
//
// What a stand-in for a driver and the kernels that it runs on the CPU say to each other. No header
// is included: kernels are compiled without any.
#ifndef TERN_RUNTIME_TEST_STANDIN_DEVICE_ABI_H_
#define TERN_RUNTIME_TEST_STANDIN_DEVICE_ABI_H_

namespace tern_standin {

struct Index {
  unsigned x, y, z;
};

// Of the thread that runs now; the driver writes it.
struct State {
  Index thread, block, block_dim, grid_dim;
  unsigned lane;
};

enum AccessKind { kRead, kWrite, kAtomic };

// What kernels ask the driver for. None returns where the kernel is wrong.
struct Host {
  // Before each access to memory that is not a variable of the thread.
  void (*access)(const void* address, unsigned long size, AccessKind kind);
  void (*barrier)();
  // Waits until the lanes of `mask` came to the same instruction, and gives each what all have
  // put in: 32 times `size` bytes, of lanes of the mask.
  void (*collective)(const char* instruction, unsigned mask, const void* in, unsigned long size,
                     void* all);
  void (*order_warp)();  // memory accesses of the warp's threads
  void* (*dynamic_shared)();
  unsigned (*shared_address)(const void* pointer);
  void* (*shared_pointer)(unsigned address, unsigned long size);
  // cp.async: `bytes` from `source`, then zeros up to `size`; done at wait_group.
  void (*copy)(unsigned target, const void* source, unsigned long size, unsigned long bytes);
  void (*commit)();
  void (*wait)(unsigned groups);
  // Memory of the thread, zeros at its start.
  void* (*thread_memory)(unsigned long bytes);
  // A read of shared memory that goes on by itself. What was written by ordinary accesses must have
  // been put before it by a fence of the writer, then a barrier.
  void (*async_read)(unsigned address, unsigned long bytes);
  void (*fence_async)();
  // Barrier objects in shared memory (mbarrier): an arrival may add bytes of copies to wait for.
  void (*object_init)(unsigned address, unsigned count);
  void (*object_arrive)(unsigned address, unsigned long bytes);
  void (*object_wait)(unsigned address, unsigned parity);
  // A box of a tensor, which counts on such an object when it is done.
  void (*bulk_copy)(unsigned target, const void* map, const int* at, int axes, unsigned object);
  void (*misaligned)(const void* address, unsigned long alignment);
  void (*fail)(const char* message);
};

struct Param {
  unsigned long size, alignment;
};

struct Kernel {
  const char* name;
  void (*run)(void** args);
  const Param* params;
  int num_params;
  int max_threads;  // that it was compiled for; 0: any
  char *shared_begin, *shared_end;
};

constexpr int kVersion = 4;

struct Module {
  int version;
  const char* arch;     // that it is for, as the driver calls it
  const char* barrier;  // the name of what threads of a block wait at
  const Kernel* kernels;
  int num_kernels;
  State* state;
  Host* host;  // a copy: kernels read it as their own memory
};

}  // namespace tern_standin

#endif  // TERN_RUNTIME_TEST_STANDIN_DEVICE_ABI_H_
