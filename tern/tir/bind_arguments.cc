// SPDX-License-Identifier: Apache-2.0
//
// The parameters of a function that is called, bound to the arguments.
#include "tern/arith/analyzer.h"
#include "tern/ir/structural.h"
#include "tern/tir/call_parser.h"
#include "tern/tir/text.h"

namespace tern::tir {

class CallParser::ArgumentBinder {
 public:
  ArgumentBinder(CallParser* parser, const Token& callee, const FunctionItem& item,
                 std::vector<Argument>& args)
      : p_(*parser), callee_(callee), item_(item), args_(args) {}

  std::vector<std::pair<Var, Expr>> Run() {
    size_t count = 0;
    p_.Expect("(");
    p_.CommaList(")", [&] {
      Argument* arg = count < args_.size() ? &args_[count] : nullptr;
      ++count;
      BindOne(arg);
    });
    if (count < args_.size())
      p_.Fail(args_[count].span, callee_.text + " takes " + std::to_string(count) +
                                     " arguments, got " + std::to_string(args_.size()));
    CheckRemaining();
    return std::move(lets_);
  }

 private:
  // An extent, stride or scalar that the parameters give as `text` (a token), and the arguments as
  // a value.
  struct Equation {
    size_t at;
    Expr value;
    std::string what;
    Span span;
  };

  void BindOne(Argument* arg) {
    Token name = p_.Peek();
    p_.ExpectNewName("a parameter's name");
    p_.Expect(":");
    if (const Struct* fields = p_.FindStruct(p_.Peek().text)) return BindStruct(name, *fields, arg);
    if (arg) DeduceType(*arg);
    DataType dtype = p_.ParseDType();
    if (p_.Is("[")) return BindTensor(name, dtype, Given(name, arg));
    Expr default_value = p_.ParseDefault(dtype);
    if (arg || !default_value)
      BindScalar(name, dtype, Given(name, arg));
    else
      BindValue(name, default_value);
  }

  const Argument& Given(const Token& name, const Argument* arg) {
    if (!arg)
      p_.Fail(callee_.span, "argument " + name.text + " of " + callee_.text + " is missing");
    return *arg;
  }
  std::string What(const Token& name) const {
    return "argument " + name.text + " of " + callee_.text;
  }

  // A parameter of a template that is not bound yet is the type of the argument.
  void DeduceType(const Argument& arg) {
    const std::string& word = p_.Peek().text;
    const auto& params = item_.template_params;
    if (std::find(params.begin(), params.end(), word) == params.end()) return;
    if (p_.types_.count(word) || p_.symbols_.count(word)) return;
    if (arg.symbol.buffer)
      p_.types_[word] = arg.symbol.buffer->dtype;
    else if (arg.symbol.table)
      p_.types_[word] = arg.symbol.table->dtype;
    else if (arg.value.expr)
      p_.types_[word] = arg.value.expr.dtype();
  }

  void BindValue(const Token& name, const Expr& value) {
    if (value.As<VarNode>() || value.As<ir::IntImmNode>() || value.As<ir::FloatImmNode>()) {
      p_.Define(name.text, {.var = {}, .buffer = {}, .value = value});
      return;
    }
    Var var(name.text, value.dtype(), name.span);
    lets_.emplace_back(var, value);
    p_.Define(name.text, {var, {}});
  }

  void BindScalar(const Token& name, DataType dtype, const Argument& arg) {
    if (!arg.value.expr)
      p_.Fail(arg.span, What(name) + " is " +
                            (arg.symbol.record.empty() ? "a tensor" : "a struct") + "; expected " +
                            dtype.str());
    Value value = arg.value;
    p_.Convert(&value, dtype);
    if (value.expr.dtype() != dtype)
      p_.Fail(arg.span,
              What(name) + " is " + value.expr.dtype().str() + "; expected " + dtype.str());
    if (auto it = p_.symbols_.find(name.text); it != p_.symbols_.end())
      Check(it->second.value ? it->second.value : Expr(it->second.var), value.expr, What(name),
            arg.span);
    else
      BindValue(name, value.expr);
  }

  void BindStruct(const Token& name, const Struct& fields, const Argument* given) {
    std::string type = p_.Next().text;
    const Argument& arg = Given(name, given);
    if (arg.symbol.record != type)
      p_.Fail(arg.span, What(name) + " is " +
                            (arg.symbol.record.empty() ? "no struct" : "a " + arg.symbol.record) +
                            "; expected a struct " + type);
    p_.Define(name.text, {.var = {}, .buffer = {}, .record = type});
    for (size_t i = 0; i < fields.size(); ++i) {
      Token field = name;
      field.text += "." + fields[i].name;
      BindValue(field, arg.fields[i]);
    }
  }

  void BindTensor(const Token& name, DataType dtype, const Argument& arg) {
    const Buffer& buffer = arg.symbol.buffer;
    const ir::Constant& table = arg.symbol.table;
    if (!buffer && !table) p_.Fail(arg.span, What(name) + " is no tensor");
    DataType given = buffer ? buffer->dtype : table->dtype;
    if (given != dtype)
      p_.Fail(arg.span, What(name) + " holds " + given.str() + "; expected " + dtype.str());
    std::vector<Expr> shape;
    if (buffer) shape = buffer->shape;
    if (table) shape.assign(table->shape.begin(), table->shape.end());
    p_.Expect("[");
    BindList("]", name, "extent", shape, arg.span);
    if (p_.Accept("strides")) {
      p_.Expect("(");
      bool is_compact = !buffer || buffer->strides.empty();
      BindList(")", name, "stride", is_compact ? CompactStrides(shape) : buffer->strides, arg.span);
    }
    // Where the elements begin is the argument's own matter, and so is their alignment.
    for (const char* word : {"offset", "align"})
      if (p_.Accept(word)) SkipBrackets();
    if (p_.Accept("in")) {
      StorageScope wanted = p_.ParseScope();
      StorageScope scope = buffer ? buffer->scope : StorageScope::kGlobal;
      if (scope != wanted)
        p_.Fail(arg.span, What(name) + " is in " + StorageScopeName(scope) + " memory; expected " +
                              StorageScopeName(wanted));
    }
    if (p_.symbols_.count(name.text))
      p_.Fail(name.span, "'" + name.text + "' is used as an extent and cannot be a tensor");
    p_.Define(name.text, arg.symbol);
  }

  // Names that are not known yet are what the argument has; the rest is compared once all are.
  void BindList(std::string_view close, const Token& tensor, const char* kind,
                const std::vector<Expr>& values, const Span& span) {
    size_t i = 0;
    p_.CommaList(close, [&] {
      Token token = p_.Peek();
      Expr value = i < values.size() ? values[i] : Expr();
      std::string what = std::string(kind) + " " + std::to_string(i) + " of " + What(tensor);
      ++i;
      bool alone =
          token.kind == Token::Kind::kIdent && (p_.Peek(1).text == "," || p_.Peek(1).text == close);
      if (alone && value.get() && !p_.FindSymbol(token.text)) {
        p_.Next();
        BindValue(token, value);
        return;
      }
      if (value) remaining_.push_back({p_.at_, value, what, span});
      SkipExpr(close);
    });
    if (i != values.size())
      p_.Fail(span, What(tensor) + " has rank " + std::to_string(values.size()) + "; expected " +
                        std::to_string(i));
  }
  static std::vector<Expr> CompactStrides(const std::vector<Expr>& shape) {
    std::vector<Expr> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;)
      strides[i - 1] = FoldExtent(ir::MulNode::Make(strides[i], shape[i]));
    return strides;
  }

  void SkipExpr(std::string_view close) {
    int depth = 0;
    while (!p_.AtEnd()) {
      const std::string& text = p_.Peek().text;
      if (depth == 0 && (text == "," || text == close)) return;
      depth += text == "(" || text == "[" ? 1 : text == ")" || text == "]" ? -1 : 0;
      p_.Next();
    }
  }
  void SkipBrackets() {
    p_.Expect("(");
    SkipExpr(")");
    p_.Expect(")");
  }

  void CheckRemaining() {
    size_t end = p_.at_;
    for (const Equation& equation : remaining_) {
      p_.at_ = equation.at;
      Check(p_.ParseExpr().expr, equation.value, equation.what, equation.span);
    }
    p_.at_ = end;
  }
  void Check(const Expr& wanted, const Expr& given, const std::string& what, const Span& span) {
    Expr a = FoldExtent(wanted), b = FoldExtent(given);
    bool same = a.dtype() == b.dtype() &&
                (ir::StructuralEqual(a, b) || arith::Analyzer().CanProve(ir::EQNode::Make(a, b)));
    if (!same)
      p_.Fail(span, what + " is " + Print(b) + "; expected " + Print(a) +
                        (ir::AsConstInt(a) && ir::AsConstInt(b)
                             ? ""
                             : ", and it is not known that they are the same"));
  }

  CallParser& p_;
  const Token& callee_;
  const FunctionItem& item_;
  std::vector<Argument>& args_;
  std::vector<std::pair<Var, Expr>> lets_;
  std::vector<Equation> remaining_;
};

std::vector<std::pair<Var, Expr>> CallParser::BindArguments(const Token& name,
                                                            const FunctionItem& item,
                                                            std::vector<Argument>& args) {
  return ArgumentBinder(this, name, item, args).Run();
}

}  // namespace tern::tir
