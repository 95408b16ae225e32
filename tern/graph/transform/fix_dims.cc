// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/builder.h"
#include "tern/graph/dim_ranges.h"
#include "tern/graph/transform/passes.h"

namespace tern::graph {

Function FixDims(const Function& function, const std::map<std::string, int64_t>& dims) {
  ir::Attrs attrs = function->attrs;
  DimRanges ranges = DimRangesOf(function->params, attrs);
  for (const auto& [name, extent] : dims) {
    auto range = ranges.find(name);
    if (range == ranges.end()) continue;
    TERN_CHECK(range->second.lo <= extent && extent <= range->second.hi)
        << "graph " << function->name << ": " << name << " is " << range->second.lo << ".."
        << range->second.hi << ", and cannot be " << extent;
    ranges.erase(range);
  }
  attrs.erase(attr::kDimRanges);
  if (!ranges.empty()) attrs.emplace(attr::kDimRanges, DimRangesAttr(ranges));
  std::vector<Value> params;
  std::map<const ValueNode*, Value> fixed;
  for (const Value& param : function->params) {
    auto copy = ffi::Make<ValueNode>(*param);
    for (Expr& extent : copy->type.shape)
      if (const auto* var = extent.As<ir::VarNode>())
        if (auto known = dims.find(var->name); known != dims.end()) extent = Expr(known->second);
    params.emplace_back(copy);
    fixed[param.get()] = params.back();
  }
  auto now = [&](const Value& value) {
    auto found = fixed.find(value.get());
    return found == fixed.end() ? value : found->second;
  };
  std::vector<Node> nodes;
  for (const Node& node : function->nodes) {
    auto copy = ffi::Make<NodeNode>(*node);
    for (Value& input : copy->inputs) input = now(input);
    nodes.emplace_back(copy);
  }
  std::vector<Value> results;
  for (const Value& result : function->results) results.push_back(now(result));
  // What follows of it is inferred again, node by node.
  return Rewriter().Run(Function::Make(function->name, std::move(params), std::move(nodes),
                                       std::move(results), std::move(attrs), function->span));
}

}  // namespace tern::graph
