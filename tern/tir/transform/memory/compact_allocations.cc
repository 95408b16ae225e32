// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/memory/compact_allocations.h"

#include <optional>
#include <utility>

#include "tern/arith/linear.h"
#include "tern/arith/linear_sum.h"
#include "tern/tir/analysis/access_regions.h"
#include "tern/tir/analyzed_mutator.h"

namespace tern::tir {
namespace {

using arith::AsInt64;

// Elements along a dimension that a buffer of a dynamic extent may get though it has fewer: memory
// of a static size is worth them.
constexpr int64_t kMostGrown = 256;
// The same of all of a buffer: what a host has on its stack (lower_allocations.h).
constexpr int64_t kMostStackBytes = 4096;

class Compacter : public AnalyzedMutator {
 public:
  explicit Compacter(const PrimFunc& function) : uses_(function->body) {}

 private:
  using AnalyzedMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    bool is_thread = node->for_kind == ForKind::kThread;
    bool over_blocks = is_thread && !in_block_ && node->thread.starts_with("blockIdx.");
    std::optional<Launch> launch;
    if (over_blocks) {
      // The same for all threads that share memory.
      analyzer_.BindRange(node->var, node->min, node->extent);
      launch = {node->body, analyzer_};
    } else if (is_thread && !launch_) {
      launch = {self, analyzer_};
    }
    const Launch* outer_launch = std::exchange(launch_, launch ? &*launch : launch_);
    bool outer = std::exchange(in_block_, in_block_ || (launch_ && !over_blocks));
    Stmt result = AnalyzedMutator::MutateNode(node, self);
    in_block_ = outer;
    launch_ = outer_launch;
    return result;
  }

  // Versions of a function for few keys need little memory.
  Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
    if (!arith::IsFixed(node->condition)) return MutateChildren(node, self);
    arith::Analyzer::Mark mark = analyzer_.Enter();
    analyzer_.Assume(node->condition);
    Stmt then_case = Mutate(node->then_case);
    analyzer_.Leave(mark);
    Stmt else_case = node->else_case ? Mutate(node->else_case) : Stmt();
    return IfThenElseNode::Make(Mutate(node->condition), then_case, else_case, node->span);
  }

  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    std::vector<Range> box = Accessed(node);
    if (!box.empty()) {
      auto compact = ffi::Make<BufferNode>(*node->buffer);
      std::vector<Expr> starts(box.size());  // null: not moved
      bool changed = false;
      for (size_t d = 0; d < box.size(); ++d) {
        Expr extent = OrConstant(box[d].extent);
        if (!Shrinks(node->buffer->shape[d], extent)) continue;
        compact->shape[d] = AtLeastZero(extent);
        if (!ir::IsConst(box[d].min, 0)) starts[d] = box[d].min;
        changed = true;
      }
      changed |= MakeConstant(compact.get());
      if (changed) {
        Buffer buffer(compact.get());
        new_buffers_[node->buffer.get()] = buffer;
        starts_[node->buffer.get()] = std::move(starts);
        return AllocateNode::Make(buffer, Mutate(node->body), node->span);
      }
    }
    starts_.erase(node->buffer.get());
    return MutateChildren(node, self);
  }

  // The box of all accesses, where it is sure to be inside of the buffer; empty where not.
  std::vector<Range> Accessed(const AllocateNode* node) const {
    const Buffer& buffer = node->buffer;
    if (!buffer->strides.empty() || buffer->shape.empty()) return {};
    ScopeOwner owner = OwnerOf(buffer->scope);
    bool is_shared = launch_ && owner == ScopeOwner::kBlock;
    if (launch_ && !is_shared && owner != ScopeOwner::kThread) return {};
    // Threads that share memory must agree on where it starts: on nothing but what all of them see.
    const arith::Analyzer& outside = is_shared ? launch_->analyzer : analyzer_;
    AccessRegions regions =
        FindAccessRegions(is_shared ? launch_->stmt : node->body, buffer, outside, &uses_);
    if (regions.opaque.count(buffer->data.node())) return {};
    std::vector<AccessRegion> joined;
    for (const auto* region : {regions.Reads(buffer), regions.Writes(buffer)})
      if (region) JoinRegion(*region, outside, &joined);
    if (joined.empty()) return {};
    if (!joined[0].exact)
      for (size_t d = 0; d < buffer->shape.size(); ++d) {
        // A dimension that may be longer than the buffer stays whole, unless it is known how long
        // it is, and the buffer's is not.
        Range& range = joined[0].ranges[d];
        std::optional<int64_t> known = ir::AsConstInt(range.extent);
        bool is_small = known && *known <= kMostGrown && !ir::AsConstInt(buffer->shape[d]);
        if (!is_small && !arith::ProveLessEqual(outside, range.extent, buffer->shape[d]))
          range = {Expr(0), AsInt64(buffer->shape[d])};
      }
    return joined[0].ranges;
  }

  // Or becomes constant: a dynamic extent may be known to be no more than the few accessed.
  bool Shrinks(const Expr& extent, const Expr& accessed) const {
    std::optional<int64_t> constant = ir::AsConstInt(accessed);
    bool is_dynamic = !ir::AsConstInt(extent);
    if (constant ? *constant <= 0 : !is_dynamic) return false;
    return (is_dynamic && constant && *constant <= kMostGrown) ||
           !arith::ProveLessEqual(analyzer_, extent, accessed);
  }
  // A dynamic extent that is never more than a few elements is as many: all of a tile's rows, where
  // the last tile has fewer.
  Expr OrConstant(const Expr& extent) const {
    if (ir::AsConstInt(extent)) return extent;
    int64_t most = analyzer_.Bounds(extent).hi;
    return most > 0 && most <= kMostGrown ? Expr(most) : extent;
  }
  // Memory of the host that is never large is of a constant size, so that it is on the stack.
  bool MakeConstant(BufferNode* buffer) const {
    if (launch_ || OwnerOf(buffer->scope) == ScopeOwner::kBlock) return false;
    std::vector<Expr> shape;
    int64_t bytes = buffer->dtype.bytes();
    bool dynamic = false;
    for (const Expr& extent : buffer->shape) {
      int64_t most = ir::AsConstInt(extent).value_or(1);
      while (bytes * most <= kMostStackBytes && !arith::ProveLessEqual(analyzer_, extent, most))
        most *= 2;
      bytes *= most;
      if (bytes <= 0 || bytes > kMostStackBytes) return false;
      dynamic |= !ir::AsConstInt(extent);
      shape.emplace_back(most);
    }
    if (dynamic) buffer->shape = std::move(shape);
    return dynamic;
  }
  Expr AtLeastZero(const Expr& extent) const {
    if (arith::ProveLessEqual(analyzer_, 0, extent)) return extent;
    return ir::MaxNode::Make(extent, 0);
  }

  // ---- accesses count from the box's start

  const std::vector<Expr>* StartsOf(const Buffer& buffer) const {
    auto it = starts_.find(buffer.get());
    return it == starts_.end() ? nullptr : &it->second;
  }
  std::vector<Expr> MovedIndices(const Buffer& buffer, const std::vector<Expr>& indices) {
    std::vector<Expr> result;
    const std::vector<Expr>& starts = *StartsOf(buffer);
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr index = Mutate(indices[d]);
      result.push_back(starts[d].get() ? Moved(index, starts[d]) : index);
    }
    return result;
  }
  Expr Moved(const Expr& index, const Expr& start) const {
    if (const auto* ramp = index.As<ir::RampNode>())
      return ir::RampNode::Make(Moved(ramp->base, start), AsInt64(ramp->stride), ramp->lanes,
                                index.span());
    if (index.dtype().is_scalar()) {
      if (index.dtype().is_int() && index.dtype().bits() >= 32)
        return arith::SubtractSums(analyzer_, index, start);
      return AsInt64(index) - start;
    }
    int64_t lanes = index.dtype().lanes();
    return ir::CastNode::Make(DataType::Int(64, static_cast<int>(lanes)), index, index.span()) -
           ir::BroadcastNode::Make(start, lanes);
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    if (!StartsOf(node->buffer)) return MutateChildren(node, self);
    return ir::BufferLoadNode::Make(MutateUse(node->buffer),
                                    MovedIndices(node->buffer, node->indices), node->span,
                                    MutateOptional(node->predicate));
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    if (!StartsOf(node->buffer)) return MutateChildren(node, self);
    return BufferStoreNode::Make(MutateUse(node->buffer), MovedIndices(node->buffer, node->indices),
                                 Mutate(node->value), node->span, MutateOptional(node->predicate));
  }
  Stmt MutateNode(const BlockNode* node, const Stmt&) override {
    for (const BlockIter& iter : node->iters)
      analyzer_.BindRange(iter.var, ir::MakeConst(iter.var.dtype(), 0), iter.extent);
    auto block = ffi::Make<BlockNode>(*node);
    for (auto* regions : {&block->reads, &block->writes})
      for (BufferRegion& region : *regions)
        if (const std::vector<Expr>* starts = StartsOf(region.buffer))
          for (size_t d = 0; d < starts->size(); ++d)
            if ((*starts)[d].get())
              region.ranges[d].min =
                  arith::SubtractSums(analyzer_, region.ranges[d].min, (*starts)[d]);
    return MutateChildren(block.get(), Stmt(block));
  }

  struct Launch {
    Stmt stmt;
    arith::Analyzer analyzer;  // of what is known outside
  };
  MemoryUses uses_;
  const Launch* launch_ = nullptr;
  bool in_block_ = false;  // in a loop that is not over the blocks of a launch
  std::unordered_map<const BufferNode*, std::vector<Expr>> starts_;  // of compacted buffers
};

}  // namespace

PrimFunc CompactAllocations(const PrimFunc& function) {
  return Compacter(function).MutateFunction(function);
}

}  // namespace tern::tir
