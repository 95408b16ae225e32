// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/loops/partition_loops.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_set>

#include "tern/arith/fold.h"
#include "tern/arith/inline_limit.h"
#include "tern/arith/linear.h"
#include "tern/arith/linear_sum.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/structural.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/group_intrinsics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/loops/vectorize_loops.h"

namespace tern::tir {
namespace {

constexpr int kMaxNodes = 1000;
// Of loops in which threads meet, as in matrix instructions, each of which takes as long as many
// others.
constexpr int kMaxNodesOfMeeting = 8000;
// The last tile of a loop has a body for each number of iterations up to here.
constexpr int64_t kMaxTile = 8;

Expr Const(DataType dtype, int64_t value) { return ir::IntImmNode::Make(dtype, value); }

// a - b, with a constant as a sum, which simplification regroups.
Expr Minus(const Expr& a, const Expr& b) {
  std::optional<int64_t> constant = ir::AsConstInt(b);
  if (constant && *constant > std::numeric_limits<int32_t>::min())
    return a + Const(a.dtype(), -*constant);
  return a - b;
}

// A comparison is `index < left`: of an unrolled loop inside, whose iterations are a tile, with how
// many iterations there are from the tile's start on, which depends on the partitioned loop.
struct TileTail {
  Var index;
  int64_t extent = 0;
  Expr left;
};

// A comparison that surely holds from `first` on, or before `end`.
struct Limit {
  const ir::ExprNode* comparison;
  Expr first, end;        // one of them is null
  Expr holds;             // where threads meet: a condition on which it does, with neither of them
  bool is_exact = false;  // it fails everywhere else
  // It masks a vector (IsCheapMask), and fails in all lanes from here on. Null where it does not.
  Expr all_masked;
  bool is_masked() const { return static_cast<bool>(all_masked); }
  std::optional<TileTail> tail;
};

// Whether threads may have other values of it, whatever its arguments are: of memory of their own,
// and of calls that do something.
bool IsOfOneThread(const Expr& expr) {
  if (const auto* load = expr.As<ir::BufferLoadNode>()) {
    ScopeOwner owner = OwnerOf(load->buffer->scope);
    return owner == ScopeOwner::kThread || owner == ScopeOwner::kWarp;
  }
  const auto* call = expr.As<ir::CallNode>();
  const ir::Intrinsic* intrinsic = call ? ir::FindIntrinsic(call->name) : nullptr;
  return call && !(intrinsic && intrinsic->pure);
}

// The threads of a block in scope with what else differs among them, and indices that are computed
// of their variables.
struct Threads {
  std::unordered_set<const VarNode*> vars;
  ir::VarMap lets;
};

// Whether threads meet in a step of the loop, not in one of a loop inside: groups of warps multiply
// matrices there, or lanes of a warp exchange values.
bool ThreadsMeet(const Stmt& stmt) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ForNode* node) override {
      if (node->for_kind == ForKind::kUnrolled) VisitChildren(node);
    }
    void VisitNode(const ir::CallNode* node) override {
      found |=
          IsWarpGroupOperation(node) || (IsWarpOperation(node) && !IsWarpMatrixOperation(node));
      VisitChildren(node);
    }
    bool found = false;
  } finder;
  finder.Visit(stmt);
  return finder.found;
}

bool HasSerialLoop(const Stmt& stmt) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ForNode* node) override {
      found |= node->for_kind == ForKind::kSerial;
      VisitChildren(node);
    }
    bool found = false;
  } finder;
  finder.Visit(stmt);
  return finder.found;
}

// Whether nothing but divisions by constants might fault, which do not.
bool DividesByConstants(const Expr& expr) {
  bool divides = true;
  ir::ForEachExpr(expr, [&](const Expr& e) {
    divides &= ir::DispatchExpr(e.get(), [](auto* node) {
      using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
      if constexpr (T::kKind >= ExprKind::kTruncDiv && T::kKind <= ExprKind::kFloorMod)
        return ir::AsConstInt(node->b).value_or(0) > 0;
      else
        return T::kKind != ExprKind::kCall && T::kKind != ExprKind::kBufferLoad;
    });
  });
  return divides;
}

// The comparisons in the conditions of a loop's body that bound its variable.
class LimitFinder : public StmtVisitor {
 public:
  // `is_masked`: whether a loop's vectors are masked.
  using IsMasked = std::function<bool(const ForNode*)>;
  LimitFinder(const ForNode* loop, const arith::Analyzer& analyzer, const Threads& threads,
              IsMasked is_masked)
      : loop_(loop),
        analyzer_(analyzer),
        threads_(threads),
        is_masked_(std::move(is_masked)),
        is_uniform_(!threads.vars.empty() && ThreadsMeet(loop->body)),
        max_nodes_(is_uniform_ ? kMaxNodesOfMeeting : kMaxNodes) {
    Visit(loop->body);
    std::erase_if(limits_, [&](const Limit& limit) { return spoiled_.count(limit.comparison); });
    // Masks cost nothing beside a loop, and less than a second one.
    uses_masks_ = has_serial_loop_;
    for (const Limit& limit : limits_) uses_masks_ &= limit.is_masked() || limit.is_exact;
    for (Limit& limit : limits_) {
      if (!uses_masks_ || !limit.is_masked()) continue;
      limit.end = limit.all_masked;
      limit.is_exact = true;
      limit.tail.reset();
    }
  }

  const std::vector<Limit>& limits() const { return limits_; }
  // Vectors stay masked inside of the limits too.
  bool uses_masks() const { return uses_masks_; }
  bool is_uniform() const { return is_uniform_; }
  bool can_partition() const { return !is_special_ && nodes_ <= max_nodes_; }

 private:
  using StmtVisitor::Visit;
  using StmtVisitor::VisitNode;

  // What is too large to be copied need not be looked at.
  void Visit(const Expr& expr) override {
    if (++nodes_ <= max_nodes_) StmtVisitor::Visit(expr);
  }
  void Visit(const Stmt& stmt) override {
    if (++nodes_ <= max_nodes_) StmtVisitor::Visit(stmt);
  }

  // ---- what is defined inside of the loop
  void VisitNode(const LetStmtNode* node) override { VisitLet(node); }
  void VisitNode(const ir::LetNode* node) override { VisitLet(node); }
  template <class T>
  void VisitLet(const T* node) {
    inner_.insert(node->var.node());
    analyzer_.Bind(node->var, analyzer_.Bounds(node->value));
    if (arith::IsIndexType(node->var.dtype()) && arith::IsFixed(node->value))
      if (Expr value = ir::Substitute(node->value, lets_); arith::MayInline(value))
        lets_[node->var.node()] = value;
    if constexpr (std::is_same_v<T, LetStmtNode>)
      if (node->value.dtype() == DataType::Bool()) {
        bool outer = std::exchange(in_registers_, is_uniform_ && StoresInRegisters(node->body));
        AddCondition(node->value);
        in_registers_ = outer;
      }
    VisitChildren(node);
  }
  void VisitNode(const ForNode* node) override {
    inner_.insert(node->var.node());
    std::optional<int64_t> extent = ir::AsConstInt(node->extent);
    if (node->for_kind == ForKind::kUnrolled && ir::IsConst(node->min, 0) && extent)
      unrolled_[node->var.node()] = *extent;
    is_special_ |= node->for_kind == ForKind::kThread;
    analyzer_.BindRange(node->var, node->min, node->extent);
    bool is_serial = node->for_kind == ForKind::kSerial;
    has_serial_loop_ |= is_serial;
    if (is_serial) serial_.push_back(node);
    const VarNode* around = masked_lane_;
    if (is_masked_(node)) masked_lane_ = node->var.node();
    VisitChildren(node);
    masked_lane_ = around;
    if (is_serial) serial_.pop_back();
  }
  void VisitNode(const AllocateNode* node) override {
    is_special_ |= IsSharedScope(node->buffer->scope);
    VisitChildren(node);
  }
  void VisitNode(const EvaluateNode*) override { is_special_ |= !is_uniform_; }
  void VisitNode(const BlockNode*) override { is_special_ = true; }

  // ---- conditions
  // Where threads meet, those of what a thread computes in registers: copies stay as they are.
  static bool IsOfThread(const BufferStoreNode* store) {
    return OwnerOf(store->buffer->scope) == ScopeOwner::kThread;
  }
  static bool StoresInRegisters(const Stmt& stmt) {
    struct Finder : StmtVisitor {
      using StmtVisitor::VisitNode;
      void VisitNode(const BufferStoreNode* node) override { all &= IsOfThread(node); }
      bool all = true;
    } finder;
    finder.Visit(stmt);
    return finder.all;
  }
  void VisitNode(const BufferStoreNode* node) override {
    bool outer = std::exchange(in_registers_, IsOfThread(node));
    VisitChildren(node);
    in_registers_ = outer;
  }
  void VisitNode(const IfThenElseNode* node) override {
    AddCondition(node->condition);
    VisitChildren(node);
  }
  void VisitNode(const ir::SelectNode* node) override {
    bool outer = std::exchange(in_select_, true);
    AddCondition(node->condition);
    in_select_ = outer;
    VisitChildren(node);
  }
  void VisitNode(const ir::CallNode* node) override {
    if (node->name == ir::kIfThenElse) AddCondition(node->args[0]);
    is_special_ |= !is_uniform_ && IsWarpOperation(node) && !IsWarpMatrixOperation(node);
    VisitChildren(node);
  }
  static bool IsFalse(const Expr& condition) {
    const auto* both = condition.As<ir::AndNode>();
    return both ? IsFalse(both->a) || IsFalse(both->b) : ir::IsConst(condition, 0);
  }
  void AddCondition(const Expr& condition) {
    if (IsFalse(condition) || (is_uniform_ && !in_registers_)) return;
    if (const auto* both = condition.As<ir::AndNode>()) {
      AddCondition(both->a);
      AddCondition(both->b);
    } else if (const auto* less = condition.As<ir::LTNode>()) {
      AddLimit(condition, less->a, less->b, true);
    } else if (const auto* at_most = condition.As<ir::LENode>()) {
      AddLimit(condition, at_most->a, at_most->b, false);
    } else if (const auto* greater = condition.As<ir::GTNode>()) {
      AddLimit(condition, greater->b, greater->a, true);
    } else if (const auto* at_least = condition.As<ir::GENode>()) {
      AddLimit(condition, at_least->b, at_least->a, false);
    }
  }

  // a < b, or a <= b. A node may stand in several places, where variables have other ranges: it
  // counts if all of them give a limit.
  void AddLimit(const Expr& comparison, const Expr& a, const Expr& b, bool strict) {
    std::optional<Limit> limit = FindLimit(a, b, strict);
    if (limit) {
      if (IsCheapMask(ir::Substitute(comparison, lets_)))
        if (std::optional<Limit> any = FindLimit(a, b, strict, Inner::kGreatest))
          limit->all_masked = any->end;
      limit->comparison = comparison.get();
      limits_.push_back(*limit);
    } else {
      spoiled_.insert(comparison.get());
    }
  }

  // Whether vectors under a condition cost as much as others. In serial loops inside the mask is
  // the same in all iterations, and what is masked is a load, or stores beside another loop: a K
  // loop whose accumulators are masked would wait for each store.
  bool IsCheapMask(const Expr& condition) const {
    if (!masked_lane_ || !ir::UsesVar(condition, masked_lane_)) return false;
    bool varies = std::any_of(serial_.begin(), serial_.end(), [&](const ForNode* loop) {
      return ir::UsesVar(condition, loop->var.node());
    });
    return serial_.empty() || (!varies && (in_select_ || HasSerialLoop(serial_.back()->body)));
  }

  // Which values of the body's own variables a limit is for: those for which the comparison fails
  // first, or last.
  enum class Inner { kLeast, kGreatest };

  std::optional<Limit> FindLimit(const Expr& a, const Expr& b, bool strict,
                                 Inner inner = Inner::kLeast) const {
    DataType dtype = loop_->var.dtype();
    if (a.dtype() != dtype) return {};
    auto left = arith::AsLinear(ir::Substitute(a, lets_), loop_->var.node()),
         right = arith::AsLinear(ir::Substitute(b, lets_), loop_->var.node());
    if (!left || !right) return {};
    auto slope = arith::FoldInt(ExprKind::kSub, right->coefficient, left->coefficient);
    constexpr int64_t kMaxSlope = std::numeric_limits<int32_t>::max();
    if (!slope || *slope > kMaxSlope || *slope < -kMaxSlope) return {};
    if (*slope == 0 && !is_uniform_) return {};
    // The comparison is: var * slope + rest > 0.
    Expr rest = Minus(right->rest, left->rest);
    if (!strict) rest = rest + Const(dtype, 1);
    Limit limit;
    limit.is_exact = true;
    limit.tail = FindTail(rest, *slope);
    bool is_removed =
        is_uniform_ ? RemoveVarying(&rest) : RemoveInner(&rest, inner, &limit.is_exact);
    if (!is_removed || !IsKnownBefore(rest)) return {};
    if (is_uniform_) {
      Limit whole;
      whole.holds = Const(dtype, 0) < Expr(loop_->var) * Const(dtype, *slope) + rest;
      return whole;
    }
    if (*slope < 0) {
      Expr above = rest + Const(dtype, -*slope - 1);
      limit.end = *slope == -1 ? rest : ir::FloorDiv(above, Const(dtype, -*slope));
    } else {
      Expr last = *slope == 1 ? Const(dtype, 0) - rest
                              : ir::FloorDiv(Const(dtype, 0) - rest, Const(dtype, *slope));
      limit.first = last + Const(dtype, 1);
      if (*slope == 1) limit.first = Minus(Const(dtype, 1), rest);
    }
    return limit;
  }

  // Of var * slope + rest > 0.
  std::optional<TileTail> FindTail(const Expr& rest, int64_t slope) const {
    for (const auto& [index, extent] : unrolled_) {
      if (slope != -extent || extent < 2 || extent > kMaxTile) continue;
      auto linear = arith::AsLinear(rest, index);
      if (!linear || linear->coefficient != -1) continue;
      bool alone = true;
      ir::ForEachExpr(linear->rest,
                      [&](const Expr& e) { alone &= !inner_.count(e.As<VarNode>()); });
      if (!alone) continue;
      Expr done = loop_->var * Const(loop_->var.dtype(), extent);
      return TileTail{Var(index), extent, analyzer_.Simplify(Minus(linear->rest, done))};
    }
    return {};
  }

  // Replaces the variables of the body by what makes `rest` least, or greatest; false where that is
  // not known.
  bool RemoveInner(Expr* rest, Inner which, bool* unchanged) const {
    for (;;) {
      const VarNode* inner = nullptr;
      ir::ForEachExpr(*rest, [&](const Expr& e) {
        const auto* var = e.As<VarNode>();
        if (inner_.count(var)) inner = var;
      });
      if (!inner) return true;
      auto linear = arith::AsLinear(*rest, inner);
      arith::ConstBounds bounds = analyzer_.Bounds(Var(inner));
      if (!linear) return false;
      bool lowest = (linear->coefficient > 0) == (which == Inner::kLeast);
      int64_t extreme = lowest ? bounds.lo : bounds.hi;
      auto least = arith::FoldInt(ExprKind::kMul, linear->coefficient, extreme);
      constexpr int64_t kLarge = int64_t{1} << 30;
      if (!least || *least > kLarge || *least < -kLarge) return false;
      *rest = linear->rest + Const(rest->dtype(), *least);
      *unchanged = false;
    }
  }

  // The same with what differs among threads: bounds of a loop in which they meet are the same for
  // all of them.
  bool RemoveVarying(Expr* rest) const {
    auto sum = arith::LinearSum::OfSameType(ir::Substitute(*rest, threads_.lets));
    if (!sum) return false;
    arith::LinearSum least{{}, sum->constant, sum->dtype};
    for (const arith::LinearSum::Term& term : sum->terms) {
      bool varies = false;
      ir::ForEachExpr(term.expr, [&](const Expr& e) {
        const auto* var = e.As<VarNode>();
        varies |= var && (inner_.count(var) || threads_.vars.count(var));
      });
      arith::ConstBounds bounds = analyzer_.Bounds(term.expr);
      int64_t extreme = term.coefficient > 0 ? bounds.lo : bounds.hi;
      auto part = arith::FoldInt(ExprKind::kMul, term.coefficient, extreme);
      constexpr int64_t kLarge = int64_t{1} << 30;
      if (!varies) {
        if (!least.AddTerm(term.expr, term.coefficient)) return false;
      } else if (!part || *part > kLarge || *part < -kLarge || !least.AddConstant(*part)) {
        return false;
      }
    }
    *rest = least.ToExpr();
    return rest->get() != nullptr;
  }

  // Free of loads and of what might fault, and of variables that may be anything: bounds are
  // computed from it where its value was not needed, and must not overflow. The index of a thread
  // block may be divided by constants, as parts of a reduction are.
  bool IsKnownBefore(const Expr& rest) const {
    if (ir::MayFault(rest) && (threads_.vars.empty() || !DividesByConstants(rest))) return false;
    bool known = true;
    ir::ForEachExpr(rest, [&](const Expr& e) {
      const auto* var = e.As<VarNode>();
      known &= !var || analyzer_.Bounds(e).lo != arith::ConstBounds::kNegInf;
    });
    return known;
  }

  const ForNode* loop_;
  arith::Analyzer analyzer_;
  const Threads& threads_;
  IsMasked is_masked_;
  bool is_uniform_;  // threads meet in the loop
  int max_nodes_;
  bool in_registers_ = false;
  std::vector<Limit> limits_;
  std::unordered_set<const ir::ExprNode*> spoiled_;
  std::unordered_set<const VarNode*> inner_;
  std::map<const VarNode*, int64_t> unrolled_;  // loops inside, and their extents
  ir::VarMap lets_;                             // those of them that are definitions of indices
  const VarNode* masked_lane_ = nullptr;        // of the masked vectors around
  std::vector<const ForNode*> serial_;          // loops around
  bool has_serial_loop_ = false, uses_masks_ = false, in_select_ = false;
  bool is_special_ = false;
  int nodes_ = 0;
};

// Replaces comparisons in conditions by what they are known to be there.
class Decider : public StmtMutator {
 public:
  std::unordered_map<const ir::ExprNode*, Expr> known;
  using StmtMutator::Mutate;

  void Set(const ir::ExprNode* comparison, bool value) {
    known[comparison] = ir::IntImmNode::Make(DataType::Bool(), value, comparison->span);
  }
  // Whether it has one of them.
  template <class T>
  bool Knows(const T& code) const {
    struct Finder : StmtVisitor {
      using StmtVisitor::Visit;
      void Visit(const Expr& expr) override {
        found |= decider->known.count(expr.get()) > 0;
        if (!found) StmtVisitor::Visit(expr);
      }
      const Decider* decider = nullptr;
      bool found = false;
    } finder;
    finder.decider = this;
    finder.Visit(code);
    return finder.found;
  }

 private:
  using StmtMutator::MutateNode;

  Expr Decide(const Expr& condition) {
    auto it = known.find(condition.get());
    if (it != known.end()) return it->second;
    const auto* both = condition.As<ir::AndNode>();
    if (!both) return Mutate(condition);
    return ir::AndNode::Make(Decide(both->a), Decide(both->b), both->span);
  }
  // A condition may have been given a name.
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    if (node->value.dtype() != DataType::Bool()) return MutateChildren(node, self);
    Expr value = arith::Analyzer().Simplify(Decide(node->value));
    Stmt body = Mutate(node->body);
    if (ir::AsConstInt(value)) return Substitute(body, {{node->var.node(), value}});
    return LetStmtNode::Make(node->var, value, body, node->span);
  }
  Stmt MutateNode(const IfThenElseNode* node, const Stmt&) override {
    Stmt then_case = Mutate(node->then_case);
    Stmt else_case = node->else_case ? Mutate(node->else_case) : Stmt();
    return IfThenElseNode::Make(Decide(node->condition), then_case, else_case, node->span);
  }
  Expr MutateNode(const ir::SelectNode* node, const Expr&) override {
    return ir::SelectNode::Make(Decide(node->condition), Mutate(node->true_value),
                                Mutate(node->false_value), node->span);
  }
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    if (node->name != ir::kIfThenElse) return MutateChildren(node, self);
    std::vector<Expr> args = {Decide(node->args[0]), Mutate(node->args[1]), Mutate(node->args[2])};
    return ir::CallNode::Make(node->name, std::move(args), DataType::Void(), node->span);
  }
};

class Partitioner : public AnalyzedMutator {
 public:
  explicit Partitioner(const PrimFunc& function) : function_(function) {}

 private:
  using AnalyzedMutator::Mutate;
  using AnalyzedMutator::MutateNode;

  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    bool varies = false, is_own = false;
    ir::ForEachExpr(node->value, [&](const Expr& e) {
      const auto* var = e.As<VarNode>();
      varies |= var && (threads_.vars.count(var) || threads_.lets.count(var));
      is_own |= IsOfOneThread(e);
    });
    if (varies && !is_own && arith::IsIndexType(node->var.dtype()))
      threads_.lets[node->var.node()] = ir::Substitute(node->value, threads_.lets);
    else if (varies || (is_own && !threads_.vars.empty()))
      threads_.vars.insert(node->var.node());
    return AnalyzedMutator::MutateNode(node, self);
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind == ForKind::kThread && node->thread.starts_with("threadIdx."))
      threads_.vars.insert(node->var.node());
    bool may_part = node->for_kind == ForKind::kSerial || node->for_kind == ForKind::kVectorized ||
                    node->for_kind == ForKind::kParallel;
    if (HasTail(node, attr::kGuardTail) || HasMaskedTail(node)) may_part = false;
    if (may_part && arith::IsIndexType(node->var.dtype()))
      if (Stmt pieces = Partition(node)) return pieces;
    return AnalyzedMutator::MutateNode(node, self);
  }

  // Of the threads of a block some may have a role of their own.
  Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
    if (!arith::IsFixed(node->condition)) return MutateChildren(node, self);
    arith::Analyzer::Mark mark = analyzer_.Enter();
    analyzer_.Assume(node->condition);
    Stmt then_case = Mutate(node->then_case);
    analyzer_.Leave(mark);
    Stmt else_case = node->else_case ? Mutate(node->else_case) : Stmt();
    return IfThenElseNode::Make(Mutate(node->condition), then_case, else_case, node->span);
  }

  // Its vectors are masked: they have no other tail.
  bool HasMaskedTail(const ForNode* loop) {
    if (loop->for_kind != ForKind::kVectorized || !HasTail(loop, attr::kMaskTail)) return false;
    if (!takes_masks_) takes_masks_ = TakesMasks(function_);
    return *takes_masks_;
  }

  // Null where the loop stays whole.
  Stmt Partition(const ForNode* node) {
    LimitFinder finder(node, analyzer_, threads_,
                       [this](const ForNode* loop) { return HasMaskedTail(loop); });
    if (finder.limits().empty() || !finder.can_partition()) return {};
    if (finder.is_uniform()) return ChooseInside(node, finder.limits());
    if (finder.uses_masks() && HasMasksAlone(node, finder.limits())) return {};
    return WithVariable(node, "_start", Simple(node->min), [&](const Expr& start) {
      return WithVariable(node, "_stop", Simple(start + node->extent), [&](const Expr& stop) {
        return PartitionBetween(node, finder.limits(), finder.uses_masks(), start, stop);
      });
    });
  }

  // The loop stays whole: multiplications run on from one iteration to the next, and lanes exchange
  // values. What has conditions has a version without them, for the iterations in which all of them
  // hold.
  Stmt ChooseInside(const ForNode* node, const std::vector<Limit>& limits) {
    Decider inside;
    std::vector<Expr> bounds;
    for (const Limit& limit : limits) {
      inside.Set(limit.comparison, true);
      Expr bound = Simple(limit.holds);
      if (std::none_of(bounds.begin(), bounds.end(),
                       [&](const Expr& one) { return ir::StructuralEqual(one, bound); }))
        bounds.push_back(bound);
    }
    Expr holds = bounds[0];
    for (size_t i = 1; i < bounds.size(); ++i) holds = holds && bounds[i];
    return node->With(node->min, node->extent, ChooseIn(node->body, holds, &inside));
  }
  // Of the statements from the first to the last one that has a condition.
  Stmt ChooseIn(const Stmt& stmt, const Expr& holds, Decider* inside) {
    if (const auto* let = stmt.As<LetStmtNode>(); let && !inside->Knows(let->value))
      return LetStmtNode::Make(let->var, let->value, ChooseIn(let->body, holds, inside), let->span);
    if (const auto* allocation = stmt.As<AllocateNode>())
      return AllocateNode::Make(allocation->buffer, ChooseIn(allocation->body, holds, inside),
                                allocation->span);
    auto choose = [&](const Stmt& one) {
      return IfThenElseNode::Make(holds, CopyWithFreshDefs(inside->Mutate(one)), one, one.span());
    };
    const auto* row = stmt.As<SeqNode>();
    if (!row) return choose(stmt);
    auto has_condition = [&](const Stmt& one) { return inside->Knows(one); };
    auto first = std::find_if(row->stmts.begin(), row->stmts.end(), has_condition);
    auto last = std::find_if(row->stmts.rbegin(), row->stmts.rend(), has_condition).base();
    if (first >= last) return stmt;
    std::vector<Stmt> stmts(row->stmts.begin(), first);
    stmts.push_back(last - first == 1 ? ChooseIn(*first, holds, inside)
                                      : choose(SeqNode::Make({first, last}, stmt.span())));
    stmts.insert(stmts.end(), last, row->stmts.end());
    return SeqNode::Make(std::move(stmts), stmt.span());
  }

  Stmt PartitionBetween(const ForNode* node, const std::vector<Limit>& limits, bool uses_masks,
                        const Expr& start, const Expr& stop) {
    bool has_first = std::any_of(limits.begin(), limits.end(),
                                 [](const Limit& limit) { return static_cast<bool>(limit.first); });
    Stmt tail = has_first ? Stmt() : TailByCount(node, limits);
    if (node->for_kind == ForKind::kParallel && !tail) return WithLastTile(node, limits, stop);
    Expr first = start, last = stop;
    int num_first = 0, num_last = 0;
    Decider before, inside, after;
    for (const Limit& limit : limits) {
      if (!uses_masks || !limit.is_masked()) inside.Set(limit.comparison, true);
      bool is_first = static_cast<bool>(limit.first);
      ++(is_first ? num_first : num_last);
      if (is_first)
        first = ir::MaxNode::Make(first, limit.first);
      else
        last = ir::MinNode::Make(last, limit.end);
      if (limit.is_exact) (is_first ? before : after).Set(limit.comparison, false);
    }
    // Behind several limits it is not known which of them fails, unless they are the same.
    if (num_first != 1) before.known.clear();
    if (num_last != 1 && !HaveOneEnd(limits)) after.known.clear();
    first = Simple(num_first ? ir::MinNode::Make(first, stop) : first);
    return WithVariable(node, "_main", first, [&](const Expr& main_start) {
      last = Simple(num_last ? ir::MaxNode::Make(main_start, last) : last);
      return WithVariable(node, "_rest", last, [&](const Expr& main_stop) {
        if (node->for_kind == ForKind::kParallel)
          return WithTail(node, inside.Mutate(node->body), main_stop, tail);
        return MakePieces(node, {start, main_start, main_stop, stop},
                          {before.Mutate(node->body), inside.Mutate(node->body),
                           tail ? tail : after.Mutate(node->body)});
      });
    });
  }

  // Whether all limits are those of masks, of which every iteration has lanes.
  bool HasMasksAlone(const ForNode* node, const std::vector<Limit>& limits) {
    Expr stop = Simple(node->min + node->extent);
    return std::all_of(limits.begin(), limits.end(), [&](const Limit& limit) {
      return limit.is_masked() && arith::ProveLessEqual(analyzer_, stop, Simple(limit.end));
    });
  }
  bool HaveOneEnd(const std::vector<Limit>& limits) {
    Expr end;
    for (const Limit& limit : limits) {
      if (limit.first) continue;
      Expr other = Simple(limit.end);
      if (!end) end = other;
      if (!limit.is_exact || !StructuralEqual(end, other)) return false;
    }
    return true;
  }

  // The body of a last tile, where all comparisons are about it: one for each number of iterations
  // that may be left, in which they compare with a constant. Less than a whole tile is left there,
  // or a comparison with the end of one would hold. Null where that is not known.
  Stmt TailByCount(const ForNode* node, const std::vector<Limit>& limits) const {
    const std::optional<TileTail>& first = limits[0].tail;
    for (const Limit& limit : limits)
      if (!limit.tail || limit.tail->extent != first->extent ||
          !StructuralEqual(limit.tail->left, first->left))
        return {};
    DataType dtype = node->var.dtype();
    Stmt tail;
    for (int64_t left = 0; left < first->extent; ++left) {
      Decider decider;
      for (const Limit& limit : limits)
        decider.known[limit.comparison] = ir::LTNode::Make(limit.tail->index, Const(dtype, left));
      Stmt body = CopyWithFreshDefs(decider.Mutate(node->body));
      tail = tail ? IfThenElseNode::Make(first->left == Const(dtype, left), body, tail, node->span)
                  : body;
    }
    return tail;
  }

  // A parallel loop stays one, and asks in each iteration.
  Stmt WithTail(const ForNode* node, const Stmt& body, const Expr& stop, const Stmt& tail) {
    Stmt loop = node->With(node->min, node->extent,
                           IfThenElseNode::Make(node->var < stop, body, tail, node->span));
    return AnalyzedMutator::MutateNode(loop.As<ForNode>(), loop);
  }

  // As WithTail, where some comparisons are about the end of a tile: only the last iteration has a
  // partial tile, whose length is a constant. The other comparisons stay in both bodies. Null where
  // that is not so, and where no loop in the body repeats the comparisons.
  Stmt WithLastTile(const ForNode* node, const std::vector<Limit>& limits, const Expr& stop) {
    if (!HasSerialLoop(node->body)) return {};
    const Limit* first = nullptr;
    Decider inside, after;
    for (const Limit& limit : limits) {
      if (!limit.tail) continue;
      if (!first) first = &limit;
      if (limit.tail->extent != first->tail->extent ||
          !StructuralEqual(limit.tail->left, first->tail->left) ||
          !StructuralEqual(Simple(limit.end), Simple(first->end)))
        return {};
      inside.Set(limit.comparison, true);
    }
    if (!first) return {};
    std::optional<int64_t> last = ir::AsConstInt(Simple(first->end)), end = ir::AsConstInt(stop);
    if (!last || !end || *last + 1 != *end || ir::IsConst(node->min, *last)) return {};
    Expr at_last = Const(node->var.dtype(), *last);
    std::optional<int64_t> left =
        ir::AsConstInt(Simple(ir::Substitute(first->tail->left, {{node->var.node(), at_last}})));
    if (!left) return {};
    for (const Limit& limit : limits)
      if (limit.tail)
        after.known[limit.comparison] =
            ir::LTNode::Make(limit.tail->index, Const(node->var.dtype(), *left));
    return WithTail(node, inside.Mutate(node->body), at_last,
                    CopyWithFreshDefs(after.Mutate(node->body)));
  }

  Stmt MakePieces(const ForNode* node, const std::array<Expr, 4>& ends,
                  const std::array<Stmt, 3>& bodies) {
    if (!Pays(node, ends)) return {};
    std::vector<Stmt> pieces;
    for (size_t i = 0; i < bodies.size(); ++i) {
      Expr extent = Simple(Minus(ends[i + 1], ends[i]));
      if (analyzer_.Bounds(extent).hi <= 0 || SameValue(ends[i + 1], ends[i])) continue;
      Stmt piece = Piece(node, ends[i], extent, bodies[i]);
      if (i != 1) piece = CopyWithFreshDefs(piece);
      // Loops inside of it; of the others, where there is one iteration.
      if (i == 1 || ir::IsConst(extent, 1))
        piece = AnalyzedMutator::MutateNode(piece.As<ForNode>(), piece);
      pieces.push_back(std::move(piece));
    }
    return SeqNode::Make(std::move(pieces), node->span);
  }

  // One iteration is no vector.
  static Stmt Piece(const ForNode* node, const Expr& start, const Expr& extent, const Stmt& body) {
    if (node->for_kind == ForKind::kVectorized && ir::IsConst(extent, 1))
      return ForNode::Make(node->var, start, extent, ForKind::kSerial, body, "", node->span);
    return node->With(start, extent, body);
  }

  // Vectors have sizes that are known.
  bool Pays(const ForNode* node, const std::array<Expr, 4>& ends) const {
    std::array<std::optional<int64_t>, 4> constants;
    for (size_t i = 0; i < ends.size(); ++i) {
      constants[i] = ir::AsConstInt(ends[i]);
      if (!constants[i]) return node->for_kind == ForKind::kSerial;
    }
    return (*constants[2] - *constants[1]) * 2 >= *constants[3] - *constants[0];
  }

  static bool SameValue(const Expr& a, const Expr& b) {
    std::optional<int64_t> x = ir::AsConstInt(a), y = ir::AsConstInt(b);
    return a.same(b) || (x && y && *x == *y);
  }

  // What `make` makes of the value: a constant or a variable itself, else a variable that holds it.
  template <class F>
  Stmt WithVariable(const ForNode* node, const char* suffix, const Expr& value, F&& make) {
    if (ir::AsConstInt(value) || value.As<VarNode>()) return make(value);
    Var var(node->var.name() + suffix, value.dtype(), node->span);
    analyzer_.Bind(var, analyzer_.Bounds(value));
    Stmt body = make(var);
    return body ? LetStmtNode::Make(var, value, body, node->span) : Stmt();
  }

  Expr Simple(const Expr& expr) const { return analyzer_.Simplify(expr); }

  const PrimFunc& function_;
  Threads threads_;
  std::optional<bool> takes_masks_;
};

}  // namespace

PrimFunc PartitionLoops(const PrimFunc& function) {
  return Partitioner(function).MutateFunction(function);
}

}  // namespace tern::tir
