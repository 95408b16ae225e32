// SPDX-License-Identifier: Apache-2.0
//
// From a compiled module to a file.
#ifndef TERN_CODEGEN_EXPORT_H_
#define TERN_CODEGEN_EXPORT_H_

#include <string>
#include <vector>

#include "tern/ffi/module.h"
#include "tern/runtime/artifact.h"
#include "tern/runtime/vm/program.h"

namespace tern::codegen {

// What makes a module a model: its functions are the kernels of the program. The weights lie behind
// the rest of the file.
struct ModelContents {
  runtime::vm::Program program;
  std::vector<runtime::Weight> weights;  // of the program's constants; the bytes outlive the export
};

struct ExportOptions {
  // Store the readable forms of all modules too, in files that are or have a container.
  bool keep_source = false;
  // Not null: the file is a model, .so or .tern.
  const ModelContents* model = nullptr;
};

// Writes `module`, the root with its imports, in the format that the ending of `path` names:
// .so and .tern, which the runtime loads; .a; .tar; or one that the module itself makes
// (LinkableModule::FileFormats). Beside a .c file stands a header. docs/artifact_format.md has the
// contents. `meta` has the target and the functions; Tern's version and the import tree are filled
// in here. A file appears whole or not at all. Throws on another ending, on a root that is no host
// code, on an import that cannot be saved, and where the format cannot hold imports.
void Export(const ffi::Module& module, runtime::ArtifactMeta meta, const std::string& path,
            const ExportOptions& options = {});

// The same for several hosts, in one .tern file: the same functions for different machines, whose
// imports are the same.
void Export(const std::vector<ffi::Module>& hosts, runtime::ArtifactMeta meta,
            const std::string& path, const ExportOptions& options = {});

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_EXPORT_H_
