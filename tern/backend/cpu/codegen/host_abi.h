// SPDX-License-Identifier: Apache-2.0
//
// The part of tern/ffi/c_abi.h that compiled C uses, as C99 text for its head
// (tern/ffi/host_abi.inc). It wants <stdint.h> before it.
#ifndef TERN_BACKEND_CPU_CODEGEN_HOST_ABI_H_
#define TERN_BACKEND_CPU_CODEGEN_HOST_ABI_H_

#include <string_view>

namespace tern::backend::cpu {

extern const std::string_view kHostAbi;

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_HOST_ABI_H_
