// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "tern/arith/analyzer.h"
#include "tern/arith/combine_splits.h"
#include "tern/arith/compare_sums.h"
#include "tern/arith/divide_sum.h"
#include "tern/arith/fold.h"
#include "tern/arith/linear.h"
#include "tern/arith/overflow.h"
#include "tern/arith/rules.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/mutator.h"
#include "tern/ir/structural.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes

bool IsSum(const Expr& expr) { return expr.As<AddNode>() || expr.As<SubNode>(); }

// What a person has to read: operators and operands, and parentheses around sums.
int64_t CostOf(const Expr& expr) {
  int64_t cost = 0;
  ForEachExpr(expr, [&](const Expr& e) {
    cost += 4;
    const auto* add = e.As<AddNode>();
    const auto* sub = e.As<SubNode>();
    if (add || sub) cost += IsSum(add ? add->b : sub->b);
  });
  return cost;
}

// At most what the sum costs as an expression.
int64_t LeastCostOf(const LinearSum& sum) {
  int64_t cost = sum.constant != 0 || sum.terms.empty() ? 4 : -4;
  for (const LinearSum::Term& term : sum.terms) {
    bool product = term.coefficient != 1 && term.coefficient != -1;
    cost += CostOf(term.expr) + (product ? 12 : 4);
  }
  return cost;
}

class Simplifier : public ExprMutator {
 public:
  explicit Simplifier(Analyzer* analyzer) : analyzer_(analyzer) {}

  // Results are kept: what is simple is not looked at again.
  Expr Mutate(const Expr& expr) override {
    if (expr.As<IntImmNode>() || expr.As<VarNode>()) return expr;
    auto it = known_.simple.find(expr.get());
    if (it != known_.simple.end()) return it->second.second;
    Expr result = ExprMutator::Mutate(expr);
    known_.simple.emplace(expr.get(), std::pair(expr, result));
    known_.simple.emplace(result.get(), std::pair(result, result));
    return result;
  }

 private:
#define TERN_SIMPLIFY(name)                                            \
  Expr MutateNode(const name##Node* node, const Expr& self) override { \
    return Finish(Binary<name##Node>(node, self));                     \
  }
  TERN_BINARY_NODES(TERN_SIMPLIFY)
#undef TERN_SIMPLIFY

  Expr MutateNode(const NotNode* node, const Expr& self) override {
    Expr a = Mutate(node->a);
    if (std::optional<int64_t> value = AsConstInt(a))
      return IntImmNode::Make(a.dtype(), !*value, self.span());
    if (const auto* inner = a.As<NotNode>()) return inner->a;
    Expr result = a.same(node->a) ? self : NotNode::Make(a, self.span());
    if (Expr rewritten = ApplyRules(result); rewritten.get()) return Mutate(rewritten);
    return result;
  }

  // Each value is simplified where it is chosen.
  Expr MutateNode(const SelectNode* node, const Expr& self) override {
    Expr condition = Mutate(node->condition);
    if (std::optional<int64_t> value = AsConstInt(condition))
      return Mutate(*value ? node->true_value : node->false_value);
    Expr yes = MutateWhere(condition, true, node->true_value),
         no = MutateWhere(condition, false, node->false_value);
    if (StructuralEqual(yes, no)) return yes;
    bool same =
        condition.same(node->condition) && yes.same(node->true_value) && no.same(node->false_value);
    Expr result = same ? self : SelectNode::Make(condition, yes, no, self.span());
    if (Expr rewritten = ApplyRules(result); rewritten.get()) return Mutate(rewritten);
    return result;
  }

  Expr MutateNode(const CallNode* node, const Expr& self) override {
    if (!AsIfThenElse(self)) return MutateChildren(node, self);
    Expr condition = Mutate(node->args[0]);
    if (std::optional<int64_t> value = AsConstInt(condition))
      return Mutate(node->args[*value ? 1 : 2]);
    Expr yes = MutateWhere(condition, true, node->args[1]),
         no = MutateWhere(condition, false, node->args[2]);
    if (StructuralEqual(yes, no)) return yes;
    if (condition.same(node->args[0]) && yes.same(node->args[1]) && no.same(node->args[2]))
      return self;
    return CallNode::Make(node->name, {condition, yes, no}, self.dtype(), self.span());
  }

  Expr MutateNode(const CastNode* node, const Expr& self) override {
    Expr value = Mutate(node->value);
    std::optional<int64_t> constant = AsConstInt(value);
    DataType dtype = self.dtype();
    if (constant && dtype.is_scalar() && dtype.is_integer() && Bounds(self).is_single())
      return IntImmNode::Make(dtype, *constant, self.span());
    // Back to the type that it was widened from.
    if (const auto* inner = value.As<CastNode>();
        inner && inner->value.dtype() == dtype && dtype.is_integer() && value.dtype().is_int() &&
        value.dtype().bits() >= dtype.bits() + (dtype.is_uint() ? 1 : 0))
      return inner->value;
    return value.same(node->value) ? self : CastNode::Make(dtype, value, self.span());
  }

  ConstBounds Bounds(const Expr& expr) { return analyzer_->Bounds(expr, &known_.bounds); }

  // A value that can only be one number is that number.
  Expr Finish(Expr expr) {
    if (!expr.dtype().is_scalar() || AsConstInt(expr)) return expr;
    ConstBounds bounds = Bounds(expr);
    return bounds.is_single() ? IntImmNode::Make(expr.dtype(), bounds.lo, expr.span()) : expr;
  }

  // ---- Conditions.

  // `expr` where the condition holds, or does not.
  Expr MutateWhere(const Expr& condition, bool holds, const Expr& expr) {
    if (expr.As<IntImmNode>() || expr.As<FloatImmNode>() || expr.As<VarNode>()) return Mutate(expr);
    Assumption assumption(analyzer_, holds ? condition : NotNode::Make(condition));
    Known outside = std::exchange(known_, {});
    Expr result = Mutate(expr);
    known_ = std::move(outside);
    return result;
  }

  // What holds during its life. The analyzer is its caller's, which sees it unchanged: a copy would
  // cost as much as there are variables in scope.
  struct Assumption {
    Assumption(Analyzer* analyzer, const Expr& condition)
        : analyzer(analyzer), mark(analyzer->Enter()) {
      analyzer->Assume(condition);
    }
    ~Assumption() { analyzer->Leave(mark); }
    Analyzer* analyzer;
    Analyzer::Mark mark;
  };

  template <class T>
  Expr Binary(const T* node, const Expr& self) {
    constexpr ExprKind kind = T::kKind;
    constexpr bool is_logic = kind == ExprKind::kAnd || kind == ExprKind::kOr;
    Expr a = Mutate(node->a), b;
    // The second operand counts only where the first does not decide.
    if constexpr (is_logic)
      b = a.dtype().is_scalar() && !AsConstInt(a) ? MutateWhere(a, kind == ExprKind::kAnd, node->b)
                                                  : Mutate(node->b);
    else
      b = Mutate(node->b);
    DataType operand = a.dtype();
    Expr result = a.same(node->a) && b.same(node->b) ? self : T::Make(a, b, self.span());
    if (!operand.is_scalar() || !(operand.is_integer() || operand.is_bool())) return result;
    if (Expr folded = FoldConstants(kind, a, b, self); folded.get()) return folded;
    if (Expr rewritten = Rewrite<T>(a, b, result); rewritten.get()) return rewritten;
    if (Expr rewritten = ApplyRules(result); rewritten.get()) return Mutate(rewritten);
    return result;
  }

  Expr FoldConstants(ExprKind kind, const Expr& a, const Expr& b, const Expr& self) {
    std::optional<int64_t> x = AsConstInt(a), y = AsConstInt(b);
    if (!x || !y || a.dtype() == DataType::UInt(64)) return {};
    std::optional<int64_t> value = FoldInt(kind, *x, *y);
    return value ? TryConst(self.dtype(), *value, self.span()) : Expr();
  }

  // Null where the value does not fit: results that would wrap are left to the machine.
  static Expr TryConst(DataType dtype, int64_t value, const Span& span) {
    try {
      return IntImmNode::Make(dtype, value, span);
    } catch (const Error&) {
      return {};
    }
  }

  // The rules for one operator; null where none applies.
  template <class T>
  Expr Rewrite(const Expr& a, const Expr& b, const Expr& self) {
    constexpr ExprKind kind = T::kKind;
    if constexpr (kind == ExprKind::kAdd) return RewriteAdd(a, b, self);
    if constexpr (kind == ExprKind::kSub) return RewriteSub(a, b, self);
    if constexpr (kind == ExprKind::kMul) return RewriteMul(a, b, self);
    if constexpr (kind == ExprKind::kTruncDiv) return FlooredDiv(a, b, self);
    if constexpr (kind == ExprKind::kFloorDiv) return RewriteFloorDiv(a, b, self);
    if constexpr (kind == ExprKind::kFloorMod) return RewriteFloorMod(a, b, self);
    if constexpr (kind == ExprKind::kMin || kind == ExprKind::kMax)
      return RewriteMinMax(kind, a, b);
    if constexpr (kind == ExprKind::kAnd || kind == ExprKind::kOr) return RewriteLogic(kind, a, b);
    if constexpr (kind >= ExprKind::kEQ && kind <= ExprKind::kGE)
      return RewriteCompare(kind, a, b, self);
    return {};
  }

  // ---- Sums.

  Expr RewriteAdd(const Expr& a, const Expr& b, const Expr& self) {
    if (IsConst(b, 0)) return a;
    if (IsConst(a, 0)) return b;
    if (AsConstInt(a) && !AsConstInt(b))
      return Mutate(AddNode::Make(b, a, self.span()));  // constants stand last
    return RewriteSum(self);
  }

  Expr RewriteSub(const Expr& a, const Expr& b, const Expr& self) {
    if (IsConst(b, 0)) return a;
    if (StructuralEqual(a, b)) return MakeConst(a.dtype(), 0, self.span());
    return RewriteSum(self);
  }

  Expr RewriteMul(const Expr& a, const Expr& b, const Expr& self) {
    if (IsConst(b, 0) || IsConst(a, 1)) return b;
    if (IsConst(b, 1) || IsConst(a, 0)) return a;
    if (AsConstInt(a) && !AsConstInt(b)) return Mutate(MulNode::Make(b, a, self.span()));
    return AsConstInt(b) ? RewriteSum(self) : Expr();
  }

  // The canonical form, where it is simpler.
  Expr RewriteSum(const Expr& self) {
    if (!IsIndexType(self.dtype())) return {};
    auto sum = LinearSum::OfSameType(self);
    if (!sum) return {};
    CombineSplits(&*sum, *analyzer_);
    int64_t cost = CostOf(self);
    Expr candidate = LeastCostOf(*sum) < cost ? sum->ToExpr() : Expr();
    if (candidate.get() && Accept(candidate, self, cost)) return Mutate(candidate);
    if (Expr moved = MoveIntoChoice(*sum, self, cost); moved.get()) return moved;
    return Unnest(self, cost);
  }

  // x + (y + z) is x + y + z.
  Expr Unnest(const Expr& self, int64_t cost) {
    const auto* add = self.As<AddNode>();
    const auto* sub = self.As<SubNode>();
    if (!add && !sub) return {};
    const Expr &a = add ? add->a : sub->a, &b = add ? add->b : sub->b;
    if (!IsSum(b)) return {};
    bool minus = b.As<SubNode>();
    const Expr &first = minus ? b.As<SubNode>()->a : b.As<AddNode>()->a,
               &second = minus ? b.As<SubNode>()->b : b.As<AddNode>()->b;
    Expr left = add ? a + first : a - first;
    Expr candidate = minus == (add != nullptr) ? left - second : left + second;
    if (!Accept(candidate, self, cost)) return {};
    return Mutate(candidate);
  }

  // min(i * 4 + 4, n) - i * 4 is min(4, n - i * 4).
  Expr MoveIntoChoice(const LinearSum& sum, const Expr& self, int64_t cost) {
    if (sum.terms.size() < 2) return {};
    for (const LinearSum::Term& term : sum.terms) {
      const auto* least = term.expr.As<MinNode>();
      const auto* greatest = term.expr.As<MaxNode>();
      if (term.coefficient != 1 || (!least && !greatest)) continue;
      LinearSum rest = sum;
      rest.AddTerm(term.expr, -1);
      Expr a = Plus(rest, least ? least->a : greatest->a),
           b = Plus(rest, least ? least->b : greatest->b);
      if (!a.get() || !b.get()) return {};
      Expr candidate = least ? MinNode::Make(a, b) : MaxNode::Make(a, b);
      if (Accept(candidate, self, cost)) return Mutate(candidate);
    }
    return {};
  }
  static Expr Plus(LinearSum sum, const Expr& expr) {
    auto other = LinearSum::OfSameType(expr);
    return other && sum.Add(*other) ? sum.ToExpr() : Expr();
  }

  bool Accept(const Expr& candidate, const Expr& self, int64_t cost) {
    return CostOf(candidate) < cost && StaysInType(candidate, self, *analyzer_, &known_.bounds);
  }

  // ---- // and %

  // Of indices that are not negative: the rules are for quotients that are rounded down.
  Expr FlooredDiv(const Expr& a, const Expr& b, const Expr& self) {
    if (!IsIndexType(a.dtype()) || Bounds(a).lo < 0 || Bounds(b).lo <= 0) return {};
    return Mutate(FloorDivNode::Make(a, b, self.span()));
  }

  Expr RewriteFloorDiv(const Expr& a, const Expr& b, const Expr& self) {
    if (IsConst(b, 1)) return a;
    if (Expr zero = SmallQuotient(a, b); zero.get()) return zero;
    if (!IsIndexType(a.dtype())) return {};
    return Divided(DivideSum(a, b, *analyzer_, &known_.bounds), self);
  }

  Expr RewriteFloorMod(const Expr& a, const Expr& b, const Expr& self) {
    if (IsConst(b, 1)) return MakeConst(a.dtype(), 0);
    if (SmallQuotient(a, b).get()) return a;
    if (!IsIndexType(a.dtype())) return {};
    std::optional<int64_t> divisor = AsConstInt(b);
    if (ModularSet set = analyzer_->Modular(a);
        divisor && *divisor > 0 && set.knows_remainder(*divisor))
      return IntImmNode::Make(a.dtype(), FloorModInt(set.base, *divisor), self.span());
    return Divided(RemainderOfSum(a, b, *analyzer_, &known_.bounds), self);
  }

  Expr SmallQuotient(const Expr& a, const Expr& b) {
    std::optional<int64_t> divisor = AsConstInt(b);
    ConstBounds bounds = Bounds(a);
    bool small = divisor && *divisor > 0 && bounds.lo >= 0 && bounds.hi < *divisor;
    return small ? MakeConst(a.dtype(), 0, a.span()) : Expr();
  }

  Expr Divided(const Expr& candidate, const Expr& self) {
    if (!candidate.get() || StructuralEqual(candidate, self) ||
        !StaysInType(candidate, self, *analyzer_, &known_.bounds))
      return {};
    return Mutate(candidate);
  }

  // ---- Choices and conditions.

  Expr RewriteMinMax(ExprKind kind, const Expr& a, const Expr& b) {
    if (StructuralEqual(a, b)) return a;
    ConstBounds x = Bounds(a), y = Bounds(b);
    const Expr &smaller = kind == ExprKind::kMin ? a : b, &larger = kind == ExprKind::kMin ? b : a;
    if (x.hi <= y.lo && x.hi != ConstBounds::kPosInf) return smaller;
    if (y.hi <= x.lo && y.hi != ConstBounds::kPosInf) return larger;
    if (!IsIndexType(a.dtype())) return {};
    if (Decide(ExprKind::kLE, a, b) == true) return smaller;
    if (Decide(ExprKind::kLE, b, a) == true) return larger;
    if (!AsConstInt(a) || AsConstInt(b)) return {};
    return Mutate(kind == ExprKind::kMin ? MinNode::Make(b, a) : MaxNode::Make(b, a));
  }

  std::optional<bool> Decide(ExprKind kind, const Expr& a, const Expr& b) {
    return DecideComparison(kind, a, b, *analyzer_, &known_.bounds);
  }

  static Expr RewriteLogic(ExprKind kind, const Expr& a, const Expr& b) {
    int64_t neutral = kind == ExprKind::kAnd;  // true for and, false for or
    if (IsConst(a, neutral) || IsConst(b, !neutral)) return b;
    if (IsConst(b, neutral) || IsConst(a, !neutral)) return a;
    if (StructuralEqual(a, b)) return a;
    return {};
  }

  Expr RewriteCompare(ExprKind kind, const Expr& a, const Expr& b, const Expr& self) {
    if (StructuralEqual(a, b)) {
      bool holds = kind == ExprKind::kEQ || kind == ExprKind::kLE || kind == ExprKind::kGE;
      return IntImmNode::Make(DataType::Bool(), holds);
    }
    if (analyzer_->Assumed(self)) return IntImmNode::Make(DataType::Bool(), true);
    if (!IsIndexType(a.dtype())) return {};
    if (std::optional<bool> holds = Decide(kind, a, b))
      return IntImmNode::Make(DataType::Bool(), *holds, self.span());
    Expr candidate = ReduceComparison(kind, a, b, *analyzer_, &known_.bounds);
    if (candidate.get() && Accept(candidate, self, CostOf(self))) return Mutate(candidate);
    return {};
  }

  // What was found out, as long as the same is assumed.
  struct Known {
    Analyzer::BoundsCache bounds;
    std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> simple;  // by what it was
  };

  Analyzer* analyzer_;
  Known known_;
};

}  // namespace

// What is assumed on the way is forgotten again.
Expr Analyzer::Simplify(const Expr& expr) const {
  return Simplifier(const_cast<Analyzer*>(this)).Mutate(expr);
}

bool Analyzer::CanProve(const Expr& condition) const { return IsConst(Simplify(condition), 1); }

}  // namespace tern::arith
