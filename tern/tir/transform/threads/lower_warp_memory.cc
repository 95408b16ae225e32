// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/lower_warp_memory.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "tern/arith/analyzer.h"
#include "tern/arith/inline_limit.h"
#include "tern/arith/integer_system.h"
#include "tern/arith/linear_sum.h"
#include "tern/ir/diagnostic.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/analysis/warp_size.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

using arith::IntegerSystem;

// How the elements are spread over the lanes.
struct Layout {
  bool in_blocks;
  int64_t lanes, slots;  // `slots` elements in each lane

  Expr LaneOf(const Expr& element) const {
    return in_blocks ? ir::FloorDiv(element, slots) : ir::FloorMod(element, lanes);
  }
  Expr SlotOf(const Expr& element) const {
    return in_blocks ? ir::FloorMod(element, slots) : ir::FloorDiv(element, lanes);
  }
};

// What is known of the variables at a place in a kernel.
class KernelFacts {
 public:
  KernelFacts(const ForNode* kernel, int64_t warp_size) : warp_size_(warp_size) {
    for (const ForNode* loop : FindKernelShape(kernel).loops) {
      int axis = ThreadAxisNumber(loop->thread);
      extents_[axis] = arith::Analyzer().Simplify(loop->extent);
    }
  }

  // The thread's lane, in terms of the thread loops around; null where they do not say it.
  Expr Lane() const {
    Expr lane = 0;
    int64_t step = 1;
    // Axes behind a whole number of warps do not count.
    for (int axis = 0; axis < kNumThreadAxesOfBlock && step % warp_size_ != 0; ++axis) {
      std::optional<int64_t> extent =
          extents_[axis] ? ir::AsConstInt(extents_[axis]) : std::nullopt;
      if (!extents_[axis] || (extent && *extent == 1)) continue;
      if (!axes_[axis]) return {};
      lane = lane + axes_[axis] * Expr(step);
      if (!extent) return HasAxesBehind(axis) ? Expr() : InWarp(lane);
      step *= *extent;
    }
    return InWarp(lane);
  }

  Expr InWarp(const Expr& thread) const { return Simplify(ir::FloorMod(thread, warp_size_)); }
  bool HasAxesBehind(int axis) const {
    for (int i = axis + 1; i < kNumThreadAxesOfBlock; ++i)
      if (extents_[i].get() && !ir::IsConst(extents_[i], 1)) return true;
    return false;
  }

  Expr Simplify(const Expr& expr) const {
    arith::Analyzer analyzer;
    for (const auto& [var, range] : ranges_) analyzer.BindRange(Var(var), range.min, range.extent);
    return analyzer.Simplify(expr);
  }

  // Definitions are inlined, and lane_index() is what the loops say. What is the same for all
  // threads may be left as it is: a count of steps, of which more is known by its name.
  enum class Inline { kAll, kDiffering };
  Expr Resolve(const Expr& expr, Inline what = Inline::kAll) const {
    struct Resolver : ir::ExprMutator {
      Resolver(const KernelFacts* facts, const std::unordered_map<const VarNode*, Expr>& values)
          : facts(facts), values(values) {}
      using ExprMutator::MutateNode;
      Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
        if (node->name != intrinsic::kLaneIndex) return MutateChildren(node, self);
        Expr lane = facts->Lane();
        return lane ? lane : self;
      }
      Expr MutateNode(const VarNode* node, const Expr& self) override {
        auto it = values.find(node);
        return it == values.end() ? self : it->second;
      }
      const KernelFacts* facts;
      const std::unordered_map<const VarNode*, Expr>& values;
    };
    return Resolver(this, what == Inline::kAll ? values_ : differing_).Mutate(expr);
  }

  void Define(const ForNode* loop) {
    if (loop->for_kind == ForKind::kThread && !IsVirtualThread(loop)) {
      int axis = ThreadAxisNumber(loop->thread);
      Expr index = loop->var;
      if (index.dtype() != DataType::Int(64)) index = ir::CastNode::Make(DataType::Int(64), index);
      axes_[axis] = index;
    }
    ranges_[loop->var.node()] = {Resolve(loop->min), Resolve(loop->extent)};
  }
  void Define(const Var& var, const Expr& value) {
    Expr resolved = Resolve(value);
    bool is_read = false;  // it stays as it was read, whatever is written later
    ir::ForEachExpr(resolved, [&](const Expr& e) {
      const auto* call = e.As<ir::CallNode>();
      is_read |= e.As<ir::BufferLoadNode>() || (call && IsWarpOperation(call));
    });
    if (is_read || (!arith::MayInline(resolved) && Differs(resolved)))
      differ_.insert(var.get());
    else if (arith::MayInline(resolved))
      values_[var.node()] = resolved;
    if (values_.count(var.node()) && Differs(resolved))
      differing_[var.node()] = Resolve(value, Inline::kDiffering);
  }

  // Whether two resolved expressions have the same value for sure.
  bool AreEqual(const Expr& a, const Expr& b) const {
    if (ir::IsConst(Simplify(a - b), 0)) return true;
    for (bool less : {true, false}) {
      IntegerSystem system([this](const VarNode* var) -> std::optional<IntegerSystem::Range> {
        auto it = ranges_.find(var);
        return it == ranges_.end() ? std::nullopt : std::optional(it->second);
      });
      less ? system.AddLess(a, b) : system.AddLess(b, a);
      if (!system.IsInfeasible()) return false;
    }
    return true;
  }

  // Whether it may differ between the threads of a block; of a warp.
  bool Differs(const Expr& expr) const { return Differs(Resolve(expr), kNumThreadAxesOfBlock); }
  bool DiffersInWarp(const Expr& expr) const {
    int axes = 0;  // that make up the lane
    for (int64_t step = 1; axes < kNumThreadAxesOfBlock && step % warp_size_ != 0; ++axes)
      if (std::optional<int64_t> extent = extents_[axes] ? ir::AsConstInt(extents_[axes]) : 1)
        step *= *extent;
    return Differs(Simplify(Resolve(expr)), axes);
  }

 private:
  // The axes that count are the first ones.
  bool Differs(const Expr& resolved, int axes) const {
    bool differs = false;
    ir::ForEachExpr(resolved, [&](const Expr& e) {
      const auto* call = e.As<ir::CallNode>();
      differs |= differ_.count(e.get()) || e.As<ir::BufferLoadNode>() ||
                 (call && (IsWarpOperation(call) || call->name == intrinsic::kLaneIndex));
      for (int axis = 0; axis < axes; ++axis) {
        const Expr& index = axes_[axis];
        if (!index) continue;
        const auto* cast = index.As<ir::CastNode>();
        differs |= e.get() == (cast ? cast->value : index).get();
      }
    });
    return differs;
  }

  int64_t warp_size_;
  std::array<Expr, kNumThreadAxes> extents_;  // of the launch; null: not bound
  std::array<Expr, kNumThreadAxes> axes_;     // the indices, where a loop gives them
  std::unordered_map<const VarNode*, Expr> values_, differing_;  // of definitions
  std::unordered_set<const ir::Node*> differ_;  // variables that are not in values_
  std::unordered_map<const VarNode*, IntegerSystem::Range> ranges_;
};

class KernelLowerer : public StmtMutator {
 public:
  KernelLowerer(const ForNode* kernel, int64_t warp_size)
      : facts_(kernel, warp_size), warp_size_(warp_size) {}
  using StmtMutator::Mutate;

 private:
  using StmtMutator::MutateNode;

  struct Lowered {
    Buffer local;
    Layout layout;
    std::optional<size_t> own;  // the dimension that is the lane, in every access
    std::vector<Expr> Without(std::vector<Expr> indices) const {
      indices.erase(indices.begin() + static_cast<std::ptrdiff_t>(*own));
      return indices;
    }
  };

  [[noreturn]] static void Refuse(const Span& span, const Buffer& buffer, const std::string& why) {
    TERN_THROW(ValueError) << ir::At(span) << buffer->name
                           << " is memory of a warp, which is spread over its lanes: " << why;
  }

  // The number of the element in row-major order.
  static Expr ElementOf(const Buffer& buffer, const std::vector<Expr>& indices) {
    Expr element = 0;
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr index = indices[d].dtype() == DataType::Int(64)
                       ? indices[d]
                       : ir::CastNode::Make(DataType::Int(64), indices[d]);
      element = d == 0 ? index : element * buffer->shape[d] + index;
    }
    return element;
  }

  // Follows what is known through the memory's scope.
  struct FactScan : StmtVisitor {
    FactScan(KernelFacts facts, const Buffer& buffer) : facts(std::move(facts)), buffer(buffer) {}
    using StmtVisitor::VisitNode;
    void VisitNode(const ForNode* node) override {
      facts.Define(node);
      VisitChildren(node);
    }
    void VisitNode(const LetStmtNode* node) override {
      facts.Define(node->var, node->value);
      VisitChildren(node);
    }
    void VisitNode(const BlockNode* node) override {
      for (const BlockIter& iter : node->iters) facts.Define(iter.var, iter.binding);
      VisitChildren(node);
    }
    void VisitNode(const DeclBufferNode* node) override {
      if (node->buffer->data.same(buffer->data))
        Refuse(node->span, buffer, "it cannot be seen as another buffer");
      VisitChildren(node);
    }
    KernelFacts facts;
    const Buffer& buffer;
  };

  // ---- a slice for each lane: where one index is the lane in every access; or the last one is in
  // every store, and numbers the lanes

  struct SliceScan : FactScan {
    SliceScan(KernelFacts facts, const Buffer& buffer)
        : FactScan(std::move(facts), buffer),
          is_lane(buffer->shape.size(), true),
          is_stored(buffer->shape.size(), true) {}
    using FactScan::VisitNode;
    void VisitNode(const ir::BufferLoadNode* node) override {
      if (node->buffer.same(buffer)) Note(node->indices, &is_lane);
      VisitChildren(node);
    }
    void VisitNode(const BufferStoreNode* node) override {
      if (node->buffer.same(buffer)) {
        Note(node->indices, &is_lane);
        Note(node->indices, &is_stored);
      }
      VisitChildren(node);
    }
    void Note(const std::vector<Expr>& indices, std::vector<bool>* of) {
      for (size_t d = 0; d < indices.size(); ++d)
        if ((*of)[d]) (*of)[d] = IsLane(facts, indices[d]);
    }
    std::vector<bool> is_lane, is_stored;  // by dimension; of stores
  };
  static bool IsLane(const KernelFacts& facts, const Expr& index) {
    Expr lane = facts.Lane();
    if (!lane.get() || !index.dtype().is_scalar()) return false;
    Expr number = arith::AsInt64(index);
    using Inline = KernelFacts::Inline;
    return facts.AreEqual(facts.Resolve(number), lane) ||
           facts.AreEqual(facts.Resolve(number, Inline::kDiffering), lane);
  }

  // Null where there is no such dimension.
  Buffer SliceOf(const AllocateNode* node, std::optional<size_t>* own) const {
    const Buffer& buffer = node->buffer;
    SliceScan scan(facts_, buffer);
    scan.Visit(node->body);
    auto found = std::find(scan.is_lane.begin(), scan.is_lane.end(), true);
    *own = found - scan.is_lane.begin();
    bool has_slices = found != scan.is_lane.end();
    if (!has_slices && buffer->shape.size() > 1) {
      *own = buffer->shape.size() - 1;
      has_slices = scan.is_stored.back() && ir::IsConst(buffer->shape.back(), warp_size_);
    }
    if (!has_slices || !buffer->strides.empty()) return {};
    auto slice = ffi::Make<ir::BufferNode>(*buffer);
    slice->shape = Lowered{{}, {}, *own}.Without(buffer->shape);
    slice->scope = StorageScope::kLocal;
    return Buffer(slice.get());
  }

  // ---- the layout: where every store is to an element of the lane's own

  struct StoreScan : FactScan {
    StoreScan(KernelFacts facts, const Buffer& buffer, Layout layout)
        : FactScan(std::move(facts), buffer), layout(layout) {}
    using FactScan::VisitNode;
    void VisitNode(const BufferStoreNode* node) override {
      if (!node->buffer.same(buffer)) return;
      bool is_own =
          node->value.dtype().is_scalar() && IsOwn(facts, layout, node->buffer, node->indices);
      if (!is_own && !foreign) foreign = &node->span;
    }
    Layout layout;
    const Span* foreign = nullptr;  // the first store to another lane's element
  };

  static bool IsOwn(const KernelFacts& facts, const Layout& layout, const Buffer& buffer,
                    const std::vector<Expr>& indices) {
    Expr lane = facts.Lane(), element = facts.Resolve(ElementOf(buffer, indices));
    return lane.get() && facts.AreEqual(layout.LaneOf(element), lane);
  }

  Layout ChooseLayout(const AllocateNode* node) const {
    const Buffer& buffer = node->buffer;
    int64_t elements = 1;
    for (const Expr& extent : buffer->shape) {
      std::optional<int64_t> value = ir::AsConstInt(extent);
      if (!value) Refuse(node->span, buffer, "its extents must be constant");
      elements *= *value;
    }
    if (!buffer->strides.empty()) Refuse(node->span, buffer, "it cannot have strides");
    int64_t slots = std::max<int64_t>((elements + warp_size_ - 1) / warp_size_, 1);
    const Span* foreign = nullptr;
    for (bool in_blocks : {false, true}) {
      Layout layout{in_blocks, warp_size_, slots};
      StoreScan scan(facts_, buffer, layout);
      scan.Visit(node->body);
      if (!scan.foreign) return layout;
      if (!foreign) foreign = scan.foreign;
    }
    Refuse(*foreign, buffer,
           "it is not proven that each lane writes its own elements here, those whose number is "
           "the lane modulo " +
               std::to_string(warp_size_) + ", or " + std::to_string(slots) + " in a row");
  }

  // ---- lowering

  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    if (OwnerOf(node->buffer->scope) != ScopeOwner::kWarp) return MutateChildren(node, self);
    const Span& span = node->span;
    std::optional<size_t> own;
    if (Buffer slice = SliceOf(node, &own)) {
      lowered_[node->buffer.get()] = {slice, {}, own};
      return AllocateNode::Make(slice, Mutate(node->body), span);
    }
    Layout layout = ChooseLayout(node);
    Buffer local =
        ir::BufferNode::Make(node->buffer->name, node->buffer->dtype, {Expr(layout.slots)}, {},
                             StorageScope::kLocal, {}, node->buffer->span);
    lowered_[node->buffer.get()] = {local, layout, {}};
    // Every lane takes part in a shuffle, also one whose element nobody wants.
    Var slot("slot");
    Stmt clear = ForNode::Make(
        slot, 0, layout.slots, ForKind::kSerial,
        BufferStoreNode::Make(local, {slot}, ir::MakeConst(local->dtype, 0), span), "", span);
    return AllocateNode::Make(local, SeqNode::Make({clear, Mutate(node->body)}, span), span);
  }

  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    auto it = lowered_.find(node->buffer.get());
    if (it == lowered_.end()) return MutateChildren(node, self);
    const auto& [local, layout, own_dimension] = it->second;
    if (own_dimension)
      return BufferStoreNode::Make(local, it->second.Without(Mutated(node->indices)),
                                   Mutate(node->value), node->span,
                                   MutateOptional(node->predicate));
    Expr slot = Slot(layout, MutatedElement(node->buffer, node->indices));
    return BufferStoreNode::Make(local, {slot}, Mutate(node->value), node->span);
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    auto it = lowered_.find(node->buffer.get());
    if (it == lowered_.end()) return MutateChildren(node, self);
    const auto& [local, layout, own_dimension] = it->second;
    if (own_dimension) {
      std::vector<Expr> slice = it->second.Without(Mutated(node->indices));
      Expr own =
          ir::BufferLoadNode::Make(local, slice, node->span, MutateOptional(node->predicate));
      const Expr& lane = node->indices[*own_dimension];
      if (IsLane(facts_, lane)) return own;
      CheckShuffle(node, slice, 0);
      return ir::CallNode::Make(intrinsic::kWarpShuffle, {own, Mutate(lane)}, DataType::Void(),
                                node->span);
    }
    Expr element = MutatedElement(node->buffer, node->indices);
    if (!node->dtype.is_scalar()) Refuse(node->span, node->buffer, "it is read by scalars only");
    Expr slot = Slot(layout, element);
    Expr own = ir::BufferLoadNode::Make(local, {slot}, node->span);
    if (IsOwn(facts_, layout, node->buffer, node->indices)) return own;
    CheckShuffle(node, {slot}, layout.slots);
    Expr lane = facts_.Simplify(layout.LaneOf(element));
    return ir::CallNode::Make(intrinsic::kWarpShuffle, {own, lane}, DataType::Void(), node->span);
  }
  // That all lanes read the same place of another lane's elements.
  void CheckShuffle(const ir::BufferLoadNode* node, const std::vector<Expr>& place,
                    int64_t slots) const {
    if (divergent_)
      Refuse(node->span, node->buffer,
             "this reads elements of other lanes, but not all of them come here");
    // Threads of one warp have the same index of a warp.
    for (const Expr& index : place)
      if (facts_.DiffersInWarp(index))
        Refuse(node->span, node->buffer,
               std::string(
                   "the lanes read elements here that lie at different places in their lanes") +
                   (slots > 0 ? ", " + std::to_string(slots) + " to each" : ""));
  }
  std::vector<Expr> Mutated(const std::vector<Expr>& indices) {
    std::vector<Expr> mutated;
    for (const Expr& index : indices) mutated.push_back(Mutate(index));
    return mutated;
  }
  Expr MutatedElement(const Buffer& buffer, const std::vector<Expr>& indices) {
    return ElementOf(buffer, Mutated(indices));
  }
  // With one element in each lane it is at 0: indices are in bounds.
  Expr Slot(const Layout& layout, const Expr& element) const {
    return layout.slots == 1 ? Expr(0) : facts_.Simplify(layout.SlotOf(element));
  }

  template <class F>
  Stmt Controlled(const std::vector<Expr>& by, F&& mutate) {
    bool outer = divergent_;
    for (const Expr& expr : by) divergent_ |= facts_.Differs(expr);
    Stmt result = mutate();
    divergent_ = outer;
    return result;
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    facts_.Define(node);
    if (node->for_kind == ForKind::kThread) return MutateChildren(node, self);
    return Controlled({node->min, node->extent}, [&] { return MutateChildren(node, self); });
  }
  Stmt MutateNode(const WhileNode* node, const Stmt& self) override {
    return Controlled({node->condition}, [&] { return MutateChildren(node, self); });
  }
  Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
    Expr condition = Mutate(node->condition);
    return Controlled({node->condition}, [&] {
      Stmt then_case = Mutate(node->then_case);
      Stmt else_case = node->else_case ? Mutate(node->else_case) : Stmt();
      bool same = condition.same(node->condition) && then_case.same(node->then_case) &&
                  else_case.same(node->else_case);
      return same ? self : IfThenElseNode::Make(condition, then_case, else_case, node->span);
    });
  }
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    facts_.Define(node->var, node->value);
    return MutateChildren(node, self);
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    std::vector<Expr> by;
    for (const BlockIter& iter : node->iters) facts_.Define(iter.var, iter.binding);
    if (node->predicate) by.push_back(node->predicate);
    return Controlled(by, [&] { return MutateChildren(node, self); });
  }

  KernelFacts facts_;
  int64_t warp_size_;
  std::unordered_map<const BufferNode*, Lowered> lowered_;
  bool divergent_ = false;  // not all threads may come here
};

class WarpMemoryLowerer : public StmtMutator {
 public:
  explicit WarpMemoryLowerer(int64_t warp_size) : warp_size_(warp_size) {}

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || IsVirtualThread(node))
      return MutateChildren(node, self);
    return KernelLowerer(node, warp_size_).Mutate(self);
  }
  int64_t warp_size_;
};

}  // namespace

PrimFunc LowerWarpMemory(const PrimFunc& function) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const AllocateNode* node) override {
      found |= OwnerOf(node->buffer->scope) == ScopeOwner::kWarp;
      VisitChildren(node);
    }
    bool found = false;
  } finder;
  finder.Visit(function->body);
  if (!finder.found) return function;

  auto target = function->attrs.find(attr::kTarget);
  if (target != function->attrs.end() && target::WarpSize(target->second.As<target::Target>()) == 0)
    return function;
  return WarpMemoryLowerer(WarpSizeOf(function)).MutateFunction(function);
}

}  // namespace tern::tir
