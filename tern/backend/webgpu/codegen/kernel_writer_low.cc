// SPDX-License-Identifier: Apache-2.0
//
// The low word of an integer of 64 bits, without the high words where it does not depend on them:
// an index needs no more, and is made of sums and products.
#include <fmt/format.h>

#include "tern/backend/webgpu/codegen/kernel_writer.h"
#include "tern/ir/visitor.h"

namespace tern::backend::webgpu {

using ir::ExprKind;

namespace {

const char* WordOperator(const ir::Expr& expr) {
  switch (expr->kind) {
    case ExprKind::kAdd:
      return "+";
    case ExprKind::kSub:
      return "-";
    case ExprKind::kMul:
      return "*";
    default:
      break;
  }
  const auto* call = expr.As<ir::CallNode>();
  if (call && call->name == "bit_and") return "&";
  if (call && call->name == "bit_or") return "|";
  if (call && call->name == "bit_xor") return "^";
  return nullptr;
}

std::pair<ir::Expr, ir::Expr> Operands(const ir::Expr& expr) {
  if (const auto* call = expr.As<ir::CallNode>()) return {call->args[0], call->args[1]};
  const auto* binary = static_cast<const ir::AddNode*>(expr.get());  // all are laid out alike
  return {binary->a, binary->b};
}

}  // namespace

KernelWriter::Value KernelWriter::LowWord(const ir::Expr& expr) {
  DataType word = DataType::UInt(32);
  if (const auto* number = expr.As<ir::IntImmNode>()) return Literal(word, number->value);
  if (const auto* cast = expr.As<ir::CastNode>(); cast && !cast->value.dtype().is_float()) {
    DataType from = cast->value.dtype();
    return from.bits() == 64 ? LowWord(cast->value) : Convert(Emit(cast->value), from, word);
  }
  if (const auto* let = expr.As<ir::LetNode>()) {
    Bind(let->var, Emit(let->value));
    return LowWord(let->body);
  }
  if (const auto* select = expr.As<ir::SelectNode>()) {
    Value condition = Emit(select->condition);
    Value yes = LowWord(select->true_value), no = LowWord(select->false_value);
    return {fmt::format("select({}, {}, {})", no.text, yes.text, condition.text)};
  }
  if (const char* token = WordOperator(expr)) {
    auto [a, b] = Operands(expr);
    Value first = LowWord(a), second = LowWord(b);
    if (second.is_literal) first = AtRunTime(first, word);
    return {fmt::format("{} {} {}", Operand(first), token, Operand(second)), false};
  }
  return {Operand(Emit(expr)) + ".x"};
}

}  // namespace tern::backend::webgpu
