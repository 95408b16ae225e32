// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/program_op.h"

#include "tern/ffi/json.h"
#include "tern/ir/mutator.h"
#include "tern/tir/extern_kernel.h"
#include "tern/tir/text.h"

namespace tern::graph {
namespace {

void ReplaceAll(std::string* text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text->find(what, at)) != std::string::npos; at += by.size())
    text->replace(at, what.size(), by);
}

// "$0" by the type of input 0, "$largest" by the number that the attribute says.
std::string TextOf(const Node& node) {
  std::string text = node->op->program;
  for (const AttrSpec& spec : node->op->attrs) {
    auto given = node->attrs.find(spec.name);
    ReplaceAll(&text, "$" + spec.name,
               ffi::WriteJson(given == node->attrs.end() ? spec.default_value : given->second));
  }
  for (size_t i = 0; i < node->inputs.size(); ++i)
    ReplaceAll(&text, "$" + std::to_string(i), node->inputs[i]->type.dtype.str());
  return text;
}

}  // namespace

ProgramFunction MakeProgram(const Node& node) {
  const std::string& name = node->op->name;
  for (const Value& input : node->inputs) TERN_CHECK(input) << "all inputs have to be given";
  ir::IRModule module = tir::ParseModule(name + ".tir", TextOf(node));
  ProgramFunction result{tir::AsPrimFunc(module->functions.at(name)), {}};
  for (const auto& [other, function] : module->functions)
    if (tir::AsExternKernel(function)) result.kernels.push_back(function);
  ir::VarMap extents;
  const std::vector<tir::Param>& params = result.function->params;
  for (size_t i = 0; i < params.size(); ++i) {
    const tir::Buffer& buffer = params[i].buffer;
    if (i >= node->inputs.size()) {
      TensorType type{buffer->dtype, {}};
      for (const Expr& extent : buffer->shape)
        type.shape.push_back(Simplified(ir::Substitute(extent, extents)));
      result.results.push_back(std::move(type));
      continue;
    }
    const TensorType& type = node->inputs[i]->type;
    bool fits = type.dtype == buffer->dtype && type.rank() == buffer->shape.size();
    for (size_t d = 0; fits && d < type.rank(); ++d) {
      const auto* var = buffer->shape[d].As<ir::VarNode>();
      auto known = var ? extents.find(var) : extents.end();
      if (var && known == extents.end())
        extents[var] = type.shape[d];
      else
        fits = SameExtent(type.shape[d], var ? known->second : buffer->shape[d]);
    }
    if (!fits)
      TERN_THROW(TypeError) << "input " << node->op->inputs[i] << " is " << type.str()
                            << "; expected " << buffer->dtype.str() << ShapeText(buffer->shape);
  }
  return result;
}

std::vector<tir::Tensor> ProgramResults(const ProgramFunction& program) {
  std::vector<tir::Tensor> results;
  for (const TensorType& type : program.results)
    results.push_back(tir::Input("y" + std::to_string(results.size()), type.dtype, type.shape));
  return results;
}

}  // namespace tern::graph
