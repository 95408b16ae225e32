// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/axis_uses.h"

#include <unordered_map>
#include <utility>

#include "tern/arith/analyzer.h"
#include "tern/ir/intrinsic.h"
#include "tern/schedule/nest.h"
#include "tern/tir/analysis/preparation.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

bool SameExtent(const Expr& a, const Expr& b) {
  return a.same(b) || (a.dtype() == b.dtype() && arith::Analyzer().CanProve(a == b));
}

namespace {

// How all tensors are accessed, and what axes are used for.
class Scanner : public StmtVisitor {
 public:
  Scanner(const PrimFunc& function, bool quotients) : quotients_(quotients), tree_(function->body) {
    std::vector<std::string> constants = ConstantsOf(function);
    for (const Param& param : function->params) {
      if (!param.is_tensor()) continue;
      bool constant =
          std::find(constants.begin(), constants.end(), param.name()) != constants.end();
      Of(param.buffer).fixed |= constant;
    }
    Visit(function->body);
  }

  AxisUses uses;

 private:
  using StmtVisitor::Visit;
  using StmtVisitor::VisitDef;
  using StmtVisitor::VisitNode;

  UsedTensor& Of(const Buffer& buffer) {
    UsedTensor& tensor = uses.tensors[buffer.get()];
    if (tensor.buffer) return tensor;
    tensor.buffer = buffer;
    tensor.fixed = !buffer->strides.empty() || buffer->offset.get() || buffer->shape.empty();
    // Other names of the same memory.
    const BufferNode*& first = by_address_[buffer->data.node()];
    if (first) tensor.fixed = uses.tensors[first].fixed = true;
    if (!first) first = buffer.get();
    return tensor;
  }

  void VisitNode(const BlockNode* node) override {
    if (current_ != kNoAxis) {  // what is inside of a block is not followed
      uses.blocks[current_].other.assign(uses.blocks[current_].other.size(), true);
      int outer = std::exchange(current_, kNoAxis);
      VisitChildren(node);
      current_ = outer;
      return;
    }
    NestedBlock nested{node, NestOf(tree_, node).loops, {}, {}};
    nested.other.resize(node->iters.size());
    nested.axes.assign(nested.loops.size(), kNoAxis);
    for (size_t l = 0; l < nested.loops.size(); ++l) nested.axes[l] = AxisOf(node, nested.loops[l]);
    for (const BlockIter& iter : node->iters) Visit(iter.extent);
    uses.blocks.push_back(std::move(nested));
    current_ = static_cast<int>(uses.blocks.size()) - 1;
    if (node->predicate) Visit(node->predicate);
    if (node->init) Visit(node->init);
    Visit(node->body);
    current_ = kNoAxis;
  }

  // The axis that a loop is, all of it; kNoAxis where it is none, or more than that.
  static int AxisOf(const BlockNode* block, const ForNode* loop) {
    int axis = kNoAxis, count = 0;
    for (size_t i = 0; i < block->iters.size(); ++i) {
      const BlockIter& iter = block->iters[i];
      count += ir::UsesVar(iter.binding, loop->var.node());
      if (iter.binding.get() == loop->var.get() && SameExtent(iter.extent, loop->extent) &&
          ir::IsConst(loop->min, 0))
        axis = static_cast<int>(i);
    }
    return count == 1 ? axis : kNoAxis;
  }

  int AxisAt(const Expr& index) const {
    if (current_ == kNoAxis) return kNoAxis;
    const auto& iters = uses.blocks[current_].block->iters;
    for (size_t i = 0; i < iters.size(); ++i)
      if (iters[i].var.get() == index.get()) return static_cast<int>(i);
    return kNoAxis;
  }
  void VisitNode(const VarNode* node) override {
    if (current_ == kNoAxis) return;
    const auto& iters = uses.blocks[current_].block->iters;
    for (size_t i = 0; i < iters.size(); ++i)
      if (iters[i].var.node() == node) uses.blocks[current_].other[i] = true;
  }

  // The groups of an index, and the axis inside of them; kNoAxis where it has none.
  std::pair<Expr, int> SplitIndex(const Expr& index) const {
    std::optional<GroupedIndex> grouped = AsGroupedIndex(index);
    int within = grouped ? AxisAt(grouped->within) : kNoAxis;
    bool whole = within != kNoAxis &&
                 ir::IsConst(uses.blocks[current_].block->iters[within].extent, grouped->size);
    return whole ? std::pair(grouped->group, within) : std::pair(index, kNoAxis);
  }
  void Note(const Buffer& buffer, const std::vector<Expr>& indices, bool stores) {
    TensorUse use{current_, {}, {}, {}, {}, stores};
    for (const Expr& index : indices) {
      auto [group, within] = quotients_ ? SplitIndex(index) : std::pair(index, kNoAxis);
      const auto* divided = quotients_ ? group.As<ir::FloorDivNode>() : nullptr;
      int64_t by = divided ? ir::AsConstInt(divided->b).value_or(0) : 1;
      use.axes.push_back(by > 0 ? AxisAt(divided ? divided->a : group) : kNoAxis);
      use.zero.push_back(ir::IsConst(index, 0));
      use.quotient.push_back(by);
      use.within.push_back(use.axes.back() == kNoAxis ? kNoAxis : within);
      if (use.axes.back() == kNoAxis) Visit(index);
    }
    Of(buffer).uses.push_back(std::move(use));
  }
  void VisitNode(const ir::BufferLoadNode* node) override {
    Note(node->buffer, node->indices, false);
    if (node->predicate) Visit(node->predicate);
  }
  void VisitNode(const BufferStoreNode* node) override {
    Note(node->buffer, node->indices, true);
    if (node->predicate) Visit(node->predicate);
    Visit(node->value);
  }
  void VisitNode(const ir::CallNode* node) override {
    for (const Expr& arg : node->args)
      if (const auto* load = arg.As<ir::BufferLoadNode>();
          load && (node->name == intrinsic::kAddressOf || !ir::FindIntrinsic(node->name)->pure))
        Of(load->buffer).fixed = true;
    VisitChildren(node);
  }
  void VisitNode(const AllocateNode* node) override {
    Of(node->buffer);
    VisitChildren(node);
  }
  // In other words than a load or store.
  void VisitUse(const Buffer& buffer) override { Of(buffer).fixed = true; }

  bool quotients_;
  StmtTree tree_;
  int current_ = kNoAxis;
  std::unordered_map<const VarNode*, const BufferNode*> by_address_;
};

}  // namespace

std::optional<GroupedIndex> AsGroupedIndex(const Expr& index) {
  const auto* sum = index.As<ir::AddNode>();
  const auto* groups = sum ? sum->a.As<ir::MulNode>() : nullptr;
  std::optional<int64_t> size = groups ? ir::AsConstInt(groups->b) : std::nullopt;
  if (!size || *size < 1) return {};
  return GroupedIndex{groups->a, sum->b, *size};
}

AxisUses FindAxisUses(const PrimFunc& function, bool quotients) {
  return std::move(Scanner(function, quotients).uses);
}

}  // namespace tern::schedule
