// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/split_groups.h"

#include <algorithm>
#include <map>
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

// The axes that are split, by block and number, and the dimensions, by tensor and number, each with
// the extent of its second part.
class Groups {
 public:
  explicit Groups(const PrimFunc& function) : uses(FindAxisUses(function, true)) {
    found = FindGroups() && !(axes.empty() && dims.empty()) && Follow() && MaySplit();
  }

  using Axis = std::pair<int, int>;
  using Dim = std::pair<const BufferNode*, size_t>;

  AxisUses uses;
  std::map<Axis, int64_t> axes;
  std::map<Dim, int64_t> dims;
  std::set<std::string> sharing;  // blocks that read what is shared
  bool found = false;

 private:
  // Whether what is noted is the same as before.
  template <typename Key>
  static bool Put(std::map<Key, int64_t>* parts, const Key& key, int64_t extent) {
    return parts->emplace(key, extent).first->second == extent;
  }
  static bool IsPlain(const TensorUse& use, size_t d) {
    return use.axes[d] != kNoAxis && use.quotient[d] == 1 && use.within[d] == kNoAxis;
  }
  const BlockIter& IterOf(const TensorUse& use, int axis) const {
    return uses.blocks[use.block].block->iters[axis];
  }

  // Whether each axis is divided by the same number everywhere.
  bool FindGroups() {
    for (const auto& [buffer, tensor] : uses.tensors)
      for (const TensorUse& use : tensor.uses)
        for (size_t d = 0; d < use.axes.size(); ++d) {
          if (use.axes[d] == kNoAxis || IsPlain(use, d)) continue;
          sharing.insert(uses.blocks[use.block].block->name);
          if (use.quotient[d] != 1 && !Put(&axes, {use.block, use.axes[d]}, use.quotient[d]))
            return false;
          if (use.within[d] != kNoAxis &&
              !Put(&dims, {buffer, d}, *ir::AsConstInt(IterOf(use, use.within[d]).extent)))
            return false;
        }
    return true;
  }

  // What is indexed by a split axis is split, and so is what indexes that.
  bool Follow() {
    for (size_t before = 0; before != axes.size() + dims.size();) {
      before = axes.size() + dims.size();
      for (const auto& [buffer, tensor] : uses.tensors)
        for (const TensorUse& use : tensor.uses)
          for (size_t d = 0; d < use.axes.size(); ++d) {
            auto axis = axes.find({use.block, use.axes[d]});
            if (IsPlain(use, d) && axis != axes.end() && !Put(&dims, {buffer, d}, axis->second))
              return false;
          }
      for (const auto& [dim, extent] : dims)
        for (const TensorUse& use : uses.tensors.at(dim.first).uses)
          if (IsPlain(use, dim.second) && !Put(&axes, {use.block, use.axes[dim.second]}, extent))
            return false;
    }
    return true;
  }

  bool MaySplit() const {
    for (const auto& [at, part] : axes) {
      const auto& [block, axis] = at;
      const NestedBlock& nested = uses.blocks[block];
      const BlockIter& iter = nested.block->iters[axis];
      std::optional<int64_t> extent = ir::AsConstInt(iter.extent);
      if (nested.other[axis] || nested.LoopOf(axis) == kNoAxis || !extent || *extent % part != 0 ||
          iter.kind != IterKind::kSpatial || iter.var.dtype() != DataType::Int(64))
        return false;
    }
    for (const auto& [dim, part] : dims) {
      const UsedTensor& tensor = uses.tensors.at(dim.first);
      if (tensor.fixed) return false;
      for (const TensorUse& use : tensor.uses)
        if (!Covers(use, dim.second, part, dim.first->shape[dim.second])) return false;
    }
    return true;
  }
  // Whether the index of a use runs over all of a dimension that is split.
  bool Covers(const TensorUse& use, size_t d, int64_t part, const Expr& dim) const {
    if (use.axes[d] == kNoAxis) return false;
    const Expr& extent = IterOf(use, use.axes[d]).extent;
    if (IsPlain(use, d)) return SameExtent(extent, dim);
    std::optional<int64_t> groups = ir::AsConstInt(extent);
    return use.within[d] != kNoAxis && groups &&
           (use.quotient[d] != 1 || axes.count({use.block, use.axes[d]}) == 0) &&
           ir::IsConst(dim, *groups / use.quotient[d] * part);
  }
};

class Rewrite : public StmtMutator {
 public:
  explicit Rewrite(const Groups& groups) : groups_(groups) {
    for (const auto& [at, part] : groups.axes) {
      const NestedBlock& nested = groups.uses.blocks[at.first];
      const ForNode* loop = nested.loops[nested.LoopOf(at.second)];
      loops_[loop] = Halves(loop->var, part);
      const Var& var = nested.block->iters[at.second].var;
      axes_[var.node()] = Halves(var, part);
    }
  }

  bool Changes(const Buffer& buffer) const {
    auto at = groups_.dims.lower_bound({buffer.get(), 0});
    return at != groups_.dims.end() && at->first.first == buffer.get();
  }
  // Before anything that uses it.
  Buffer Replace(const Buffer& buffer) {
    auto other = ffi::Make<ir::BufferNode>(*buffer);
    other->shape.clear();
    for (size_t d = 0; d < buffer->shape.size(); ++d) {
      auto dim = groups_.dims.find({buffer.get(), d});
      if (dim == groups_.dims.end()) {
        other->shape.push_back(buffer->shape[d]);
        continue;
      }
      for (const Expr& extent : Extents(buffer->shape[d], dim->second))
        other->shape.push_back(extent);
    }
    return new_buffers_[buffer.get()] = Buffer(other.get());
  }
  Stmt Run(const Stmt& stmt) { return Mutate(stmt); }

 private:
  // Of an axis or a loop.
  struct Pair {
    Var group, member;
    int64_t members;
  };
  using StmtMutator::Mutate;
  using StmtMutator::MutateNode;

  static Pair Halves(const Var& var, int64_t members) {
    return {Var(var.name() + "_g", var.dtype(), var->span),
            Var(var.name() + "_m", var.dtype(), var->span), members};
  }
  static std::vector<Expr> Extents(const Expr& extent, int64_t members) {
    return {Expr(*ir::AsConstInt(extent) / members), Expr(members)};
  }

  std::vector<Expr> Indices(const Buffer& buffer, const std::vector<Expr>& indices) {
    std::vector<Expr> result;
    for (size_t d = 0; d < indices.size(); ++d) {
      std::optional<GroupedIndex> grouped =
          groups_.dims.count({buffer.get(), d}) ? AsGroupedIndex(indices[d]) : std::nullopt;
      const Expr& index = grouped ? grouped->group : indices[d];
      const auto* divided = index.As<ir::FloorDivNode>();
      auto axis = axes_.find((divided ? divided->a : index).As<VarNode>());
      if (axis == axes_.end()) {
        result.push_back(Mutate(index));
      } else {
        result.push_back(axis->second.group);
        if (!divided) result.push_back(axis->second.member);
      }
      if (grouped) result.push_back(grouped->within);
    }
    return result;
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr&) override {
    return ir::BufferLoadNode::Make(MutateUse(node->buffer), Indices(node->buffer, node->indices),
                                    node->span, MutateOptional(node->predicate));
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt&) override {
    return BufferStoreNode::Make(MutateUse(node->buffer), Indices(node->buffer, node->indices),
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
    std::vector<Expr> extents = Extents(node->extent, it->second.members);
    Stmt inner = ForNode::Make(it->second.member, node->min, extents[1], ForKind::kSerial,
                               Mutate(node->body), "", node->span);
    return ForNode::Make(it->second.group, node->min, extents[0], ForKind::kSerial, inner, "",
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
      std::vector<Expr> extents = Extents(iter.extent, axis->second.members);
      const Pair& loop = LoopOf(iter);
      copy->iters.push_back({extents[0], loop.group, axis->second.group, iter.kind});
      copy->iters.push_back({extents[1], loop.member, axis->second.member, iter.kind});
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

// Whether a block is a GEMM or convolution that rules take with an axis of groups. A single output
// of a group, of contiguous channels, is a dot product as it is written.
bool IsForRules(const BlockInfo& block) {
  auto has = [&](AxisRole role) {
    return std::any_of(block.axes.begin(), block.axes.end(),
                       [&](const BlockAxis& axis) { return axis.role == role; });
  };
  if (block.kind == BlockKind::kMatmul) return has(AxisRole::kM) && has(AxisRole::kN);
  if (block.kind != BlockKind::kConvolution) return false;
  return has(AxisRole::kN) ||
         std::none_of(block.accesses.begin(), block.accesses.end(), [&](const BlockAccess& access) {
           return std::any_of(block.axes.begin(), block.axes.end(), [&](const BlockAxis& axis) {
             return axis.role == AxisRole::kK && access.indices.back().get() == axis.var.get();
           });
         });
}

std::string NoteOf(const Groups& groups) {
  std::string blocks = " (" + ffi::Join({groups.sharing.begin(), groups.sharing.end()}) + ")";
  if (groups.axes.empty())
    return "the channels of " + groups.dims.begin()->first.first->name + " are groups of " +
           std::to_string(groups.dims.begin()->second) + blocks;
  const auto& [at, members] = *groups.axes.begin();
  std::string name = groups.uses.blocks[at.first].block->iters[at.second].var.name();
  return "axis " + name + " is two axes, " + name + "_g and " + name + "_m, of " +
         std::to_string(members) + " members" + blocks;
}

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
    if (groups.sharing.count(block->name) && !IsForRules(DescribeBlock(block))) return {};
  made.note = NoteOf(groups);
  return made;
}

}  // namespace tern::schedule
