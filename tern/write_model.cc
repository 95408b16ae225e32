// SPDX-License-Identifier: Apache-2.0
#include "tern/write_model.h"

#include <map>

namespace tern {
namespace {

namespace vm = runtime::vm;

// The weights of all machines. Machines may read one under different shapes, and have different
// ones of one name.
class SharedWeights {
 public:
  // Renames constants of the program whose name another machine has for something else.
  void Add(const CompiledModel& model, vm::Program* program) {
    std::map<std::string, ir::Constant> by_name;
    for (const ir::Constant& constant : model.weights) by_name[constant->name] = constant;
    for (vm::Constant& constant : program->constants) {
      if (constant.source != vm::ConstantSource::kWeights) continue;
      constant.name = NameOf(
          {constant.name, constant.dtype, constant.shape, by_name.at(constant.name)->data()});
    }
  }

  const std::vector<runtime::Weight>& list() const { return weights_; }

 private:
  std::string NameOf(runtime::Weight weight) {
    std::string name = weight.name;
    for (int number = 1;; ++number) {
      auto [known, is_new] = index_.try_emplace(weight.name, weights_.size());
      if (is_new) break;
      const runtime::Weight& other = weights_[known->second];
      if (other.bytes == weight.bytes) {
        if (other.dtype == weight.dtype && other.shape == weight.shape) return other.name;
        weight.bytes = other.bytes;  // where they lie already
      }
      weight.name = name + "." + std::to_string(number);
    }
    weights_.push_back(std::move(weight));
    return weights_.back().name;
  }

  std::vector<runtime::Weight> weights_;
  std::map<std::string, size_t> index_;
};

}  // namespace

uint64_t WriteModel(const std::vector<CompiledModel>& machines, const std::string& path,
                    const codegen::ExportOptions& options) {
  SharedWeights weights;
  std::vector<codegen::HostModel> hosts;
  for (const CompiledModel& model : machines) {
    hosts.push_back({model.module, model.meta, model.program});
    weights.Add(model, &hosts.back().program);
  }
  return codegen::ExportModel(std::move(hosts), weights.list(), path, options);
}

}  // namespace tern
