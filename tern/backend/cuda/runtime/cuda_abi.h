// SPDX-License-Identifier: Apache-2.0
//
// The part of the CUDA driver API that the plugin uses, declared from its documentation, so that no
// SDK is needed to build it.
#ifndef TERN_BACKEND_CUDA_RUNTIME_CUDA_ABI_H_
#define TERN_BACKEND_CUDA_RUNTIME_CUDA_ABI_H_

#include <cstddef>
#include <cstdint>

namespace tern::backend::cuda::cu {

// Handles are opaque; only their pointer size crosses the boundary.
using Context = struct ContextHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using Graph = struct GraphHandle*;
using GraphExec = struct GraphExecHandle*;
using Device = int;
using DevicePointer = unsigned long long;
using Result = int;

inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1, kOutOfMemory = 2, kInvalidHandle = 400, kNotFound = 500,
                        kGraphUpdateFailure = 910;

enum DeviceAttribute : int {
  kMaxThreadsPerBlock = 1,
  kMaxBlockDimX = 2,  // then Y, Z, and the same of grids
  kMaxGridDimX = 5,
  kMaxSharedMemoryPerBlock = 8,
  kWarpSize = 10,
  kMultiprocessorCount = 16,
  kComputeCapabilityMajor = 75,
  kComputeCapabilityMinor = 76,
  kMaxSharedMemoryPerBlockOptin = 97,
};
enum FunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionMaxDynamicSharedSize = 8,
};
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kHostPortable = 1;  // page-locked for all contexts

// What a thread that captures a stream may not do: what could disturb its own captures, or nothing.
enum CaptureMode : int { kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };

// Why a graph could not be updated, and at which of its nodes.
struct GraphUpdateInfo {
  int result;
  void *node, *from_node;
};

// A launch with more than sizes and arguments.
enum LaunchAttributeId : int { kLaunchCluster = 4, kLaunchProgrammaticSerialization = 6 };
struct LaunchAttribute {
  alignas(8) int id;
  union alignas(8) {
    char room[64];
    unsigned cluster[3];
    int number;
  };
};
static_assert(sizeof(LaunchAttribute) == 72);
struct LaunchConfig {
  unsigned grid[3], block[3], shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned num_attributes;
};

// What a kernel gets that copies boxes of a tensor.
struct alignas(64) TensorMap {
  uint64_t words[16];
};
// Elements of so many bits; 16-byte pieces of rows of so many bytes permuted; bytes that L2 reads
// at once.
enum TensorMapType : int { kMap8 = 0, kMap16 = 1, kMap32 = 2, kMap64 = 4 };
enum TensorMapSwizzle : int { kNoSwizzle = 0, kSwizzle32 = 1, kSwizzle64 = 2, kSwizzle128 = 3 };
inline constexpr int kPromote128 = 2;

// X(name, symbol, parameters...): every function returns a Result.
#define TERN_CUDA_FUNCTIONS(X)                                                                  \
  X(Init, "cuInit", unsigned)                                                                   \
  X(DriverGetVersion, "cuDriverGetVersion", int*)                                               \
  X(GetErrorName, "cuGetErrorName", Result, const char**)                                       \
  X(GetErrorString, "cuGetErrorString", Result, const char**)                                   \
  X(DeviceGetCount, "cuDeviceGetCount", int*)                                                   \
  X(DeviceGet, "cuDeviceGet", Device*, int)                                                     \
  X(DeviceGetName, "cuDeviceGetName", char*, int, Device)                                       \
  X(DeviceGetAttribute, "cuDeviceGetAttribute", int*, int, Device)                              \
  X(DeviceTotalMem, "cuDeviceTotalMem_v2", size_t*, Device)                                     \
  X(PrimaryContextRetain, "cuDevicePrimaryCtxRetain", Context*, Device)                         \
  X(ContextGetCurrent, "cuCtxGetCurrent", Context*)                                             \
  X(ContextSetCurrent, "cuCtxSetCurrent", Context)                                              \
  X(ContextPush, "cuCtxPushCurrent_v2", Context)                                                \
  X(ContextPop, "cuCtxPopCurrent_v2", Context*)                                                 \
  X(MemAlloc, "cuMemAlloc_v2", DevicePointer*, size_t)                                          \
  X(MemFree, "cuMemFree_v2", DevicePointer)                                                     \
  X(MemHostAlloc, "cuMemHostAlloc", void**, size_t, unsigned)                                   \
  X(MemFreeHost, "cuMemFreeHost", void*)                                                        \
  X(MemGetInfo, "cuMemGetInfo_v2", size_t*, size_t*)                                            \
  X(MemcpyHtoD, "cuMemcpyHtoDAsync_v2", DevicePointer, const void*, size_t, Stream)             \
  X(MemcpyDtoH, "cuMemcpyDtoHAsync_v2", void*, DevicePointer, size_t, Stream)                   \
  X(MemcpyDtoD, "cuMemcpyDtoDAsync_v2", DevicePointer, DevicePointer, size_t, Stream)           \
  X(MemcpyPeer, "cuMemcpyPeerAsync", DevicePointer, Context, DevicePointer, Context, size_t,    \
    Stream)                                                                                     \
  X(StreamCreate, "cuStreamCreate", Stream*, unsigned)                                          \
  X(StreamDestroy, "cuStreamDestroy_v2", Stream)                                                \
  X(StreamSynchronize, "cuStreamSynchronize", Stream)                                           \
  X(StreamWaitEvent, "cuStreamWaitEvent", Stream, Event, unsigned)                              \
  X(EventCreate, "cuEventCreate", Event*, unsigned)                                             \
  X(EventDestroy, "cuEventDestroy_v2", Event)                                                   \
  X(EventRecord, "cuEventRecord", Event, Stream)                                                \
  X(EventSynchronize, "cuEventSynchronize", Event)                                              \
  X(EventElapsedTime, "cuEventElapsedTime", float*, Event, Event)                               \
  X(ModuleLoadData, "cuModuleLoadData", Module*, const void*)                                   \
  X(ModuleUnload, "cuModuleUnload", Module)                                                     \
  X(ModuleGetFunction, "cuModuleGetFunction", Function*, Module, const char*)                   \
  X(FuncGetAttribute, "cuFuncGetAttribute", int*, int, Function)                                \
  X(FuncSetAttribute, "cuFuncSetAttribute", Function, int, int)                                 \
  X(LaunchKernel, "cuLaunchKernel", Function, unsigned, unsigned, unsigned, unsigned, unsigned, \
    unsigned, unsigned, Stream, void**, void**)

// Functions of newer drivers: null where the driver has none.
#define TERN_CUDA_OPTIONAL_FUNCTIONS(X)                                                     \
  X(FuncLoad, "cuFuncLoad", Function)                                                       \
  X(FuncGetParamInfo, "cuFuncGetParamInfo", Function, size_t, size_t*, size_t*)             \
  X(LaunchKernelEx, "cuLaunchKernelEx", const LaunchConfig*, Function, void**, void**)      \
  X(TensorMapEncodeTiled, "cuTensorMapEncodeTiled", TensorMap*, int, uint32_t, void*,       \
    const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, int, int, int, int) \
  X(StreamBeginCapture, "cuStreamBeginCapture_v2", Stream, int)                             \
  X(StreamEndCapture, "cuStreamEndCapture", Stream, Graph*)                                 \
  X(ThreadExchangeCaptureMode, "cuThreadExchangeStreamCaptureMode", int*)                   \
  X(GraphInstantiate, "cuGraphInstantiateWithFlags", GraphExec*, Graph, unsigned long long) \
  X(GraphExecUpdate, "cuGraphExecUpdate_v2", GraphExec, Graph, GraphUpdateInfo*)            \
  X(GraphLaunch, "cuGraphLaunch", GraphExec, Stream)                                        \
  X(GraphExecDestroy, "cuGraphExecDestroy", GraphExec)                                      \
  X(GraphDestroy, "cuGraphDestroy", Graph)

struct Functions {
#define TERN_CUDA_DECLARE(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
  TERN_CUDA_FUNCTIONS(TERN_CUDA_DECLARE)
  TERN_CUDA_OPTIONAL_FUNCTIONS(TERN_CUDA_DECLARE)
#undef TERN_CUDA_DECLARE
};

}  // namespace tern::backend::cuda::cu

#endif  // TERN_BACKEND_CUDA_RUNTIME_CUDA_ABI_H_
