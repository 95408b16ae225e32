// SPDX-License-Identifier: Apache-2.0
//
// The intrinsics of the loop IR.
#ifndef TERN_TIR_INTRINSICS_H_
#define TERN_TIR_INTRINSICS_H_

namespace tern::tir {

// launch_kernel("name", argument..., extent...)   runs a kernel; made by split_host_device
// call_import(env, "name", argument...)           calls through the environment; made by
// make_packed_api ptr_load<dtype>(p, offset)                      the scalar at p + offset bytes
// ptr_add(p, offset)                              the pointer moved by bytes
// is_null(p)                                      whether the pointer is null
namespace intrinsic {
inline constexpr const char* kLaunchKernel = "launch_kernel";
inline constexpr const char* kCallImport = "call_import";
inline constexpr const char* kPtrLoad = "ptr_load";
inline constexpr const char* kPtrAdd = "ptr_add";
inline constexpr const char* kIsNull = "is_null";
}  // namespace intrinsic

void RegisterIntrinsics();

}  // namespace tern::tir

#endif  // TERN_TIR_INTRINSICS_H_
