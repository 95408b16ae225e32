// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/loops/hoist_invariants.h"

#include <cmath>
#include <functional>
#include <unordered_set>
#include <utility>

#include "tern/ir/intrinsic.h"
#include "tern/ir/structural.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/conjuncts.h"
#include "tern/tir/analysis/fault_analysis.h"
#include "tern/tir/analysis/memory_effects.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// What a loop defines, and whether its threads wait for each other or are bound in it.
struct LoopScan : StmtVisitor {
  explicit LoopScan(const ForNode* loop) {
    involves_threads = loop->for_kind == ForKind::kThread;
    VisitDef(loop->var);
    Visit(loop->body);
  }
  using StmtVisitor::VisitNode;
  void VisitDef(const Var& var) override { defined.insert(var.node()); }
  void VisitDef(const BufferDef& buffer) override { defined.insert(buffer->data.node()); }
  void VisitNode(const ForNode* node) override {
    involves_threads |= node->for_kind == ForKind::kThread;
    VisitChildren(node);
  }
  void VisitNode(const EvaluateNode*) override { involves_threads = true; }

  bool Defines(const Expr& expr) const {
    bool found = false;
    ir::ForEachExpr(expr, [&](const Expr& e) { found |= defined.count(e.As<VarNode>()) > 0; });
    return found;
  }

  std::unordered_set<const VarNode*> defined;
  bool involves_threads = false;
};

// Whether it calls something, or reads what is written.
bool ReadsFrom(const Expr& expr, const MemoryEffects& memory, const MemoryEffects::Writes& writes) {
  bool reads = false;
  ir::ForEachExpr(expr, [&](const Expr& e) {
    const auto* load = e.As<ir::BufferLoadNode>();
    reads |= e.As<ir::CallNode>() || (load && writes.Contain(memory.PlaceOf(load->buffer)));
  });
  return reads;
}

// The body of a loop. Threads that run have extents that are not 0.
template <class Mutate>
Stmt InLoop(const ForNode* loop, FaultAnalysis* faults, const Mutate& mutate) {
  faults->BindLoop(loop);
  if (loop->for_kind != ForKind::kThread || ir::AsConstInt(loop->extent)) return mutate();
  FaultAnalysis outside = *faults;
  faults->EnterIteration(loop->extent);
  Stmt result = mutate();
  *faults = std::move(outside);
  return result;
}

// ---- Conditions, from the innermost loop outwards.

class ConditionHoister : public StmtMutator {
 public:
  explicit ConditionHoister(const PrimFunc& function) : faults_(function), memory_(function) {}

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    faults_.BindLet(node->var, node->value);
    return MutateChildren(node, self);
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    return Hoist(InLoop(node, &faults_, [&] { return MutateChildren(node, self); }));
  }

  // The loop, with what can be decided before it around it.
  Stmt Hoist(const Stmt& stmt) {
    const auto* loop = stmt.As<ForNode>();
    const auto* branch = loop->body.As<IfThenElseNode>();
    if (!branch) return stmt;
    LoopScan scan(loop);
    if (scan.involves_threads) return stmt;
    MemoryEffects::Writes writes = memory_.WritesOf(loop->body);
    std::vector<Expr> moved, kept;
    for (const Expr& part : Conjuncts(branch->condition)) {
      bool moves = !scan.Defines(part) && !ReadsFrom(part, memory_, writes) &&
                   (IsHarmless(part) || (kept.empty() && RunsOnce(loop)));
      (moves ? moved : kept).push_back(part);
    }
    if (moved.empty() || (!kept.empty() && branch->else_case)) return stmt;
    Stmt body = branch->then_case;
    if (!kept.empty()) body = IfThenElseNode::Make(Join(kept), body, {}, branch->span);
    Stmt then_case = Hoist(WithBody(loop, body)), else_case;
    if (branch->else_case) else_case = CopyWithFreshDefs(Hoist(WithBody(loop, branch->else_case)));
    return IfThenElseNode::Make(Join(moved), then_case, else_case, branch->span);
  }

  static Stmt WithBody(const ForNode* loop, const Stmt& body) {
    return loop->With(loop->min, loop->extent, body);
  }
  static Expr Join(const std::vector<Expr>& parts) {
    Expr all = parts[0];
    for (size_t i = 1; i < parts.size(); ++i) all = all && parts[i];
    return all;
  }

  bool RunsOnce(const ForNode* loop) const {
    return faults_.analyzer().Bounds(loop->extent).lo >= 1;
  }
  bool IsHarmless(const Expr& expr) const {
    return !faults_.MayFault(expr) && !faults_.MayOverflow(expr);
  }

  FaultAnalysis faults_;
  MemoryEffects memory_;
};

// ---- Values, from the outermost loop inwards.

// The values in one loop's body that are the same in all its iterations, each a variable.
class ValueExtractor : public StmtMutator {
 public:
  ValueExtractor(const LoopScan& scan, const FaultAnalysis& faults)
      : scan_(scan), faults_(faults) {}

  using StmtMutator::Mutate;
  Expr Mutate(const Expr& expr) override {
    if (!IsInvariant(expr)) return StmtMutator::Mutate(expr);
    uint64_t hash = ir::StructuralHash(expr);
    for (auto [it, end] = places_.equal_range(hash); it != end; ++it)
      if (ir::StructuralEqual(values[it->second].second, expr)) return values[it->second].first;
    places_.emplace(hash, values.size());
    values.emplace_back(Var("t", expr.dtype(), expr.span()), expr);
    return values.back().first;
  }

  std::vector<std::pair<Var, Expr>> values;

 private:
  using StmtMutator::MutateNode;

  bool IsInvariant(const Expr& expr) const {
    return expr.dtype().is_scalar() && Costs(expr) && !Reads(expr) && !scan_.Defines(expr) &&
           !faults_.MayFault(expr) && !faults_.MayOverflow(expr);
  }
  static bool Reads(const Expr& expr) {
    bool reads = false;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      reads |= e->kind == ExprKind::kBufferLoad || e->kind == ExprKind::kCall;
    });
    return reads;
  }
  // More than a constant, a variable, a conversion of one, or `x + 1`.
  static bool Costs(const Expr& expr) {
    int operators = 0;
    bool with_constant = false;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      bool leaf = e->kind <= ExprKind::kVar;
      operators += !leaf && e->kind != ExprKind::kCast && e->kind != ExprKind::kNot;
      with_constant |= leaf && e->kind != ExprKind::kVar;
    });
    return operators > 1 || (operators == 1 && !with_constant);
  }

  Buffer MutateDef(const BufferDef& buffer) override { return buffer; }
  Stmt MutateNode(const BlockNode*, const Stmt& self) override { return self; }
  // An extent that must be constant may become so only later.
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kUnrolled && node->for_kind != ForKind::kVectorized)
      return MutateChildren(node, self);
    Stmt body = Mutate(node->body);
    if (body.same(node->body)) return self;
    return node->With(node->min, node->extent, body);
  }

  const LoopScan& scan_;
  const FaultAnalysis& faults_;
  std::unordered_multimap<uint64_t, size_t> places_;  // in `values`, by hash
};

class ValueHoister : public StmtMutator {
 public:
  explicit ValueHoister(const PrimFunc& function) : faults_(function) {}

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    faults_.BindLet(node->var, node->value);
    return MutateChildren(node, self);
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    LoopScan scan(node);
    if (scan.involves_threads)
      return InLoop(node, &faults_, [&] { return MutateChildren(node, self); });
    ValueExtractor extractor(scan, faults_);
    Stmt body = extractor.Mutate(node->body);
    for (const auto& [var, value] : extractor.values) faults_.BindLet(var, value);
    faults_.BindLoop(node);
    body = Mutate(body);
    if (body.same(node->body)) return self;
    Stmt loop = node->With(node->min, node->extent, body);
    for (size_t i = extractor.values.size(); i-- > 0;)
      loop = LetStmtNode::Make(extractor.values[i].first, extractor.values[i].second, loop,
                               node->span);
    return loop;
  }

  FaultAnalysis faults_;
};

// ---- Divisors, from the innermost loop outwards.

// Quotients by what is the same in all iterations of a loop: products with its reciprocal.
class ReciprocalHoister : public StmtMutator {
 public:
  explicit ReciprocalHoister(const PrimFunc& function) : faults_(function), memory_(function) {}

 private:
  using StmtMutator::MutateNode;

  struct Loop {
    const LoopScan& scan;
    MemoryEffects::Writes writes;
    bool runs;  // at least once
    std::vector<std::pair<Var, Expr>> reciprocals;
  };

  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    faults_.BindLet(node->var, node->value);
    return MutateChildren(node, self);
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    faults_.BindLoop(node);
    LoopScan scan(node);
    if (scan.involves_threads) return Apart<Stmt>([&] { return MutateChildren(node, self); });
    Loop loop{
        scan, memory_.WritesOf(node->body), faults_.analyzer().Bounds(node->extent).lo >= 1, {}};
    Loop* around = std::exchange(loop_, &loop);
    Stmt result = MutateChildren(node, self);
    loop_ = around;
    for (const auto& [var, value] : loop.reciprocals)
      result = LetStmtNode::Make(var, value, result, node->span);
    return result;
  }
  Expr MutateNode(const ir::DivNode* node, const Expr& self) override {
    Expr result = MutateChildren(node, self);
    const auto* quotient = result.As<ir::DivNode>();
    const Expr& divisor = quotient->b;
    bool in_loop = loop_ && self.dtype() == DataType::Float(32);
    if (const auto* constant = divisor.As<ir::FloatImmNode>(); in_loop && constant)
      return HasReciprocal(constant->value)
                 ? quotient->a * ir::MakeConst(self.dtype(), 1 / constant->value)
                 : result;
    bool moves = in_loop && !loop_->scan.Defines(divisor) &&
                 (loop_->runs || !faults_.MayFault(divisor)) &&
                 !ReadsFrom(divisor, memory_, loop_->writes);
    return moves ? quotient->a * ReciprocalOf(divisor) : result;
  }
  // Neither it nor its reciprocal is 0, infinite or subnormal.
  static bool HasReciprocal(double x) { return std::abs(x) > 1e-37 && std::abs(x) < 1e37; }

  // What is not done in every iteration stays where it stands.
  template <class T>
  T Apart(const std::function<T()>& mutate) {
    Loop* around = std::exchange(loop_, nullptr);
    T result = mutate();
    loop_ = around;
    return result;
  }
  Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
    return Apart<Stmt>([&] { return MutateChildren(node, self); });
  }
  Expr MutateNode(const ir::SelectNode* node, const Expr& self) override {
    return Apart<Expr>([&] { return MutateChildren(node, self); });
  }
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    if (node->name != ir::kIfThenElse) return MutateChildren(node, self);
    return Apart<Expr>([&] { return MutateChildren(node, self); });
  }
  Expr ReciprocalOf(const Expr& divisor) {
    for (const auto& [var, value] : loop_->reciprocals)
      if (ir::StructuralEqual(value.As<ir::DivNode>()->b, divisor)) return var;
    Expr value = ir::MakeConst(divisor.dtype(), 1) / divisor;
    loop_->reciprocals.emplace_back(Var("r", divisor.dtype(), divisor.span()), value);
    return loop_->reciprocals.back().first;
  }

  FaultAnalysis faults_;
  MemoryEffects memory_;
  Loop* loop_ = nullptr;  // the innermost one around
};

// Code generators of hosts divide so by themselves, where it pays.
bool TakesReciprocals(const PrimFunc& function) {
  auto target = function->attrs.find(attr::kTarget);
  return HasFlag(function, attr::kReassociate) && target != function->attrs.end() &&
         target->second.As<target::Target>()->is_device();
}

}  // namespace

PrimFunc HoistInvariants(const PrimFunc& function) {
  PrimFunc decided = ConditionHoister(function).MutateFunction(function);
  if (TakesReciprocals(decided)) decided = ReciprocalHoister(decided).MutateFunction(decided);
  return ValueHoister(decided).MutateFunction(decided);
}

}  // namespace tern::tir
