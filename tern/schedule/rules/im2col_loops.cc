// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/im2col_loops.h"

#include <algorithm>

#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"
#include "tern/tir/transform/memory/flatten_buffers.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// The least c of the rests axis % c in an expression; 0 for none.
int64_t LeastRest(const Expr& expr, const VarNode* axis) {
  int64_t least = 0;
  ir::ForEachExpr(expr, [&](const Expr& part) {
    const auto* rest = part.As<ir::FloorModNode>();
    std::optional<int64_t> by = rest ? ir::AsConstInt(rest->b) : std::nullopt;
    if (by && rest->a.get() == axis && (least == 0 || *by < least)) least = *by;
  });
  return least;
}

// Whether neighbours of an axis are neighbours of an index, but for the ends of fused axes.
bool IsAlong(const Expr& index, const VarNode* axis) {
  bool divides = false;
  ir::ForEachExpr(index, [&](const Expr& part) {
    const auto* quotient = part.As<ir::FloorDivNode>();
    divides |= quotient && ir::UsesVar(quotient->a, axis);
  });
  return ir::UsesVar(index, axis) && !divides;
}

// The load that is copied, of a copy with or without a border.
const ir::BufferLoadNode* LoadOf(const BlockNode* block) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ir::BufferLoadNode* node) override {
      load = node;
      ++count;
    }
    const ir::BufferLoadNode* load = nullptr;
    int count = 0;
  } finder;
  finder.Visit(block->body);
  return finder.count == 1 ? finder.load : nullptr;
}

}  // namespace

int64_t InnermostFused(const Schedule& schedule, const BlockRef& operand, size_t axis) {
  const BlockNode* block = schedule.At(operand);
  const ir::BufferLoadNode* load = LoadOf(block);
  int64_t least = 0;
  for (const Expr& index : load ? load->indices : std::vector<Expr>())
    if (int64_t rest = LeastRest(index, block->iters[axis].var.node());
        rest > 0 && (least == 0 || rest < least))
      least = rest;
  return least;
}

void CopyOperand(Schedule* schedule, const BlockRef& operand, const TargetInfo& target) {
  const BlockNode* block = schedule->At(operand);
  const ir::BufferLoadNode* load = LoadOf(block);
  if (load && load->indices.empty()) load = nullptr;
  int64_t work = WorkOf(*schedule, operand), longest = 0, part = 0;
  LoopRef along;
  for (const BlockIter& iter : block->iters) {
    const auto* loop = iter.binding.As<VarNode>();
    if (!load || !loop || !IsAlong(load->indices.back(), iter.var.node())) continue;
    int64_t rest = LeastRest(load->indices.back(), iter.var.node());
    int64_t extent = rest ? rest : ir::AsConstInt(iter.extent).value_or(kUnknownExtent);
    if (extent <= longest) continue;
    longest = extent;
    part = rest;
    along = LoopRef(Var(loop));
  }
  if (!along.empty()) {
    LoopRefs order;
    for (const LoopRef& loop : NestLoops(*schedule, operand))
      if (loop != along) order.push_back(loop);
    LoopRef inner = along;
    if (part > 1) {
      Lanes split = SplitLanes(schedule, operand, along, part);
      if (!split.outer.empty()) order.push_back(split.outer);
      inner = split.inner;
    }
    order.push_back(inner);
    schedule->Reorder(order.Of(operand));
  }
  ParallelizeOuter(schedule, operand, work, target);
}

bool IsSubsampled(const Schedule& schedule, const BlockRef& block) {
  constexpr int64_t kMostStride = 8;
  const BlockNode* copy = schedule.At(block);
  const ir::BufferLoadNode* load = LoadOf(copy);
  if (!load || !copy->body.As<BufferStoreNode>() || copy->iters.empty()) return false;
  int64_t copied = 1, source = 1;
  for (const BlockIter& iter : copy->iters) copied *= ir::AsConstInt(iter.extent).value_or(0);
  for (const Expr& extent : load->buffer->shape) source *= ir::AsConstInt(extent).value_or(0);
  // How far its first two elements are apart.
  auto place = [&](double last) {
    ir::VarMap values;
    for (const BlockIter& iter : copy->iters)
      values[iter.var.node()] = ir::MakeConst(iter.var.dtype(), 0);
    const Var& axis = copy->iters.back().var;
    values[axis.node()] = ir::MakeConst(axis.dtype(), last);
    return ir::Substitute(FlatIndex(load->buffer, load->indices), values);
  };
  std::optional<int64_t> stride = ir::AsConstInt(arith::Analyzer().Simplify(place(1) - place(0)));
  // All elements, in another order, are a transposition.
  return stride && *stride > 1 && *stride <= kMostStride && copied > 0 &&
         copied * *stride < 2 * source;
}

ColumnsApart FindColumnsApart(const BlockInfo& block) {
  const BlockAccess& result = block.accesses[0];
  std::vector<const BlockAccess*> operands;
  for (const BlockAccess& access : block.accesses)
    if (!access.buffer.same(result.buffer)) operands.push_back(&access);
  if (operands.size() != 2 || result.indices.empty()) return {};
  const BlockAccess *a = operands[0], *b = operands[1];
  const Expr& last = result.indices.back();
  auto uses = [](const BlockAccess& access, const Var& var) {
    return std::any_of(access.indices.begin(), access.indices.end(),
                       [&](const Expr& index) { return ir::UsesVar(index, var.node()); });
  };
  auto n = std::find_if(block.axes.begin(), block.axes.end(),
                        [&](const BlockAxis& axis) { return axis.var.get() == last.get(); });
  if (n == block.axes.end()) return {};
  if (uses(*a, n->var)) std::swap(a, b);
  arith::Analyzer analyzer;
  for (const BlockAxis& axis : block.axes)
    analyzer.BindRange(axis.var, ir::MakeConst(axis.var.dtype(), 0), axis.extent);
  Expr place = analyzer.Simplify(FlatIndex(b->buffer, b->indices));
  struct Column {
    const BlockAxis* axis;
    int64_t stride, extent;
  };
  std::vector<Column> columns;
  for (const BlockAxis& axis : block.axes) {
    if (axis.kind != IterKind::kSpatial || !uses(*b, axis.var) || uses(*a, axis.var)) continue;
    auto linear = arith::AsLinear(place, axis.var.node());
    std::optional<int64_t> extent = ir::AsConstInt(axis.extent);
    if (!linear || !extent) return {};
    columns.push_back({&axis, linear->coefficient, *extent});
  }
  std::sort(columns.begin(), columns.end(),
            [](const Column& x, const Column& y) { return x.stride < y.stride; });
  ColumnsApart apart;
  for (const Column& column : columns) {
    if (apart.axes.empty() && column.stride == apart.contiguous)
      apart.contiguous *= column.extent;
    else
      apart.axes.push_back(column.axis->var.name());
  }
  return apart.axes.size() < columns.size() ? apart : ColumnsApart{};
}

}  // namespace tern::schedule
