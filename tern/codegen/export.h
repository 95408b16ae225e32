// SPDX-License-Identifier: Apache-2.0
//
// From a compiled module to a file.
#ifndef TERN_CODEGEN_EXPORT_H_
#define TERN_CODEGEN_EXPORT_H_

#include <string>

#include "tern/ffi/module.h"
#include "tern/runtime/artifact.h"

namespace tern::codegen {

struct ExportOptions {
  // Store the readable forms of the imports too.
  bool keep_source = false;
};

// Writes `module`, the root with its imports, as x.so or x.tern, by the ending of `path`. `meta`
// has the target and the functions; Tern's version and the import tree are filled in here. The file
// appears whole or not at all. Throws on another ending, on a root that is no host code, and on an
// import that cannot be saved.
void Export(const ffi::Module& module, runtime::ArtifactMeta meta, const std::string& path,
            const ExportOptions& options = {});

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_EXPORT_H_
