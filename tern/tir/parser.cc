// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tern/ffi/registry.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/lexer.h"
#include "tern/target/target.h"
#include "tern/tir/reserved_words.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

using ir::Token;

// Thrown after a mistake was recorded; caught where parsing can go on.
struct Abandon {};

constexpr int kMaxDepth = 256;  // of nested expressions and statements: text is read by recursion

// An expression, and whether it is a bare literal, which takes the type of what it meets.
struct Value {
  Expr expr;
  bool literal = false;
};

class Parser {
 public:
  explicit Parser(const ffi::Ref<const ir::Source>& source)
      : tokens_(ir::Lex(source, &diagnostics_)) {}

  ir::IRModule Run() {
    std::vector<ir::BaseFunc> functions;
    std::set<std::string> names;
    while (!AtEnd()) {
      try {
        PrimFunc function = ParseFunction();
        if (!names.insert(function->name).second)
          diagnostics_.Add(function->span, "function " + function->name + " is defined twice");
        else
          functions.push_back(function);
      } catch (const Abandon&) {
        while (!AtEnd() && !(Peek().text == "func" && Peek().first_on_line)) Next();
      }
    }
    diagnostics_.ThrowIfAny("ParseError");
    return ir::IRModule::Make(functions);
  }

 private:
  // ---- tokens and errors

  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& Next() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool AtEnd() const { return Peek().kind == Token::Kind::kEnd; }

  [[noreturn]] void Fail(const Span& span, const std::string& message) {
    diagnostics_.Add(span, message);
    throw Abandon{};
  }
  static std::string Spell(const Token& token) {
    switch (token.kind) {
      case Token::Kind::kEnd:
        return "the end of the file";
      case Token::Kind::kString:
        return ir::QuoteString(token.text);
      default:
        return "'" + token.text + "'";
    }
  }
  [[noreturn]] void Unexpected(const std::string& expected) {
    Fail(Peek().span, "expected " + expected + ", found " + Spell(Peek()));
  }

  bool Is(std::string_view text) const {
    return (Peek().kind == Token::Kind::kPunct || Peek().kind == Token::Kind::kIdent) &&
           Peek().text == text;
  }
  bool Accept(std::string_view text) {
    if (!Is(text)) return false;
    Next();
    return true;
  }
  void Expect(std::string_view text) {
    if (!Accept(text)) Unexpected("'" + std::string(text) + "'");
  }
  std::string ExpectIdent(const char* what) {
    if (Peek().kind != Token::Kind::kIdent) Unexpected(what);
    return Next().text;
  }
  // A name that is about to be defined.
  std::string ExpectNewName(const char* what) {
    const auto* end = std::end(kReservedWords);
    if (Peek().kind == Token::Kind::kIdent && std::find(kReservedWords, end, Peek().text) != end)
      Fail(Peek().span, "'" + Peek().text + "' is a word of the language and cannot be " + what);
    return ExpectIdent(what);
  }

  // Runs `make`; a type error it throws is reported at `span`.
  template <class F>
  auto Located(const Span& span, F&& make) {
    try {
      return make();
    } catch (const Error& error) {
      Fail(span, error.message());
    }
  }

  // `item`s with commas between, up to `close`, which is consumed.
  template <class F>
  void CommaList(std::string_view close, F&& item) {
    if (Accept(close)) return;
    do item();
    while (Accept(","));
    Expect(close);
  }

  struct DepthGuard {
    explicit DepthGuard(Parser* parser) : parser(parser) {
      if (++parser->depth_ > kMaxDepth) {
        --parser->depth_;
        parser->Fail(parser->Peek().span,
                     "nested too deeply; the limit is " + std::to_string(kMaxDepth));
      }
    }
    ~DepthGuard() { --parser->depth_; }
    Parser* parser;
  };

  // ---- names in scope

  struct Symbol {
    Var var;        // null where the definition had a mistake: uses are then not reported again
    Buffer buffer;  // null for a scalar
  };
  struct Scope {
    explicit Scope(Parser* parser) : parser(parser), saved(parser->symbols_) {}
    ~Scope() { parser->symbols_ = std::move(saved); }
    Parser* parser;
    std::map<std::string, Symbol> saved;
  };

  const Symbol& Lookup(const Token& token) {
    auto it = symbols_.find(token.text);
    if (it == symbols_.end()) {
      std::vector<std::string> names;
      for (const auto& [name, symbol] : symbols_) names.push_back(name);
      Fail(token.span, "'" + token.text + "' is not defined" + ffi::DidYouMean(token.text, names));
    }
    if (!it->second.var) throw Abandon{};
    return it->second;
  }
  const Buffer& LookupBuffer(const Token& token) {
    const Symbol& symbol = Lookup(token);
    if (!symbol.buffer) Fail(token.span, "'" + token.text + "' is a scalar, not a buffer");
    return symbol.buffer;
  }

  // ---- types and attributes

  DataType ParseDType() {
    std::optional<DataType> dtype = DataType::Parse(Peek().text);
    if (Peek().kind != Token::Kind::kIdent || !dtype)
      Unexpected(
          "a type (bool, int8..int64, uint8..uint64, float16, bfloat16, float32, float64, handle)");
    Next();
    return *dtype;
  }

  std::vector<Expr> ExtentList(std::string_view close) {
    std::vector<Expr> extents;
    CommaList(close, [&] { extents.push_back(ParseIndex()); });
    return extents;
  }

  // After the name: dtype[shape] strides(...) in scope
  Buffer ParseBufferType(const std::string& name, DataType dtype, const std::string& default_scope,
                         Span span, Var data = {}) {
    Expect("[");
    std::vector<Expr> shape = ExtentList("]"), strides;
    Span strides_at = Peek().span;
    if (Accept("strides")) {
      Expect("(");
      strides = ExtentList(")");
      if (strides.size() != shape.size())
        Fail(strides_at, name + " has rank " + std::to_string(shape.size()) + ", but " +
                             std::to_string(strides.size()) + " strides");
    }
    std::string scope = Accept("in") ? ExpectIdent("a storage scope") : default_scope;
    if (dtype.is_handle()) Fail(span, "a buffer cannot hold handles");
    return BufferNode::Make(name, dtype, std::move(shape), std::move(strides), scope,
                            std::move(data), span);
  }

  ffi::Any ParseAttrValue() {
    const Token& token = Peek();
    if (Accept("true")) return true;
    if (Accept("false")) return false;
    if (Accept("[")) {
      std::vector<ffi::Any> items;
      CommaList("]", [&] { items.push_back(ParseAttrValue()); });
      return ffi::MakeArray(std::move(items));
    }
    if (token.kind == Token::Kind::kString) return ffi::Any(Next().text);
    if (token.kind == Token::Kind::kInt || Is("-")) {
      bool negative = Accept("-");
      return ParseInteger(negative);
    }
    Unexpected("an attribute's value (a string, an integer, true, false or a list)");
  }

  ir::Attrs ParseAttrs() {
    ir::Attrs attrs;
    if (!Accept("attrs")) return attrs;
    Expect("{");
    CommaList("}", [&] {
      Span span = Peek().span;
      std::string key = ExpectIdent("an attribute's name");
      Expect("=");
      ffi::Any value = ParseAttrValue();
      if (key == attr::kTarget)
        value =
            Located(span, [&] { return ffi::Any(target::Target::Parse(value.As<std::string>())); });
      if (!attrs.emplace(key, std::move(value)).second)
        Fail(span, "attribute " + key + " is given twice");
    });
    return attrs;
  }

  // ---- functions

  PrimFunc ParseFunction() {
    Span span = Peek().span;
    Expect("func");
    std::string name = ExpectIdent("the function's name");
    symbols_.clear();
    std::vector<Param> params = ParseParams();
    ir::Attrs attrs = ParseAttrs();
    Stmt body = ParseBlock();
    return PrimFunc::Make(name, std::move(params), std::move(body), std::move(attrs), span);
  }

  // Extents may name scalars that come later in the list, so names unknown in a shape become
  // variables of type int64, which a scalar parameter of that name then takes over.
  std::vector<Param> ParseParams() {
    std::vector<Param> params;
    std::set<std::string> names;
    Expect("(");
    in_params_ = true;
    CommaList(")", [&] {
      Span span = Peek().span;
      std::string name = ExpectNewName("a parameter's name");
      if (!names.insert(name).second) Fail(span, "parameter " + name + " is given twice");
      Expect(":");
      DataType dtype = ParseDType();
      if (Is("[")) {
        Buffer buffer = ParseBufferType(name, dtype, "global", span);
        if (symbols_.count(name))
          Fail(span, "'" + name + "' is used as an extent and cannot be a tensor");
        symbols_[name] = {buffer->data, buffer};
        params.push_back({buffer->data, buffer});
      } else {
        auto it = symbols_.find(name);
        if (it == symbols_.end())
          it = symbols_.emplace(name, Symbol{Var(name, dtype, span), {}}).first;
        if (it->second.var.dtype() != dtype)
          Fail(span,
               "'" + name + "' is used as an extent, so it must be int64, not " + dtype.str());
        params.push_back({it->second.var, {}});
      }
    });
    in_params_ = false;
    return params;
  }

  // ---- statements

  Stmt ParseBlock() {
    DepthGuard guard(this);
    Expect("{");
    Scope scope(this);
    return ParseStmts();
  }

  // Up to and with the closing brace. After a mistake, goes on with the next statement of this
  // level.
  Stmt ParseStmts() {
    Span span = Peek().span;
    std::vector<Stmt> stmts;
    while (!Is("}")) {
      if (AtEnd()) Unexpected("'}'");
      size_t start = at_;
      try {
        Stmt stmt = ParseStmt();
        stmts.push_back(std::move(stmt));
        if (closed_) {  // a definition whose body was the rest of this block
          closed_ = false;
          return SeqNode::Make(std::move(stmts), span);
        }
      } catch (const Abandon&) {
        Recover(start);
      }
    }
    Next();
    return SeqNode::Make(std::move(stmts), span);
  }

  // Skips from the statement that began at token `start` to the first token of a later line at the
  // same nesting of braces.
  void Recover(size_t start) {
    int nesting = 0;
    for (size_t i = start; i < at_; ++i) nesting += Nesting(tokens_[i]);
    while (!AtEnd()) {
      if (nesting <= 0 && (Is("}") || (Peek().first_on_line && at_ > start))) return;
      nesting += Nesting(Next());
    }
    throw Abandon{};
  }
  static int Nesting(const Token& token) {
    if (token.kind != Token::Kind::kPunct) return 0;
    return token.text == "{" ? 1 : token.text == "}" ? -1 : 0;
  }

  // The rest of the block as the body of a definition.
  Stmt RestOfBlock() {
    Stmt body = ParseStmts();
    closed_ = true;
    return body;
  }

  Stmt ParseStmt() {
    DepthGuard guard(this);
    const Token& token = Peek();
    if (token.kind != Token::Kind::kIdent) Unexpected("a statement");
    if (Is("for")) return ParseFor();
    if (Is("while")) return ParseWhile();
    if (Is("if")) return ParseIf();
    if (Is("let")) return ParseLet();
    if (Is("alloc")) return ParseAlloc();
    if (Is("buffer")) return ParseDeclBuffer();
    if (Is("assert")) return ParseAssert();
    if (Is("block")) return ParseBlockStmt();
    if (Accept("scope")) return ParseBlock();
    if (Peek(1).text == "[") return ParseStore();
    if (Peek(1).text == "(" || Peek(1).text == "<") {
      Expr call = ParseExpr().expr;
      if (!call.As<ir::CallNode>()) Fail(token.span, "this expression has no effect");
      return EvaluateNode::Make(call, token.span);
    }
    Fail(token.span,
         "expected a statement (for, while, if, let, alloc, buffer, assert, block, scope, a store "
         "or a call), found " +
             Spell(token));
  }

  struct Range {
    Var var;
    Expr min, extent;
    Span span;
  };
  Range ParseRange() {
    Range range;
    range.span = Peek().span;
    std::string name = ExpectNewName("a loop variable");
    Expect("in");
    Value min = ParseExpr();
    Expect("..");
    bool counted = Accept("+");
    Value end = ParseExpr();
    Unify(&min, &end);
    range.min = min.expr;
    range.extent =
        counted ? end.expr : Located(range.span, [&] { return Difference(end.expr, min.expr); });
    range.var = Var(name, min.expr.dtype(), range.span);
    return range;
  }
  static Expr Difference(const Expr& end, const Expr& min) {
    const int64_t *a = ir::AsConstInt(end), *b = ir::AsConstInt(min);
    if (b && *b == 0 && min.dtype() == DataType::Int(64)) return end;
    int64_t difference;
    if (a && b && min.dtype() == DataType::Int(64) && !__builtin_sub_overflow(*a, *b, &difference))
      return difference;
    return ir::SubNode::Make(end, min);
  }

  Stmt ParseFor() {
    Next();
    Scope scope(this);
    std::vector<Range> ranges;
    do {
      ranges.push_back(ParseRange());
      symbols_[ranges.back().var.name()] = {ranges.back().var, {}};
    } while (Accept(","));
    ForKind kind = ForKind::kSerial;
    std::string thread;
    Span kind_at = Peek().span;
    if (Accept("parallel")) {
      kind = ForKind::kParallel;
    } else if (Accept("vectorized")) {
      kind = ForKind::kVectorized;
    } else if (Accept("unrolled")) {
      kind = ForKind::kUnrolled;
    } else if (Accept("bind")) {
      kind = ForKind::kThread;
      Expect("(");
      thread = ParseThreadAxis();
      Expect(")");
    }
    if (kind != ForKind::kSerial && ranges.size() > 1)
      Fail(kind_at, "a loop over several variables is serial; write one loop per variable");
    Stmt body = ParseBlock();
    for (size_t i = ranges.size(); i-- > 0;) {
      const Range& range = ranges[i];
      body = Located(range.span, [&] {
        return ForNode::Make(range.var, range.min, range.extent, kind, body, thread, range.span);
      });
    }
    return body;
  }
  std::string ParseThreadAxis() {
    static const std::set<std::string> kAxes = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                                "threadIdx.x", "threadIdx.y", "threadIdx.z"};
    if (!kAxes.count(Peek().text))
      Unexpected("a thread axis (blockIdx.x, .y, .z, threadIdx.x, .y, .z)");
    return Next().text;
  }

  Stmt ParseWhile() {
    Span span = Next().span;
    Expr condition = ParseExpr().expr;
    Stmt body = ParseBlock();
    return Located(span, [&] { return WhileNode::Make(condition, body, span); });
  }

  Stmt ParseIf() {
    DepthGuard guard(this);
    Span span = Next().span;
    Expr condition = ParseExpr().expr;
    Stmt then_case = ParseBlock(), else_case;
    if (Accept("else")) else_case = Is("if") ? ParseIf() : ParseBlock();
    return Located(span,
                   [&] { return IfThenElseNode::Make(condition, then_case, else_case, span); });
  }

  Stmt ParseLet() {
    Next();
    Span span = Peek().span;
    std::string name = ExpectNewName("a variable's name");
    Var var;
    Expr value;
    try {
      std::optional<DataType> dtype;
      if (Accept(":")) dtype = ParseDType();
      Expect("=");
      Value given = ParseExpr();
      if (dtype) Convert(&given, *dtype);
      value = given.expr;
      var = Var(name, dtype.value_or(value.dtype()), span);
      if (var.dtype() != value.dtype())
        Fail(span, name + " is " + var.dtype().str() + ", but its value is " + value.dtype().str());
      symbols_[name] = {var, {}};
    } catch (const Abandon&) {
      symbols_[name] = {};
      throw;
    }
    return LetStmtNode::Make(var, value, RestOfBlock(), span);
  }

  Stmt ParseAlloc() {
    Next();
    Span span = Peek().span;
    std::string name = ExpectNewName("a buffer's name");
    symbols_[name] = {};
    Expect(":");
    DataType dtype = ParseDType();
    Buffer buffer = ParseBufferType(name, dtype, "global", span);
    symbols_[name] = {buffer->data, buffer};
    return AllocateNode::Make(buffer, RestOfBlock(), span);
  }

  Stmt ParseDeclBuffer() {
    Next();
    Span span = Peek().span;
    std::string name = ExpectNewName("a buffer's name");
    symbols_[name] = {};
    Expect(":");
    DataType dtype = ParseDType();
    Buffer shape = ParseBufferType(name, dtype, "global", span);
    Expect("at");
    if (Peek().kind != Token::Kind::kIdent) Unexpected("the name of a pointer");
    Var data = Lookup(Peek()).var;
    if (!data.dtype().is_handle())
      Fail(Peek().span, "'" + Peek().text + "' is " + data.dtype().str() + ", not a pointer");
    Next();
    Buffer buffer =
        BufferNode::Make(name, dtype, shape->shape, shape->strides, shape->scope, data, span);
    symbols_[name] = {data, buffer};
    return DeclBufferNode::Make(buffer, RestOfBlock(), span);
  }

  // assert condition, Kind, "text", value, ...
  Stmt ParseAssert() {
    Span span = Next().span;
    Expr condition = ParseExpr().expr;
    Expect(",");
    std::string kind = "AssertionError";
    if (Peek().kind == Token::Kind::kIdent && Peek(1).text == "," && !symbols_.count(Peek().text)) {
      kind = Next().text;
      Expect(",");
    }
    std::vector<Expr> message;
    do message.push_back(ParseExpr().expr);
    while (Accept(","));
    return Located(span, [&] { return AssertNode::Make(condition, kind, message, span); });
  }

  // block name(vi: spatial(n) = i, vk: reduce(k) = l) { init {...} ... }
  Stmt ParseBlockStmt() {
    Span span = Next().span;
    std::string name = ExpectIdent("the block's name");
    Expect("(");
    std::vector<BlockIter> iters;
    CommaList(")", [&] { iters.push_back(ParseBlockIter()); });
    DepthGuard guard(this);
    Expect("{");
    Scope scope(this);
    for (const BlockIter& iter : iters) symbols_[iter.var.name()] = {iter.var, {}};
    Stmt init;
    if (Accept("init")) init = ParseBlock();
    Stmt body = ParseStmts();
    return Located(span, [&] { return BlockNode::Make(name, iters, init, body, span); });
  }
  BlockIter ParseBlockIter() {
    BlockIter iter;
    Span span = Peek().span;
    std::string name = ExpectNewName("an axis's name");
    Expect(":");
    if (Accept("reduce"))
      iter.kind = IterKind::kReduce;
    else if (!Accept("spatial"))
      Unexpected("'spatial' or 'reduce'");
    Expect("(");
    Value extent = ParseExpr();
    Expect(")");
    Expect("=");
    Value binding = ParseExpr();
    Unify(&extent, &binding);
    iter.extent = extent.expr;
    iter.binding = binding.expr;
    iter.var = Var(name, binding.expr.dtype(), span);
    return iter;
  }

  Stmt ParseStore() {
    Token name = Next();
    Buffer buffer = LookupBuffer(name);
    std::vector<Expr> indices = ParseIndices();
    Expect("=");
    Value value = ParseExpr();
    return Located(name.span, [&] {
      Convert(&value, ir::AccessType(buffer, indices));
      return BufferStoreNode::Make(buffer, indices, value.expr, name.span);
    });
  }

  // ---- expressions

  Expr ParseIndex() { return ParseExpr().expr; }
  std::vector<Expr> ParseIndices() {
    Expect("[");
    return ExtentList("]");
  }

  // A literal takes the type; anything else stays as it is.
  void Convert(Value* value, DataType dtype) {
    if (!value->literal || value->expr.dtype() == dtype) return;
    const Span span = value->expr.span();
    if (!dtype.is_scalar()) {
      Convert(value, dtype.element());
      if (value->expr.dtype() == dtype.element())
        value->expr = ir::BroadcastNode::Make(value->expr, dtype.lanes(), span);
      return;
    }
    if (const auto* imm = value->expr.As<ir::IntImmNode>(); imm && !imm->dtype.is_bool()) {
      if (dtype.is_float())
        value->expr = ir::FloatImmNode::Make(dtype, static_cast<double>(imm->value), span);
      else if (dtype.is_integer())
        value->expr = Located(span, [&] { return ir::IntImmNode::Make(dtype, imm->value, span); });
    } else if (const auto* imm = value->expr.As<ir::FloatImmNode>(); imm && dtype.is_float()) {
      value->expr =
          ir::FloatImmNode::Make(dtype, exact_.count(imm) ? exact_[imm] : imm->value, span);
    }
  }
  void Unify(Value* a, Value* b) {
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

  using BinaryMake = Expr (*)(Expr, Expr, Span);
  struct BinaryOperator {
    std::string_view text;
    int level;  // 0 binds least
    BinaryMake make;
  };
  static constexpr int kCompareLevel = 2, kTightestLevel = 4;
  static const BinaryOperator* FindOperator(const Token& token) {
    static const BinaryOperator kOperators[] = {
        {"||", 0, ir::OrNode::Make},       {"&&", 1, ir::AndNode::Make},
        {"==", 2, ir::EQNode::Make},       {"!=", 2, ir::NENode::Make},
        {"<", 2, ir::LTNode::Make},        {"<=", 2, ir::LENode::Make},
        {">", 2, ir::GTNode::Make},        {">=", 2, ir::GENode::Make},
        {"+", 3, ir::AddNode::Make},       {"-", 3, ir::SubNode::Make},
        {"*", 4, ir::MulNode::Make},       {"/", 4, ir::DivNode::Make},
        {"//", 4, ir::FloorDivNode::Make}, {"%", 4, ir::FloorModNode::Make},
    };
    if (token.kind != Token::Kind::kPunct) return nullptr;
    for (const BinaryOperator& op : kOperators)
      if (op.text == token.text) return &op;
    return nullptr;
  }

  Value ParseExpr() { return ParseBinary(0); }

  Value ParseBinary(int level) {
    if (level > kTightestLevel) return ParseUnary();
    Value left = ParseBinary(level + 1);
    for (const BinaryOperator* op = FindOperator(Peek()); op && op->level == level;
         op = FindOperator(Peek())) {
      Span span = Next().span;
      Value right = ParseBinary(level + 1);
      Unify(&left, &right);
      left = {Located(span, [&] { return op->make(left.expr, right.expr, span); }), false};
      if (level == kCompareLevel) {
        if (const BinaryOperator* next = FindOperator(Peek()); next && next->level == level)
          Fail(Peek().span, "comparisons do not chain; join them with &&");
        break;
      }
    }
    return left;
  }

  Value ParseUnary() {
    DepthGuard guard(this);
    Span span = Peek().span;
    if (Accept("!")) {
      Expr operand = ParseUnary().expr;
      return {Located(span, [&] { return ir::NotNode::Make(operand, span); }), false};
    }
    if (!Accept("-")) return ParsePrimary();
    if (Peek().kind == Token::Kind::kInt)
      return {ir::IntImmNode::Make(DataType::Int(64), ParseInteger(true), span), true};
    Value operand = ParseUnary();
    if (const auto* imm = operand.expr.As<ir::FloatImmNode>(); imm && operand.literal)
      return FloatLiteral(-(exact_.count(imm) ? exact_[imm] : imm->value), span);
    return {Located(span, [&] { return Negate(operand.expr, span); }), false};
  }
  // -1.0 * x keeps the sign of zero, 0 - x does not.
  static Expr Negate(const Expr& operand, const Span& span) {
    if (operand.dtype().is_float())
      return ir::MulNode::Make(ir::MakeConst(operand.dtype(), -1, span), operand, span);
    return ir::SubNode::Make(ir::MakeConst(operand.dtype(), 0, span), operand, span);
  }

  int64_t ParseInteger(bool negative) {
    const Token& token = Peek();
    if (token.kind != Token::Kind::kInt) Unexpected("an integer");
    uint64_t magnitude = 0;
    auto [end, error] =
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), magnitude);
    uint64_t limit = (uint64_t{1} << 63) - !negative;
    // Above int64, the digits are those of a uint64 constant: uint64(18446744073709551615).
    bool unsigned_ok = !negative && in_uint64_;
    if (error != std::errc() || (magnitude > limit && !unsigned_ok))
      Fail(token.span, "the integer does not fit in 64 bits");
    Next();
    return static_cast<int64_t>(negative ? -magnitude : magnitude);
  }

  // Literals are float32 until they meet another type; the digits are kept for that moment.
  Value FloatLiteral(double value, const Span& span) {
    Expr expr = ir::FloatImmNode::Make(DataType::Float(32), value, span);
    exact_[static_cast<const ir::FloatImmNode*>(expr.get())] = value;
    kept_.push_back(expr);
    return {expr, true};
  }

  Value ParsePrimary() {
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
  Value ParseLetExpr() {
    Next();
    Scope scope(this);
    Span span = Peek().span;
    std::string name = ExpectNewName("a variable's name");
    Expect("=");
    Expr value = ParseExpr().expr;
    Var var(name, value.dtype(), span);
    symbols_[name] = {var, {}};
    Expect("in");
    Expr body = ParseExpr().expr;
    Expect(")");
    return {ir::LetNode::Make(var, value, body, span), false};
  }

  Value ParseName() {
    Token token = Next();
    const Span& span = token.span;
    if (token.text == "true" || token.text == "false")
      return {ir::IntImmNode::Make(DataType::Bool(), token.text == "true", span), false};
    if (token.text == "inf") return FloatLiteral(INFINITY, span);
    if (token.text == "nan") return FloatLiteral(NAN, span);
    if (Is("[")) {
      Buffer buffer = LookupBuffer(token);
      std::vector<Expr> indices = ParseIndices();
      return {Located(span, [&] { return ir::BufferLoadNode::Make(buffer, indices, span); }),
              false};
    }
    if (Is("(") || (Is("<") && IsTypedCall(token))) return ParseCall(token);
    if (in_params_ && !symbols_.count(token.text))
      symbols_[token.text] = {Var(token.text, DataType::Int(64), span), {}};
    const Symbol& symbol = Lookup(token);
    if (symbol.buffer)
      Fail(span, "'" + token.text + "' is a buffer; an element of it is " + token.text + "[...]");
    return {symbol.var, false};
  }

  // name<dtype>(
  bool IsTypedCall(const Token& name) const {
    const ir::Intrinsic* intrinsic = ir::FindIntrinsic(name.text);
    return (intrinsic && intrinsic->explicit_dtype) || name.text == "cast";
  }

  Value ParseCall(const Token& name) {
    std::optional<DataType> conversion = DataType::Parse(name.text);
    DataType dtype = DataType::Void();
    bool typed = Accept("<");
    if (typed) {
      dtype = ParseDType();
      Expect(">");
    }
    bool saved = std::exchange(in_uint64_, conversion == DataType::UInt(64));
    Expect("(");
    std::vector<Value> args;
    CommaList(")", [&] { args.push_back(ParseExpr()); });
    in_uint64_ = saved;
    if (conversion && !typed) return ParseConversion(name, *conversion, args);
    return {Located(name.span, [&] { return MakeCall(name, dtype, args); }), false};
  }

  // dtype(x): a constant of the type, or a conversion to it.
  Value ParseConversion(const Token& name, DataType dtype, std::vector<Value>& args) {
    if (args.size() != 1)
      Fail(name.span, name.text + "(x) converts one value, got " + std::to_string(args.size()));
    if (args[0].literal && dtype.is_scalar()) {
      Convert(&args[0], dtype);
      if (args[0].expr.dtype() == dtype) return {args[0].expr, false};
    }
    return {Located(name.span, [&] { return ir::CastNode::Make(dtype, args[0].expr, name.span); }),
            false};
  }

  static void CheckCount(const Token& name, const std::vector<Value>& args, size_t count) {
    if (args.size() != count)
      TERN_THROW(TypeError) << name.text << " takes " << count << " arguments, got " << args.size();
  }
  static int64_t Lanes(const Value& value) {
    const int64_t* lanes = ir::AsConstInt(value.expr);
    if (!lanes) TERN_THROW(TypeError) << "the number of lanes must be a constant";
    return *lanes;
  }

  // The words that are nodes of their own, then the intrinsics.
  Expr MakeCall(const Token& name, DataType dtype, std::vector<Value>& args) {
    static const std::map<std::string, BinaryMake> kBinary = {{"min", ir::MinNode::Make},
                                                              {"max", ir::MaxNode::Make},
                                                              {"truncdiv", ir::TruncDivNode::Make},
                                                              {"truncmod", ir::TruncModNode::Make}};
    if (auto it = kBinary.find(name.text); it != kBinary.end()) {
      CheckCount(name, args, 2);
      Unify(&args[0], &args[1]);
      return it->second(args[0].expr, args[1].expr, name.span);
    }
    if (name.text == "select") {
      CheckCount(name, args, 3);
      Unify(&args[1], &args[2]);
      return ir::SelectNode::Make(args[0].expr, args[1].expr, args[2].expr, name.span);
    }
    if (name.text == "cast") {
      CheckCount(name, args, 1);
      return ir::CastNode::Make(dtype, args[0].expr, name.span);
    }
    if (name.text == "ramp") {
      CheckCount(name, args, 3);
      Unify(&args[0], &args[1]);
      return ir::RampNode::Make(args[0].expr, args[1].expr, Lanes(args[2]), name.span);
    }
    if (name.text == "broadcast") {
      CheckCount(name, args, 2);
      return ir::BroadcastNode::Make(args[0].expr, Lanes(args[1]), name.span);
    }
    std::vector<Expr> exprs;
    for (const Value& arg : args) exprs.push_back(arg.expr);
    return ir::CallNode::Make(name.text, std::move(exprs), dtype, name.span);
  }

  ir::Diagnostics diagnostics_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  bool in_params_ = false, in_uint64_ = false;
  bool closed_ = false;  // the statement just parsed took the closing brace of its block
  std::map<std::string, Symbol> symbols_;
  std::map<const ir::FloatImmNode*, double> exact_;  // float literals with all their digits
  std::vector<Expr> kept_;                           // keeps the keys of exact_ alive
};

}  // namespace

ir::IRModule ParseModule(const std::string& file_name, const std::string& text) {
  return Parser(ffi::Make<ir::Source>(file_name, text)).Run();
}

ir::IRModule ParseFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  TERN_CHECK(file) << "cannot read " << path;
  std::stringstream text;
  text << file.rdbuf();
  return ParseModule(path, text.str());
}

}  // namespace tern::tir
