// SPDX-License-Identifier: Apache-2.0
//
// Linking with LLD, in this process.
#ifndef TERN_CODEGEN_LLVM_LINKER_H_
#define TERN_CODEGEN_LLVM_LINKER_H_

#include <string>
#include <vector>

namespace tern::codegen {

// The bytes of a shared object made of relocatable objects. `emulation` is the linker's name of the
// machine (HostArch). The result depends on the objects alone. Throws with the linker's words,
// and on an undefined symbol that host code may not have (undefined_symbols.h).
std::string LinkElfSharedObject(const std::vector<std::string>& objects,
                                const std::string& emulation);

// The bytes of a shared object for a device, in which nothing is undefined or bound by name. What
// nothing that it exports needs can be left out.
std::string LinkDeviceObject(const std::vector<std::string>& objects, const std::string& emulation,
                             bool drop_unused = false);

// The bytes of a WebAssembly module made of objects: it exports `symbols`, its memory and its table
// of functions, and imports what the objects declare as an import. Throws with the linker's words.
std::string LinkWasmModule(const std::vector<std::string>& objects,
                           const std::vector<std::string>& symbols);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LLVM_LINKER_H_
