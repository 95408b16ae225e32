// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/analyzer.h"
#include "tern/arith/fold.h"
#include "tern/arith/linear.h"
#include "tern/ir/mutator.h"
#include "tern/ir/structural.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes

class Simplifier : public ExprMutator {
 public:
  explicit Simplifier(const Analyzer& analyzer) : analyzer_(analyzer) {}

 private:
#define TERN_SIMPLIFY(name)                                            \
  Expr MutateNode(const name##Node* node, const Expr& self) override { \
    return Finish(Binary<name##Node>(node, self));                     \
  }
  TERN_BINARY_NODES(TERN_SIMPLIFY)
#undef TERN_SIMPLIFY

  Expr MutateNode(const NotNode* node, const Expr& self) override {
    Expr a = Mutate(node->a);
    if (const int64_t* value = AsConstInt(a))
      return IntImmNode::Make(a.dtype(), !*value, self.span());
    if (const auto* inner = a.As<NotNode>()) return inner->a;
    return a.same(node->a) ? self : NotNode::Make(a, self.span());
  }

  Expr MutateNode(const SelectNode* node, const Expr& self) override {
    Expr condition = Mutate(node->condition), yes = Mutate(node->true_value),
         no = Mutate(node->false_value);
    if (const int64_t* value = AsConstInt(condition)) return *value ? yes : no;
    if (StructuralEqual(yes, no)) return yes;
    if (condition.same(node->condition) && yes.same(node->true_value) && no.same(node->false_value))
      return self;
    return SelectNode::Make(condition, yes, no, self.span());
  }

  Expr MutateNode(const CastNode* node, const Expr& self) override {
    Expr value = Mutate(node->value);
    const int64_t* constant = AsConstInt(value);
    DataType dtype = self.dtype();
    if (constant && dtype.is_scalar() && dtype.is_integer() && Bounds(self).is_single())
      return IntImmNode::Make(dtype, *constant, self.span());
    return value.same(node->value) ? self : CastNode::Make(dtype, value, self.span());
  }

  ConstBounds Bounds(const Expr& expr) { return analyzer_.Bounds(expr, &cache_); }

  // A value that can only be one number is that number.
  Expr Finish(Expr expr) {
    if (!expr.dtype().is_scalar() || AsConstInt(expr)) return expr;
    ConstBounds bounds = Bounds(expr);
    return bounds.is_single() ? IntImmNode::Make(expr.dtype(), bounds.lo, expr.span()) : expr;
  }

  template <class T>
  Expr Binary(const T* node, const Expr& self) {
    Expr a = Mutate(node->a), b = Mutate(node->b);
    DataType operand = a.dtype();
    if (operand.is_scalar() && (operand.is_integer() || operand.is_bool())) {
      if (Expr result = FoldConstants(T::kKind, a, b, self)) return result;
      if (Expr result = Rewrite<T>(a, b, self.span())) return result;
    }
    return a.same(node->a) && b.same(node->b) ? self : T::Make(a, b, self.span());
  }

  Expr FoldConstants(NodeKind kind, const Expr& a, const Expr& b, const Expr& self) {
    const int64_t *x = AsConstInt(a), *y = AsConstInt(b);
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
  Expr Rewrite(const Expr& a, const Expr& b, const Span& span) {
    constexpr NodeKind kind = T::kKind;
    if constexpr (kind == NodeKind::kAdd) return RewriteAdd(a, b, span);
    if constexpr (kind == NodeKind::kSub) return RewriteSub(a, b, span);
    if constexpr (kind == NodeKind::kMul) return RewriteMul(a, b, span);
    if constexpr (kind == NodeKind::kFloorDiv) return RewriteFloorDiv(a, b, span);
    if constexpr (kind == NodeKind::kFloorMod) return RewriteFloorMod(a, b);
    if constexpr (kind == NodeKind::kMin || kind == NodeKind::kMax)
      return RewriteMinMax(kind, a, b);
    if constexpr (kind == NodeKind::kAnd || kind == NodeKind::kOr) return RewriteLogic(kind, a, b);
    if constexpr (kind >= NodeKind::kEQ && kind <= NodeKind::kGE) return RewriteCompare(kind, a, b);
    return {};
  }

  Expr RewriteAdd(const Expr& a, const Expr& b, const Span& span) {
    if (IsConst(b, 0)) return a;
    if (IsConst(a, 0)) return b;
    if (AsConstInt(a) && !AsConstInt(b))
      return Mutate(AddNode::Make(b, a, span));  // constants stand last
    const int64_t* y = AsConstInt(b);
    if (const auto* sum = a.As<AddNode>(); sum && y && IsIndexType(a.dtype()))
      if (const int64_t* x = AsConstInt(sum->b))
        if (auto total = FoldInt(NodeKind::kAdd, *x, *y))
          if (Expr constant = TryConst(a.dtype(), *total, span))
            return Mutate(AddNode::Make(sum->a, constant, span));
    return {};
  }

  Expr RewriteSub(const Expr& a, const Expr& b, const Span& span) {
    if (IsConst(b, 0)) return a;
    if (StructuralEqual(a, b)) return MakeConst(a.dtype(), 0, span);
    if (const auto* sum = a.As<AddNode>(); sum && IsIndexType(a.dtype())) {
      if (StructuralEqual(sum->a, b)) return sum->b;
      if (StructuralEqual(sum->b, b)) return sum->a;
    }
    return {};
  }

  Expr RewriteMul(const Expr& a, const Expr& b, const Span& span) {
    if (IsConst(b, 0) || IsConst(a, 1)) return b;
    if (IsConst(b, 1) || IsConst(a, 0)) return a;
    if (AsConstInt(a) && !AsConstInt(b)) return Mutate(MulNode::Make(b, a, span));
    return {};
  }

  Expr RewriteFloorDiv(const Expr& a, const Expr& b, const Span& span) {
    if (IsConst(b, 1)) return a;
    const int64_t* divisor = AsConstInt(b);
    if (!divisor || *divisor <= 0) return {};
    ConstBounds bounds = Bounds(a);
    if (bounds.lo >= 0 && bounds.hi < *divisor) return MakeConst(a.dtype(), 0, span);
    if (!IsIndexType(a.dtype())) return {};
    // (x * c * d + y) // d = x * c + y // d
    if (Expr multiple = ExactQuotient(a, *divisor)) return multiple;
    if (const auto* sum = a.As<AddNode>())
      if (Expr multiple = ExactQuotient(sum->a, *divisor))
        return Mutate(AddNode::Make(multiple, FloorDivNode::Make(sum->b, b, span), span));
    return {};
  }

  Expr RewriteFloorMod(const Expr& a, const Expr& b) {
    if (IsConst(b, 1)) return MakeConst(a.dtype(), 0);
    const int64_t* divisor = AsConstInt(b);
    if (!divisor || *divisor <= 0) return {};
    ConstBounds bounds = Bounds(a);
    if (bounds.lo >= 0 && bounds.hi < *divisor) return a;
    if (!IsIndexType(a.dtype())) return {};
    if (ExactQuotient(a, *divisor)) return MakeConst(a.dtype(), 0);
    if (const auto* sum = a.As<AddNode>(); sum && ExactQuotient(sum->a, *divisor))
      return Mutate(FloorModNode::Make(sum->b, b));
    return {};
  }

  // x * (c / d), where the expression is x * c and d divides c; null otherwise.
  Expr ExactQuotient(const Expr& expr, int64_t divisor) {
    const auto* product = expr.As<MulNode>();
    const int64_t* factor = product ? AsConstInt(product->b) : nullptr;
    if (!factor || *factor % divisor != 0) return {};
    return Mutate(MulNode::Make(product->a, IntImmNode::Make(expr.dtype(), *factor / divisor)));
  }

  Expr RewriteMinMax(NodeKind kind, const Expr& a, const Expr& b) {
    if (StructuralEqual(a, b)) return a;
    ConstBounds x = Bounds(a), y = Bounds(b);
    const Expr &smaller = kind == NodeKind::kMin ? a : b, &larger = kind == NodeKind::kMin ? b : a;
    if (x.hi <= y.lo && x.hi != ConstBounds::kPosInf) return smaller;
    if (y.hi <= x.lo && y.hi != ConstBounds::kPosInf) return larger;
    return {};
  }

  static Expr RewriteLogic(NodeKind kind, const Expr& a, const Expr& b) {
    int64_t neutral = kind == NodeKind::kAnd;  // true for and, false for or
    if (IsConst(a, neutral) || IsConst(b, !neutral)) return b;
    if (IsConst(b, neutral) || IsConst(a, !neutral)) return a;
    if (StructuralEqual(a, b)) return a;
    return {};
  }

  static Expr RewriteCompare(NodeKind kind, const Expr& a, const Expr& b) {
    if (!StructuralEqual(a, b)) return {};
    bool holds = kind == NodeKind::kEQ || kind == NodeKind::kLE || kind == NodeKind::kGE;
    return IntImmNode::Make(DataType::Bool(), holds);
  }

  const Analyzer& analyzer_;
  Analyzer::BoundsCache cache_;
};

}  // namespace

Expr Analyzer::Simplify(const Expr& expr) const { return Simplifier(*this).Mutate(expr); }

bool Analyzer::CanProve(const Expr& condition) const { return IsConst(Simplify(condition), 1); }

}  // namespace tern::arith
