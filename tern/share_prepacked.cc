// SPDX-License-Identifier: Apache-2.0
#include "tern/share_prepacked.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tern/tir/function.h"
#include "tern/tir/text.h"
#include "tern/tir/transform/calls/split_preparation.h"

namespace tern {
namespace {

namespace vm = runtime::vm;

// Calls that read the same constants and make tensors of the same types: these may be equal.
std::vector<std::vector<size_t>> Candidates(const vm::Program& program) {
  std::map<std::string, std::vector<size_t>> by_type;
  for (size_t i = 0; i < program.prepack.size(); ++i) {
    std::string key;
    for (uint32_t index : program.prepack[i].constants) {
      const vm::Constant& constant = program.constants[index];
      key += constant.source == vm::ConstantSource::kMade ? constant.dtype.str() : constant.name;
      for (int64_t extent : constant.shape) key += " " + std::to_string(extent);
      key += ";";
    }
    by_type[key].push_back(i);
  }
  std::vector<std::vector<size_t>> candidates;
  for (auto& [key, calls] : by_type)
    if (calls.size() > 1) candidates.push_back(std::move(calls));
  return candidates;
}

tir::PrimFunc Unnamed(const ir::BaseFunc& function) {
  tir::PrimFunc prepare = tir::AsPrimFunc(function);
  return tir::PrimFunc::Make("prepare", prepare->params, prepare->body, prepare->attrs,
                             prepare->span);
}

void RemoveConstants(const std::set<uint32_t>& removed, vm::Program* program) {
  std::vector<uint32_t> number(program->constants.size());
  std::vector<vm::Constant> kept;
  for (uint32_t i = 0; i < number.size(); ++i) {
    number[i] = static_cast<uint32_t>(kept.size());
    if (!removed.contains(i)) kept.push_back(std::move(program->constants[i]));
  }
  program->constants = std::move(kept);
  for (vm::Prepack& call : program->prepack)
    for (uint32_t& index : call.constants) index = number[index];
  for (vm::Function& function : program->functions)
    for (vm::Instruction& instruction : function.code)
      if (instruction.op == vm::Opcode::kConst) instruction.index = number[instruction.index];
}

}  // namespace

void SharePrepacked(const ir::IRModule& kernels, const target::Target& target,
                    const CompileOptions& options, vm::Program* program) {
  std::vector<std::vector<size_t>> candidates = Candidates(*program);
  if (candidates.empty()) return;
  // Whether code of some is on disk makes no difference: they are scheduled for this.
  std::set<std::string> wanted;
  for (const std::vector<size_t>& calls : candidates)
    for (size_t i : calls) wanted.insert(program->prepack[i].function);
  std::vector<ir::BaseFunc> written;
  for (const auto& [name, function] : kernels->functions)
    if (wanted.contains(tir::PrepareName(name))) written.push_back(function);
  ir::IRModule split = SplitConstants(ir::IRModule::Make(written), target, options);
  std::map<uint32_t, uint32_t> same;  // by constant that is made, the first that is equal
  std::set<size_t> done;
  for (const std::vector<size_t>& calls : candidates)
    for (size_t k = 1; k < calls.size(); ++k)
      for (size_t i = 0; i < k; ++i) {
        const vm::Prepack &first = program->prepack[calls[i]], &other = program->prepack[calls[k]];
        if (done.contains(calls[i]) ||
            !tir::StructuralEqual(Unnamed(split->functions.at(first.function)),
                                  Unnamed(split->functions.at(other.function))))
          continue;
        for (size_t c = 0; c < first.constants.size(); ++c)
          if (program->constants[first.constants[c]].source == vm::ConstantSource::kMade)
            same[other.constants[c]] = first.constants[c];
        done.insert(calls[k]);
        break;
      }
  if (done.empty()) return;
  std::vector<vm::Prepack> prepack;
  for (size_t i = 0; i < program->prepack.size(); ++i)
    if (!done.contains(i)) prepack.push_back(std::move(program->prepack[i]));
  program->prepack = std::move(prepack);
  std::set<uint32_t> removed;
  for (const auto& [made, first] : same) removed.insert(made);
  for (vm::Function& function : program->functions)
    for (vm::Instruction& instruction : function.code)
      if (auto it = same.find(instruction.index);
          instruction.op == vm::Opcode::kConst && it != same.end())
        instruction.index = it->second;
  RemoveConstants(removed, program);
}

}  // namespace tern
