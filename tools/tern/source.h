// SPDX-License-Identifier: Apache-2.0
//
// What tern's commands read: text of the IRs, and models.
#ifndef TOOLS_TERN_SOURCE_H_
#define TOOLS_TERN_SOURCE_H_

#include <string>
#include <vector>

#include "tern/frontend/onnx/import.h"
#include "tern/ir/module.h"
#include "tern/runtime/runner.h"
#include "tern/target/target.h"

namespace tern::tools {

// What --target and --host say; this machine where there is no target.
target::Target ParseTarget(const std::string& target, const std::string& host = "");

// The module of a .tir or .onnx file; the options are for the latter. Behind the name of a .tir
// file stand instances of its templates: "gemm.tir:gemm[float16, 64]:big = gemm[float32, 128]".
ir::IRModule ReadSource(const std::string& path, const frontend::onnx::ImportOptions& options = {});
// NAME=1,3,224,224, NAME=8 and NAME=16000, as the command line has them.
frontend::onnx::ImportOptions ParseImportOptions(const std::vector<std::string>& input_shapes,
                                                 const std::vector<std::string>& dims,
                                                 bool freeze = false,
                                                 const std::vector<std::string>& bound = {});
// The same, with the shapes of NAME=file.npy where no other is given: models are compiled after
// their inputs were seen, so that all extents are known.
frontend::onnx::ImportOptions ImportOptionsFor(const std::vector<std::string>& input_shapes,
                                               const std::vector<std::string>& dims,
                                               const std::vector<std::string>& inputs);
// Scalars of the function that are not given are what its text says they are by default.
void AddDefaultArguments(const ir::IRModule& module, const std::string& function,
                         runtime::RunOptions* run);
// Whether it is compiled as a model: it has a graph `main`.
bool IsModel(const ir::IRModule& module);

}  // namespace tern::tools

#endif  // TOOLS_TERN_SOURCE_H_
