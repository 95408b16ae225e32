// SPDX-License-Identifier: Apache-2.0
//
// From compiled models to a file.
#ifndef TERN_WRITE_MODEL_H_
#define TERN_WRITE_MODEL_H_

#include <string>
#include <vector>

#include "tern/codegen/export.h"
#include "tern/compile_model.h"

namespace tern {

// One model, compiled for one or several machines, as a .so or .tern file (codegen::ExportModel).
// Weights that are the same for several machines are stored once. Returns how many bytes of weights
// there are.
uint64_t WriteModel(const std::vector<CompiledModel>& machines, const std::string& path,
                    const codegen::ExportOptions& options = {});

}  // namespace tern

#endif  // TERN_WRITE_MODEL_H_
