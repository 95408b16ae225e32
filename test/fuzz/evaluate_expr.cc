// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/evaluate_expr.h"

#include "tern/arith/fold.h"
#include "tern/ir/visitor.h"

namespace tern::fuzz {
namespace {

using namespace tern::ir;  // the node classes
using Result = std::optional<int64_t>;

int64_t Wrap(DataType dtype, int64_t value) {
  if (dtype.is_bool()) return value != 0;
  int shift = 64 - dtype.bits();
  uint64_t bits = static_cast<uint64_t>(value) << shift;
  return dtype.is_uint() ? static_cast<int64_t>(bits >> shift)
                         : static_cast<int64_t>(bits) >> shift;
}

Result Combine(ExprKind kind, DataType operand, int64_t a, int64_t b) {
  Result value = arith::FoldInt(kind, a, b);
  if (!value || kind >= ExprKind::kEQ || operand.is_bool()) return value;
  bool traps = operand.is_int() && operand.bits() >= 32;
  int64_t wrapped = Wrap(operand, *value);
  if (traps && wrapped != *value) return {};
  return wrapped;
}

}  // namespace

Result Evaluate(const Expr& expr, const VarValues& values) {
  return DispatchExpr(expr.get(), [&](auto* node) -> Result {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
    if constexpr (std::is_same_v<T, IntImmNode>) {
      return node->value;
    } else if constexpr (std::is_same_v<T, VarNode>) {
      return values.at(node);
    } else if constexpr (requires { node->a, node->b; }) {
      Result a = Evaluate(node->a, values);
      if (!a) return {};
      if (T::kKind == ExprKind::kAnd && !*a) return 0;
      if (T::kKind == ExprKind::kOr && *a) return 1;
      Result b = Evaluate(node->b, values);
      return b ? Combine(T::kKind, node->a.dtype(), *a, *b) : std::nullopt;
    } else if constexpr (std::is_same_v<T, NotNode>) {
      Result a = Evaluate(node->a, values);
      return a ? Result(!*a) : std::nullopt;
    } else if constexpr (std::is_same_v<T, SelectNode>) {
      Result condition = Evaluate(node->condition, values);
      if (!condition) return {};
      return Evaluate(*condition ? node->true_value : node->false_value, values);
    } else if constexpr (std::is_same_v<T, CastNode>) {
      Result value = Evaluate(node->value, values);
      return value ? Result(Wrap(expr.dtype(), *value)) : std::nullopt;
    } else {
      TERN_ICHECK(false) << "no integer expression over variables";
      return {};
    }
  });
}

}  // namespace tern::fuzz
