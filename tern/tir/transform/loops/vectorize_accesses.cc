// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/loops/vectorize_accesses.h"

#include <algorithm>
#include <map>
#include <set>

#include "tern/arith/inline_limit.h"
#include "tern/arith/linear.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/structural.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/conjuncts.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/independent_iterations.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/loops/vectorize_loops.h"
#include "tern/tir/transform/memory/flatten_buffers.h"

namespace tern::tir {
namespace {

// How memory, by its address, must be aligned for what was made of it.
using Alignments = std::map<const VarNode*, int64_t>;

// What a body does to memory, as far as it decides what can be read early and written late.
struct BodyScan : StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitNode(const ir::BufferLoadNode* node) override {
    loaded.insert(node->buffer->data.node());
    VisitChildren(node);
  }
  void VisitNode(const BufferStoreNode* node) override {
    ++stored[node->buffer->data.node()];
    VisitChildren(node);
  }
  void VisitNode(const EvaluateNode* node) override {
    has_effects = true;
    VisitChildren(node);
  }
  void VisitNode(const AllocateNode* node) override {
    own.insert(node->buffer->data.node());
    VisitChildren(node);
  }
  std::set<const VarNode*> loaded, own;
  std::map<const VarNode*, int> stored;
  bool has_effects = false;
};

// Whether an index or a condition cannot be computed for any values of its variables.
bool MayDivideByZero(const Expr& expr) {
  bool found = false;
  ir::ForEachExpr(expr, [&](const Expr& part) {
    ir::DispatchExpr(part.get(), [&]<class T>(const T* node) {
      if constexpr (T::kKind == ExprKind::kFloorDiv || T::kKind == ExprKind::kFloorMod ||
                    T::kKind == ExprKind::kTruncDiv || T::kKind == ExprKind::kTruncMod)
        found |= ir::AsConstInt(node->b).value_or(0) == 0;
    });
  });
  return found;
}

bool IsIndexDefinition(const LetStmtNode* node) {
  return arith::IsIndexType(node->value.dtype()) && arith::IsFixed(node->value);
}

// The iterations of one loop.
class LaneMover : public StmtMutator {
 public:
  LaneMover(const ForNode* loop, int64_t lanes, const target::Target& target,
            const arith::Analyzer& analyzer, Alignments* alignments)
      : loop_(loop), lanes_(lanes), target_(target), analyzer_(analyzer), needed_(alignments) {}

  // Null where nothing is moved.
  Stmt Run() {
    scan_.Visit(loop_->body);
    if (scan_.has_effects) return {};
    if (Stmt copy = WholeCopy({}); copy.get()) return copy;
    Stmt body = Mutate(loop_->body);
    if (groups_.empty()) return {};
    std::vector<Stmt> stmts;
    for (const Group& group : groups_)
      if (!group.store) AddMoves(group, &stmts);
    for (int64_t lane = 0; lane < lanes_; ++lane)
      stmts.push_back(CopyWithFreshDefs(
          body, {{loop_->var.node(), ir::MakeConst(loop_->var.dtype(), double(lane))}}));
    for (const Group& group : groups_)
      if (group.store) AddMoves(group, &stmts);
    Stmt result = SeqNode::Make(std::move(stmts), loop_->span);
    for (const Group& group : groups_)
      result = AllocateNode::Make(group.lanes, result, loop_->span);
    return result;
  }
  // The same of an asynchronous copy that is zeros where a condition does not hold.
  Stmt RunOrZero(const Expr& condition) { return WholeCopy(condition); }

 private:
  using StmtMutator::MutateNode;

  // Neighbours in memory, and the array that holds them meanwhile.
  struct Group {
    Buffer buffer, lanes;
    std::vector<Expr> first;  // the indices of the first of them
    bool store;
    int64_t count;  // of elements: as many as iterations, or fewer, which several of them share
  };

  // Where the iterations access `count` neighbours, whose first is aligned: the indices of that
  // one. Empty otherwise.
  std::vector<Expr> FirstOf(const Buffer& buffer, const std::vector<Expr>& indices,
                            int64_t count) const {
    int64_t bytes = MoveBytes(buffer, count), sharing = lanes_ / count;
    DataType dtype = loop_->var.dtype();
    Var group("group", dtype), member("member", dtype);
    arith::Analyzer within = analyzer_;
    within.BindRange(group, ir::MakeConst(dtype, 0), ir::MakeConst(dtype, double(count)));
    within.BindRange(member, ir::MakeConst(dtype, 0), ir::MakeConst(dtype, double(sharing)));
    Expr number = group * ir::MakeConst(dtype, double(sharing)) + member;
    bool is_memory =
        buffer->scope == StorageScope::kGlobal || buffer->scope == StorageScope::kShared;
    if (!is_memory || bytes == 0 || indices.empty()) return {};
    if (!buffer->strides.empty() && !ir::IsConst(buffer->strides.back(), 1)) return {};
    std::vector<Expr> first;
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr index = ir::Substitute(indices[d], lets_);
      if (!arith::IsFixed(index) || UsesOwnVar(index)) return {};
      const VarNode* along = sharing > 1 ? group.node() : loop_->var.node();
      if (sharing > 1)
        index = within.Simplify(ir::Substitute(index, {{loop_->var.node(), number}}));
      if (sharing > 1 && ir::UsesVar(index, member.node())) return {};
      auto linear = arith::AsLinear(index, along);
      bool is_last = d + 1 == indices.size();
      if (!linear || linear->coefficient != (is_last ? 1 : 0)) return {};
      first.push_back(linear->rest);
    }
    return IsAlignedPlace(buffer, first, bytes, analyzer_) ? first : std::vector<Expr>();
  }
  // Defined in the body by what is no index.
  bool UsesOwnVar(const Expr& index) const {
    return std::any_of(own_vars_.begin(), own_vars_.end(),
                       [&](const VarNode* var) { return ir::UsesVar(index, var); });
  }

  // How many bytes each move of so many elements has; 0: there can be none.
  int64_t MoveBytes(const Buffer& buffer, int64_t count) const {
    DataType dtype = buffer->dtype;
    if (dtype.bits() % 8 != 0 && !dtype.is_bool()) return 0;
    bool narrow = dtype.is_float() && dtype.bits() == 16;  // of 8 bits its bits are moved
    const auto& stores = target_->kind->stores;
    if (narrow && !(stores && stores(target_, dtype))) return 0;
    int64_t most = target_->kind->move_bytes, bytes = count * dtype.bytes();
    if (bytes > most && bytes % most == 0) bytes = most;
    return IsMoveSize(bytes, most) && bytes > dtype.bytes() ? bytes : 0;
  }

  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    const VarNode* data = node->buffer->data.node();
    bool movable = conditions_ == 0 && !scan_.stored.count(data) && !scan_.own.count(data);
    std::vector<Expr> first;
    int64_t count = lanes_;
    for (; movable && count > 1; count /= 2) {
      first = FirstOf(node->buffer, node->indices, count);
      if (!first.empty() || count % 2 != 0) break;
    }
    if (first.empty()) return MutateChildren(node, self);
    const Buffer& lanes = FindOrAdd(node->buffer, std::move(first), count);
    int64_t per_element = lanes_ / count;
    Expr sharing = ir::MakeConst(loop_->var.dtype(), static_cast<double>(per_element));
    return ir::BufferLoadNode::Make(lanes, {ir::FloorDiv(loop_->var, sharing)}, node->span);
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    const VarNode* data = node->buffer->data.node();
    bool movable = conditions_ == 0 && scan_.stored[data] == 1 && !scan_.loaded.count(data) &&
                   !scan_.own.count(data);
    std::vector<Expr> first =
        movable ? FirstOf(node->buffer, node->indices, lanes_) : std::vector<Expr>();
    if (first.empty()) return MutateChildren(node, self);
    groups_.push_back(NewGroup(node->buffer, std::move(first), true, lanes_));
    Buffer lanes = groups_.back().lanes;
    return BufferStoreNode::Make(lanes, {loop_->var}, Mutate(node->value), node->span);
  }
  const Buffer& FindOrAdd(const Buffer& buffer, std::vector<Expr> first, int64_t count) {
    for (const Group& group : groups_)
      if (!group.store && group.buffer.same(buffer) && group.count == count &&
          std::equal(first.begin(), first.end(), group.first.begin(),
                     [](const Expr& a, const Expr& b) { return ir::StructuralEqual(a, b); }))
        return group.lanes;
    groups_.push_back(NewGroup(buffer, std::move(first), false, count));
    return groups_.back().lanes;
  }
  Group NewGroup(const Buffer& buffer, std::vector<Expr> first, bool store, int64_t count) {
    Buffer lanes = ir::BufferNode::Make(buffer->name + "_lanes", buffer->dtype, {Expr(count)}, {},
                                        StorageScope::kLocal, {}, loop_->span);
    auto aligned = ffi::Make<ir::BufferNode>(*lanes);
    aligned->alignment = MoveBytes(buffer, count);
    Need(buffer, count);
    return {buffer, Buffer(aligned.get()), std::move(first), store, count};
  }
  void Need(const Buffer& buffer, int64_t count) {
    if (buffer->alignment >= MoveBytes(buffer, count)) return;
    int64_t& bytes = (*needed_)[buffer->data.node()];
    bytes = std::max(bytes, MoveBytes(buffer, count));
  }

  // ---- What is not done in every iteration is done where it stands.

  Expr MutateNode(const ir::SelectNode* node, const Expr&) override {
    Expr condition = Mutate(node->condition);
    ++conditions_;
    Expr yes = Mutate(node->true_value), no = Mutate(node->false_value);
    --conditions_;
    return ir::SelectNode::Make(condition, yes, no, node->span);
  }
  template <class T>
  Expr MutateLogic(const T* node) {
    Expr a = Mutate(node->a);
    ++conditions_;
    Expr b = Mutate(node->b);
    --conditions_;
    return T::Make(a, b, node->span);
  }
  Expr MutateNode(const ir::AndNode* node, const Expr&) override { return MutateLogic(node); }
  Expr MutateNode(const ir::OrNode* node, const Expr&) override { return MutateLogic(node); }
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    if (!ir::AsIfThenElse(self)) return MutateChildren(node, self);
    Expr condition = Mutate(node->args[0]);
    ++conditions_;
    Expr yes = Mutate(node->args[1]), no = Mutate(node->args[2]);
    --conditions_;
    return ir::CallNode::Make(ir::kIfThenElse, {condition, yes, no}, DataType::Void(), node->span);
  }
  template <class T>
  Stmt MutateInside(const T* node, const Stmt& self) {
    ++conditions_;
    Stmt result = MutateChildren(node, self);
    --conditions_;
    return result;
  }
  Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
    return MutateInside(node, self);
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    own_vars_.push_back(node->var.node());
    return MutateInside(node, self);
  }
  Stmt MutateNode(const WhileNode* node, const Stmt& self) override {
    return MutateInside(node, self);
  }
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    Expr value = IsIndexDefinition(node) ? ir::Substitute(node->value, lets_) : Expr();
    if (value.get() && arith::MayInline(value))
      lets_[node->var.node()] = value;
    else
      own_vars_.push_back(node->var.node());
    return MutateChildren(node, self);
  }
  Expr MutateNode(const ir::LetNode* node, const Expr& self) override {
    own_vars_.push_back(node->var.node());
    return MutateChildren(node, self);
  }

  // ---- Making moves

  // D[i + lane] = S[j + lane] needs no array between. Under a condition, zeros where it does not
  // hold.
  Stmt WholeCopy(const Expr& condition) {
    const auto* store = loop_->body.As<BufferStoreNode>();
    const auto* load = store ? CopiedLoad(store) : nullptr;
    if (!load || load->buffer->data.same(store->buffer->data)) return {};
    std::vector<Expr> to = FirstOf(store->buffer, store->indices, lanes_),
                      from = FirstOf(load->buffer, load->indices, lanes_);
    if (to.empty() || from.empty()) return {};
    bool too_narrow = MoveBytes(store->buffer, lanes_) < kLeastAsyncBytes;
    if (condition.get() && (too_narrow || std::any_of(from.begin(), from.end(), MayDivideByZero)))
      return {};
    Need(store->buffer, lanes_);
    Need(load->buffer, lanes_);
    std::vector<Stmt> stmts;
    AddCopies(store->buffer, to, load->buffer, from, lanes_, &stmts,
              store->value.As<ir::CallNode>(), condition);
    return SeqNode::Make(std::move(stmts), loop_->span);
  }
  void AddMoves(const Group& group, std::vector<Stmt>* stmts) const {
    std::vector<Expr> zero{Expr(0)};
    if (group.store)
      AddCopies(group.buffer, group.first, group.lanes, zero, group.count, stmts);
    else
      AddCopies(group.lanes, zero, group.buffer, group.first, group.count, stmts);
  }
  // So many elements, as many at once as can be.
  void AddCopies(const Buffer& to, const std::vector<Expr>& to_first, const Buffer& from,
                 const std::vector<Expr>& from_first, int64_t count, std::vector<Stmt>* stmts,
                 bool async = false, const Expr& condition = {}) const {
    int64_t step = MoveBytes(to, count) / to->dtype.bytes();
    auto at = [&](std::vector<Expr> indices, int64_t lane) {
      Expr base = indices.back();
      if (lane > 0) base = base + ir::MakeConst(base.dtype(), double(lane));
      indices.back() =
          ir::RampNode::Make(analyzer_.Simplify(base), ir::MakeConst(base.dtype(), 1), step);
      return indices;
    };
    for (int64_t lane = 0; lane < count; lane += step) {
      Expr mask =
          condition.get() ? ir::BroadcastNode::Make(condition, static_cast<int>(step)) : Expr();
      Expr value = ir::BufferLoadNode::Make(from, at(from_first, lane), loop_->span, mask);
      if (async)
        value = ir::CallNode::Make(intrinsic::kAsyncCopy, {value}, DataType::Void(), loop_->span);
      stmts->push_back(BufferStoreNode::Make(to, at(to_first, lane), value, loop_->span));
    }
  }

  const ForNode* loop_;
  int64_t lanes_;
  target::Target target_;
  const arith::Analyzer& analyzer_;
  Alignments* needed_;
  BodyScan scan_;
  ir::VarMap lets_;                       // indices that the body defines
  std::vector<const VarNode*> own_vars_;  // other variables that it defines
  std::vector<Group> groups_;
  int conditions_ = 0;
};

// Whether it consists of comparisons of integers, linear in the variable of a loop.
bool IsLinearCondition(const Expr& condition, const ForNode* loop) {
  auto is_linear = [&](const Expr& side) {
    return arith::IsIndexType(side.dtype()) && arith::IsFixed(side) &&
           arith::AsLinear(side, loop->var.node());
  };
  std::vector<Expr> parts = Conjuncts(condition);
  return std::all_of(parts.begin(), parts.end(), [&](const Expr& part) {
    bool linear = false;
    ir::DispatchExpr(part.get(), [&]<class T>(const T* node) {
      if constexpr (T::kKind >= ExprKind::kLT && T::kKind <= ExprKind::kGE)
        linear = is_linear(node->a) && is_linear(node->b);
    });
    return linear;
  });
}

// A vectorized loop under a condition on its lanes: one that holds for the first and the last holds
// for all. A vector that is cut off is taken by its elements. Null where there is none such.
//
// Before:  for v in 0..4 vectorized { if i * 4 + v < n { S } }
// After:   if i * 4 + 3 < n { for v in 0..4 vectorized { S } }
//          else { for v in 0..4 { if i * 4 + v < n { S } } }
Stmt SplitTail(const ForNode* loop, int64_t lanes, const arith::Analyzer& analyzer) {
  const auto* branch = loop->body.As<IfThenElseNode>();
  if (!branch || branch->else_case.get() || !ir::UsesVar(branch->condition, loop->var.node()) ||
      !IsLinearCondition(branch->condition, loop))
    return {};
  auto at = [&](int64_t lane) {
    return ir::Substitute(branch->condition,
                          {{loop->var.node(), ir::MakeConst(loop->var.dtype(), double(lane))}});
  };
  Stmt some = ForNode::Make(loop->var, loop->min, loop->extent, ForKind::kSerial, loop->body, "",
                            loop->span);
  return IfThenElseNode::Make(analyzer.Simplify(at(0) && at(lanes - 1)),
                              loop->With(loop->min, loop->extent, branch->then_case),
                              CopyWithFreshDefs(some), branch->span);
}

// The same in all loops, for targets that have vectors, and no masks.
class TailSplitter : public AnalyzedMutator {
 private:
  using AnalyzedMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    std::optional<int64_t> lanes = ir::AsConstInt(node->extent);
    if (node->for_kind == ForKind::kVectorized && lanes && ir::IsConst(node->min, 0))
      if (Stmt split = SplitTail(node, *lanes, analyzer_)) return split;
    return AnalyzedMutator::MutateNode(node, self);
  }
};

// Accesses of a loop's body by fused indices, x // m and x % m of a tensor of m columns: the
// element x of the first row, which goes on in the others.
class FusedIndices : public StmtMutator {
 public:
  FusedIndices(const ForNode* loop, const arith::Analyzer& analyzer)
      : loop_(loop), analyzer_(analyzer) {}

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    std::vector<Expr> place = PlaceOf(node->buffer, node->indices);
    if (place.empty() || node->predicate.get()) return MutateChildren(node, self);
    return BufferStoreNode::Make(node->buffer, place, Mutate(node->value), node->span);
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    std::vector<Expr> place = PlaceOf(node->buffer, node->indices);
    if (place.empty() || node->predicate.get()) return MutateChildren(node, self);
    return ir::BufferLoadNode::Make(node->buffer, place, node->span);
  }
  // Empty where it is as it was.
  std::vector<Expr> PlaceOf(const Buffer& buffer, const std::vector<Expr>& indices) const {
    bool linear = true;
    for (const Expr& index : indices) {
      if (!arith::IsFixed(index)) return {};
      linear &= arith::AsLinear(index, loop_->var.node()).has_value();
    }
    if (linear || !buffer->strides.empty()) return {};
    Expr flat = analyzer_.Simplify(FlatIndex(buffer, indices));
    if (!arith::AsLinear(flat, loop_->var.node())) return {};
    std::vector<Expr> place(indices.size(), ir::MakeConst(flat.dtype(), 0));
    place.back() = flat;
    return place;
  }
  const ForNode* loop_;
  const arith::Analyzer& analyzer_;
};

// All vectorized loops of a function.
class VectorMover : public AnalyzedMutator {
 public:
  VectorMover(const PrimFunc& function, const target::Target& target)
      : target_(target), distinct_(TensorsAreDistinct(function)) {}

  Alignments needed;
  bool moved = false;  // anything

 private:
  using AnalyzedMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kVectorized) return MutateLoop(node, self);
    std::optional<int64_t> lanes = ir::AsConstInt(node->extent);
    // How a tail is made was for loops around.
    ir::Attrs others = node->annotations;
    others.erase(attr::kTail);
    if (!lanes || *lanes > kMostLanes || !ir::IsConst(node->min, 0) || !others.empty()) return self;
    // A condition or definition that is the same in all iterations stands around the loop.
    if (const auto* branch = node->body.As<IfThenElseNode>();
        branch && !branch->else_case.get() && !ir::UsesVar(branch->condition, node->var.node()) &&
        arith::IsFixed(branch->condition))
      return IfThenElseNode::Make(branch->condition,
                                  Mutate(node->With(node->min, node->extent, branch->then_case)),
                                  {}, branch->span);
    if (const auto* let = node->body.As<LetStmtNode>();
        let && !ir::UsesVar(let->value, node->var.node()) && arith::IsFixed(let->value))
      return Mutate(LetStmtNode::Make(let->var, let->value,
                                      node->With(node->min, node->extent, let->body), let->span));
    if (Stmt split = SplitByCondition(node, *lanes); split.get()) return split;
    if (Stmt split = SplitTail(node, *lanes, analyzer_)) return Mutate(split);
    // Indices are written out, so that they can be looked at by themselves.
    Stmt written_out = FusedIndices(node, analyzer_).Mutate(Substitute(self, lets_));
    const auto* loop = written_out.As<ForNode>();
    if (!IterationsAreIndependent(loop, distinct_) && !StoresToOwnMemory(loop->body)) return self;
    Stmt vectors = LaneMover(loop, *lanes, target_, analyzer_, &needed).Run();
    moved |= vectors.get() != nullptr;
    return vectors ? vectors : self;
  }
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    // What the host defines is a parameter of the kernel.
    if (loops_ > 0 && IsIndexDefinition(node))
      if (Expr value = ir::Substitute(node->value, lets_); arith::MayInline(value))
        lets_[node->var.node()] = value;
    return AnalyzedMutator::MutateNode(node, self);
  }
  Stmt MutateLoop(const ForNode* node, const Stmt& self) {
    ++loops_;
    Stmt result = AnalyzedMutator::MutateNode(node, self);
    --loops_;
    return result;
  }

  // A copy that has a constant where a condition does not hold, which all iterations agree on: the
  // copy, or the constant. Null where the body is something else.
  Stmt SplitByCondition(const ForNode* node, int64_t lanes) {
    const auto* store = node->body.As<BufferStoreNode>();
    if (!store || store->predicate.get()) return {};
    const auto* call = store->value.As<ir::CallNode>();
    bool is_async = call && call->name == intrinsic::kAsyncCopy;
    Expr value = is_async ? call->args[0] : store->value;
    const auto* select = value.As<ir::SelectNode>();
    if (!select || !CopiedOrConstant(value)) return {};
    arith::Analyzer inside = analyzer_;
    inside.BindRange(node->var, node->min, Expr(lanes));
    Expr condition = inside.Simplify(ir::Substitute(select->condition, lets_));
    if (ir::UsesVar(condition, node->var.node()) || !arith::IsFixed(condition)) return {};
    auto loop = [&](Expr stored) {
      return Mutate(
          node->With(node->min, node->extent,
                     BufferStoreNode::Make(store->buffer, store->indices, stored, store->span)));
    };
    Expr copied = select->true_value;
    if (is_async)
      if (Stmt copy = CopyOrZero(node, lanes, store, select)) return copy;
    if (is_async)
      copied = ir::CallNode::Make(intrinsic::kAsyncCopy, {copied}, DataType::Void(), store->span);
    return IfThenElseNode::Make(condition, loop(copied), loop(select->false_value), store->span);
  }

  // An asynchronous copy with zeros where conditions do not hold, as one masked copy. Null where it
  // is no such.
  Stmt CopyOrZero(const ForNode* node, int64_t lanes, const BufferStoreNode* store,
                  const ir::SelectNode* select) {
    arith::Analyzer inside = analyzer_;
    inside.BindRange(node->var, node->min, Expr(lanes));
    Expr condition, value;
    for (; select; select = value.As<ir::SelectNode>()) {
      Expr one = inside.Simplify(ir::Substitute(select->condition, lets_));
      if (!IsZeroBits(select->false_value) || ir::UsesVar(one, node->var.node()) ||
          !arith::IsFixed(one) || MayDivideByZero(one))
        return {};
      condition = condition ? condition && one : one;
      value = select->true_value;
    }
    Expr copy = ir::CallNode::Make(intrinsic::kAsyncCopy, {value}, DataType::Void(), store->span);
    Stmt loop = node->With(node->min, node->extent,
                           BufferStoreNode::Make(store->buffer, store->indices, copy, store->span));
    Stmt written_out = FusedIndices(node, analyzer_).Mutate(Substitute(loop, lets_));
    Stmt vectors = LaneMover(written_out.As<ForNode>(), lanes, target_, analyzer_, &needed)
                       .RunOrZero(condition);
    moved |= vectors.get() != nullptr;
    return vectors;
  }

  // Whether all stores are to memory that a thread has for itself: what is loaded from elsewhere is
  // the same before the first iteration.
  static bool StoresToOwnMemory(const Stmt& body) {
    struct : StmtVisitor {
      using StmtVisitor::VisitNode;
      void VisitNode(const BufferStoreNode* node) override {
        own &= node->buffer->scope == StorageScope::kLocal;
        VisitChildren(node);
      }
      bool own = true;
    } scan;
    scan.Visit(body);
    return scan.own;
  }

  static constexpr int64_t kMostLanes = 64;
  target::Target target_;
  bool distinct_;
  ir::VarMap lets_;
  int loops_ = 0;  // around
};

// Memory that a function allocates is aligned as needed; tensors are known to be, by other buffers
// of the same address.
class Aligner : public StmtMutator {
 public:
  explicit Aligner(const Alignments& needed) : needed_(needed) {}

  // The buffers that stand for those of tensors, to be declared.
  std::vector<Buffer> Rename(const PrimFunc& function) {
    std::vector<Buffer> buffers;
    for (const Param& param : function->params) {
      if (!param.is_tensor() || !Needs(param.buffer)) continue;
      buffers.push_back(Aligned(param.buffer));
      new_buffers_[param.buffer.get()] = buffers.back();
    }
    return buffers;
  }
  bool Needs(const Buffer& buffer) const {
    auto it = needed_.find(buffer->data.node());
    return it != needed_.end() && buffer->alignment < it->second;
  }

 private:
  Buffer Aligned(const Buffer& buffer) const {
    auto copy = ffi::Make<ir::BufferNode>(*buffer);
    copy->alignment = needed_.at(buffer->data.node());
    return Buffer(copy.get());
  }
  Buffer MutateDef(const BufferDef& buffer) override {
    if (!Needs(buffer)) return StmtMutator::MutateDef(buffer);
    return new_buffers_[buffer.get()] = Aligned(buffer);
  }
  const Alignments& needed_;
};

// A function's body, or one of its versions, which the host chooses from.
Stmt VectorizeVersions(const PrimFunc& function, const target::Target& target, const Stmt& body) {
  if (const auto* branch = body.As<IfThenElseNode>(); branch && branch->else_case.get())
    return IfThenElseNode::Make(
        branch->condition, VectorizeVersions(function, target, branch->then_case),
        VectorizeVersions(function, target, branch->else_case), branch->span);
  VectorMover mover(function, target);
  Stmt moved = mover.Mutate(body);
  if (!mover.moved) return body;

  Aligner aligner(mover.needed);
  std::vector<Buffer> tensors = aligner.Rename(function);
  moved = aligner.Mutate(moved);
  if (tensors.empty()) return moved;
  Expr condition;
  for (const Buffer& tensor : tensors) {
    moved = DeclBufferNode::Make(tensor, moved, tensor->span);
    Expr aligned =
        ir::CallNode::Make(intrinsic::kIsAligned, {tensor->data, Expr(tensor->alignment)},
                           DataType::Void(), tensor->span);
    condition = condition ? condition && aligned : aligned;
  }
  return IfThenElseNode::Make(condition, moved, CopyWithFreshDefs(body), function->span);
}

}  // namespace

PrimFunc VectorizeAccesses(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  if (it == function->attrs.end()) return function;
  target::Target target = it->second.As<target::Target>();
  if (target->is_device() && target->kind->vectors)
    return function.WithBody(TailSplitter().Mutate(function->body));
  if (target->kind->move_bytes == 0) return function;
  return function.WithBody(VectorizeVersions(function, target, function->body));
}

}  // namespace tern::tir
