// SPDX-License-Identifier: Apache-2.0
//
// Calls of functions of the text form, which are inlined where they stand: the body is read again
// with its parameters bound to the arguments. So variables are new ones at each call, templates are
// functions whose parameters say less, and a message stands where the callee has the mistake.
#ifndef TERN_TIR_CALL_PARSER_H_
#define TERN_TIR_CALL_PARSER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tern/tir/signature_parser.h"

namespace tern::tir {

class CallParser : public SignatureParser {
 public:
  using SignatureParser::SignatureParser;

 protected:
  // ---- functions of the file

  // Found before anything is parsed: those that are called may stand behind those that call.
  struct FunctionItem {
    size_t at = 0;                             // the token `func`
    std::vector<std::string> template_params;  // of a template
  };
  void AddFunctionItem(size_t at);
  // Null where there is none, or the language has a function of that name.
  const FunctionItem* FindFunction(const std::string& name) const;

  // While it lives, the function is parsed, with nothing of others in scope.
  class Frame {
   public:
    Frame(CallParser* parser, std::string function);
    ~Frame();
    Frame(const Frame&) = delete;
    Frame& operator=(const Frame&) = delete;

   private:
    CallParser* parser_;
    std::map<std::string, Symbol> symbols_;
    std::vector<std::pair<std::string, std::optional<Symbol>>> hidden_;
    std::map<std::string, DataType> types_;
    std::vector<std::function<Stmt(Stmt)>> before_;
    Buffer result_;
    size_t at_;
    bool in_expr_, in_params_;
    int conditional_;
  };

  struct Head {
    Params params;
    Buffer result;  // where the value goes that is returned; null where there is none
    ir::Attrs attrs;
  };
  // (params) -> dtype attrs {...}
  Head ParseHead();
  Stmt ParseBody(const Buffer& result);

  // ---- templates

  // A type or an integer, for a parameter of a template.
  struct TemplateArg {
    std::optional<DataType> dtype;
    Expr value;
    std::string str() const;
  };
  static std::string InstanceName(const std::string& name, const std::vector<TemplateArg>& args);
  // [float16, 64], behind the name of a function.
  std::vector<TemplateArg> ParseTemplateArgs(const Token& name);
  // Reads the list behind the function's name, and binds the first of its parameters.
  void BindTemplateParams(const FunctionItem& item, const std::vector<TemplateArg>& args);
  void CheckTemplateBound(const Token& name, const FunctionItem& item);
  // Runs `parse`, which may set the name of an instance. What is reported meanwhile says it.
  // Abandons where anything was reported.
  template <class F>
  auto InInstance(F&& parse) {
    std::string instance;
    ir::Diagnostics found;
    std::swap(found, diagnostics_);
    std::optional<decltype(parse(&instance))> result;
    try {
      result = parse(&instance);
    } catch (const Abandon&) {
    }
    std::swap(found, diagnostics_);
    for (const ir::Diagnostic& item : found.items())
      diagnostics_.Add(item.span,
                       item.message + (instance.empty() ? "" : " (in " + instance + ")"));
    if (!result || !found.empty()) throw Abandon{};
    return *result;
  }

  // ---- statements

  virtual Stmt ParseBlock() = 0;
  // return x
  Stmt ParseReturn();
  bool AtCallStmt() const;
  // f(A, x), for what it does.
  Stmt ParseCallStmt();
  // The statement, behind the calls in its expressions that are statements themselves.
  Stmt TakeCalls(Stmt stmt);
  std::vector<std::function<Stmt(Stmt)>> before_;  // these calls, first to last

  std::optional<Value> ParseFunctionCall(const Token& name) override;
  std::vector<std::string> FunctionNames() const override;

 private:
  struct Argument {
    Value value;               // of a scalar
    Symbol symbol;             // a buffer, a table or a struct
    std::vector<Expr> fields;  // of the struct
    Span span;
  };
  struct Call {
    Stmt body;
    Buffer result;
  };
  class ArgumentBinder;

  Buffer ParseResult();
  std::string BoundInstance(const std::string& name, const FunctionItem& item) const;
  void CheckNoCycle(const Token& name);
  std::vector<Argument> ParseArguments();
  Argument ParseCallArgument();
  Argument ParseStructValue();
  Call Inline(const Token& name);
  Call ParseCallee(const Token& name, const FunctionItem& item,
                   const std::vector<TemplateArg>& template_args, std::vector<Argument>& args,
                   std::string* instance);
  // The parameter list, whose names then mean the arguments. Returns what is to be computed first.
  std::vector<std::pair<Var, Expr>> BindArguments(const Token& name, const FunctionItem& item,
                                                  std::vector<Argument>& args);

  std::map<std::string, FunctionItem> functions_;
  std::vector<std::string> active_;  // functions that are parsed, the innermost last
  Buffer result_;                    // of the innermost
  int calls_ = 0;                    // inlined so far
};

}  // namespace tern::tir

#endif  // TERN_TIR_CALL_PARSER_H_
