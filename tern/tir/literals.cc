// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/literals.h"

#include <algorithm>
#include <type_traits>

#include "tern/ir/intrinsic.h"
#include "tern/ir/visitor.h"

namespace tern::tir {
namespace {

using namespace tern::ir;  // the node classes

template <class T>
inline constexpr bool kIsBinary = false;
template <ExprKind K>
inline constexpr bool kIsBinary<const BinaryNode<K>> = true;

// An operator with operands of its own type, apart: the operands, and how to make it of others.
struct Operator {
  std::vector<Expr> operands;
  std::function<Expr(std::vector<Expr>)> make;
};

Operator SplitCall(const CallNode* node) {
  const Intrinsic* intrinsic = FindIntrinsic(node->name);
  bool is_choice = node->name == kIfThenElse;
  if (!is_choice && (!intrinsic || !intrinsic->lane_wise || !intrinsic->one_type)) return {};
  std::vector<Expr> operands(node->args.begin() + is_choice, node->args.end());
  return {operands, [node, is_choice](std::vector<Expr> args) {
            if (is_choice) args.insert(args.begin(), node->args[0]);
            return CallNode::Make(node->name, std::move(args), DataType::Void(), node->span);
          }};
}

Operator Split(const Expr& expr) {
  Operator result = DispatchExpr(expr.get(), [](auto* node) -> Operator {
    using Node = std::remove_pointer_t<decltype(node)>;
    if constexpr (kIsBinary<std::add_const_t<Node>>) {
      return {{node->a, node->b}, [node](std::vector<Expr> args) {
                return std::remove_const_t<Node>::Make(args[0], args[1], node->span);
              }};
    } else if constexpr (std::is_same_v<std::remove_const_t<Node>, SelectNode>) {
      return {{node->true_value, node->false_value}, [node](std::vector<Expr> args) {
                return SelectNode::Make(node->condition, args[0], args[1], node->span);
              }};
    } else if constexpr (std::is_same_v<std::remove_const_t<Node>, CallNode>) {
      return SplitCall(node);
    } else {
      return {};
    }
  });
  bool one_type = std::all_of(result.operands.begin(), result.operands.end(),
                              [&](const Expr& e) { return e.dtype() == expr.dtype(); });
  return one_type ? result : Operator();
}

}  // namespace

bool IsLiteral(const Expr& expr) {
  if (expr.dtype() != DataType::Int(64) && expr.dtype() != DataType::Float(32)) return false;
  if (expr.As<IntImmNode>() || expr.As<FloatImmNode>()) return true;
  Operator op = Split(expr);
  return !op.operands.empty() && std::all_of(op.operands.begin(), op.operands.end(), IsLiteral);
}

Expr RetypeLiteral(const Expr& expr, DataType dtype,
                   const std::function<double(const FloatImmNode*)>& exact) {
  if (const auto* imm = expr.As<IntImmNode>()) {
    if (dtype.is_float())
      return FloatImmNode::Make(dtype, static_cast<double>(imm->value), imm->span);
    return dtype.is_integer() ? IntImmNode::Make(dtype, imm->value, imm->span) : Expr();
  }
  if (const auto* imm = expr.As<FloatImmNode>())
    return dtype.is_float() ? FloatImmNode::Make(dtype, exact(imm), imm->span) : Expr();
  Operator op = Split(expr);
  if (dtype.is_float() && expr.dtype().is_integer()) {
    // Those that mean the same of floats.
    const auto* call = expr.As<CallNode>();
    bool is_common = expr.As<AddNode>() || expr.As<SubNode>() || expr.As<MulNode>() ||
                     expr.As<MinNode>() || expr.As<MaxNode>() || expr.As<SelectNode>() ||
                     (call && (call->name == kIfThenElse || call->name == "abs"));
    if (!is_common) return {};
  }
  if (op.operands.empty()) return {};
  std::vector<Expr> operands;
  for (const Expr& operand : op.operands) {
    operands.push_back(RetypeLiteral(operand, dtype, exact));
    if (!operands.back()) return {};
  }
  return op.make(std::move(operands));
}

}  // namespace tern::tir
