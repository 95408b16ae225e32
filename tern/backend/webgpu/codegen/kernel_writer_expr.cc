// SPDX-License-Identifier: Apache-2.0
//
// Expressions of KernelWriter.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>

#include "tern/backend/webgpu/codegen/kernel_writer.h"
#include "tern/ir/structural.h"
#include "tern/ir/visitor.h"

namespace tern::backend::webgpu {

using ir::ExprKind;

namespace {

bool IsComparison(ExprKind kind) { return kind >= ExprKind::kEQ && kind <= ExprKind::kGE; }

const char* Token(ExprKind kind) {
  switch (kind) {
    case ExprKind::kAdd:
      return "+";
    case ExprKind::kSub:
      return "-";
    case ExprKind::kMul:
      return "*";
    case ExprKind::kDiv:
    case ExprKind::kTruncDiv:
    case ExprKind::kFloorDiv:
      return "/";
    case ExprKind::kTruncMod:
    case ExprKind::kFloorMod:
      return "%";
    case ExprKind::kEQ:
      return "==";
    case ExprKind::kNE:
      return "!=";
    case ExprKind::kLT:
      return "<";
    case ExprKind::kLE:
      return "<=";
    case ExprKind::kGT:
      return ">";
    default:
      TERN_ICHECK(kind == ExprKind::kGE) << "operator " << static_cast<int>(kind);
      return ">=";
  }
}

bool IsDivision(ExprKind kind) {
  return kind >= ExprKind::kTruncDiv && kind <= ExprKind::kFloorMod;
}

// n where the expression is 2^n, else -1.
int PowerOfTwo(const ir::Expr& expr) {
  std::optional<int64_t> value = expr.dtype().is_integer() ? ir::AsConstInt(expr) : std::nullopt;
  if (!value || *value <= 0 || (*value & (*value - 1)) != 0) return -1;
  return std::countr_zero(static_cast<uint64_t>(*value));
}

}  // namespace

// ---- Leaves ----

KernelWriter::Value KernelWriter::Emit(const ir::Expr& expr) {
  return ir::DispatchExpr(expr.get(), [this](auto* node) { return EmitNode(node); });
}

std::string KernelWriter::Operand(const Value& value) {
  return value.is_primary ? value.text : "(" + value.text + ")";
}

std::string KernelWriter::Operand(const ir::Expr& expr) { return Operand(Emit(expr)); }

std::string KernelWriter::Name(const Value& value, const char* wanted) {
  std::string name = names_.Define(wanted);
  Line(fmt::format("let {} = {};", name, value.text));
  return name;
}

KernelWriter::Value KernelWriter::Call(const std::string& helper, const std::vector<Value>& args) {
  std::string text;
  for (const Value& arg : args) text += (text.empty() ? "" : ", ") + arg.text;
  return {fmt::format("{}({})", helpers_.Use(helper), text)};
}

KernelWriter::Value KernelWriter::EmitNode(const ir::IntImmNode* node) {
  return Literal(node->dtype, node->value);
}

KernelWriter::Value KernelWriter::EmitNode(const ir::FloatImmNode* node) {
  ValueType(node->dtype);
  auto value = static_cast<float>(node->value);
  // The language has no literals for these, and flushes those that are subnormal if it likes.
  if (!std::isfinite(value) || (value != 0 && !std::isnormal(value)) ||
      (value == 0 && std::signbit(value))) {
    has_run_time_zero_ = true;
    return {fmt::format("bitcast<f32>({:#x}u | tern_zero)", std::bit_cast<uint32_t>(value))};
  }
  char buffer[32];
  auto result = std::to_chars(buffer, std::end(buffer), value);
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return {text + "f", value >= 0, true};
}

KernelWriter::Value KernelWriter::EmitNode(const ir::StringImmNode* node) {
  TERN_ICHECK(false) << "the text \"" << node->value << "\" in a kernel";
  return {};
}

KernelWriter::Value KernelWriter::EmitNode(const ir::VarNode* node) {
  auto it = values_.find(node);
  TERN_ICHECK(it != values_.end()) << "variable " << node->name << " has no value";
  return {it->second};
}

KernelWriter::Value KernelWriter::EmitNode(const ir::LetNode* node) {
  Bind(node->var, Emit(node->value));
  return Emit(node->body);
}

KernelWriter::Value KernelWriter::EmitNode(const ir::BufferLoadNode* node) {
  TERN_ICHECK(node->indices.size() == 1) << node->buffer->name << " is not flat";
  const Memory& memory = MemoryOf(node->buffer);
  return Load(memory, Index(memory, node->indices[0], node->dtype), node->dtype);
}

KernelWriter::Value KernelWriter::EmitNode(const ir::RampNode* node) {
  return {ValueType(node->dtype)};  // says so
}
KernelWriter::Value KernelWriter::EmitNode(const ir::BroadcastNode* node) {
  return {ValueType(node->dtype)};
}

// Of scalars one of them is taken.
KernelWriter::Value KernelWriter::EmitNode(const ir::ShuffleNode* node) {
  ValueType(node->dtype);
  return Emit(node->vectors.at(static_cast<size_t>(node->indices.at(0))));
}

// ---- Operators ----

KernelWriter::Value KernelWriter::EmitBinary(ExprKind kind, const ir::Expr& a, const ir::Expr& b) {
  DataType dtype = a.dtype();
  ValueType(dtype);
  // Implementations may forget about NaN; bits they cannot.
  if (dtype.is_float() && (kind == ExprKind::kNE || kind == ExprKind::kEQ) &&
      ir::StructuralEqual(a, b)) {
    Value is_nan = Call("is_nan", {Emit(a)});
    return kind == ExprKind::kNE ? is_nan : Value{"!" + is_nan.text, false};
  }
  if (int power = PowerOfTwo(b); power >= 0 && dtype.bits() == 64 && IsDivision(kind))
    return ByPowerOfTwo(kind, dtype, Emit(a), power);
  Value first = Emit(a), second = Emit(b);
  // What is computed of numbers alone, the language computes and checks when it compiles; it also
  // refuses a division by 0.
  if (second.is_literal) first = AtRunTime(first, dtype);
  if (IsDivision(kind) && ir::IsConst(b, 0)) second = AtRunTime(second, dtype);
  if (IsComparison(kind)) return Compare(kind, dtype, first, second);
  if (kind == ExprKind::kMin || kind == ExprKind::kMax) return MinMax(kind, dtype, first, second);
  return dtype.is_float() ? FloatBinary(kind, first, second)
                          : IntBinary(kind, dtype, first, second);
}

// Compilers merge constants and regroup sums where nothing stops them, and take a product with 0 to
// be 0: the language lets them.
KernelWriter::Value KernelWriter::FloatBinary(ExprKind kind, const Value& a, const Value& b) {
  bool is_sum = kind == ExprKind::kAdd || kind == ExprKind::kSub;
  bool is_scaled = !is_sum && (a.is_literal || b.is_literal);
  auto operand = [&](const Value& value) {
    if (is_sum && value.is_sum) return Opaque(value).text;
    if (is_scaled && value.is_scaled) return Opaque(value).text;
    return Operand(!is_sum && value.text == "0.0f" ? AtRunTime(value, DataType::Float(32)) : value);
  };
  return {.text = fmt::format("{} {} {}", operand(a), Token(kind), operand(b)),
          .is_primary = false,
          .is_sum = is_sum,
          .is_scaled = is_scaled};
}

KernelWriter::Value KernelWriter::Compare(ExprKind kind, DataType dtype, const Value& a,
                                          const Value& b) {
  bool is_equality = kind == ExprKind::kEQ || kind == ExprKind::kNE;
  if (dtype.is_bool() && !is_equality)
    return Compare(kind, DataType::UInt(32), ToBits(a, dtype), ToBits(b, dtype));
  std::string text = fmt::format("{} {} {}", Operand(a), Token(kind), Operand(b));
  if (dtype.is_float() || dtype.bits() != 64) return {text, false};
  if (is_equality) return {fmt::format("{}({})", kind == ExprKind::kEQ ? "all" : "any", text)};
  std::string less = dtype.is_int() ? "less_i64" : "less_u64";
  bool is_swapped = kind == ExprKind::kGT || kind == ExprKind::kLE;
  bool is_negated = kind == ExprKind::kLE || kind == ExprKind::kGE;
  Value value = is_swapped ? Call(less, {b, a}) : Call(less, {a, b});
  return is_negated ? Value{"!" + value.text, false} : value;
}

// min(a, b) is a < b ? a : b (docs/numerics.md).
KernelWriter::Value KernelWriter::MinMax(ExprKind kind, DataType dtype, const Value& a,
                                         const Value& b) {
  if (dtype.is_integer() && dtype.bits() <= 32 && !dtype.is_bool())
    return {fmt::format("{}({}, {})", kind == ExprKind::kMin ? "min" : "max", a.text, b.text)};
  Value first{Name(a, "a")}, second{Name(b, "b")};
  ExprKind order = kind == ExprKind::kMin ? ExprKind::kLT : ExprKind::kGT;
  return {fmt::format("select({}, {}, {})", second.text, first.text,
                      Compare(order, dtype, first, second).text)};
}

KernelWriter::Value KernelWriter::IntBinary(ExprKind kind, DataType dtype, const Value& a,
                                            const Value& b) {
  if (dtype.bits() == 64) return WideBinary(kind, dtype, a, b);
  bool is_floor = kind == ExprKind::kFloorDiv || kind == ExprKind::kFloorMod;
  if (is_floor && dtype.is_int())
    return Wrap(Call(kind == ExprKind::kFloorDiv ? "floor_div" : "floor_mod", {a, b}), dtype);
  return Wrap({fmt::format("{} {} {}", Operand(a), Token(kind), Operand(b)), false}, dtype);
}

KernelWriter::Value KernelWriter::WideBinary(ExprKind kind, DataType dtype, const Value& a,
                                             const Value& b) {
  std::string type = dtype.is_int() ? "_i64" : "_u64";
  switch (kind) {
    case ExprKind::kAdd:
      return Call("add", {a, b});
    case ExprKind::kSub:
      return Call("sub", {a, b});
    case ExprKind::kMul:
      return Call("mul", {a, b});
    case ExprKind::kTruncDiv:
      return Call("div" + type, {a, b});
    case ExprKind::kTruncMod:
      return Call("mod" + type, {a, b});
    case ExprKind::kFloorDiv:
      return Call((dtype.is_int() ? "floor_div" : "div") + type, {a, b});
    default:
      TERN_ICHECK(kind == ExprKind::kFloorMod) << "operator " << static_cast<int>(kind);
      return Call((dtype.is_int() ? "floor_mod" : "mod") + type, {a, b});
  }
}

// Without the loop that others need: many sizes are divided by the threads of a block.
KernelWriter::Value KernelWriter::ByPowerOfTwo(ExprKind kind, DataType dtype, const Value& a,
                                               int power) {
  Value count = Literal(DataType::UInt(32), power);
  bool is_trunc = kind == ExprKind::kTruncDiv || kind == ExprKind::kTruncMod;
  if (dtype.is_int() && is_trunc)
    return Call(kind == ExprKind::kTruncDiv ? "div_power" : "mod_power", {a, count});
  if (kind == ExprKind::kTruncDiv || kind == ExprKind::kFloorDiv)
    return Call(dtype.is_int() ? "shift_right_i64" : "shift_right_u64", {a, count});
  Value mask = Literal(dtype, (int64_t{1} << power) - 1);
  return {fmt::format("{} & {}", Operand(a), mask.text), false};
}

// ---- Choices ----

KernelWriter::Value KernelWriter::EmitNode(const ir::AndNode* node) {
  return ShortCircuit(node->a, node->b, true);
}
KernelWriter::Value KernelWriter::EmitNode(const ir::OrNode* node) {
  return ShortCircuit(node->a, node->b, false);
}

// `b` is evaluated where `a` does not decide.
KernelWriter::Value KernelWriter::ShortCircuit(const ir::Expr& a, const ir::Expr& b, bool is_and) {
  Value first = Emit(a);
  if (!ir::MayFault(b)) {
    Value second = Emit(b);
    return {fmt::format("{} {} {}", Operand(first), is_and ? "&&" : "||", Operand(second)), false};
  }
  std::string holds = names_.Define("holds");
  Line(fmt::format("var {} = {};", holds, first.text));
  AssignIn(fmt::format("if ({}{})", is_and ? "" : "!", holds), holds, b);
  return {holds};
}

void KernelWriter::AssignIn(const std::string& head, const std::string& variable,
                            const ir::Expr& value) {
  Braced(head, [&] {
    Value computed = Emit(value);
    Line(fmt::format("{} = {};", variable, computed.text));
  });
}

KernelWriter::Value KernelWriter::EmitIfThenElse(const ir::CallNode* node) {
  Value condition = Emit(node->args[0]);
  std::string chosen = names_.Define("chosen");
  Line(fmt::format("var {}: {};", chosen, ValueType(node->dtype)));
  AssignIn(fmt::format("if ({})", condition.text), chosen, node->args[1]);
  AssignIn("else", chosen, node->args[2]);
  return {chosen};
}

KernelWriter::Value KernelWriter::EmitNode(const ir::NotNode* node) {
  return {"!" + Operand(node->a), false};
}

KernelWriter::Value KernelWriter::EmitNode(const ir::SelectNode* node) {
  Value condition = Emit(node->condition);
  Value yes = Emit(node->true_value), no = Emit(node->false_value);
  return {fmt::format("select({}, {}, {})", no.text, yes.text, condition.text)};
}

KernelWriter::Value KernelWriter::EmitNode(const ir::CastNode* node) {
  DataType from = node->value.dtype(), to = node->dtype;
  // Sums and products need no high words where they are cut off.
  if (from.is_integer() && from.bits() == 64 && to.is_integer() && !to.is_bool() && to.bits() <= 32)
    return Convert(LowWord(node->value), DataType::UInt(32), to);
  return Convert(Emit(node->value), from, to);
}

}  // namespace tern::backend::webgpu
