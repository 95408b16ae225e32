// SPDX-License-Identifier: Apache-2.0
//
// Expressions, and the helper functions that keep their meaning exact.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "tern/codegen/c/codegen_c.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/visitor.h"
#include "tern/tir/intrinsics.h"

namespace tern::codegen {

using ir::ExprKind;

namespace {

// Integers that C promotes to int.
bool IsNarrowInteger(DataType dtype) { return dtype.is_integer() && dtype.bits() < 32; }

// Whether C computes the node in a wider type than its own.
bool IsComputedWide(const ir::Expr& expr) {
  ExprKind kind = expr->kind;
  bool arithmetic = kind >= ExprKind::kAdd && kind <= ExprKind::kTruncMod;
  return arithmetic && IsNarrowInteger(expr.dtype());
}

std::string InParentheses(Code code, Precedence least) {
  return code.precedence < least ? "(" + code.text + ")" : std::move(code.text);
}

Precedence Tighter(Precedence level) {
  return static_cast<Precedence>(static_cast<int>(level) + 1);
}

// The operator of a comparison that is true where `kind` is false, on types without NaN.
const char* Opposite(ExprKind kind) {
  switch (kind) {
    case ExprKind::kEQ:
      return "!=";
    case ExprKind::kNE:
      return "==";
    case ExprKind::kLT:
      return ">=";
    case ExprKind::kLE:
      return ">";
    case ExprKind::kGT:
      return "<=";
    case ExprKind::kGE:
      return "<";
    default:
      return nullptr;
  }
}

void RequireScalar(DataType dtype, const char* what) {
  TERN_ICHECK(dtype.is_scalar()) << what << " of " << dtype.str() << " was not lowered to scalars";
}

}  // namespace

Code CodeGenC::Print(const ir::Expr& expr) {
  Code code = PrintWide(expr);
  if (!IsComputedWide(expr)) return code;
  return {"(" + ValueType(expr.dtype()) + ")" + InParentheses(code, Precedence::kUnary),
          Precedence::kUnary};
}

std::string CodeGenC::Print(const ir::Expr& expr, Precedence least) {
  return InParentheses(Print(expr), least);
}

std::string CodeGenC::PrintConverted(const ir::Expr& expr, Precedence least) {
  if (auto* imm = expr.As<ir::IntImmNode>(); imm && !expr.dtype().is_bool()) {
    constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
    if (imm->value <= kMax && imm->value >= (expr.dtype().is_int() ? -kMax : 0)) {
      Precedence precedence = imm->value < 0 ? Precedence::kUnary : Precedence::kPrimary;
      return InParentheses({std::to_string(imm->value), precedence}, least);
    }
  }
  return InParentheses(IsNarrowInteger(expr.dtype()) ? PrintWide(expr) : Print(expr), least);
}

std::string CodeGenC::PrintOperand(const ir::Expr& expr, const ir::Expr& sibling,
                                   Precedence least) {
  bool convertible = expr.As<ir::IntImmNode>() && !sibling.As<ir::IntImmNode>();
  return convertible ? PrintConverted(expr, least) : Print(expr, least);
}

Code CodeGenC::PrintWide(const ir::Expr& expr) {
  return ir::DispatchExpr(expr.get(), [this](auto* node) { return PrintNode(node); });
}

// ---- Leaves.

Code CodeGenC::PrintNode(const ir::IntImmNode* node) {
  DataType dtype = node->dtype;
  if (dtype.is_bool()) return {node->value ? "true" : "false"};
  if (dtype.is_uint()) {
    std::string suffix = dtype.bits() == 64 ? "U" + LongSuffix() : dtype.bits() == 32 ? "U" : "";
    return {std::to_string(static_cast<uint64_t>(node->value)) + suffix};
  }
  std::string suffix = dtype.bits() == 64 ? LongSuffix() : "";
  // The most negative value has no literal: the minus is an operator, and what it is applied to
  // must fit.
  int64_t lowest = dtype.bits() == 64 ? std::numeric_limits<int64_t>::min()
                                      : std::numeric_limits<int32_t>::min();
  if (node->value == lowest)
    return {std::to_string(lowest + 1) + suffix + " - 1", Precedence::kAdditive};
  return {std::to_string(node->value) + suffix,
          node->value < 0 ? Precedence::kUnary : Precedence::kPrimary};
}

Code CodeGenC::PrintNode(const ir::FloatImmNode* node) {
  std::string text = FloatLiteral(node->dtype, node->value);
  return {text, text[0] == '-' ? Precedence::kUnary : Precedence::kPrimary};
}

std::string CodeGenC::FloatLiteral(DataType dtype, double value) {
  if (!std::isfinite(value)) return NonFiniteLiteral(dtype, value);
  char buffer[32];
  // The shortest decimal that reads back as the same value of the type.
  auto result = dtype.bits() == 64
                    ? std::to_chars(buffer, std::end(buffer), value)
                    : std::to_chars(buffer, std::end(buffer), static_cast<float>(value));
  std::string text(buffer, result.ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return dtype.bits() == 64 ? text : text + "f";
}

Code CodeGenC::PrintNode(const ir::StringImmNode* node) { return {QuoteC(node->value)}; }

Code CodeGenC::PrintNode(const ir::VarNode* node) { return {NameOf(node)}; }

// ---- Operators.

template <ExprKind K>
Code CodeGenC::PrintNode(const ir::BinaryNode<K>* node) {
  const ir::Expr &a = node->a, &b = node->b;
  switch (K) {
    case ExprKind::kAdd:
      return PrintArithmetic("+", Precedence::kAdditive, a, b);
    case ExprKind::kSub:
      return PrintArithmetic("-", Precedence::kAdditive, a, b);
    case ExprKind::kMul:
      return PrintArithmetic("*", Precedence::kMultiplicative, a, b);
    case ExprKind::kDiv:
    case ExprKind::kTruncDiv:
      return PrintArithmetic("/", Precedence::kMultiplicative, a, b);
    case ExprKind::kTruncMod:
      return PrintArithmetic("%", Precedence::kMultiplicative, a, b);
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
      return PrintFloorDivision(K, a, b);
    case ExprKind::kMin:
    case ExprKind::kMax:
      return PrintMinMax(K, a, b);
    case ExprKind::kEQ:
      return PrintComparison("==", a, b);
    case ExprKind::kNE:
      return PrintComparison("!=", a, b);
    case ExprKind::kLT:
      return PrintComparison("<", a, b);
    case ExprKind::kLE:
      return PrintComparison("<=", a, b);
    case ExprKind::kGT:
      return PrintComparison(">", a, b);
    case ExprKind::kGE:
      return PrintComparison(">=", a, b);
    default:
      return PrintLogic(K, a, b);
  }
}

Code CodeGenC::PrintArithmetic(const char* token, Precedence level, const ir::Expr& a,
                               const ir::Expr& b) {
  std::string left = PrintOperand(a, b, level);
  // C promotes uint16 to int, where the product of two can overflow.
  if (*token == '*' && a.dtype() == DataType::UInt(16))
    left = "(" + ValueType(DataType::UInt(32)) + ")" + Print(a, Precedence::kUnary);
  return {fmt::format("{} {} {}", left, token, PrintOperand(b, a, Tighter(level))), level};
}

Code CodeGenC::PrintComparison(const char* token, const ir::Expr& a, const ir::Expr& b) {
  RequireScalar(a.dtype(), "a comparison");
  std::string left = PrintOperand(a, b, Precedence::kAdditive);
  return {fmt::format("{} {} {}", left, token, PrintOperand(b, a, Precedence::kAdditive)),
          Precedence::kComparison};
}

Code CodeGenC::PrintLogic(ExprKind kind, const ir::Expr& a, const ir::Expr& b) {
  RequireScalar(a.dtype(), "logic");
  bool is_and = kind == ExprKind::kAnd;
  Precedence level = is_and ? Precedence::kAnd : Precedence::kOr;
  // Chains of one operator stay flat; compilers ask for parentheses where the two mix.
  auto operand = [&](const ir::Expr& e) {
    return Print(e, e->kind == kind ? level : Precedence::kComparison);
  };
  if (!HasLet(b)) {
    std::string left = operand(a);
    return {fmt::format("{} {} {}", left, is_and ? "&&" : "||", operand(b)), level};
  }
  // The bindings inside `b` may be made only where `b` is evaluated.
  std::string first = Print(a).text;
  std::string name = names_.Define("holds");
  Line(fmt::format("{} {} = {};", ValueType(DataType::Bool()), name, first));
  Line(fmt::format("if ({}{}) {{", is_and ? "" : "!", name));
  EmitAssignment(name, b);
  Line("}");
  return {name};
}

Code CodeGenC::PrintNot(const ir::Expr& expr) {
  RequireScalar(expr.dtype(), "logic");
  if (auto* inner = expr.As<ir::NotNode>()) return Print(inner->a);
  if (const char* opposite = Opposite(expr->kind)) {
    auto* comparison =
        static_cast<const ir::EQNode*>(expr.get());  // all comparisons are laid out alike
    if (!comparison->a.dtype().is_float())
      return PrintComparison(opposite, comparison->a, comparison->b);
  }
  return {"!" + Print(expr, Precedence::kUnary), Precedence::kUnary};
}

Code CodeGenC::PrintNode(const ir::SelectNode* node) {
  RequireScalar(node->condition.dtype(), "a condition");
  return PrintChoice(node->condition, node->true_value, node->false_value);
}

Code CodeGenC::PrintNode(const ir::CallNode* node) {
  if (node->name != ir::kIfThenElse) return PrintCall(node);
  return PrintChoice(node->args[0], node->args[1], node->args[2]);
}

Code CodeGenC::PrintChoice(const ir::Expr& condition, const ir::Expr& yes, const ir::Expr& no) {
  std::string holds = Print(condition, Precedence::kOr);
  if (!HasLet(yes) && !HasLet(no)) {
    std::string first = PrintOperand(yes, no, Precedence::kOr);
    std::string second = PrintOperand(no, yes, Precedence::kConditional);
    return {fmt::format("{} ? {} : {}", holds, first, second), Precedence::kConditional};
  }
  // The bindings inside of a value may be made only where it is chosen.
  std::string name = names_.Define("chosen");
  Line(fmt::format("{} {};", ValueType(yes.dtype()), name));
  Line(fmt::format("if ({}) {{", holds));
  EmitAssignment(name, yes);
  Line("} else {");
  EmitAssignment(name, no);
  Line("}");
  return {name};
}

void CodeGenC::EmitAssignment(const std::string& target, const ir::Expr& value) {
  Indent indent(*this);
  std::string text = PrintConverted(value);
  Line(fmt::format("{} = {};", target, text));
}

Code CodeGenC::PrintNode(const ir::LetNode* node) {
  EmitDeclaration(node->var, node->value);
  return Print(node->body);
}

Code CodeGenC::PrintConversion(const ir::CastNode* node) {
  DataType to = node->dtype;
  RequireScalar(to, "a conversion");
  if (to.is_bool())
    return {Print(node->value, Precedence::kAdditive) + " != 0", Precedence::kComparison};
  std::string type = ValueType(to);
  if (type == ValueType(node->value.dtype())) return Print(node->value);
  return {"(" + type + ")" + Print(node->value, Precedence::kUnary), Precedence::kUnary};
}

// ---- Calls.

Code CodeGenC::PrintCall(const ir::CallNode* node) {
  static const std::pair<const char*, const char*> kOperators[] = {
      {"shift_left", "<<"}, {"shift_right", ">>"}, {"bit_and", "&"},
      {"bit_or", "|"},      {"bit_xor", "^"},      {"bit_not", "~"}};
  for (const auto& [name, token] : kOperators)
    if (node->name == name) return PrintBitOperator(token, node);
  if (node->name == tir::intrinsic::kReinterpret) return PrintReinterpret(node);
  std::string function = FunctionName(node);
  TERN_ICHECK(!function.empty()) << "intrinsic " << node->name << " of " << node->dtype.str()
                                 << " was not lowered for this language";
  std::string args;
  for (const ir::Expr& arg : node->args) args += (args.empty() ? "" : ", ") + Print(arg).text;
  return {function + "(" + args + ")"};
}

// Always in parentheses: compilers ask for them where these mix with other operators.
Code CodeGenC::PrintBitOperator(const char* token, const ir::CallNode* node) {
  DataType dtype = node->dtype;
  std::string first = Print(node->args[0], Precedence::kUnary);
  if (node->args.size() == 1) {
    first = token + first;
  } else {
    // Bits may be shifted into and out of the sign only where there is none.
    bool shifts_signed = node->name == "shift_left" && dtype.is_int() && dtype.is_scalar();
    if (shifts_signed) first = "(" + ValueType(DataType::UInt(dtype.bits())) + ")" + first;
    first = fmt::format("({} {} {})", first, token, Print(node->args[1], Precedence::kUnary));
    if (shifts_signed) return {"(" + ValueType(dtype) + ")" + first, Precedence::kUnary};
  }
  if (!IsNarrowInteger(dtype) || !dtype.is_scalar())
    return {first, node->args.size() == 1 ? Precedence::kUnary : Precedence::kPrimary};
  return {"(" + ValueType(dtype) + ")" + first, Precedence::kUnary};
}

Code CodeGenC::PrintReinterpret(const ir::CallNode* node) {
  DataType from = node->args[0].dtype(), to = node->dtype;
  RequireScalar(to, "reinterpret");
  std::string name = "tern_" + TypeSuffix(from) + "_as_" + TypeSuffix(to);
  UseHelper(name, fmt::format("static {2} {0}({1} x) {{\n"
                              "  union {{ {1} from; {2} to; }} bits;\n"
                              "  bits.from = x;\n"
                              "  return bits.to;\n"
                              "}}\n",
                              name, ValueType(from), ValueType(to)));
  return {name + "(" + PrintConverted(node->args[0]) + ")"};
}

// ---- Memory.

Code CodeGenC::PrintLoad(const ir::BufferLoadNode* node) {
  RequireScalar(node->dtype, "a load");
  return FromMemory(node->dtype, {NameOf(node->buffer) + "[" +
                                  PlaceOf(node->buffer, PrintConverted(node->indices[0])) + "]"});
}

void CodeGenC::EmitStore(const tir::BufferStoreNode* node) {
  RequireScalar(node->value.dtype(), "a store");
  std::string index = PlaceOf(node->buffer, PrintConverted(node->indices[0]));
  std::string value = ToMemory(node->value);
  Line(fmt::format("{}[{}] = {};", NameOf(node->buffer), index, value));
}

Code CodeGenC::FromMemory(DataType dtype, Code element) {
  if (dtype.is_bool())
    return {InParentheses(element, Precedence::kAdditive) + " != 0", Precedence::kComparison};
  return element;
}

std::string CodeGenC::ToMemory(const ir::Expr& value) { return PrintConverted(value); }

// ---- Helpers.

std::string CodeGenC::TypeSuffix(DataType dtype) {
  const char* code = dtype.is_bfloat16() ? "bf"
                     : dtype.is_float()  ? "f"
                     : dtype.is_uint()   ? "u"
                                         : "i";
  std::string suffix = code + std::to_string(dtype.bits());
  return dtype.is_scalar() ? suffix : suffix + "x" + std::to_string(dtype.lanes());
}

Code CodeGenC::PrintFloorDivision(ExprKind kind, const ir::Expr& a, const ir::Expr& b) {
  bool is_div = kind == ExprKind::kFloorDiv;
  if (a.dtype().is_uint())
    return PrintArithmetic(is_div ? "/" : "%", Precedence::kMultiplicative, a, b);
  RequireScalar(a.dtype(), "floor division");
  std::string name = (is_div ? "tern_floordiv_" : "tern_floormod_") + TypeSuffix(a.dtype());
  std::string type = ValueType(a.dtype());
  if (is_div) {
    UseHelper(name, fmt::format("static {0} {1}({0} a, {0} b) {{\n"
                                "  {0} q = a / b;\n"
                                "  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;\n"
                                "}}\n",
                                type, name));
  } else {
    UseHelper(name, fmt::format("static {0} {1}({0} a, {0} b) {{\n"
                                "  {0} r = a % b;\n"
                                "  return r != 0 && (r < 0) != (b < 0) ? r + b : r;\n"
                                "}}\n",
                                type, name));
  }
  std::string left = PrintConverted(a);
  return {fmt::format("{}({}, {})", name, left, PrintConverted(b))};
}

Code CodeGenC::PrintMinMax(ExprKind kind, const ir::Expr& a, const ir::Expr& b) {
  bool is_min = kind == ExprKind::kMin;
  DataType dtype = a.dtype();
  std::string name = (is_min ? "tern_min_" : "tern_max_") + TypeSuffix(dtype);
  UseHelper(name, fmt::format("static {0} {1}({0} a, {0} b) {{ return a {2} b ? a : b; }}\n",
                              ValueType(dtype), name, is_min ? '<' : '>'));
  std::string left = PrintConverted(a);
  return {fmt::format("{}({}, {})", name, left, PrintConverted(b))};
}

std::string QuoteC(std::string_view text) {
  std::string quoted = "\"";
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += static_cast<char>(c);
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c == '?' && quoted.back() == '?') {
      quoted += "\\?";  // "??(" and its like are trigraphs
    } else if (c < 0x20 || c >= 0x7f) {
      quoted += fmt::format("\\{:03o}", c);
    } else {
      quoted += static_cast<char>(c);
    }
  }
  return quoted + "\"";
}

}  // namespace tern::codegen
