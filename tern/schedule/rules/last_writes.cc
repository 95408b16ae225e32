// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/last_writes.h"

#include "tern/ir/visitor.h"
#include "tern/schedule/new_block.h"
#include "tern/schedule/rules/scattered_rows.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;

// Fewer steps are done in order before as many kernels have begun.
constexpr int64_t kLeastSteps = 32;

const DataType kInt32 = DataType::Int(32);

// The statements in the place of a nest; null where it is something else.
Stmt Rewrite(const Nest& nest) {
  const BlockNode* block = nest.block;
  if (block->init || block->predicate) return {};
  Stmt body = WithoutLets(block);
  const auto* store = body.As<BufferStoreNode>();
  if (!store || store->predicate.get()) return {};
  std::optional<ScatteredRows> rows = FindScatteredRows(nest, store->indices);
  if (!rows || rows->step->kind == IterKind::kSpatial) return {};
  std::optional<int64_t> count = ir::AsConstInt(rows->step->extent);
  if (count && *count < kLeastSteps) return {};
  bool is_read = false, reads_index = false;
  ir::ForEachExpr(store->value, [&](const Expr& part) {
    const auto* load = part.As<ir::BufferLoadNode>();
    is_read |= load && load->buffer.same(store->buffer);
  });
  ir::ForEachExpr(rows->index, [&](const Expr& part) {
    const auto* load = part.As<ir::BufferLoadNode>();
    reads_index |= load != nullptr;
    is_read |= load && load->buffer.same(store->buffer);
  });
  if (is_read || !reads_index) return {};

  const Expr& extent = store->buffer->shape[rows->dimension];
  Buffer last = BufferNode::Make(block->name + "_last", kInt32, {extent});
  auto load = [&](const Expr& row) { return ir::BufferLoadNode::Make(last, {row}); };
  NewBlock none(block->name + "_none", block), find(block->name + "_last", block),
      write(block->name, block);
  Expr r = none.Add("r", extent, IterKind::kSpatial);
  Stmt clear = none.Finish({}, BufferStoreNode::Make(last, {r}, ir::MakeConst(kInt32, -1)));
  Expr i = find.Add("i", rows->step->extent, IterKind::kReduce), at = rows->Row(i);
  Stmt latest =
      find.Finish({}, BufferStoreNode::Make(
                          last, {at}, ir::MaxNode::Make(load(at), ir::CastNode::Make(kInt32, i))));
  ir::VarMap axes;
  for (const BlockIter& iter : block->iters)
    axes[iter.var.node()] = write.Add(AxisName(iter), iter.extent, IterKind::kSpatial);
  Expr step = axes[rows->step->var.node()];
  Stmt written = write.Finish(
      {}, IfThenElseNode::Make(load(rows->Row(step)) == ir::CastNode::Make(kInt32, step),
                               Substitute(body, axes)));
  return AllocateNode::Make(last, SeqNode::Make({clear, latest, written}));
}

}  // namespace

PrimFunc LastWrites(const PrimFunc& function) {
  if (!TensorsAreDistinct(function)) return function;
  PrimFunc result = function;
  for (const BlockNode* block : BlocksIn(function->body)) {
    StmtTree tree(result->body);
    Nest nest = NestOf(tree, block);
    if (Stmt written = nest.loops.empty() ? Stmt() : Rewrite(nest))
      result = result.WithBody(ReplaceAt(PathTo(tree, nest.loops[0]), written));
  }
  return result;
}

}  // namespace tern::schedule
