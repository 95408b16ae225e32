// SPDX-License-Identifier: Apache-2.0
//
// The header of a module's functions, for C and C++.
#ifndef TERN_CODEGEN_C_HEADER_H_
#define TERN_CODEGEN_C_HEADER_H_

#include <string>

#include "tern/codegen/linkable_module.h"
#include "tern/runtime/artifact/artifact.h"

namespace tern::codegen {

// `name` is the file's, without directory and ending; the include guard is made of it.
std::string WriteHeader(const LinkableModule& module, const runtime::ArtifactMeta& meta,
                        const std::string& name);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_C_HEADER_H_
