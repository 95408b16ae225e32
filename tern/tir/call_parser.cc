// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/call_parser.h"

#include <algorithm>

#include "tern/ffi/text.h"
#include "tern/tir/place_returns.h"

namespace tern::tir {
namespace {

// Calls in calls can be more than anybody waits for: f0 calls f1 twice, which calls f2 twice, ...
constexpr int kMostCalls = 20000;

}  // namespace

// ---- functions of the file

void CallParser::AddFunctionItem(size_t at) {
  FunctionItem item{at, {}};
  size_t i = at + 2;
  if (i < tokens_.size() && tokens_[i].text == "=") return;  // an instance; its template is called
  if (i + 1 < tokens_.size() && tokens_[i].text == "[")
    for (++i; i < tokens_.size() && tokens_[i].kind == Token::Kind::kIdent; i += 2)
      item.template_params.push_back(tokens_[i].text);
  functions_.try_emplace(tokens_[at + 1].text, std::move(item));
}

const CallParser::FunctionItem* CallParser::FindFunction(const std::string& name) const {
  auto it = functions_.find(name);
  return it == functions_.end() || IsBuiltin(name) ? nullptr : &it->second;
}

std::vector<std::string> CallParser::FunctionNames() const {
  std::vector<std::string> names;
  for (const auto& [name, item] : functions_) names.push_back(name);
  return names;
}

CallParser::Frame::Frame(CallParser* parser, std::string function)
    : parser_(parser),
      symbols_(std::move(parser->symbols_)),
      hidden_(std::move(parser->hidden_)),
      types_(std::move(parser->types_)),
      before_(std::move(parser->before_)),
      result_(parser->result_),
      at_(parser->at_),
      in_expr_(std::exchange(parser->in_expr_, false)),
      in_params_(std::exchange(parser->in_params_, false)),
      conditional_(std::exchange(parser->conditional_, 0)) {
  parser->ForgetSymbols();
  parser->types_.clear();
  parser->before_.clear();
  parser->result_ = Buffer();
  parser->active_.push_back(std::move(function));
}

CallParser::Frame::~Frame() {
  parser_->symbols_ = std::move(symbols_);
  parser_->hidden_ = std::move(hidden_);
  parser_->types_ = std::move(types_);
  parser_->before_ = std::move(before_);
  parser_->result_ = result_;
  parser_->at_ = at_;
  parser_->in_expr_ = in_expr_;
  parser_->in_params_ = in_params_;
  parser_->conditional_ = conditional_;
  parser_->active_.pop_back();
}

CallParser::Head CallParser::ParseHead() {
  Head head;
  head.params = ParseParams();
  head.result = ParseResult();
  head.attrs = ParseAttrs(AttrPlace::kFunction);
  return head;
}

Buffer CallParser::ParseResult() {
  if (!Is("-") || Peek(1).text != ">") return {};
  at_ += 2;
  Span span = Peek().span;
  DataType dtype = ParseDType();
  if (!dtype.is_scalar() || dtype.is_handle())
    Fail(span, "a function returns a number or a bool, not " + dtype.str());
  return BufferNode::Make(active_.back(), dtype, {1}, {}, StorageScope::kLocal, {}, span);
}

Stmt CallParser::ParseBody(const Buffer& result) {
  result_ = result;
  const size_t mistakes = diagnostics_.items().size();
  Span span = Peek().span;
  Stmt body = ParseBlock();
  if (!result) return body;
  if (diagnostics_.items().size() != mistakes) throw Abandon{};
  if (const auto* seq = body.As<SeqNode>(); seq && seq->stmts.empty())
    Fail(span, "the function does not return a value");
  return PlaceReturns(body, result, this);
}

// ---- templates

std::string CallParser::TemplateArg::str() const {
  return dtype ? dtype->str() : std::to_string(*ir::AsConstInt(value));
}

std::string CallParser::InstanceName(const std::string& name,
                                     const std::vector<TemplateArg>& args) {
  std::vector<std::string> texts;
  for (const TemplateArg& arg : args) texts.push_back(arg.str());
  return name + "[" + ffi::Join(texts) + "]";
}

std::vector<CallParser::TemplateArg> CallParser::ParseTemplateArgs(const Token& name) {
  const FunctionItem& item = *FindFunction(name.text);
  if (item.template_params.empty()) Fail(name.span, name.text + " is no template");
  std::vector<TemplateArg> args;
  Expect("[");
  CommaList("]", [&] {
    if (Peek().kind == Token::Kind::kIdent && FindType(Peek())) {
      args.push_back({ParseDType(), {}});
      return;
    }
    Span span = Peek().span;
    auto refuse = [&] {
      Fail(span, "expected a type or a constant integer for parameter " +
                     (args.size() < item.template_params.size() ? item.template_params[args.size()]
                                                                : std::to_string(args.size() + 1)) +
                     " of " + name.text);
    };
    if (Peek().kind == Token::Kind::kIdent && !FindSymbol(Peek().text)) refuse();
    Expr value = FoldExtent(ParseExpr().expr);
    if (!ir::AsConstInt(value)) refuse();
    args.push_back({{}, value});
  });
  if (args.size() > item.template_params.size())
    Fail(name.span, name.text + " has " + std::to_string(item.template_params.size()) +
                        " template parameters, got " + std::to_string(args.size()));
  return args;
}

void CallParser::BindTemplateParams(const FunctionItem& item,
                                    const std::vector<TemplateArg>& args) {
  if (!Accept("[")) return;
  CommaList("]", [&] { ExpectNewName("a template parameter's name"); });
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& name = item.template_params[i];
    if (args[i].dtype)
      types_[name] = *args[i].dtype;
    else
      Define(name, {.var = {}, .buffer = {}, .value = args[i].value, .literal = true});
  }
}

// As far as the parameters are bound.
std::string CallParser::BoundInstance(const std::string& name, const FunctionItem& item) const {
  std::vector<std::string> texts;
  for (const std::string& param : item.template_params) {
    auto type = types_.find(param);
    auto symbol = symbols_.find(param);
    bool is_const = symbol != symbols_.end() && symbol->second.value.get() &&
                    ir::AsConstInt(symbol->second.value);
    texts.push_back(type != types_.end() ? type->second.str()
                    : is_const           ? std::to_string(*ir::AsConstInt(symbol->second.value))
                                         : param);
  }
  return name + "[" + ffi::Join(texts) + "]";
}

void CallParser::CheckTemplateBound(const Token& name, const FunctionItem& item) {
  for (const std::string& param : item.template_params)
    if (!types_.count(param) && !symbols_.count(param))
      Fail(name.span, "the template parameter " + param + " of " + name.text +
                          " does not follow from the arguments; give it, as in " + name.text + "[" +
                          ffi::Join(item.template_params) + "]");
}

// ---- calls

void CallParser::CheckNoCycle(const Token& name) {
  auto it = std::find(active_.begin(), active_.end(), name.text);
  if (it == active_.end()) return;
  std::string cycle;
  for (; it != active_.end(); ++it) cycle += *it + " -> ";
  Fail(name.span, "functions cannot call themselves, as calls are inlined: " + cycle + name.text);
}

std::vector<CallParser::Argument> CallParser::ParseArguments() {
  std::vector<Argument> args;
  Expect("(");
  CommaList(")", [&] { args.push_back(ParseCallArgument()); });
  return args;
}

// A buffer, table or struct by its name; else an expression.
CallParser::Argument CallParser::ParseCallArgument() {
  Argument arg;
  const Token& token = Peek();
  arg.span = token.span;
  bool alone = token.kind == Token::Kind::kIdent && (Peek(1).text == "," || Peek(1).text == ")");
  if (const Symbol* symbol = alone ? FindSymbol(token.text) : nullptr) {
    if (!symbol->record.empty())
      for (const Field& field : *FindStruct(symbol->record)) {
        const Symbol& value = *FindSymbol(token.text + "." + field.name);
        arg.fields.push_back(value.value ? value.value : Expr(value.var));
      }
    if (symbol->buffer || symbol->table || !symbol->record.empty()) {
      arg.symbol = *symbol;
      Next();
      return arg;
    }
  }
  if (Peek(1).text == "(" && !FindSymbol(token.text) && FindStruct(token.text))
    return ParseStructValue();
  arg.value = ParseExpr();
  return arg;
}

// Name(x, y), for the fields in their order.
CallParser::Argument CallParser::ParseStructValue() {
  Argument arg;
  arg.span = Peek().span;
  arg.symbol.record = Next().text;
  const Struct& fields = *FindStruct(arg.symbol.record);
  Expect("(");
  CommaList(")", [&] {
    if (arg.fields.size() == fields.size())
      Fail(Peek().span, "struct " + arg.symbol.record + " has " + std::to_string(fields.size()) +
                            " fields; this is one more");
    const Field& field = fields[arg.fields.size()];
    Span span = Peek().span;
    Value value = ParseExpr();
    Convert(&value, field.dtype);
    if (value.expr.dtype() != field.dtype)
      Fail(span, "field " + field.name + " of " + arg.symbol.record + " is " + field.dtype.str() +
                     ", but its value is " + value.expr.dtype().str());
    arg.fields.push_back(value.expr);
  });
  for (size_t i = arg.fields.size(); i < fields.size(); ++i) {
    if (!fields[i].default_value)
      Fail(arg.span, "field " + fields[i].name + " of " + arg.symbol.record + " is missing");
    arg.fields.push_back(fields[i].default_value);
  }
  return arg;
}

CallParser::Call CallParser::Inline(const Token& name) {
  const FunctionItem& item = *FindFunction(name.text);
  CheckNoCycle(name);
  std::vector<TemplateArg> template_args;
  if (Is("[")) template_args = ParseTemplateArgs(name);
  std::vector<Argument> args = ParseArguments();
  if (++calls_ > kMostCalls)
    Fail(name.span, "more than " + std::to_string(kMostCalls) + " calls are inlined");
  return InInstance([&](std::string* instance) {
    return ParseCallee(name, item, template_args, args, instance);
  });
}

CallParser::Call CallParser::ParseCallee(const Token& name, const FunctionItem& item,
                                         const std::vector<TemplateArg>& template_args,
                                         std::vector<Argument>& args, std::string* instance) {
  DepthGuard guard(this);
  Frame frame(this, name.text);
  at_ = item.at + 2;
  BindTemplateParams(item, template_args);
  if (!item.template_params.empty()) *instance = BoundInstance(name.text, item);
  auto lets = BindArguments(name, item, args);
  CheckTemplateBound(name, item);
  if (!item.template_params.empty()) *instance = BoundInstance(name.text, item);
  Call call;
  call.result = ParseResult();
  ParseAttrs(AttrPlace::kFunction);
  call.body = ParseBody(call.result);
  for (size_t i = lets.size(); i-- > 0;)
    call.body = LetStmtNode::Make(lets[i].first, lets[i].second, call.body, name.span);
  return call;
}

std::optional<ExprParser::Value> CallParser::ParseFunctionCall(const Token& name) {
  if (!FindFunction(name.text)) return {};
  Call call = Inline(name);
  if (!call.result) Fail(name.span, name.text + " returns no value");
  if (std::optional<Expr> value = AsExpression(call.body, call.result)) return Value{*value, false};
  if (conditional_ > 0 || in_params_)
    Fail(name.span,
         name.text +
             " has statements, which run before the statement that calls it; here it may "
             "be called not at all, or several times. Call it in a let before");
  before_.push_back([call](const Stmt& rest) {
    return AllocateNode::Make(call.result, SeqNode::Make({call.body, rest}, rest.span()),
                              call.result->span);
  });
  return Value{ir::BufferLoadNode::Make(call.result, {0}, name.span), false};
}

// ---- statements

Stmt CallParser::ParseReturn() {
  Span span = Next().span;
  if (!result_)
    Fail(span, "the function returns nothing; '-> type' behind its parameters says what");
  if (Is("}")) Unexpected("the value that is returned");
  Value value = ParseExpr();
  Convert(&value, result_->dtype);
  if (value.expr.dtype() != result_->dtype)
    Fail(span, active_.back() + " returns " + result_->dtype.str() + ", but this is " +
                   value.expr.dtype().str());
  return BufferStoreNode::Make(result_, {0}, value.expr, span);
}

bool CallParser::AtCallStmt() const {
  return (Peek(1).text == "(" || Peek(1).text == "[") && !FindSymbol(Peek().text) &&
         FindFunction(Peek().text);
}

Stmt CallParser::ParseCallStmt() {
  Token name = Next();
  Call call = Inline(name);
  if (!call.result) return call.body;
  if (AsExpression(call.body, call.result))
    Fail(name.span, "this call has no effect: " + name.text + " only computes a value");
  return AllocateNode::Make(call.result, call.body, call.result->span);
}

Stmt CallParser::TakeCalls(Stmt stmt) {
  for (; !before_.empty(); before_.pop_back()) stmt = before_.back()(std::move(stmt));
  return stmt;
}

}  // namespace tern::tir
