// SPDX-License-Identifier: Apache-2.0
//
// The intrinsics of the loop IR. docs/tir.md lists those for people to write; the table in
// intrinsics.cc has their types.
#ifndef TERN_TIR_INTRINSICS_H_
#define TERN_TIR_INTRINSICS_H_

#include "tern/ir/expr.h"

namespace tern::tir {

// launch_kernel("name", argument..., extent...)   runs a kernel; made by split_host_device
// call_import(env, "name", argument...)           calls through the environment; made by
//                                                 make_packed_api
// call_packed("name", argument...)                calls a function of the global registry, on hosts
// call_extern<dtype>("symbol", argument...)       calls a C function; void without a type
// address_of(A[i])                                the address of an element, which is not read
// ptr_load<dtype>(p, offset)                      the scalar at p + offset bytes
// ptr_add(p, offset)                              the pointer moved by bytes
// is_null(p)                                      whether the pointer is null
// barrier("shared"), barrier("global")            the threads of a block wait for each other
// reinterpret<dtype>(x)                           the same bits as another type of the same size
//
// All threads of a block come to the same barrier, equally often. What they wrote to shared memory
// before it is seen by all of them behind it; with "global", what they wrote to global memory too.
namespace intrinsic {
inline constexpr const char* kLaunchKernel = "launch_kernel";
inline constexpr const char* kCallImport = "call_import";
inline constexpr const char* kCallPacked = "call_packed";
inline constexpr const char* kCallExtern = "call_extern";
inline constexpr const char* kAddressOf = "address_of";
inline constexpr const char* kPtrLoad = "ptr_load";
inline constexpr const char* kPtrAdd = "ptr_add";
inline constexpr const char* kIsNull = "is_null";
inline constexpr const char* kBarrier = "barrier";
inline constexpr const char* kReinterpret = "reinterpret";
}  // namespace intrinsic

void RegisterIntrinsics();

bool IsBarrier(const ir::Expr& expr);

}  // namespace tern::tir

#endif  // TERN_TIR_INTRINSICS_H_
