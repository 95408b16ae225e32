// SPDX-License-Identifier: Apache-2.0
#include "tern/specialize_model.h"

#include "tern/graph/transform/passes.h"
#include "tern/graph/versions.h"

namespace tern {

namespace vm = runtime::vm;

std::shared_ptr<vm::Specializer> MakeSpecializer(std::optional<vm::Specializer::When> when,
                                                 const ir::IRModule& module,
                                                 const target::Target& target,
                                                 const ModelOptions& options,
                                                 const std::shared_ptr<const vm::Model>& general) {
  if (!when) return nullptr;
  graph::Function main = graph::AsGraph(module->functions.at("main"));
  std::vector<std::string> names = general->program().dims;
  if (names.empty() || graph::IsVersionsOnly(main)) return nullptr;
  auto compile = [=](const std::vector<int64_t>& values) {
    std::map<std::string, int64_t> dims;
    for (size_t i = 0; i < names.size(); ++i) dims[names[i]] = values[i];
    ir::IRModule fixed = graph::WithGraph(ir::IRModule::Make({}), graph::FixDims(main, dims));
    return LoadModel(CompileModel(fixed, target, options), general->device().id, general);
  };
  return std::make_shared<vm::Specializer>(*when, names, compile);
}

}  // namespace tern
