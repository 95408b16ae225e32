// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/scattered_rows.h"

#include <algorithm>

#include "tern/arith/linear.h"

namespace tern::schedule {

using namespace tern::tir;

Expr ScatteredRows::Row(const Expr& i) const {
  Expr row = ir::Substitute(index, {{step->var.node(), i}});
  return row.dtype() == DataType::Int(64) ? row : ir::CastNode::Make(DataType::Int(64), row);
}

std::optional<ScatteredRows> FindScatteredRows(const Nest& nest, const std::vector<Expr>& indices) {
  const BlockNode* block = nest.block;
  if (!nest.around.empty() || nest.loops.size() != block->iters.size()) return {};
  ScatteredRows found;
  for (const BlockIter& iter : block->iters) {
    auto loop = std::find_if(nest.loops.begin(), nest.loops.end(), [&](const ForNode* each) {
      return each->var.get() == iter.binding.get();
    });
    if (loop == nest.loops.end() || (*loop)->for_kind != ForKind::kSerial ||
        !ir::IsConst((*loop)->min, 0) || iter.var.dtype() != DataType::Int(64))
      return {};
    bool own = std::any_of(indices.begin(), indices.end(),
                           [&](const Expr& index) { return index.get() == iter.var.get(); });
    if (!own && found.step) return {};
    if (!own) found.step = &iter;
  }
  if (!found.step) return {};
  for (size_t d = 0; d < indices.size(); ++d) {
    bool of_step = ir::UsesVar(indices[d], found.step->var.node());
    if (!of_step && !indices[d].As<VarNode>()) return {};
    if (!of_step) continue;
    bool alone = arith::IsIndexType(indices[d].dtype()) && !found.index.get();
    for (const BlockIter& iter : block->iters)
      alone &= &iter == found.step || !ir::UsesVar(indices[d], iter.var.node());
    if (!alone) return {};
    found.dimension = d;
    found.index = indices[d];
  }
  if (!found.index) return {};
  return found;
}

Stmt WithoutLets(const BlockNode* block) {
  Stmt body = block->body;
  ir::VarMap values;
  for (const auto* let = body.As<LetStmtNode>(); let; let = body.As<LetStmtNode>()) {
    values[let->var.node()] = ir::Substitute(let->value, values);
    body = let->body;
  }
  return Substitute(body, values);
}

}  // namespace tern::schedule
