// SPDX-License-Identifier: Apache-2.0
//
// Calls between the functions of a module, on hosts: the intrinsics of programs of models.
//
// call_function("name", argument...)      calls a function of the same module; its tensors are
//                                         tensor_in and tensor_out
// tensor_in("dtype", p, extent...)        the memory at p as a compact tensor that the callee
//                                         reads; an argument of call_function and call_packed
// tensor_out("dtype", p, extent...)       the same, which it writes
// symbol_address("symbol", bytes)         the address of data that is linked with the code
//
// make_packed_api makes these of them:
//
// call_entry(env, "name", argument...)    calls a packed function
// tensor_view("dtype", p, offset, type, id, extent...)
//                                         a tensor that lies `offset` bytes behind p, on that
//                                         device
#ifndef TERN_TIR_MODULE_CALLS_H_
#define TERN_TIR_MODULE_CALLS_H_

#include "tern/ir/expr.h"

namespace tern::tir {

namespace intrinsic {
inline constexpr const char* kCallFunction = "call_function";
inline constexpr const char* kTensorIn = "tensor_in";
inline constexpr const char* kTensorOut = "tensor_out";
inline constexpr const char* kSymbolAddress = "symbol_address";
inline constexpr const char* kCallEntry = "call_entry";
inline constexpr const char* kTensorView = "tensor_view";
}  // namespace intrinsic

// Of tensor_view: where the extents begin among its arguments.
inline constexpr size_t kTensorViewExtents = 5;

// Whether the call is tensor_in or tensor_out.
bool IsTensorArgument(const ir::CallNode* call);

}  // namespace tern::tir

#endif  // TERN_TIR_MODULE_CALLS_H_
