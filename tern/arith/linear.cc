// SPDX-License-Identifier: Apache-2.0
#include "tern/arith/linear.h"

#include "tern/arith/analyzer.h"
#include "tern/arith/fold.h"
#include "tern/ir/visitor.h"

namespace tern::arith {
namespace {

using namespace tern::ir;  // the node classes

std::optional<LinearForm> Split(const Expr& expr, const VarNode* var);

template <class T>
std::optional<LinearForm> SplitSum(const T* sum, const VarNode* var) {
  auto a = Split(sum->a, var), b = Split(sum->b, var);
  if (!a || !b) return {};
  auto coefficient = FoldInt(T::kKind, a->coefficient, b->coefficient);
  if (!coefficient) return {};
  return LinearForm{*coefficient, T::Make(a->rest, b->rest, sum->span)};
}

std::optional<LinearForm> SplitProduct(const MulNode* product, const VarNode* var) {
  bool constant_first = AsConstInt(product->a).has_value();
  const Expr &x = constant_first ? product->b : product->a,
             &factor = constant_first ? product->a : product->b;
  std::optional<int64_t> value = AsConstInt(factor);
  auto linear = Split(x, var);
  if (!value || !linear) return {};
  auto coefficient = FoldInt(ExprKind::kMul, linear->coefficient, *value);
  if (!coefficient) return {};
  return LinearForm{*coefficient, MulNode::Make(linear->rest, factor, product->span)};
}

std::optional<LinearForm> Split(const Expr& expr, const VarNode* var) {
  DataType dtype = expr.dtype();
  if (!IsIndexType(dtype)) return {};
  if (!UsesVar(expr, var)) return LinearForm{0, expr};
  if (expr.get() == var) return LinearForm{1, IntImmNode::Make(dtype, 0)};
  if (const auto* sum = expr.As<AddNode>()) return SplitSum(sum, var);
  if (const auto* difference = expr.As<SubNode>()) return SplitSum(difference, var);
  if (const auto* product = expr.As<MulNode>()) return SplitProduct(product, var);
  if (const auto* cast = expr.As<CastNode>(); cast && cast->value.dtype().bits() <= dtype.bits()) {
    auto linear = Split(cast->value, var);
    if (linear) linear->rest = CastNode::Make(dtype, linear->rest, expr.span());
    return linear;
  }
  return {};
}

}  // namespace

bool IsIndexType(DataType dtype) {
  return dtype.is_int() && dtype.bits() >= 32 && dtype.is_scalar();
}

bool IsFixed(const Expr& expr) {
  bool fixed = true;
  ForEachExpr(expr, [&](const Expr& e) {
    fixed &= !e.As<BufferLoadNode>() && !e.As<CallNode>() && !e.As<LetNode>();
  });
  return fixed;
}

const VarNode* AsWidenedVar(const Expr& expr) {
  const auto* cast = expr.As<CastNode>();
  return (cast && IsIndexType(cast->value.dtype()) ? cast->value : expr).As<VarNode>();
}

std::optional<LinearForm> AsLinear(const Expr& expr, const VarNode* var) {
  auto linear = Split(expr, var);
  if (linear) linear->rest = Analyzer().Simplify(linear->rest);
  return linear;
}

}  // namespace tern::arith
