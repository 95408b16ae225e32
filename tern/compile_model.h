// SPDX-License-Identifier: Apache-2.0
//
// The compiler's entry for models: a graph becomes kernels, and a program that calls them.
#ifndef TERN_COMPILE_MODEL_H_
#define TERN_COMPILE_MODEL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tern/aot_model.h"
#include "tern/compile.h"
#include "tern/graph/lower.h"
#include "tern/runtime/vm/model.h"

namespace tern {

struct ModelOptions : CompileOptions {
  bool fuse = true;
  bool strict_math = false;  // sums in the order written, no contraction
  // "fp16", "bf16" or "mixed" (graph::Precision), or "tf32"; "": as the model is.
  std::string precision;
  std::vector<std::string> offload = {};  // libraries that claim nodes (graph/offload.h)
  // Weights are prepacked now where they do not grow by it (pack_weights.h), for a file that is
  // loaded often. Otherwise all are when the model is loaded.
  bool pack_weights = false;
  // The program as a host function of that name (aot_model.h); "": for the runtime's machine.
  std::string aot_name;
  AotWeights aot_weights = AotWeights::kArgument;
};

// All that a file of a model has.
struct CompiledModel {
  ffi::Module module;  // the host code, with device modules as imports
  runtime::ArtifactMeta meta;
  runtime::vm::Program program;
  std::vector<ir::Constant> weights;           // that the program reads
  std::vector<graph::Kernel> calls;            // of kernels, in the order of the program
  std::vector<arith::ConstBounds> dim_ranges;  // by dim of the program
  // Where the program is a host function.
  struct Aot {
    size_t num_kernels = 0;
    int64_t memory_bytes = 0;   // of tensors between the calls
    int64_t weights_bytes = 0;  // wherever they are
  };
  std::optional<Aot> aot = {};
};

// The module after the graph passes (graph::GraphPasses), for all of these targets. Throws where it
// has no graph `main`.
ir::IRModule OptimizeGraph(const ir::IRModule& module, const std::vector<target::Target>& targets,
                           const ModelOptions& options = {});
// The kernels and the program of the graph `main` of such a module.
graph::LoweredModel LowerModel(const ir::IRModule& module, const target::Target& target,
                               const ModelOptions& options = {});

CompiledModel CompileLowered(graph::LoweredModel lowered, const target::Target& target,
                             const ModelOptions& options = {});
// All of it: compiles the graph `main` of a module, as it is imported.
CompiledModel CompileModel(const ir::IRModule& module, const target::Target& target,
                           const ModelOptions& options = {});

// The model in this process. Weights stay where they are; those that `relative` has, they share.
std::shared_ptr<const runtime::vm::Model> LoadModel(
    const CompiledModel& model, int32_t device_id = 0,
    std::shared_ptr<const runtime::vm::Model> relative = {});

}  // namespace tern

#endif  // TERN_COMPILE_MODEL_H_
