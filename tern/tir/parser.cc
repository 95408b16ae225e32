// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <set>

#include "tern/ffi/text.h"
#include "tern/tir/attributes.h"
#include "tern/tir/call_parser.h"
#include "tern/tir/constant_parser.h"
#include "tern/tir/default_arguments.h"
#include "tern/tir/function_kind.h"
#include "tern/tir/import_files.h"
#include "tern/tir/kernel_parser.h"
#include "tern/tir/parse_unsaved.h"
#include "tern/tir/schedule_parser.h"
#include "tern/tir/source_files.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

class Parser : public CallParser {
 public:
  explicit Parser(const ffi::Ref<const ir::Source>& source) : CallParser(source) {}

  // The text is the file's, and may name others.
  void SetFile(const std::filesystem::path& path) { files_.AddFile(tokens_[0].span.source, path); }

  // The module of the text, and of `instances`, which are further items.
  ir::IRModule Run(const ffi::Ref<const ir::Source>& instances = {}) {
    if (instances) {
      std::vector<Token> more = ir::Lex(instances, &diagnostics_);
      tokens_.insert(tokens_.end() - 1, more.begin(), more.end() - 1);
    }
    tokens_ = ImportFiles(std::move(tokens_), &files_, &diagnostics_);
    FindItems();
    std::vector<ir::BaseFunc> functions;
    while (!AtEnd()) {
      if (auto it = ends_.find(at_); it != ends_.end()) {
        at_ = it->second;
        continue;
      }
      Recovering([&] { ParseItem(&functions); });
    }
    diagnostics_.ThrowIfAny("ParseError");
    return ir::IRModule::Make(functions, constants_in_order_);
  }

 private:
  // ---- items

  // Constants and structs are read before the rest, functions found: all may be used before the
  // place where they are defined.
  void FindItems() {
    std::vector<size_t> first;
    for (size_t at : OutermostTokens(tokens_)) {
      if (IsItemWord(tokens_, at, "func")) AddFunctionItem(at);
      if (IsItemWord(tokens_, at, "schedule")) schedules_[tokens_[at + 1].text].push_back(at);
      if (IsItemWord(tokens_, at, "constant") || IsItemWord(tokens_, at, "struct"))
        first.push_back(at);
    }
    for (size_t at : first) {
      at_ = at;
      Recovering([&] { AtStruct() ? ParseStruct() : ParseConstantItem(); });
      ends_[at] = at_;
    }
    at_ = 0;
  }

  // After a mistake, goes on with the next item.
  template <class F>
  void Recovering(F&& parse) {
    const size_t start = at_;
    try {
      parse();
    } catch (const Abandon&) {
      in_params_ = false;
      if (at_ == start) Next();
      while (!AtEnd() && !(Peek().first_on_line && AtItem())) Next();
    }
  }

  bool AtItem() const {
    return Is("func") || AtKernel() || AtSchedule() || AtConstant() || AtStruct() ||
           IsItemWord(tokens_, at_, "import") || RegisteredKind();
  }
  bool AtConstant() const { return Is("constant") && Peek(1).kind == Token::Kind::kIdent; }
  // A buffer may have the name `kernel`.
  bool AtKernel() const { return Is("kernel") && Peek(1).kind == Token::Kind::kIdent; }
  const FunctionKind* RegisteredKind() const {
    bool may_be = Peek().kind == Token::Kind::kIdent && Peek(1).kind == Token::Kind::kIdent;
    return may_be ? FindFunctionKind(Peek().text) : nullptr;
  }

  void ParseItem(std::vector<ir::BaseFunc>* functions) {
    if (AtSchedule()) return ParseSchedule(functions);
    if (AtConstant()) return ParseConstantItem();
    if (AtStruct()) return ParseStruct();
    ir::BaseFunc function = ParseAnyFunction();
    if (!function) return;
    if (!names_.insert(function->name).second)
      diagnostics_.Add(function->span, "function " + function->name + " is defined twice");
    else
      functions->push_back(function);
  }

  void ParseConstantItem() {
    ConstantItem item = ParseConstant(*this, &files_);
    Symbol symbol{.var = {}, .buffer = {}};
    if (item.tensor)
      symbol.table = item.tensor;
    else
      symbol.value = item.scalar.expr, symbol.literal = item.scalar.literal;
    if (!globals_.emplace(item.name, symbol).second)
      Fail(item.span, "constant " + item.name + " is defined twice");
    if (!item.tensor) return;
    constants_.emplace(item.name, item.tensor);
    constants_in_order_.push_back(item.tensor);
  }

  // Null where it is no function of the module.
  ir::BaseFunc ParseAnyFunction() {
    if (AtKernel()) return ParseKernel(*this, files_);
    if (const FunctionKind* kind = RegisteredKind()) {
      ForgetSymbols();
      return kind->parse(*this);
    }
    return ParseFunction();
  }

  // ---- functions

  PrimFunc ParseFunction() {
    const size_t start = at_;
    Span span = Peek().span;
    Expect("func");
    Token name = Peek();
    ExpectFunctionName("a function's name");
    if (Is("=")) return ParseInstance(name);
    if (Is("[")) {
      SkipTemplate(name);
      if (FindFunction(name.text)->at != start)
        diagnostics_.Add(span, "function " + name.text + " is defined twice");
      return {};
    }
    size_t end = start;
    PrimFunc function = [&] {
      Frame frame(this, name.text);
      PrimFunc parsed = ParseSignatureAndBody(name, span);
      end = at_;
      return parsed;
    }();
    at_ = end;
    if (const FunctionItem* first = FindFunction(name.text); first && first->at != start)
      diagnostics_.Add(span, "function " + name.text + " is defined twice");
    return function;
  }

  // From the parameters on. Null where it returns a value, and so is only there for calls.
  PrimFunc ParseSignatureAndBody(const Token& name, const Span& span) {
    Head head = ParseHead();
    if (head.result && IsBuiltin(name.text))
      Fail(name.span, name.text + " is a function of the language; a call would mean that one");
    Stmt body = ParseBody(head.result);
    if (head.result) return {};
    return WithDefaults(
        PrimFunc::Make(name.text, head.params.params, body, std::move(head.attrs), span),
        head.params.defaults);
  }

  // A template is read when it is used.
  void SkipTemplate(const Token& name) {
    if (IsBuiltin(name.text))
      Fail(name.span, name.text + " is a function of the language; a call would mean that one");
    templates_.insert(name.text);
    Expect("[");
    std::set<std::string> params;
    CommaList("]", [&] {
      Span span = Peek().span;
      std::string param = ExpectNewName("a template parameter's name");
      if (DataType::Parse(param)) Fail(span, "'" + param + "' is a type");
      if (!params.insert(param).second)
        Fail(span, "template parameter " + param + " is given twice");
    });
    if (params.empty()) Fail(name.span, "template " + name.text + " has no parameters in its []");
    if (!Is("(")) Unexpected("'('");
    SkipBrackets();
    while (!AtEnd() && !Is("{")) {
      if (Accept("attrs") && Is("{"))
        SkipBrackets();
      else if (!Is("{"))
        Next();
    }
    if (AtEnd()) Unexpected("'{'");
    SkipBrackets();
  }
  // From the one that opens here to behind the one that closes it.
  void SkipBrackets() {
    int depth = 0;
    do {
      if (AtEnd()) Unexpected("a closing bracket");
      const Token& token = Next();
      if (token.kind != Token::Kind::kPunct) continue;
      const std::string& text = token.text;
      depth += text == "(" || text == "[" || text == "{"   ? 1
               : text == ")" || text == "]" || text == "}" ? -1
                                                           : 0;
    } while (depth > 0);
  }

  // func name = template[float16, 64]
  PrimFunc ParseInstance(const Token& name) {
    Expect("=");
    Token of = Peek();
    ExpectIdent("the name of a template");
    const FunctionItem* item = FindFunction(of.text);
    if (item && item->template_params.empty())
      Fail(of.span, of.text + " is no template: it has no parameters in brackets");
    if (!item)
      Fail(of.span, "there is no template " + of.text + ffi::DidYouMean(of.text, FunctionNames()));
    if (!Is("[")) Unexpected("'[' and what the template's parameters are");
    ForgetSymbols();
    std::vector<TemplateArg> args = ParseTemplateArgs(of);
    return InInstance([&](std::string* instance) {
      *instance = InstanceName(of.text, args);
      Frame frame(this, of.text);
      at_ = item->at + 2;
      BindTemplateParams(*item, args);
      CheckTemplateBound(of, *item);
      PrimFunc function = ParseSignatureAndBody(name, name.span);
      if (!function)
        Fail(of.span,
             of.text + " returns a value: functions call it, and it is none of the module");
      for (size_t at : schedules_[of.text]) {
        at_ = at;
        function = ParseScheduleOf(*this, function);
      }
      return function;
    });
  }

  // schedule name { one step a line }, of a function that stands before it; "schedule name for
  // host" where it is for some targets alone.
  bool AtSchedule() const { return Is("schedule") && Peek(1).kind == Token::Kind::kIdent; }
  void ParseSchedule(std::vector<ir::BaseFunc>* functions) {
    const std::string& name = Peek(1).text;
    if (templates_.count(name)) {
      at_ += 2;
      while (!AtEnd() && !Is("{")) Next();
      return SkipBrackets();  // read with each instance
    }
    auto it = std::find_if(functions->begin(), functions->end(),
                           [&](const ir::BaseFunc& f) { return f->name == name; });
    if (it == functions->end() || !IfPrimFunc(*it))
      Fail(Peek(1).span, "there is no function " + name + " before its schedule");
    ForgetSymbols();
    *it = ParseScheduleOf(*this, AsPrimFunc(*it));
  }
  // ---- statements

  Stmt ParseBlock() override {
    DepthGuard guard(this);
    Expect("{");
    Scope scope(this);
    return ParseStmts();
  }

  // A let, alloc or buffer: what it makes of the rest of its block.
  struct Definition {
    std::function<Stmt(Stmt)> around;
    size_t place;  // among the statements of the block: the first behind it
    Span rest;     // where that stands
  };

  // Up to and with the closing brace. After a mistake, goes on with the next statement of this
  // level.
  Stmt ParseStmts() {
    Span span = Peek().span;
    auto calls_outside = std::exchange(before_, {});
    std::vector<Stmt> stmts;
    std::vector<Definition> definitions;
    while (!Is("}")) {
      if (AtEnd()) Unexpected("'}'");
      size_t start = at_;
      try {
        if (auto around = ParseDefinition())
          definitions.push_back({std::move(around), stmts.size(), Peek().span});
        else
          stmts.push_back(TakeCalls(ParseStmt()));
      } catch (const Abandon&) {
        before_.clear();
        Recover(start);
      }
    }
    Next();
    before_ = std::move(calls_outside);
    for (size_t i = definitions.size(); i-- > 0;) {
      const Definition& definition = definitions[i];
      auto first = stmts.begin() + static_cast<std::ptrdiff_t>(definition.place);
      std::vector<Stmt> rest(std::make_move_iterator(first), std::make_move_iterator(stmts.end()));
      stmts.erase(first, stmts.end());
      stmts.push_back(definition.around(SeqNode::Make(std::move(rest), definition.rest)));
    }
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

  // Null where another statement stands.
  std::function<Stmt(Stmt)> ParseDefinition() {
    std::function<Stmt(Stmt)> around;
    if (Is("let"))
      around = ParseLet();
    else if (Is("alloc"))
      around = ParseAlloc();
    else if (Is("buffer"))
      around = ParseDeclBuffer();
    if (before_.empty()) return around;
    return [around, calls = std::exchange(before_, {})](Stmt rest) {
      Stmt stmt = around(std::move(rest));
      for (size_t i = calls.size(); i-- > 0;) stmt = calls[i](std::move(stmt));
      return stmt;
    };
  }

  Stmt ParseStmt() {
    DepthGuard guard(this);
    const Token& token = Peek();
    if (token.kind != Token::Kind::kIdent) Unexpected("a statement");
    if (Is("for")) return ParseFor();
    if (Is("while")) return ParseWhile();
    if (Is("if")) return ParseIf();
    if (Is("assert")) return ParseAssert();
    if (Is("block")) return ParseBlockStmt();
    if (Accept("scope")) return ParseBlock();
    if (Is("return")) return ParseReturn();
    if (AtCallStmt()) return ParseCallStmt();
    if (Peek(1).text == "[") return ParseStore();
    auto no_old = [](DataType) { return Expr(); };
    if (std::optional<Expr> atomic = ParseAtomic(no_old))
      return EvaluateNode::Make(*atomic, token.span);
    if (Peek(1).text == "(" || Peek(1).text == "<") {
      Expr call = ParseExpr().expr;
      if (!call.As<ir::CallNode>()) Fail(token.span, "this expression has no effect");
      return EvaluateNode::Make(call, token.span);
    }
    if (Peek(1).text.ends_with("="))
      Fail(token.span, "'" + token.text +
                           "' cannot be assigned: only elements of buffers are. alloc " +
                           token.text + ": float32[1] in local is memory of one, let " +
                           token.text + " = ... defines a value");
    Fail(token.span,
         "expected a statement (for, while, if, let, alloc, buffer, assert, block, scope, return, "
         "a store or a call), found " +
             Spell(token));
  }

  struct LoopRange {
    Var var;
    Expr min, extent;
    Span span;
  };
  LoopRange ParseLoopRange() {
    LoopRange range;
    range.span = Peek().span;
    std::string name = ExpectNewName("a loop variable");
    Expect("in");
    Value min = ParseExpr();
    Expect("..");
    auto [start, extent] = ParseRangeEnd(min, range.span);
    range.min = start;
    range.extent = extent;
    range.var = Var(name, start.dtype(), range.span);
    return range;
  }
  // After min.. : the end, or + and the extent.
  Range ParseRangeEnd(Value min, const Span& span) {
    bool counted = Accept("+");
    Value end = ParseExpr();
    Unify(&min, &end);
    Expr extent =
        counted ? end.expr : Located(span, [&] { return Difference(end.expr, min.expr); });
    return {min.expr, extent};
  }
  static Expr Difference(const Expr& end, const Expr& min) {
    std::optional<int64_t> a = ir::AsConstInt(end), b = ir::AsConstInt(min);
    if (b && *b == 0 && min.dtype() == DataType::Int(64)) return end;
    int64_t difference;
    if (a && b && min.dtype() == DataType::Int(64) && !__builtin_sub_overflow(*a, *b, &difference))
      return difference;
    return ir::SubNode::Make(end, min);
  }

  Stmt ParseFor() {
    Next();
    Scope scope(this);
    std::vector<LoopRange> ranges;
    do {
      ConditionalGuard conditional(this, !ranges.empty());
      ranges.push_back(ParseLoopRange());
      Define(ranges.back().var.name(), {ranges.back().var, {}});
      if (depth_ + static_cast<int>(ranges.size()) > kMaxDepth)
        Fail(ranges.back().span, TooManyLevels());
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
      thread = ParseThreadAxis(true);
      Expect(")");
    }
    ir::Attrs annotations = ParseAttrs(AttrPlace::kLoop);
    if ((kind != ForKind::kSerial || !annotations.empty()) && ranges.size() > 1)
      Fail(kind_at,
           "a loop over several variables is serial and has no attrs; write one loop per variable");
    Stmt body = ParseBlock();
    for (size_t i = ranges.size(); i-- > 0;) {
      const LoopRange& range = ranges[i];
      body = Located(range.span, [&] {
        return ForNode::Make(range.var, range.min, range.extent, kind, body, thread, range.span,
                             annotations);
      });
    }
    return body;
  }

  // One that is not evaluated just once, where its statement begins.
  Expr ParseRepeatedExpr() {
    ConditionalGuard conditional(this, true);
    return ParseExpr().expr;
  }

  Stmt ParseWhile() {
    Span span = Next().span;
    Expr condition = ParseRepeatedExpr();
    Stmt body = ParseBlock();
    return Located(span, [&] { return WhileNode::Make(condition, body, span); });
  }

  Stmt ParseIf() {
    DepthGuard guard(this);
    Span span = Next().span;
    Expr condition = ParseExpr().expr;
    Stmt then_case = ParseBlock(), else_case;
    if (Accept("else")) {
      auto calls_outside = std::exchange(before_, {});
      else_case = Is("if") ? TakeCalls(ParseIf()) : ParseBlock();
      before_ = std::move(calls_outside);
    }
    return Located(span,
                   [&] { return IfThenElseNode::Make(condition, then_case, else_case, span); });
  }

  std::function<Stmt(Stmt)> ParseLet() {
    Next();
    Span span = Peek().span;
    std::string name = ExpectNewName("a variable's name");
    Var var;
    Expr value;
    std::optional<Expr> update;  // an atomic operation, before it
    try {
      std::optional<DataType> dtype;
      if (Accept(":")) dtype = ParseDType();
      Expect("=");
      Buffer old;  // of an atomic operation
      auto make_old = [&](DataType type) {
        old = BufferNode::Make(name, type, {1}, {}, StorageScope::kLocal, {}, span);
        return ir::BufferLoadNode::Make(old, {0}, span);
      };
      update = ParseAtomic(make_old);
      Value given = update && old ? Value{ir::BufferLoadNode::Make(old, {0}, span)} : ParseExpr();
      if (dtype) Convert(&given, *dtype);
      value = given.expr;
      var = Var(name, dtype.value_or(value.dtype()), span);
      if (var.dtype() != value.dtype())
        Fail(span, name + " is " + var.dtype().str() + ", but its value is " + value.dtype().str());
      Define(name, {var, {}});
    } catch (const Abandon&) {
      Define(name, {});
      throw;
    }
    return [=](Stmt rest) {
      Stmt let = LetStmtNode::Make(var, value, std::move(rest), span);
      if (!update) return let;
      Stmt both = SeqNode::Make({EvaluateNode::Make(*update, span), let}, span);
      return AllocateNode::Make(value.As<ir::BufferLoadNode>()->buffer, both, span);
    };
  }

  // name: dtype[...], after the word before it. The name is known, as one not to be reported, at
  // once.
  Buffer ParseBufferDefinition() {
    Next();
    Span span = Peek().span;
    std::string name = ExpectNewName("a buffer's name");
    Define(name, {});
    Expect(":");
    DataType dtype = ParseDType();
    return ParseBufferType(name, dtype, span);
  }

  std::function<Stmt(Stmt)> ParseAlloc() {
    Buffer buffer = ParseBufferDefinition();
    Define(buffer->name, {buffer->data, buffer});
    return [=](Stmt rest) { return AllocateNode::Make(buffer, std::move(rest), buffer->span); };
  }

  std::function<Stmt(Stmt)> ParseDeclBuffer() {
    Buffer shape = ParseBufferDefinition();
    Expect("at");
    if (Peek().kind != Token::Kind::kIdent) Unexpected("the name of a pointer");
    Symbol under = Lookup(Peek());
    const Var& data = under.var;
    if (!data) Fail(Peek().span, "'" + Peek().text + "' is no pointer");
    if (!data.dtype().is_handle())
      Fail(Peek().span, "'" + Peek().text + "' is " + data.dtype().str() + ", not a pointer");
    Next();
    auto placed = ffi::Make<BufferNode>(*shape);
    placed->data = data;
    if (under.buffer) placed->scope = under.buffer->scope;
    Buffer buffer(placed.get());
    Define(buffer->name, {data, buffer});
    return [=](Stmt rest) { return DeclBufferNode::Make(buffer, std::move(rest), buffer->span); };
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

  // block name(vi: spatial(n) = i, vk: reduce(k) = l) where c attrs {...} {
  //   reads A[...] writes B[...] init {...} ...
  // }
  Stmt ParseBlockStmt() {
    Span span = Next().span;
    std::string name = ExpectIdent("the block's name");
    Expect("(");
    std::vector<BlockIter> iters;
    CommaList(")", [&] { iters.push_back(ParseBlockIter()); });
    DepthGuard guard(this);
    Scope scope(this);
    for (const BlockIter& iter : iters) Define(iter.var.name(), {iter.var, {}});
    Expr predicate = Accept("where") ? ParseRepeatedExpr() : Expr();
    ir::Attrs annotations = ParseAttrs(AttrPlace::kBlock);
    Expect("{");
    std::vector<BufferRegion> reads, writes;
    if (AcceptWord("reads")) reads = ParseRegions();
    if (AcceptWord("writes")) writes = ParseRegions();
    Stmt init;
    if (Accept("init")) init = ParseBlock();
    Stmt body = ParseStmts();
    return Located(span, [&] {
      Stmt plain = BlockNode::Make(name, iters, init, body, span);
      auto block = ffi::Make<BlockNode>(*plain.As<BlockNode>());
      if (predicate.get() && predicate.dtype() != DataType::Bool())
        TERN_THROW(TypeError) << "the predicate of block " << name << " is "
                              << predicate.dtype().str() << "; expected bool";
      block->predicate = predicate;
      block->reads = reads;
      block->writes = writes;
      block->annotations = annotations;
      return Stmt(block);
    });
  }
  // A word that is one only where another name follows.
  bool AcceptWord(std::string_view word) {
    return Peek(1).kind == Token::Kind::kIdent && Accept(word);
  }
  // A[i, 0..n], B[j], ...
  std::vector<BufferRegion> ParseRegions() {
    std::vector<BufferRegion> regions;
    ConditionalGuard conditional(this, true);
    do {
      Token name = Next();
      BufferRegion region{LookupBuffer(name), {}};
      Expect("[");
      CommaList("]", [&] {
        Span span = Peek().span;
        Value min = ParseExpr();
        region.ranges.push_back(Accept("..") ? ParseRangeEnd(min, span)
                                             : Range{min.expr, ir::MakeConst(min.expr.dtype(), 1)});
      });
      if (region.ranges.size() != region.buffer->shape.size())
        Fail(name.span,
             region.buffer->name + " has rank " + std::to_string(region.buffer->shape.size()) +
                 ", but a region of rank " + std::to_string(region.ranges.size()) + " is given");
      regions.push_back(std::move(region));
    } while (Accept(","));
    return regions;
  }
  BlockIter ParseBlockIter() {
    BlockIter iter;
    Span span = Peek().span;
    std::string name = ExpectNewName("an axis's name");
    Expect(":");
    constexpr IterKind kKinds[] = {IterKind::kSpatial, IterKind::kReduce, IterKind::kScan,
                                   IterKind::kOpaque};
    const auto* kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                    [&](IterKind k) { return Accept(IterKindName(k)); });
    if (kind == std::end(kKinds))
      Fail(Peek().span, "expected 'spatial', 'reduce', 'scan' or 'opaque', found " + Spell(Peek()) +
                            ffi::DidYouMean(Peek().text, {"spatial", "reduce", "scan", "opaque"}));
    iter.kind = *kind;
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
    Place place = ParsePlace();
    Expr old = Located(name.span, [&] {
      return ir::BufferLoadNode::Make(buffer, place.indices, name.span, place.predicate);
    });
    std::optional<Value> update = ParseUpdate(old);
    if (!update) Expect("=");
    if (!update)
      if (std::optional<Expr> atomic = ParseAtomic([&](DataType) { return old; }))
        return EvaluateNode::Make(*atomic, name.span);
    Value value = update ? *update : ParseExpr();
    return Located(name.span, [&] {
      Convert(&value, ir::AccessType(buffer, place.indices));
      return BufferStoreNode::Make(buffer, place.indices, value.expr, name.span, place.predicate);
    });
  }

  SourceFiles files_;
  std::map<size_t, size_t> ends_;  // of items that are read before the rest, by their first token
  std::map<std::string, std::vector<size_t>> schedules_;  // by function: the tokens `schedule`
  std::set<std::string> templates_;
  std::set<std::string> names_;  // of functions of the module
  std::vector<ir::Constant> constants_in_order_;
};

ffi::Ref<const ir::Source> SourceOf(const std::string& name, std::string text) {
  return ffi::Make<ir::Source>(name, std::move(text));
}

}  // namespace

ir::IRModule ParseModule(const std::string& file_name, const std::string& text) {
  return Parser(SourceOf(file_name, text)).Run();
}

ir::IRModule ParseUnsaved(const std::string& path, const std::string& text) {
  Parser parser(SourceOf(path, text));
  parser.SetFile(path);
  return parser.Run();
}

ir::IRModule ParseFile(const std::string& path) { return ParseFileWith(path, ""); }

ir::IRModule ParseFileWith(const std::string& path, const std::string& items) {
  std::string text = ReadRegularFile(path);
  TERN_CHECK(text.find('\0') == std::string::npos)
      << path
      << ": not a .tir file: it is no text; expected .tir, .onnx, or a compiled .so or .tern";
  Parser parser(SourceOf(path, std::move(text)));
  parser.SetFile(path);
  return parser.Run(SourceOf("<command line>", items));
}

}  // namespace tern::tir
