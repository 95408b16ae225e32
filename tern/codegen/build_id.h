// SPDX-License-Identifier: Apache-2.0
//
// Which build of a library this process runs: what it compiles may depend on every line of it.
#ifndef TERN_CODEGEN_BUILD_ID_H_
#define TERN_CODEGEN_BUILD_ID_H_

#include <string>

namespace tern::codegen {

// The build id (NT_GNU_BUILD_ID, in hex) of the loaded library or program that `code` is part of;
// "" where it was linked without one.
std::string BuildIdOf(const void* code);

// Of this library.
std::string BuildId();

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_BUILD_ID_H_
