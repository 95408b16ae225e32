// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "tern/arith/analyzer.h"
#include "tern/graph/builder.h"
#include "tern/graph/dim_ranges.h"
#include "tern/graph/transform/passes.h"
#include "tern/ir/structural.h"
#include "tern/ir/visitor.h"

namespace tern::graph {
namespace {

using arith::ConstBounds;

// The only variable of a condition, and the constants that it has; null where there are others.
const ir::VarNode* OnlyVar(const Expr& condition, std::set<int64_t>* constants) {
  std::set<const ir::VarNode*> vars;
  ir::ForEachExpr(condition, [&](const Expr& part) {
    if (const auto* var = part.As<ir::VarNode>()) vars.insert(var);
    if (std::optional<int64_t> constant = ir::AsConstInt(part)) constants->insert(*constant);
  });
  return vars.size() == 1 ? *vars.begin() : nullptr;
}

// The most that the variable can be: beyond it the condition does not hold. The bounds change at
// constants of the condition, or beside them.
int64_t MostOf(const Expr& condition, const Var& var, ConstBounds range,
               const std::set<int64_t>& constants) {
  std::set<int64_t> candidates;
  for (int64_t constant : constants)
    for (int64_t beside : {-2, -1, 0, 1})
      if (constant >= 0 && constant < range.hi && constant + beside >= range.lo &&
          constant + beside < range.hi)
        candidates.insert(constant + beside);
  for (int64_t most : candidates) {
    arith::Analyzer analyzer;
    analyzer.Bind(var, {most + 1, range.hi});
    if (ir::IsConst(analyzer.Simplify(condition), 0)) return most;
  }
  return range.hi;
}

}  // namespace

Function InferDimRanges(const Function& function) {
  DimRanges ranges = DimRangesOf(function->params, function->attrs);
  ScopedDimRanges scope(function);
  std::set<const ir::VarNode*> dims;
  for (const Value& param : function->params)
    for (const Expr& extent : param->type.shape)
      if (const auto* var = extent.As<ir::VarNode>()) dims.insert(var);
  if (dims.empty()) return function;
  std::vector<ffi::Any> reasons;
  std::vector<Expr> known;  // conditions: each layer has those of the one before
  for (const Node& node : function->nodes) {
    if (node->op->control != Control::kNone) continue;
    for (const Requirement& requirement : RequirementsOf(node)) {
      const Expr& condition = requirement.condition;
      if (std::any_of(known.begin(), known.end(),
                      [&](const Expr& one) { return ir::StructuralEqual(one, condition); }))
        continue;
      known.push_back(condition);
      std::set<int64_t> constants;
      const ir::VarNode* var = OnlyVar(condition, &constants);
      if (!var || !dims.contains(var)) continue;
      ConstBounds range = RangeOf(Var(var));
      int64_t most = MostOf(condition, Var(var), range, constants);
      if (most == range.hi) continue;
      reasons.emplace_back(requirement.what);
      ranges[var->name] = {range.lo, most};
      scope.Add(Var(var), {range.lo, most});
    }
  }
  if (reasons.empty()) return function;
  ir::Attrs attrs = function->attrs;
  attrs.insert_or_assign(attr::kDimRanges, DimRangesAttr(ranges));
  attrs.insert_or_assign(attr::kDimReasons, ffi::Any(ffi::MakeArray(std::move(reasons))));
  return Function::Make(function->name, function->params, function->nodes, function->results,
                        std::move(attrs), function->span);
}

}  // namespace tern::graph
