// SPDX-License-Identifier: Apache-2.0
//
// Instructions of machines, as LLVM's intrinsics, for kernels and tensorization:
//
//   llvm.call<dtype>("llvm.x86.tdpbssd", ...)                            has an effect; void
//   without a type llvm.call_pure<dtype>("llvm.x86.avx512.vpdpbusd.512", acc, a, b)     depends on
//   its arguments alone
//
// The machine must have the instruction (-mcpu, -mattr), or code generation fails. The interpreter
// cannot run them. No header of LLVM is needed to include this one.
#ifndef TERN_CODEGEN_LLVM_LLVM_INTRINSICS_H_
#define TERN_CODEGEN_LLVM_LLVM_INTRINSICS_H_

namespace tern::codegen {

// The namespace, for TargetKind::intrinsic_namespaces.
inline constexpr const char* kLLVMNamespace = "llvm";
inline constexpr const char* kLLVMCall = "llvm.call";
inline constexpr const char* kLLVMCallPure = "llvm.call_pure";

// Named metadata of a module with such calls.
inline constexpr const char* kCallsLLVM = "tern.calls_llvm";

// Once; every kind that uses LLVM may ask.
void RegisterLLVMIntrinsics();

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_LLVM_INTRINSICS_H_
