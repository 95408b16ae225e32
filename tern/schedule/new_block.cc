// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/new_block.h"

namespace tern::schedule {

using namespace tern::tir;

bool UsesAxis(const Expr& expr, const BlockIter& iter) {
  return ir::UsesVar(expr, iter.var.node());
}

std::string AxisName(const BlockIter& iter) {
  const std::string& name = iter.var.name();
  return name.size() > 1 && name[0] == 'v' ? name.substr(1) : name;
}

Expr Bare(const Expr& factor) {
  const auto* cast = factor.As<ir::CastNode>();
  return cast ? Bare(cast->value) : factor;
}

Expr ReplacePart(const Expr& expr, const Expr& part, const Expr& by) {
  struct Replacer : ir::ExprMutator {
    Expr Mutate(const Expr& e) override { return e.same(part) ? by : ExprMutator::Mutate(e); }
    Expr part, by;
  } replacer;
  replacer.part = part;
  replacer.by = by;
  return replacer.Mutate(expr);
}

bool ReducesInOrder(const Nest& nest) {
  size_t last = 0;
  for (const BlockIter& iter : nest.block->iters) {
    if (iter.kind != IterKind::kReduce) continue;
    for (size_t i = 0; i < nest.loops.size(); ++i) {
      if (!ir::UsesVar(iter.binding, nest.loops[i]->var.node())) continue;
      if (i < last) return false;
      last = i;
    }
  }
  return true;
}

Expr FusedAxes::extent() const {
  Expr all = 1;
  for (const BlockIter* axis : axes) all = all * axis->extent;
  return arith::Analyzer().Simplify(all);
}

void FusedAxes::Take(const Expr& at, ir::VarMap* values) const {
  Expr rest = at;
  size_t first = 0;  // whose value is what is left
  while (first + 1 < axes.size() && ir::IsConst(axes[first]->extent, 1)) ++first;
  for (size_t i = axes.size(); i-- > 0;) {
    Expr& value = (*values)[axes[i]->var.node()];
    value = i < first    ? ir::MakeConst(axes[i]->var.dtype(), 0)
            : i == first ? rest
                         : ir::FloorMod(rest, axes[i]->extent);
    rest = ir::FloorDiv(rest, axes[i]->extent);
  }
}

Expr NewBlock::Add(const std::string& axis, const Expr& extent, IterKind kind) {
  loops_.vars.emplace_back(name_ + "_" + axis);
  loops_.extents.push_back(extent);
  Var var("v" + axis);
  iters_.push_back({extent, loops_.vars.back(), var, kind});
  return var;
}

Expr NewBlock::Add(const std::string& axis, const FusedAxes& axes, IterKind kind) {
  Expr var = Add(axis, axes.extent(), kind);
  axes.Take(var, &values);
  return var;
}

Expr NewBlock::AddRows(const std::string& axis, int64_t rows, int64_t length) {
  Expr binding;
  for (auto [suffix, extent] : {std::pair("_row", rows), std::pair("", length)}) {
    loops_.vars.emplace_back(name_ + "_" + axis + suffix);
    loops_.extents.emplace_back(extent);
    binding = binding.get() ? binding * Expr(length) + loops_.vars.back() : loops_.vars.back();
  }
  Var var("v" + axis);
  iters_.push_back({Expr(rows * length), binding, var, IterKind::kSpatial});
  return var;
}

Expr NewBlock::AddAround(const std::string& axis, const BlockIter& old, const Var& loop) {
  Var var("v" + axis);
  iters_.push_back({old.extent, loop, var, old.kind});
  values[old.var.node()] = var;
  return var;
}

Stmt NewBlock::Finish(Stmt init, Stmt body) const {
  return loops_.Around(
      tir::WithOp(BlockNode::Make(name_, iters_, std::move(init), std::move(body)), op_));
}

std::vector<size_t> DynamicBesideStatic(const std::vector<Expr>& extents) {
  std::vector<size_t> dynamic;
  for (size_t i = 0; i < extents.size(); ++i)
    if (!ir::AsConstInt(extents[i])) dynamic.push_back(i);
  return dynamic.size() < extents.size() ? dynamic : std::vector<size_t>{};
}

}  // namespace tern::schedule
