// SPDX-License-Identifier: Apache-2.0
//
// Linking with LLD, in this process.
#ifndef TERN_CODEGEN_LLVM_LINK_ELF_H_
#define TERN_CODEGEN_LLVM_LINK_ELF_H_

#include <string>
#include <vector>

namespace tern::codegen {

// The bytes of a shared object made of relocatable objects. `emulation` is the linker's name of the
// machine (ElfMachine). The result depends on the objects alone. Throws with the linker's words,
// and on an undefined symbol that host code may not have (undefined_symbols.h).
std::string LinkElfSharedObject(const std::vector<std::string>& objects,
                                const std::string& emulation);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_LINK_ELF_H_
