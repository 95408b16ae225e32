// SPDX-License-Identifier: Apache-2.0
//
// From a compiled module to a file.
#ifndef TERN_CODEGEN_EXPORT_H_
#define TERN_CODEGEN_EXPORT_H_

#include <string>
#include <vector>

#include "tern/ffi/module.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/vm/program.h"

namespace tern::codegen {

struct ExportOptions {
  // Store the readable forms of all modules too, in files that are or have a container.
  bool keep_source = false;
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

// A model for one machine.
struct HostModel {
  ffi::Module module;
  runtime::ArtifactMeta meta;
  runtime::vm::Program program;  // whose kernels are the module's functions
};

// Writes a model, .so or .tern; for several machines, .tern. Imports and weights are the same for
// all; the weights lie behind the rest of the file, and their bytes outlive the call. Throws where
// a program is not right or lacks a weight, and where two machines are one to the runtime. Returns
// how many bytes of weights there are.
uint64_t ExportModel(std::vector<HostModel> hosts, const std::vector<runtime::Weight>& weights,
                     const std::string& path, const ExportOptions& options = {});

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_EXPORT_H_
