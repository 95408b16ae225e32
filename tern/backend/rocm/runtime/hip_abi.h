// SPDX-License-Identifier: Apache-2.0
//
// The part of HIP's interface that the plugin uses, declared from its documentation, so that no SDK
// is needed to build it.
#ifndef TERN_BACKEND_ROCM_RUNTIME_HIP_ABI_H_
#define TERN_BACKEND_ROCM_RUNTIME_HIP_ABI_H_

#include <cstddef>
#include <cstdint>

namespace tern::backend::rocm::hip {

// Handles are opaque; only their pointer size crosses the boundary.
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using Graph = struct GraphHandle*;
using GraphExec = struct GraphExecHandle*;
using Result = int;

inline constexpr Result kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNoDevice = 100,
                        kInvalidDevice = 101, kInvalidImage = 200, kNoBinaryForGpu = 209,
                        kInvalidHandle = 400, kNotFound = 500, kLaunchFailure = 719,
                        kGraphUpdateFailure = 910, kUnknown = 999;

enum DeviceAttribute : int {
  kMaxBlockDimX = 26,  // then Y, Z, and the same of grids
  kMaxGridDimX = 29,
  kMaxThreadsPerBlock = 56,
  kMultiprocessorCount = 63,
  kMaxSharedMemoryPerBlock = 74,
  kWarpSize = 87,
};
enum FunctionAttribute : int { kFunctionMaxThreadsPerBlock = 0 };
enum CopyKind : int { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3 };
inline constexpr unsigned kStreamNonBlocking = 1;
// What a thread that captures a stream may not do: what could disturb its own captures, or nothing.
enum CaptureMode : int { kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };

// X(name, symbol, parameters...): every function returns a Result.
#define TERN_HIP_FUNCTIONS(X)                                                                      \
  X(Init, "hipInit", unsigned)                                                                     \
  X(DriverGetVersion, "hipDriverGetVersion", int*)                                                 \
  X(GetDeviceCount, "hipGetDeviceCount", int*)                                                     \
  X(DeviceGetName, "hipDeviceGetName", char*, int, int)                                            \
  X(DeviceGetAttribute, "hipDeviceGetAttribute", int*, int, int)                                   \
  X(DeviceTotalMem, "hipDeviceTotalMem", size_t*, int)                                             \
  X(GetDevice, "hipGetDevice", int*)                                                               \
  X(SetDevice, "hipSetDevice", int)                                                                \
  X(Malloc, "hipMalloc", void**, size_t)                                                           \
  X(Free, "hipFree", void*)                                                                        \
  X(MemGetInfo, "hipMemGetInfo", size_t*, size_t*)                                                 \
  X(MemcpyAsync, "hipMemcpyAsync", void*, const void*, size_t, int, Stream)                        \
  X(MemcpyPeerAsync, "hipMemcpyPeerAsync", void*, int, const void*, int, size_t, Stream)           \
  X(StreamCreate, "hipStreamCreateWithFlags", Stream*, unsigned)                                   \
  X(StreamDestroy, "hipStreamDestroy", Stream)                                                     \
  X(StreamSynchronize, "hipStreamSynchronize", Stream)                                             \
  X(StreamWaitEvent, "hipStreamWaitEvent", Stream, Event, unsigned)                                \
  X(EventCreate, "hipEventCreate", Event*)                                                         \
  X(EventDestroy, "hipEventDestroy", Event)                                                        \
  X(EventRecord, "hipEventRecord", Event, Stream)                                                  \
  X(EventSynchronize, "hipEventSynchronize", Event)                                                \
  X(EventElapsedTime, "hipEventElapsedTime", float*, Event, Event)                                 \
  X(ModuleLoadData, "hipModuleLoadData", Module*, const void*)                                     \
  X(ModuleUnload, "hipModuleUnload", Module)                                                       \
  X(ModuleGetFunction, "hipModuleGetFunction", Function*, Module, const char*)                     \
  X(FuncGetAttribute, "hipFuncGetAttribute", int*, int, Function)                                  \
  X(ModuleLaunchKernel, "hipModuleLaunchKernel", Function, unsigned, unsigned, unsigned, unsigned, \
    unsigned, unsigned, unsigned, Stream, void**, void**)

// Functions of newer versions: null where the library has none.
#define TERN_HIP_OPTIONAL_FUNCTIONS(X)                                                       \
  X(StreamBeginCapture, "hipStreamBeginCapture", Stream, int)                                \
  X(StreamEndCapture, "hipStreamEndCapture", Stream, Graph*)                                 \
  X(ThreadExchangeCaptureMode, "hipThreadExchangeStreamCaptureMode", int*)                   \
  X(GraphInstantiate, "hipGraphInstantiateWithFlags", GraphExec*, Graph, unsigned long long) \
  X(GraphExecUpdate, "hipGraphExecUpdate", GraphExec, Graph, void**, int*)                   \
  X(GraphLaunch, "hipGraphLaunch", GraphExec, Stream)                                        \
  X(GraphExecDestroy, "hipGraphExecDestroy", GraphExec)                                      \
  X(GraphDestroy, "hipGraphDestroy", Graph)

struct Functions {
#define TERN_HIP_DECLARE(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
  TERN_HIP_FUNCTIONS(TERN_HIP_DECLARE)
  TERN_HIP_OPTIONAL_FUNCTIONS(TERN_HIP_DECLARE)
#undef TERN_HIP_DECLARE
  const char* (*GetErrorString)(Result) = nullptr;
  // Since HIP 6, whose name says which layout of the properties it fills in: later versions keep
  // it. Null before, where the one name had several layouts.
  Result (*GetDevicePropertiesR0600)(void*, int) = nullptr;
};

// Of that layout: what is used of it, and more room than it has.
inline constexpr const char* kGetProperties = "hipGetDevicePropertiesR0600";
inline constexpr size_t kArchitectureOffset = 1160, kArchitectureBytes = 256,
                        kPropertiesBytes = 1472, kPropertiesRoom = 4096;

}  // namespace tern::backend::rocm::hip

#endif  // TERN_BACKEND_ROCM_RUNTIME_HIP_ABI_H_
