// SPDX-License-Identifier: Apache-2.0
//
// What makes the functions of a shared object callable for hosts of the TVM-FFI ABI: ffi_host.c, in
// the two forms that the target kinds link.
#ifndef TERN_BACKEND_CPU_CODEGEN_FFI_HOST_H_
#define TERN_BACKEND_CPU_CODEGEN_FFI_HOST_H_

#include <string>
#include <string_view>
#include <vector>

namespace tern::backend::cpu {

// The prefix of the symbols that such hosts look for.
inline constexpr const char* kFfiSymbolPrefix = "__tvm_ffi_";
// int tern_ffi_enter(TernEntry entry, const TernAny* args, int32_t num_args, TernAny* result)
inline constexpr const char* kFfiEnter = "tern_ffi_enter";

extern const std::string_view kFfiHostC;     // C99
extern const std::string_view kFfiHostLLVM;  // LLVM IR for any 64-bit ELF machine

// A C99 file with the entries of the functions.
std::string WriteFfiHostC(const std::vector<std::string>& functions);

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_FFI_HOST_H_
