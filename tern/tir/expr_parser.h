// SPDX-License-Identifier: Apache-2.0
//
// The expressions of the text form, and what every part of its parser needs: tokens, errors, names
// in scope. signature_parser.h adds parameters, call_parser.h calls of functions of the file,
// parser.cc statements and functions.
#ifndef TERN_TIR_EXPR_PARSER_H_
#define TERN_TIR_EXPR_PARSER_H_

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tern/ir/constant.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/expr.h"
#include "tern/ir/lexer.h"
#include "tern/tir/stmt.h"

namespace tern::tir {

class ExprParser {
 public:
  using Token = ir::Token;

  // Thrown after a mistake was recorded; caught where parsing can go on.
  struct Abandon {};

  // An expression, and whether it is made of bare literals, which take the type of what they meet
  // (tern/tir/literals.h).
  struct Value {
    Expr expr;
    bool literal = false;
  };

  // Of nested brackets and statements: text is read by recursion. Operators without brackets are
  // counted by themselves (tern/ir/depth.h).
  static constexpr int kMaxDepth = 256;

  explicit ExprParser(const ffi::Ref<const ir::Source>& source)
      : tokens_(ir::Lex(source, &diagnostics_)) {}
  virtual ~ExprParser() = default;

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
  static std::string Spell(const Token& token);
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
  std::string ExpectNewName(const char* what);

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

  static std::string TooManyLevels() {
    return "nested too deeply; the limit is " + std::to_string(kMaxDepth);
  }
  struct DepthGuard {
    explicit DepthGuard(ExprParser* parser) : parser(parser) {
      if (++parser->depth_ > kMaxDepth) {
        --parser->depth_;
        parser->Fail(parser->Peek().span, TooManyLevels());
      }
    }
    ~DepthGuard() { --parser->depth_; }
    ExprParser* parser;
  };

  // ---- names in scope

  struct Symbol {
    Var var;        // null where the name stands for something else, as below
    Buffer buffer;  // null for a scalar
    // What a name stands for that is no variable: a constant, or the argument of an inlined call.
    Expr value = {};
    bool literal = false;     // of `value`: it takes the type of what it meets
    ir::Constant table = {};  // a constant that is read by indices
    std::string record = {};  // the name of the struct; fields are symbols of their own

    // The definition had a mistake: uses are then not reported again.
    bool is_mistake() const { return !var && !value && !table && record.empty(); }
  };
  void Define(const std::string& name, Symbol symbol);
  void ForgetSymbols() {
    symbols_.clear();
    hidden_.clear();
  }
  // What is defined during its life goes out of scope with it.
  struct Scope {
    explicit Scope(ExprParser* parser) : parser(parser), outside(parser->hidden_.size()) {}
    ~Scope();
    ExprParser* parser;
    size_t outside;
  };

  // What is in scope, or of the whole module. Null where there is no such name.
  const Symbol* FindSymbol(const std::string& name) const;
  const Symbol& Lookup(const Token& token);
  const Buffer& LookupBuffer(const Token& token);

  // ---- types and expressions

  // The type of that name, or the one that a parameter of a template is.
  std::optional<DataType> FindType(const Token& token) const;
  DataType ParseDType();
  // Fails on types that only tensors have.
  Value ParseExpr();
  // Expressions with commas between, up to and with `close`.
  std::vector<Expr> ParseExprs(std::string_view close);
  // [i, j], or [i, j where predicate]
  struct Place {
    std::vector<Expr> indices;
    Expr predicate;  // null: none
  };
  Place ParsePlace();
  // "+= x" and the like, behind the element that has the value `old`: what it becomes. Nothing
  // where something else stands.
  std::optional<Value> ParseUpdate(const Expr& old);
  // An atomic operation whose old value goes to the element that `old` makes of its type. Nothing
  // where something else stands.
  std::optional<Expr> ParseAtomic(const std::function<Expr(DataType)>& old);
  // Digits, or the name of a constant.
  int64_t ParseInteger(bool negative);
  // A string, a number, true, false or a list of such.
  ffi::Any ParseAttrValue();
  std::string ExpectString(const char* what);
  // "[n, 2]". In a parameter list an unknown name is an extent that the tensor defines.
  std::vector<Expr> ParseExtents(bool in_params);
  // The module's, as far as they were read.
  const std::map<std::string, ir::Constant>& constants() const { return constants_; }
  // A number as it is written in lists of elements, as an IntImm or FloatImm of the type.
  Expr ParseElement(DataType dtype);

  // Whether a name is an intrinsic, or another function of the language.
  static bool IsBuiltin(const std::string& name);

  // A literal takes the type; anything else stays as it is.
  void Convert(Value* value, DataType dtype);
  void Unify(Value* a, Value* b);
  void UnifyAll(std::vector<Value>& values);

 protected:
  // A call of a function of the file, behind its name. Nothing where the name is none.
  virtual std::optional<Value> ParseFunctionCall(const Token&) { return {}; }
  virtual std::vector<std::string> FunctionNames() const { return {}; }

  // While it lives, calls with statements are refused: what stands before the statement would run
  // too often, or too early.
  struct ConditionalGuard {
    ConditionalGuard(ExprParser* parser, bool applies) : parser(parser), applies(applies) {
      parser->conditional_ += applies;
    }
    ~ConditionalGuard() { parser->conditional_ -= applies; }
    ExprParser* parser;
    bool applies;
  };

  ir::Diagnostics diagnostics_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  bool in_expr_ = false;
  // In a parameter list an unknown name is an extent that the tensor defines.
  bool in_params_ = false;
  int conditional_ = 0;  // ConditionalGuards
  std::map<std::string, Symbol> symbols_;
  std::map<std::string, Symbol> globals_;  // constants
  std::map<std::string, DataType> types_;  // parameters of a template that are types
  std::map<std::string, ir::Constant> constants_;
  // What names meant before each definition; nullopt: nothing.
  std::vector<std::pair<std::string, std::optional<Symbol>>> hidden_;

 private:
  struct BinaryOperator;
  static const BinaryOperator* FindOperator(const Token& token);

  struct ExprGuard {
    explicit ExprGuard(ExprParser* parser) : parser(parser), outermost(!parser->in_expr_) {
      parser->in_expr_ = true;
    }
    ~ExprGuard() { parser->in_expr_ = !outermost; }
    ExprParser* parser;
    bool outermost;
  };

  Value ParseBinary(int level);
  Value Combine(const BinaryOperator& op, Value left, Value right, const Span& span);
  Value ParseUnary();
  Value ParsePrimary();
  Value ParseLetExpr();
  Value ParseName();
  Value ParseAccess(const Token& name);
  Value ParseTableAccess(const Token& name, const ir::Constant& table);
  Value ParseCall(const Token& name);
  Value ParseArgument(const Token& callee);
  Value ParseShuffle(const Token& name);
  Value ParseConversion(const Token& name, DataType dtype, std::vector<Value>& args);
  Expr MakeAtomicCall(const Token& name, std::vector<Value>& args, const Expr& old);
  Expr MakeCall(const Token& name, DataType dtype, std::vector<Value>& args);
  Value FloatLiteral(double value, const Span& span);
  double Exact(const ir::FloatImmNode* literal) const;

  std::map<const ir::FloatImmNode*, double> exact_;  // float literals with all their digits
  std::vector<Expr> kept_;                           // keeps the keys of exact_ alive
};

}  // namespace tern::tir

#endif  // TERN_TIR_EXPR_PARSER_H_
