// SPDX-License-Identifier: Apache-2.0
//
// Running a model, as `tern run` and `tern-run` do.
#ifndef TOOLS_RUN_MODEL_H_
#define TOOLS_RUN_MODEL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/runner.h"
#include "tern/runtime/vm/model.h"
#include "tools/session_flags.h"

namespace tern::tools {

struct ModelRunOptions {
  runtime::RunOptions run;                                   // inputs, dims, seed, repeat
  std::vector<std::pair<std::string, std::string>> outputs;  // name, file.npy to write
  std::vector<std::pair<std::string, std::string>> checks;   // name, file.npy to compare with
  double tolerance = 1e-5;
  bool profile = false;  // print a table of the calls
  std::string trace;     // or "": a file of the calls, for Perfetto
  SessionFlags session;
  // Compiles for the shapes of the run, or null. All of it is done when the run is reported.
  std::shared_ptr<runtime::vm::Specializer> specializer;
  // The same model on the host, to compare all outputs with; or null.
  std::shared_ptr<const runtime::vm::Model> reference;
  double range_tolerance = 1e-3;  // of these errors, which are parts of an output's range
  int64_t memory_before = 0;      // bytes of the process before the model was loaded, or unknown
};

// Prints what came of it; returns whether the checks hold.
bool RunModel(const runtime::Artifact& artifact, const ModelRunOptions& options);
// The same of a model in this process; `name` is what the report calls it.
bool RunModel(const std::string& name, const std::shared_ptr<const runtime::vm::Model>& model,
              const ModelRunOptions& options);

// The inputs of a model, in their order: as given, else random; null for defaults.
std::vector<runtime::Tensor> MakeModelInputs(const runtime::vm::Model& model,
                                             const runtime::RunOptions& options);

}  // namespace tern::tools

#endif  // TOOLS_RUN_MODEL_H_
