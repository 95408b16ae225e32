// SPDX-License-Identifier: Apache-2.0
//
// The intrinsics of the loop IR.
#ifndef TERN_TIR_INTRINSICS_H_
#define TERN_TIR_INTRINSICS_H_

#include "tern/ir/expr.h"

namespace tern::tir {

// launch_kernel("name", argument..., extent...)   runs a kernel; made by split_host_device
// call_import(env, "name", argument...)           calls through the environment; made by
//                                                 make_packed_api
// alloc_workspace(env, type, id, bytes, alignment) memory of that device for the time of the call,
//                                                 or null; made by lower_allocations
// free_workspace(env, type, id, p)                gives it back
// ptr_load<dtype>(p, offset)                      the scalar at p + offset bytes
// ptr_add(p, offset)                              the pointer moved by bytes
// is_null(p)                                      whether the pointer is null
// is_aligned(p, bytes)                            whether the pointer is a multiple of that
// vscale()                                        the multiple of a scalable vector's lanes
// barrier("shared"), barrier("global")            the threads of a block wait for each other
//
// All threads of a block come to the same barrier, equally often. What they wrote to shared memory
// before it is seen by all of them behind it; with "global", what they wrote to global memory too.
namespace intrinsic {
inline constexpr const char* kLaunchKernel = "launch_kernel";
inline constexpr const char* kCallImport = "call_import";
inline constexpr const char* kAllocWorkspace = "alloc_workspace";
inline constexpr const char* kFreeWorkspace = "free_workspace";
inline constexpr const char* kPtrLoad = "ptr_load";
inline constexpr const char* kPtrAdd = "ptr_add";
inline constexpr const char* kIsNull = "is_null";
inline constexpr const char* kIsAligned = "is_aligned";
inline constexpr const char* kVscale = "vscale";
inline constexpr const char* kBarrier = "barrier";
}  // namespace intrinsic

void RegisterIntrinsics();

bool IsBarrier(const ir::Expr& expr);

}  // namespace tern::tir

#endif  // TERN_TIR_INTRINSICS_H_
