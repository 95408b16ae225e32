// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/hoist_thread_loops.h"

#include <array>

#include "tern/ir/structural.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

using AxisLoops = std::array<const ForNode*, kNumThreadAxes>;

// The first loop of every axis; nullopt where another one differs in its extent.
std::optional<AxisLoops> LoopsByAxis(const KernelShape& shape) {
  AxisLoops loops{};
  for (const ForNode* loop : shape.loops) {
    const ForNode*& first = loops[ThreadAxisNumber(loop->thread)];
    if (first && !ir::StructuralEqual(first->extent, loop->extent)) return {};
    if (!first) first = loop;
  }
  return loops;
}

bool IsThreadLoop(const ForNode* node) {
  return node->for_kind == ForKind::kThread && !IsVirtualThread(node);
}

// Thread loops are their bodies, at the index of the first loop of their axis.
class LoopRemover : public StmtMutator {
 public:
  explicit LoopRemover(const AxisLoops& loops) : loops_(loops) {}

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (!IsThreadLoop(node)) return MutateChildren(node, self);
    const ForNode* first = loops_[ThreadAxisNumber(node->thread)];
    if (node == first) return Mutate(node->body);
    DataType dtype = node->var.dtype();
    Expr index = first->var;
    if (index.dtype() != dtype) index = ir::CastNode::Make(dtype, index);
    return Mutate(Substitute(node->body, {{node->var.node(), index}}));
  }

  const AxisLoops& loops_;
};

class ThreadLoopHoister : public StmtMutator {
  using StmtMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (!IsThreadLoop(node)) return MutateChildren(node, self);
    KernelShape shape = FindKernelShape(node);
    // Those that are right around one another already stay first.
    size_t nested = 0;
    for (Stmt at = self; nested < shape.loops.size() && at.get() == shape.loops[nested]; ++nested)
      at = shape.loops[nested]->body;
    std::optional<AxisLoops> loops = LoopsByAxis(shape);
    if (nested == shape.loops.size() || !loops) return self;
    std::vector<const ForNode*> order;
    for (const ForNode* loop : shape.loops)
      if (loop == (*loops)[ThreadAxisNumber(loop->thread)]) order.push_back(loop);
    Stmt result = LoopRemover(*loops).Mutate(self);
    for (size_t i = order.size(); i-- > 0;)
      result = order[i]->With(order[i]->min, order[i]->extent, result);
    return result;
  }
};

}  // namespace

PrimFunc HoistThreadLoops(const PrimFunc& function) {
  return ThreadLoopHoister().MutateFunction(function);
}

}  // namespace tern::tir
