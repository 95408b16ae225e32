// SPDX-License-Identifier: Apache-2.0
//
// The part of OpenCL 1.2 that the plugin uses, declared from its specification, so that no SDK is
// needed to build it. opencl_abi_test.cc compares it with the vendor's header where that is
// installed.
#ifndef TERN_BACKEND_OPENCL_RUNTIME_OPENCL_ABI_H_
#define TERN_BACKEND_OPENCL_RUNTIME_OPENCL_ABI_H_

#include <cstddef>
#include <cstdint>

namespace tern::backend::opencl::cl {

// Handles are opaque; only their pointer size crosses the boundary.
using Platform = struct PlatformHandle*;
using Device = struct DeviceHandle*;
using Context = struct ContextHandle*;
using Queue = struct QueueHandle*;
using Memory = struct MemoryHandle*;
using Program = struct ProgramHandle*;
using Kernel = struct KernelHandle*;
using Event = struct EventHandle*;

using Int = int32_t;
using UInt = uint32_t;
using Bool = uint32_t;
using Bits = uint64_t;  // every bit field

inline constexpr Int kSuccess = 0;
inline constexpr Int kDeviceNotFound = -1;
inline constexpr Int kPlatformNotFound = -1001;  // of the ICD loader
inline constexpr Bits kDeviceTypeCpu = 1 << 1;
inline constexpr Bits kDeviceTypeGpu = 1 << 2;
inline constexpr Bits kDeviceTypeAll = 0xFFFFFFFF;
inline constexpr Bits kMemReadWrite = 1 << 0;
inline constexpr Bits kQueueProfiling = 1 << 1;
inline constexpr Bool kFalse = 0, kTrue = 1;

enum DeviceInfo : UInt {
  kDeviceType = 0x1000,
  kDeviceMaxComputeUnits = 0x1002,
  kDeviceMaxWorkItemSizes = 0x1005,
  kDeviceMaxWorkGroupSize = 0x1004,
  kDeviceMaxMemAllocSize = 0x1010,
  kDeviceGlobalMemSize = 0x101F,
  kDeviceLocalMemSize = 0x1023,
  kDeviceName = 0x102B,
  kDeviceVendor = 0x102C,
  kDriverVersion = 0x102D,
  kDeviceVersion = 0x102F,
  kDeviceExtensions = 0x1030,
};
enum ProgramInfo : UInt { kProgramBinarySizes = 0x1165, kProgramBinaries = 0x1166 };
enum ProgramBuildInfo : UInt { kProgramBuildLog = 0x1183 };
enum KernelInfo : UInt { kKernelNumArgs = 0x1191 };
enum KernelWorkGroupInfo : UInt { kKernelWorkGroupSize = 0x11B0 };
enum ProfilingInfo : UInt { kProfilingCommandEnd = 0x1283 };

using Notify = void (*)(Program, void*);
using ContextNotify = void (*)(const char*, const void*, size_t, void*);

// X(name, result, parameters...)
#define TERN_OPENCL_FUNCTIONS(X)                                                                   \
  X(GetPlatformIDs, Int, UInt, Platform*, UInt*)                                                   \
  X(GetDeviceIDs, Int, Platform, Bits, UInt, Device*, UInt*)                                       \
  X(GetDeviceInfo, Int, Device, UInt, size_t, void*, size_t*)                                      \
  X(CreateContext, Context, const intptr_t*, UInt, const Device*, ContextNotify, void*, Int*)      \
  X(CreateCommandQueue, Queue, Context, Device, Bits, Int*)                                        \
  X(ReleaseCommandQueue, Int, Queue)                                                               \
  X(Finish, Int, Queue)                                                                            \
  X(CreateBuffer, Memory, Context, Bits, size_t, void*, Int*)                                      \
  X(ReleaseMemObject, Int, Memory)                                                                 \
  X(EnqueueReadBuffer, Int, Queue, Memory, Bool, size_t, size_t, void*, UInt, const Event*,        \
    Event*)                                                                                        \
  X(EnqueueWriteBuffer, Int, Queue, Memory, Bool, size_t, size_t, const void*, UInt, const Event*, \
    Event*)                                                                                        \
  X(EnqueueCopyBuffer, Int, Queue, Memory, Memory, size_t, size_t, size_t, UInt, const Event*,     \
    Event*)                                                                                        \
  X(CreateProgramWithSource, Program, Context, UInt, const char**, const size_t*, Int*)            \
  X(CreateProgramWithBinary, Program, Context, UInt, const Device*, const size_t*,                 \
    const unsigned char**, Int*, Int*)                                                             \
  X(BuildProgram, Int, Program, UInt, const Device*, const char*, Notify, void*)                   \
  X(GetProgramBuildInfo, Int, Program, Device, UInt, size_t, void*, size_t*)                       \
  X(GetProgramInfo, Int, Program, UInt, size_t, void*, size_t*)                                    \
  X(ReleaseProgram, Int, Program)                                                                  \
  X(CreateKernel, Kernel, Program, const char*, Int*)                                              \
  X(ReleaseKernel, Int, Kernel)                                                                    \
  X(GetKernelInfo, Int, Kernel, UInt, size_t, void*, size_t*)                                      \
  X(GetKernelWorkGroupInfo, Int, Kernel, Device, UInt, size_t, void*, size_t*)                     \
  X(SetKernelArg, Int, Kernel, UInt, size_t, const void*)                                          \
  X(EnqueueMarkerWithWaitList, Int, Queue, UInt, const Event*, Event*)                             \
  X(EnqueueBarrierWithWaitList, Int, Queue, UInt, const Event*, Event*)                            \
  X(Flush, Int, Queue)                                                                             \
  X(WaitForEvents, Int, UInt, const Event*)                                                        \
  X(ReleaseEvent, Int, Event)                                                                      \
  X(GetEventProfilingInfo, Int, Event, UInt, size_t, void*, size_t*)                               \
  X(EnqueueNDRangeKernel, Int, Queue, Kernel, UInt, const size_t*, const size_t*, const size_t*,   \
    UInt, const Event*, Event*)

// The driver's functions, without their prefix "cl".
struct Functions {
#define TERN_OPENCL_DECLARE(name, result, ...) result (*name)(__VA_ARGS__) = nullptr;
  TERN_OPENCL_FUNCTIONS(TERN_OPENCL_DECLARE)
#undef TERN_OPENCL_DECLARE
};

}  // namespace tern::backend::opencl::cl

#endif  // TERN_BACKEND_OPENCL_RUNTIME_OPENCL_ABI_H_
