// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/expr_parser.h"

#include <cmath>

#include "tern/ffi/text.h"
#include "tern/ir/depth.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/atomics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/literals.h"
#include "tern/tir/reserved_words.h"
#include "tern/tir/table_lookup.h"

namespace tern::tir {
namespace {

using BinaryMake = Expr (*)(Expr, Expr, Span);
constexpr int kCompareLevel = 2, kTightestLevel = 8;

// -1.0 * x keeps the sign of zero, 0 - x does not.
Expr Negate(const Expr& operand, const Span& span) {
  if (operand.dtype().is_float())
    return ir::MulNode::Make(ir::MakeConst(operand.dtype(), -1, span), operand, span);
  return ir::SubNode::Make(ir::MakeConst(operand.dtype(), 0, span), operand, span);
}

constexpr char kBitOr[] = "bit_or", kBitXor[] = "bit_xor", kBitAnd[] = "bit_and",
               kShiftLeft[] = "shift_left", kShiftRight[] = "shift_right";
template <const char* name>
Expr Call(Expr a, Expr b, Span span) {
  return ir::CallNode::Make(name, {std::move(a), std::move(b)}, DataType::Void(), std::move(span));
}

// name<dtype>(
bool IsTypedCall(const std::string& name) {
  const ir::Intrinsic* intrinsic = ir::FindIntrinsic(name);
  return (intrinsic && intrinsic->explicit_dtype) || name == "cast";
}

void CheckCount(const std::string& name, size_t given, size_t count) {
  if (given != count)
    TERN_THROW(TypeError) << name << " takes " << count << " arguments, got " << given;
}
int64_t Lanes(const Expr& expr) {
  if (std::optional<int64_t> lanes = ir::AsConstInt(expr)) return *lanes;
  const auto* product = expr.As<ir::MulNode>();
  std::optional<int64_t> factor = product ? ir::AsConstInt(product->b) : std::nullopt;
  const auto* call = product ? product->a.As<ir::CallNode>() : nullptr;
  if (!factor || *factor < 0 || !call || call->name != intrinsic::kVscale)
    TERN_THROW(TypeError) << "the number of lanes must be a constant, or vscale() * a constant";
  return -*factor;
}

// Calls that are nodes of their own.
constexpr const char* kNodeNames[] = {"broadcast", "cast",    "max",      "min",     "ramp",
                                      "select",    "shuffle", "truncdiv", "truncmod"};

}  // namespace

bool ExprParser::IsBuiltin(const std::string& name) {
  return ir::FindIntrinsic(name) || DataType::Parse(name) ||
         std::find(std::begin(kNodeNames), std::end(kNodeNames), name) != std::end(kNodeNames);
}

struct ExprParser::BinaryOperator {
  std::string_view text;
  int level;  // 0 binds least
  BinaryMake make;
};

std::string ExprParser::Spell(const Token& token) {
  switch (token.kind) {
    case Token::Kind::kEnd:
      return "the end of the file";
    case Token::Kind::kString:
      return ir::QuoteString(token.text);
    default:
      return "'" + token.text + "'";
  }
}

std::string ExprParser::ExpectNewName(const char* what) {
  const auto* end = std::end(kReservedWords);
  if (Peek().kind == Token::Kind::kIdent && std::find(kReservedWords, end, Peek().text) != end)
    Fail(Peek().span, "'" + Peek().text + "' is a word of the language and cannot be " + what);
  return ExpectIdent(what);
}

void ExprParser::Define(const std::string& name, Symbol symbol) {
  auto [it, added] = symbols_.try_emplace(name);
  hidden_.emplace_back(name, added ? std::nullopt : std::optional(std::move(it->second)));
  it->second = std::move(symbol);
}

ExprParser::Scope::~Scope() {
  for (; parser->hidden_.size() > outside; parser->hidden_.pop_back()) {
    auto& [name, symbol] = parser->hidden_.back();
    if (symbol)
      parser->symbols_[name] = std::move(*symbol);
    else
      parser->symbols_.erase(name);
  }
}

const ExprParser::Symbol* ExprParser::FindSymbol(const std::string& name) const {
  for (const auto* known : {&symbols_, &globals_})
    if (auto it = known->find(name); it != known->end()) return &it->second;
  return nullptr;
}

const ExprParser::Symbol& ExprParser::Lookup(const Token& token) {
  const Symbol* symbol = FindSymbol(token.text);
  if (!symbol) {
    std::vector<std::string> names;
    for (const auto* known : {&symbols_, &globals_})
      for (const auto& [name, other] : *known) names.push_back(name);
    Fail(token.span, "'" + token.text + "' is not defined" + ffi::DidYouMean(token.text, names));
  }
  if (symbol->is_mistake()) throw Abandon{};
  return *symbol;
}

const Buffer& ExprParser::LookupBuffer(const Token& token) {
  const Symbol& symbol = Lookup(token);
  if (symbol.table) Fail(token.span, "'" + token.text + "' is a constant, which is only read");
  if (!symbol.record.empty())
    Fail(token.span, "'" + token.text + "' is a struct " + symbol.record + ", not a buffer");
  if (!symbol.buffer) Fail(token.span, "'" + token.text + "' is a scalar, not a buffer");
  return symbol.buffer;
}

std::optional<DataType> ExprParser::FindType(const Token& token) const {
  if (auto it = types_.find(token.text); it != types_.end()) return it->second;
  return DataType::Parse(token.text);
}

DataType ExprParser::ParseDType() {
  std::optional<DataType> dtype = FindType(Peek());
  if (const Symbol* symbol = dtype ? nullptr : FindSymbol(Peek().text); symbol && symbol->value)
    Fail(Peek().span, "expected a type, but " + Peek().text + " is a number");
  if (Peek().kind != Token::Kind::kIdent || !dtype)
    Fail(Peek().span,
         "expected a type (bool, int4..int64, uint4..uint64, float4_e2m1fn, float8_e4m3fn, "
         "float8_e5m2, float16, bfloat16, float32, float64, handle), found " +
             Spell(Peek()) +
             ffi::DidYouMean(Peek().text,
                             {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16",
                              "uint32", "uint64", "float16", "bfloat16", "float32", "float64"}));
  Next();
  return *dtype;
}

std::vector<Expr> ExprParser::ParseExprs(std::string_view close) {
  std::vector<Expr> exprs;
  CommaList(close, [&] { exprs.push_back(ParseExpr().expr); });
  return exprs;
}

ExprParser::Place ExprParser::ParsePlace() {
  Place place;
  Expect("[");
  if (Accept("]")) return place;
  do place.indices.push_back(ParseExpr().expr);
  while (Accept(","));
  if (Accept("where")) place.predicate = ParseExpr().expr;
  Expect("]");
  return place;
}

// A literal takes the type; anything else stays as it is.
void ExprParser::Convert(Value* value, DataType dtype) {
  if (!value->literal || value->expr.dtype() == dtype) return;
  const Span span = value->expr.span();
  if (!dtype.is_scalar()) {
    Convert(value, dtype.element());
    if (value->expr.dtype() == dtype.element())
      value->expr = ir::BroadcastNode::Make(value->expr, dtype.lanes(), span);
    return;
  }
  auto exact = [this](const ir::FloatImmNode* literal) { return Exact(literal); };
  // Float literals keep their digits while they may meet another type.
  const auto* imm = value->expr.As<ir::IntImmNode>();
  Expr retyped = imm && dtype == DataType::Float(32)
                     ? FloatLiteral(static_cast<double>(imm->value), span).expr
                     : Located(span, [&] { return RetypeLiteral(value->expr, dtype, exact); });
  if (retyped) value->expr = retyped;
}

void ExprParser::Unify(Value* a, Value* b) {
  if (a->literal && b->literal) {
    if (b->expr.dtype().is_float())
      Convert(a, b->expr.dtype());
    else
      Convert(b, a->expr.dtype());
    return;
  }
  Convert(a, b->expr.dtype());
  Convert(b, a->expr.dtype());
}

void ExprParser::UnifyAll(std::vector<Value>& values) {
  // The first that has a type of its own decides; of literals alone, the first float.
  Value* model = nullptr;
  for (Value& value : values)
    if (!model || (model->literal && (!value.literal || (!model->expr.dtype().is_float() &&
                                                         value.expr.dtype().is_float()))))
      model = &value;
  for (Value& value : values) Convert(&value, model->expr.dtype());
}

const ExprParser::BinaryOperator* ExprParser::FindOperator(const Token& token) {
  static const BinaryOperator kOperators[] = {
      {"||", 0, ir::OrNode::Make},      {"&&", 1, ir::AndNode::Make},
      {"==", 2, ir::EQNode::Make},      {"!=", 2, ir::NENode::Make},
      {"<", 2, ir::LTNode::Make},       {"<=", 2, ir::LENode::Make},
      {">", 2, ir::GTNode::Make},       {">=", 2, ir::GENode::Make},
      {"|", 3, Call<kBitOr>},           {"^", 4, Call<kBitXor>},
      {"&", 5, Call<kBitAnd>},          {"<<", 6, Call<kShiftLeft>},
      {">>", 6, Call<kShiftRight>},     {"+", 7, ir::AddNode::Make},
      {"-", 7, ir::SubNode::Make},      {"*", 8, ir::MulNode::Make},
      {"/", 8, ir::DivNode::Make},      {"//", 8, ir::FloorDivNode::Make},
      {"%", 8, ir::FloorModNode::Make},
  };
  if (token.kind != Token::Kind::kPunct) return nullptr;
  for (const BinaryOperator& op : kOperators)
    if (op.text == token.text) return &op;
  return nullptr;
}

ExprParser::Value ExprParser::ParseExpr() {
  ExprGuard guard(this);
  Value value = ParseBinary(0);
  if (!guard.outermost) return value;
  if (const ir::ExprNode* deep = ir::FindTooDeep(value.expr))
    Fail(deep->span, ir::TooDeepMessage());
  return value;
}

ExprParser::Value ExprParser::ParseBinary(int level) {
  if (level > kTightestLevel) return ParseUnary();
  Value left = ParseBinary(level + 1);
  for (const BinaryOperator* op = FindOperator(Peek()); op && op->level == level;
       op = FindOperator(Peek())) {
    Span span = Next().span;
    ConditionalGuard conditional(this, op->level < kCompareLevel);
    Value right = ParseBinary(level + 1);
    left = Combine(*op, left, right, span);
    if (level == kCompareLevel) {
      if (const BinaryOperator* next = FindOperator(Peek()); next && next->level == level)
        Fail(Peek().span, "comparisons do not chain; join them with &&");
      break;
    }
  }
  return left;
}

ExprParser::Value ExprParser::Combine(const BinaryOperator& op, Value left, Value right,
                                      const Span& span) {
  Unify(&left, &right);
  Expr expr = Located(span, [&] { return op.make(left.expr, right.expr, span); });
  return {expr, left.literal && right.literal && IsLiteral(expr)};
}

std::optional<ExprParser::Value> ExprParser::ParseUpdate(const Expr& old) {
  const Token& token = Peek();
  if (token.kind != Token::Kind::kPunct || token.text.size() < 2 || token.text.back() != '=')
    return {};
  Token without = token;
  without.text.pop_back();
  const BinaryOperator* op = FindOperator(without);
  if (!op || op->level <= kCompareLevel) return {};
  Span span = Next().span;
  return Combine(*op, {old, false}, ParseExpr(), span);
}

ExprParser::Value ExprParser::ParseUnary() {
  DepthGuard guard(this);
  Span span = Peek().span;
  if (Accept("!")) {
    Expr operand = ParseUnary().expr;
    return {Located(span, [&] { return ir::NotNode::Make(operand, span); }), false};
  }
  if (Accept("~")) {
    Value operand = ParseUnary();
    Expr expr = Located(span, [&] {
      return ir::CallNode::Make("bit_not", {operand.expr}, DataType::Void(), span);
    });
    return {expr, operand.literal};
  }
  if (!Accept("-")) return ParsePrimary();
  if (Peek().kind == Token::Kind::kInt)
    return {ir::IntImmNode::Make(DataType::Int(64), ParseInteger(true), span), true};
  Value operand = ParseUnary();
  if (const auto* imm = operand.expr.As<ir::FloatImmNode>(); imm && operand.literal)
    return FloatLiteral(-Exact(imm), span);
  return {Located(span, [&] { return Negate(operand.expr, span); }), operand.literal};
}

int64_t ExprParser::ParseInteger(bool negative) {
  const Token& token = Peek();
  if (token.kind == Token::Kind::kIdent)
    if (const Symbol* symbol = FindSymbol(token.text); symbol && symbol->value)
      if (std::optional<int64_t> value = ir::AsConstInt(symbol->value)) {
        Next();
        return negative ? -*value : *value;
      }
  if (token.kind != Token::Kind::kInt) Unexpected("an integer");
  std::optional<uint64_t> digits = ir::ParseDigits(token.text);
  uint64_t magnitude = digits.value_or(0);
  uint64_t limit = (uint64_t{1} << 63) - !negative;
  // uint64(18446744073709551615): directly inside, the digits may exceed int64.
  bool in_uint64 =
      !negative && at_ >= 2 && tokens_[at_ - 1].text == "(" && tokens_[at_ - 2].text == "uint64";
  if (!digits || (magnitude > limit && !in_uint64))
    Fail(token.span, "the integer does not fit in 64 bits");
  Next();
  return static_cast<int64_t>(negative ? -magnitude : magnitude);
}

ffi::Any ExprParser::ParseAttrValue() {
  DepthGuard guard(this);
  const Token& token = Peek();
  if (Accept("true")) return true;
  if (Accept("false")) return false;
  if (Accept("[")) {
    std::vector<ffi::Any> items;
    CommaList("]", [&] { items.push_back(ParseAttrValue()); });
    return ffi::MakeArray(std::move(items));
  }
  if (token.kind == Token::Kind::kString) return ffi::Any(Next().text);
  if (token.kind == Token::Kind::kIdent && FindSymbol(token.text)) return ParseInteger(false);
  if (token.kind == Token::Kind::kInt || token.kind == Token::Kind::kFloat || Is("-")) {
    bool negative = Accept("-");
    if (Peek().kind != Token::Kind::kFloat) return ParseInteger(negative);
    double value = std::strtod(Next().text.c_str(), nullptr);
    return ffi::Any(negative ? -value : value);
  }
  Unexpected("an attribute's value (a string, a number, true, false or a list)");
}

std::vector<Expr> ExprParser::ParseExtents(bool in_params) {
  in_params_ = in_params;
  Expect("[");
  std::vector<Expr> extents = ParseExprs("]");
  in_params_ = false;
  return extents;
}

std::string ExprParser::ExpectString(const char* what) {
  if (Peek().kind != Token::Kind::kString) Unexpected(what);
  return Next().text;
}

Expr ExprParser::ParseElement(DataType dtype) {
  Span span = Peek().span;
  if (dtype.is_bool()) {
    if (!Is("true") && !Is("false")) Unexpected("true or false");
    return ir::IntImmNode::Make(dtype, Next().text == "true", span);
  }
  bool negative = Accept("-");
  const Token& token = Peek();
  if (dtype.is_float()) {
    bool is_digits = token.kind == Token::Kind::kInt || token.kind == Token::Kind::kFloat;
    if (!is_digits && !Is("inf") && !Is("nan")) Unexpected("a number");
    double value = std::strtod(Next().text.c_str(), nullptr);
    return Located(span,
                   [&] { return ir::FloatImmNode::Make(dtype, negative ? -value : value, span); });
  }
  std::optional<uint64_t> digits = ir::ParseDigits(token.text);
  bool is_uint64 = dtype == DataType::UInt(64) && !negative && token.kind == Token::Kind::kInt;
  uint64_t magnitude = digits.value_or(0);
  if (!is_uint64 || !digits)
    magnitude = static_cast<uint64_t>(ParseInteger(negative));
  else
    Next();
  return Located(span, [&] {
    TERN_CHECK(!dtype.is_uint() || !negative || magnitude == 0)
        << static_cast<int64_t>(magnitude) << " does not fit in " << dtype.str();
    return ir::IntImmNode::Make(dtype, static_cast<int64_t>(magnitude), span);
  });
}

// Literals are float32 until they meet another type; the digits are kept for that moment.
ExprParser::Value ExprParser::FloatLiteral(double value, const Span& span) {
  Expr expr = ir::FloatImmNode::Make(DataType::Float(32), value, span);
  exact_[static_cast<const ir::FloatImmNode*>(expr.get())] = value;
  kept_.push_back(expr);
  return {expr, true};
}

double ExprParser::Exact(const ir::FloatImmNode* literal) const {
  auto it = exact_.find(literal);
  return it == exact_.end() ? literal->value : it->second;
}

ExprParser::Value ExprParser::ParsePrimary() {
  const Token& token = Peek();
  switch (token.kind) {
    case Token::Kind::kInt:
      return {ir::IntImmNode::Make(DataType::Int(64), ParseInteger(false), token.span), true};
    case Token::Kind::kFloat:
      return FloatLiteral(std::strtod(Next().text.c_str(), nullptr), token.span);
    case Token::Kind::kString:
      return {ir::StringImmNode::Make(Next().text, token.span), false};
    case Token::Kind::kIdent:
      return ParseName();
    default:
      break;
  }
  if (!Accept("(")) Unexpected("an expression");
  if (Is("let")) return ParseLetExpr();
  Value value = ParseExpr();
  Expect(")");
  return value;
}

// (let x = value in body), after the parenthesis.
ExprParser::Value ExprParser::ParseLetExpr() {
  Next();
  Scope scope(this);
  Span span = Peek().span;
  std::string name = ExpectNewName("a variable's name");
  Expect("=");
  Expr value = ParseExpr().expr;
  Var var(name, value.dtype(), span);
  Define(name, {var, {}});
  Expect("in");
  ConditionalGuard conditional(this, true);
  Expr body = ParseExpr().expr;
  Expect(")");
  return {ir::LetNode::Make(var, value, body, span), false};
}

ExprParser::Value ExprParser::ParseName() {
  Token token = Next();
  const Span& span = token.span;
  if (token.text == "true" || token.text == "false")
    return {ir::IntImmNode::Make(DataType::Bool(), token.text == "true", span), false};
  if (token.text == "inf") return FloatLiteral(INFINITY, span);
  if (token.text == "nan") return FloatLiteral(NAN, span);
  if ((Is("(") || Is("[")) && !FindSymbol(token.text))
    if (std::optional<Value> called = ParseFunctionCall(token)) return *called;
  if (Is("[")) return ParseAccess(token);
  if (Is("(") || (Is("<") && IsTypedCall(token.text))) return ParseCall(token);
  if (in_params_ && !FindSymbol(token.text))
    Define(token.text, {Var(token.text, DataType::Int(64), span), {}});
  const Symbol& symbol = Lookup(token);
  if (symbol.buffer || symbol.table)
    Fail(span, "'" + token.text + "' is a buffer; an element of it is " + token.text + "[...]");
  if (!symbol.record.empty())
    Fail(span, "'" + token.text + "' is a struct " + symbol.record + "; a field of it is " +
                   token.text + ".NAME");
  return symbol.value ? Value{symbol.value, symbol.literal} : Value{symbol.var, false};
}

ExprParser::Value ExprParser::ParseAccess(const Token& name) {
  if (const Symbol& symbol = Lookup(name); symbol.table)
    return ParseTableAccess(name, ir::Constant(symbol.table));
  Buffer buffer = LookupBuffer(name);
  Place place = ParsePlace();
  auto load = [&] {
    return ir::BufferLoadNode::Make(buffer, place.indices, name.span, place.predicate);
  };
  return {Located(name.span, load), false};
}

// A search among the elements, so that the table is part of the code on every target.
ExprParser::Value ExprParser::ParseTableAccess(const Token& name, const ir::Constant& table) {
  Place place = ParsePlace();
  if (place.predicate) Fail(name.span, "an access of the constant " + name.text + " is not masked");
  return {Located(name.span, [&] { return TableLookup(table, place.indices, name.span); }), false};
}

ExprParser::Value ExprParser::ParseCall(const Token& name) {
  std::optional<DataType> conversion = FindType(name);
  DataType dtype = DataType::Void();
  if (name.text == "shuffle") return ParseShuffle(name);
  bool typed = Accept("<");
  if (typed) {
    dtype = ParseDType();
    Expect(">");
  }
  Expect("(");
  std::vector<Value> args;
  bool is_choice = name.text == "select" || name.text == ir::kIfThenElse;
  CommaList(")", [&] {
    ConditionalGuard conditional(this, is_choice && !args.empty());
    args.push_back(ParseArgument(name));
  });
  if (conversion && !typed) return ParseConversion(name, *conversion, args);
  Expr call = Located(name.span, [&] { return MakeCall(name, dtype, args); });
  bool literal = !args.empty() && std::all_of(args.begin() + is_choice, args.end(),
                                              [](const Value& arg) { return arg.literal; });
  return {call, literal && IsLiteral(call)};
}

// The name of a buffer alone is its address, where a function takes addresses.
ExprParser::Value ExprParser::ParseArgument(const Token& callee) {
  bool alone = Peek().kind == Token::Kind::kIdent && (Peek(1).text == "," || Peek(1).text == ")");
  if (alone && ir::FindIntrinsic(callee.text)) {
    auto it = symbols_.find(Peek().text);
    if (it != symbols_.end() && it->second.buffer) {
      Next();
      return {it->second.var, false};
    }
  }
  return ParseExpr();
}

// shuffle([a, b], [0, 3]), after the name.
ExprParser::Value ExprParser::ParseShuffle(const Token& name) {
  Expect("(");
  Expect("[");
  std::vector<Expr> vectors = ParseExprs("]");
  Expect(",");
  Expect("[");
  std::vector<int64_t> indices;
  CommaList("]", [&] { indices.push_back(ParseInteger(false)); });
  Expect(")");
  return {Located(name.span, [&] { return ir::ShuffleNode::Make(vectors, indices, name.span); }),
          false};
}

// dtype(x): a constant of the type, or a conversion to it.
ExprParser::Value ExprParser::ParseConversion(const Token& name, DataType dtype,
                                              std::vector<Value>& args) {
  if (args.size() != 1)
    Fail(name.span, name.text + "(x) converts one value, got " + std::to_string(args.size()));
  if (args[0].literal && dtype.is_scalar()) {
    Convert(&args[0], dtype);
    if (args[0].expr.dtype() == dtype) return {args[0].expr, false};
  }
  return {Located(name.span, [&] { return ir::CastNode::Make(dtype, args[0].expr, name.span); }),
          false};
}

Expr ExprParser::MakeAtomicCall(const Token& name, std::vector<Value>& args, const Expr& old) {
  std::vector<Expr> exprs;
  for (Value& arg : args) {
    if (!exprs.empty()) Convert(&arg, PlainArgument(exprs[0]).dtype());
    exprs.push_back(arg.expr);
  }
  return MakeAtomic(name.text, std::move(exprs), name.span, old);
}

std::optional<Expr> ExprParser::ParseAtomic(const std::function<Expr(DataType)>& old) {
  if (!IsAtomic(Peek().text) || Peek(1).text != "(") return {};
  Token name = Next();
  Expect("(");
  std::vector<Value> args;
  CommaList(")", [&] { args.push_back(ParseArgument(name)); });
  return Located(name.span, [&] {
    const bool has_element = !args.empty() && args[0].expr.As<ir::BufferLoadNode>();
    return MakeAtomicCall(name, args, has_element ? old(args[0].expr.dtype()) : Expr());
  });
}

// The words that are nodes of their own, then the intrinsics.
Expr ExprParser::MakeCall(const Token& name, DataType dtype, std::vector<Value>& args) {
  static const std::map<std::string, BinaryMake> kBinary = {{"min", ir::MinNode::Make},
                                                            {"max", ir::MaxNode::Make},
                                                            {"truncdiv", ir::TruncDivNode::Make},
                                                            {"truncmod", ir::TruncModNode::Make}};
  if (auto it = kBinary.find(name.text); it != kBinary.end()) {
    CheckCount(name.text, args.size(), 2);
    Unify(&args[0], &args[1]);
    return it->second(args[0].expr, args[1].expr, name.span);
  }
  if (name.text == "select") {
    CheckCount(name.text, args.size(), 3);
    Unify(&args[1], &args[2]);
    return ir::SelectNode::Make(args[0].expr, args[1].expr, args[2].expr, name.span);
  }
  if (name.text == "cast") {
    CheckCount(name.text, args.size(), 1);
    return ir::CastNode::Make(dtype, args[0].expr, name.span);
  }
  if (name.text == "ramp") {
    CheckCount(name.text, args.size(), 3);
    Unify(&args[0], &args[1]);
    return ir::RampNode::Make(args[0].expr, args[1].expr, Lanes(args[2].expr), name.span);
  }
  if (name.text == "broadcast") {
    CheckCount(name.text, args.size(), 2);
    return ir::BroadcastNode::Make(args[0].expr, Lanes(args[1].expr), name.span);
  }
  if (name.text == ir::kIfThenElse && args.size() == 3) Unify(&args[1], &args[2]);
  if (!ir::FindIntrinsic(name.text)) {
    std::vector<std::string> known = ir::IntrinsicNames(), functions = FunctionNames();
    known.insert(known.end(), std::begin(kNodeNames), std::end(kNodeNames));
    known.insert(known.end(), functions.begin(), functions.end());
    TERN_THROW(TypeError) << "unknown function " << name.text << ffi::DidYouMean(name.text, known);
  }
  if (ir::FindIntrinsic(name.text)->one_type) UnifyAll(args);
  if (IsAtomic(name.text))
    TERN_THROW(TypeError) << "an atomic operation is a statement, or what a let or a store takes, "
                             "as in let old = "
                          << name.text << "(...); it cannot stand in an expression";
  std::vector<Expr> exprs;
  for (const Value& arg : args) exprs.push_back(arg.expr);
  return ir::CallNode::Make(name.text, std::move(exprs), dtype, name.span);
}

}  // namespace tern::tir
