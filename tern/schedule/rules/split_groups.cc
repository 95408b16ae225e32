// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/split_groups.h"

#include <set>
#include <unordered_map>
#include <utility>

#include "tern/ffi/text.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/axis_uses.h"
#include "tern/schedule/rules/block_kind.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// The axes that are split, by block and number, and the dimensions, by tensor and number.
class Groups {
 public:
  explicit Groups(const PrimFunc& function) : uses(FindAxisUses(function, true)) {
    if (!FindQuotients() || axes.empty()) return;
    Follow();
    found = MaySplit();
  }

  AxisUses uses;
  int64_t members = 0;
  std::set<std::pair<int, int>> axes;
  std::set<std::pair<const BufferNode*, size_t>> dims;
  std::set<std::string> sharing;  // blocks that read what is shared
  bool found = false;

 private:
  // Whether all have the same number of members.
  bool FindQuotients() {
    for (const auto& [buffer, tensor] : uses.tensors)
      for (const TensorUse& use : tensor.uses)
        for (size_t d = 0; d < use.axes.size(); ++d) {
          if (use.axes[d] == kNoAxis || use.quotient[d] == 1) continue;
          if (members != 0 && use.quotient[d] != members) return false;
          members = use.quotient[d];
          axes.emplace(use.block, use.axes[d]);
          sharing.insert(uses.blocks[use.block].block->name);
        }
    return true;
  }

  // What is indexed by a split axis is split, and so is what indexes that.
  void Follow() {
    for (size_t before = 0; before != axes.size();) {
      before = axes.size();
      for (const auto& [buffer, tensor] : uses.tensors)
        for (const TensorUse& use : tensor.uses)
          for (size_t d = 0; d < use.axes.size(); ++d)
            if (use.quotient[d] == 1 && axes.count({use.block, use.axes[d]}))
              dims.emplace(buffer, d);
      for (const auto& [buffer, d] : dims)
        for (const TensorUse& use : uses.tensors.at(buffer).uses)
          if (use.axes[d] != kNoAxis) axes.emplace(use.block, use.axes[d]);
    }
  }

  bool MaySplit() const {
    for (const auto& [block, axis] : axes) {
      const NestedBlock& nested = uses.blocks[block];
      const BlockIter& iter = nested.block->iters[axis];
      std::optional<int64_t> extent = ir::AsConstInt(iter.extent);
      if (nested.other[axis] || nested.LoopOf(axis) == kNoAxis || !extent ||
          *extent % members != 0 || iter.kind != IterKind::kSpatial ||
          iter.var.dtype() != DataType::Int(64))
        return false;
    }
    for (const auto& [buffer, d] : dims) {
      const UsedTensor& tensor = uses.tensors.at(buffer);
      if (tensor.fixed) return false;
      for (const TensorUse& use : tensor.uses)
        if (use.axes[d] == kNoAxis || use.quotient[d] != 1 ||
            !SameExtent(uses.blocks[use.block].block->iters[use.axes[d]].extent, buffer->shape[d]))
          return false;
    }
    return true;
  }
};

class Rewrite : public StmtMutator {
 public:
  explicit Rewrite(const Groups& groups) : groups_(groups) {
    for (const auto& [block, axis] : groups.axes) {
      const NestedBlock& nested = groups.uses.blocks[block];
      const ForNode* loop = nested.loops[nested.LoopOf(axis)];
      loops_[loop] = Halves(loop->var);
      const Var& var = nested.block->iters[axis].var;
      axes_[var.node()] = Halves(var);
    }
  }

  bool Changes(const Buffer& buffer) const {
    auto at = groups_.dims.lower_bound({buffer.get(), 0});
    return at != groups_.dims.end() && at->first == buffer.get();
  }
  // Before anything that uses it.
  Buffer Replace(const Buffer& buffer) {
    auto other = ffi::Make<ir::BufferNode>(*buffer);
    other->shape.clear();
    for (size_t d = 0; d < buffer->shape.size(); ++d) {
      if (!groups_.dims.count({buffer.get(), d})) {
        other->shape.push_back(buffer->shape[d]);
        continue;
      }
      for (const Expr& extent : Extents(buffer->shape[d])) other->shape.push_back(extent);
    }
    return new_buffers_[buffer.get()] = Buffer(other.get());
  }
  Stmt Run(const Stmt& stmt) { return Mutate(stmt); }

 private:
  using Pair = std::pair<Var, Var>;  // of groups, and of members
  using StmtMutator::Mutate;
  using StmtMutator::MutateNode;

  static Pair Halves(const Var& var) {
    return {Var(var.name() + "_g", var.dtype(), var->span),
            Var(var.name() + "_m", var.dtype(), var->span)};
  }
  std::vector<Expr> Extents(const Expr& extent) const {
    return {Expr(*ir::AsConstInt(extent) / groups_.members), Expr(groups_.members)};
  }

  std::vector<Expr> Indices(const std::vector<Expr>& indices) {
    std::vector<Expr> result;
    for (size_t d = 0; d < indices.size(); ++d) {
      const auto* divided = indices[d].As<ir::FloorDivNode>();
      auto axis = axes_.find((divided ? divided->a : indices[d]).As<VarNode>());
      if (axis == axes_.end()) {
        result.push_back(Mutate(indices[d]));
        continue;
      }
      result.push_back(axis->second.first);
      if (!divided) result.push_back(axis->second.second);
    }
    return result;
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr&) override {
    return ir::BufferLoadNode::Make(MutateUse(node->buffer), Indices(node->indices), node->span,
                                    MutateOptional(node->predicate));
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt&) override {
    return BufferStoreNode::Make(MutateUse(node->buffer), Indices(node->indices),
                                 Mutate(node->value), node->span, MutateOptional(node->predicate));
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    if (!Changes(node->buffer)) return MutateChildren(node, self);
    Buffer buffer = Replace(node->buffer);
    return AllocateNode::Make(buffer, Mutate(node->body), node->span);
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    auto it = loops_.find(node);
    if (it == loops_.end()) return MutateChildren(node, self);
    std::vector<Expr> extents = Extents(node->extent);
    Stmt inner = ForNode::Make(it->second.second, node->min, extents[1], ForKind::kSerial,
                               Mutate(node->body), "", node->span);
    return ForNode::Make(it->second.first, node->min, extents[0], ForKind::kSerial, inner, "",
                         node->span);
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    Stmt changed = MutateChildren(node, self);
    auto copy = CopyBlock(changed.As<BlockNode>());
    copy->iters.clear();
    for (size_t i = 0; i < node->iters.size(); ++i) {
      const BlockIter& iter = node->iters[i];
      auto axis = axes_.find(iter.var.node());
      if (axis == axes_.end()) {
        copy->iters.push_back(changed.As<BlockNode>()->iters[i]);
        continue;
      }
      std::vector<Expr> extents = Extents(iter.extent);
      const Pair& loop = LoopOf(iter);
      copy->iters.push_back({extents[0], loop.first, axis->second.first, iter.kind});
      copy->iters.push_back({extents[1], loop.second, axis->second.second, iter.kind});
    }
    return Stmt(copy);
  }
  const Pair& LoopOf(const BlockIter& iter) const {
    for (const auto& [loop, halves] : loops_)
      if (loop->var.get() == iter.binding.get()) return halves;
    TERN_ICHECK(false) << iter.var.name();
    __builtin_unreachable();
  }

  const Groups& groups_;
  std::unordered_map<const ForNode*, Pair> loops_;
  std::unordered_map<const VarNode*, Pair> axes_;
};

}  // namespace

std::optional<SplitGroupAxes> SplitGroups(const PrimFunc& function) {
  Groups groups(function);
  if (!groups.found) return {};
  Rewrite rewrite(groups);
  SplitGroupAxes made;
  auto split = ffi::Make<PrimFuncNode>(*function);
  for (Param& param : split->params) {
    if (!param.is_tensor() || !rewrite.Changes(param.buffer)) continue;
    param.buffer = rewrite.Replace(param.buffer);
    made.tensors.push_back(param.buffer);
  }
  split->body = rewrite.Run(function->body);
  made.function = PrimFunc(split);
  for (const BlockNode* block : BlocksIn(split->body))
    if (groups.sharing.count(block->name) && DescribeBlock(block).kind != BlockKind::kMatmul)
      return {};
  const auto& [block, axis] = *groups.axes.begin();
  std::string name = groups.uses.blocks[block].block->iters[axis].var.name();
  made.note = "axis " + name + " is two axes, " + name + "_g and " + name + "_m, of " +
              std::to_string(groups.members) + " members (" +
              ffi::Join({groups.sharing.begin(), groups.sharing.end()}) + ")";
  return made;
}

}  // namespace tern::schedule
