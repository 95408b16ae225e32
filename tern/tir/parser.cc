// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>

#include "tern/ffi/text.h"
#include "tern/target/target.h"
#include "tern/tir/attributes.h"
#include "tern/tir/expr_parser.h"
#include "tern/tir/extern_kernel.h"
#include "tern/tir/function_kind.h"
#include "tern/tir/parse_unsaved.h"
#include "tern/tir/reserved_words.h"
#include "tern/tir/schedule_steps.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

constexpr uint64_t kMostBytes = uint64_t{256} << 20;  // of a text; nobody writes more

// Names in the folder of a file that is not there.
std::string NearFiles(const std::filesystem::path& path) {
  std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
    names.push_back(entry.path().filename().string());
  return ffi::DidYouMean(path.filename().string(), names);
}

std::string ReadFile(const std::filesystem::path& path) {
  // Before it is opened: pipes wait for a writer, and devices may have no end.
  std::error_code failed;
  std::filesystem::file_status status = std::filesystem::status(path, failed);
  TERN_CHECK(status.type() != std::filesystem::file_type::not_found)
      << "cannot read " << path.string() << ": there is no such file" << NearFiles(path);
  TERN_CHECK(!std::filesystem::is_directory(status))
      << "cannot read " << path.string() << ": it is a folder, and a file is expected";
  TERN_CHECK(std::filesystem::is_regular_file(status))
      << "cannot read " << path.string() << ": it is no regular file";
  uint64_t size = std::filesystem::file_size(path, failed);
  TERN_CHECK(size <= kMostBytes) << "cannot read " << path.string() << ": it has " << size
                                 << " bytes, and at most " << kMostBytes << " are expected";
  std::ifstream file(path, std::ios::binary);
  TERN_CHECK(file) << "cannot read " << path.string();
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class Parser : public ExprParser {
 public:
  // `directory` is where the files lie that the text names; null where it may name none.
  Parser(const ffi::Ref<const ir::Source>& source, const std::filesystem::path* directory)
      : ExprParser(source), directory_(directory) {}

  ir::IRModule Run() {
    std::vector<ir::BaseFunc> functions;
    std::vector<ir::Constant> constants;
    std::set<std::string> names;
    while (!AtEnd()) {
      try {
        if (AtSchedule()) {
          ParseSchedule(&functions);
          continue;
        }
        if (AtConstant()) {
          ir::Constant constant = ParseConstant();
          if (!constants_.emplace(constant->name, constant).second)
            Fail(constant->span, "constant " + constant->name + " is defined twice");
          constants.push_back(constant);
          continue;
        }
        ir::BaseFunc function = ParseAnyFunction();
        if (!names.insert(function->name).second)
          diagnostics_.Add(function->span, "function " + function->name + " is defined twice");
        else
          functions.push_back(function);
      } catch (const Abandon&) {
        while (!AtEnd() && !(Peek().first_on_line && AtItem())) Next();
      }
    }
    diagnostics_.ThrowIfAny("ParseError");
    return ir::IRModule::Make(functions, constants);
  }

 private:
  // ---- types and attributes

  // After the name: dtype[shape] strides(...) offset(...) align(...) in scope
  Buffer ParseBufferType(const std::string& name, DataType dtype, const Span& span) {
    Expect("[");
    std::vector<Expr> shape = ParseExprs("]"), strides;
    Span strides_at = Peek().span;
    if (Accept("strides")) {
      Expect("(");
      strides = ParseExprs(")");
      if (strides.size() != shape.size())
        Fail(strides_at, name + " has rank " + std::to_string(shape.size()) + ", but " +
                             std::to_string(strides.size()) + " strides");
    }
    auto buffer = ffi::Make<BufferNode>(*BufferNode::Make(
        name, dtype, std::move(shape), std::move(strides), StorageScope::kGlobal, {}, span));
    if (Accept("offset")) {
      Expect("(");
      buffer->offset = ParseExpr().expr;
      Expect(")");
    }
    if (Accept("align")) {
      Expect("(");
      buffer->alignment = ParseInteger(false);
      Expect(")");
    }
    if (Accept("in")) buffer->scope = ParseScope();
    if (dtype.is_handle()) Fail(span, "a buffer cannot hold handles");
    return Buffer(buffer.get());
  }

  StorageScope ParseScope() {
    Span span = Peek().span;
    std::string name = ExpectIdent("a storage scope");
    std::optional<StorageScope> scope = ir::FindStorageScope(name);
    if (!scope) Fail(span, ir::NoStorageScope(name));
    return *scope;
  }

  ir::Attrs ParseAttrs(AttrPlace place) {
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
      Located(span, [&] { CheckAttr(place, key, value); });
      if (!attrs.emplace(key, std::move(value)).second)
        Fail(span, "attribute " + key + " is given twice");
    });
    return attrs;
  }

  // ---- constants

  bool AtConstant() const { return Is("constant") && Peek(1).kind == Token::Kind::kIdent; }

  // constant name: dtype[extents] = file("name", offset), splat(x), [x, ...] or hex("...")
  ir::Constant ParseConstant() {
    Next();
    Span span = Peek().span;
    std::string name = ExpectNewName("a constant's name");
    Expect(":");
    // Also types that kernels cannot compute with: tensors can hold them.
    DataType dtype = DataType::Parse(Peek().text).value_or(DataType::Void());
    if (!dtype.is_scalar() || dtype.is_handle()) Unexpected("a type of numbers, or bool");
    Next();
    std::vector<int64_t> shape;
    Expect("[");
    CommaList("]", [&] { shape.push_back(ParseInteger(false)); });
    Expect("=");
    Span content = Peek().span;
    if (Accept("file")) return ParseFileContent(name, dtype, shape, span);
    if (Accept("splat")) {
      Expect("(");
      Expr value = ParseElement(dtype);
      Expect(")");
      return Located(span, [&] { return ir::Constant::Splat(name, dtype, shape, value, span); });
    }
    std::string bytes;
    if (Accept("hex")) {
      Expect("(");
      bytes = ParseHex();
      Expect(")");
    } else if (Accept("[")) {
      bytes = ParseElements(name, dtype, shape, content);
    } else {
      Unexpected("file(\"name\", offset), splat(x), [x, ...] or hex(\"...\")");
    }
    return Located(span,
                   [&] { return ir::Constant::Owned(name, dtype, shape, std::move(bytes), span); });
  }
  ir::Constant ParseFileContent(const std::string& name, DataType dtype,
                                const std::vector<int64_t>& shape, const Span& span) {
    Expect("(");
    Span file_at = Peek().span;
    std::string file = ExpectString("the name of a file, as a string");
    int64_t offset = Accept(",") ? ParseInteger(false) : 0;
    Expect(")");
    if (!directory_) Fail(file_at, "a text that is no file names a file of elements");
    std::shared_ptr<const ir::MappedFile>& mapped = files_[file];
    if (!mapped)
      mapped =
          Located(file_at, [&] { return ir::MappedFile::OpenInside(directory_->string(), file); });
    return Located(
        span, [&] { return ir::Constant::InFile(name, dtype, shape, mapped, file, offset, span); });
  }
  // In row-major order, up to and with the bracket.
  std::string ParseElements(const std::string& name, DataType dtype,
                            const std::vector<int64_t>& shape, const Span& span) {
    std::vector<Expr> elements;
    CommaList("]", [&] { elements.push_back(ParseElement(dtype)); });
    int64_t count = 1;
    for (int64_t extent : shape)
      if (__builtin_mul_overflow(count, extent, &count)) count = -1;
    if (count != static_cast<int64_t>(elements.size()))
      Fail(span, "constant " + name + " has " + std::to_string(count) + " elements, but " +
                     std::to_string(elements.size()) + " are given");
    std::string bytes(dtype.BytesOf(count), '\0');
    for (int64_t i = 0; i < count; ++i) ir::StoreElement(dtype, elements[i], bytes.data(), i);
    return bytes;
  }
  std::string ParseHex() {
    Span span = Peek().span;
    std::string digits = ExpectString("the bytes of the elements, as a string of hex digits");
    auto value_of = [&](char digit) {
      if (digit >= '0' && digit <= '9') return digit - '0';
      if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
      Fail(span, "expected two of the digits 0 to 9 and a to f for each byte");
    };
    if (digits.size() % 2 != 0) digits += ' ';
    std::string bytes;
    for (size_t i = 0; i < digits.size(); i += 2)
      bytes += static_cast<char>(value_of(digits[i]) << 4 | value_of(digits[i + 1]));
    return bytes;
  }

  // ---- functions

  bool AtItem() const {
    return Is("func") || AtKernel() || AtSchedule() || AtConstant() || RegisteredKind();
  }
  const FunctionKind* RegisteredKind() const {
    bool may_be = Peek().kind == Token::Kind::kIdent && Peek(1).kind == Token::Kind::kIdent;
    return may_be ? FindFunctionKind(Peek().text) : nullptr;
  }
  ir::BaseFunc ParseAnyFunction() {
    if (AtKernel()) return ParseKernel();
    if (const FunctionKind* kind = RegisteredKind()) {
      ForgetSymbols();
      return kind->parse(*this);
    }
    return ParseFunction();
  }

  std::string ExpectFunctionName(const char* what) {
    const auto* end = std::end(kQualifiers);
    bool qualifies = std::find(std::begin(kQualifiers), end, Peek().text) != end;
    return qualifies ? ExpectIdent(what) : ExpectNewName(what);
  }

  PrimFunc ParseFunction() {
    Span span = Peek().span;
    Expect("func");
    std::string name = ExpectFunctionName("a function's name");
    ForgetSymbols();
    std::vector<Param> params = ParseParams();
    ir::Attrs attrs = ParseAttrs(AttrPlace::kFunction);
    Stmt body = ParseBlock();
    return PrimFunc::Make(name, std::move(params), std::move(body), std::move(attrs), span);
  }

  // schedule name { one step a line }, of a function that stands before it; "schedule name for
  // host" where it is for some targets alone.
  bool AtSchedule() const { return Is("schedule") && Peek(1).kind == Token::Kind::kIdent; }
  void ParseSchedule(std::vector<ir::BaseFunc>* functions) {
    Next();
    Span span = Peek().span;
    std::string name = ExpectIdent("the name of a function");
    auto it = std::find_if(functions->begin(), functions->end(),
                           [&](const ir::BaseFunc& f) { return f->name == name; });
    if (it == functions->end() || !IfPrimFunc(*it))
      Fail(span, "there is no function " + name + " before its schedule");
    std::string targets;
    if (Accept("for")) {
      const Token& token = Peek();
      if (token.kind != Token::Kind::kString && !Is("host") && !Is("device"))
        Unexpected("'host', 'device' or the name of a target kind in quotes");
      Located(token.span, [&] { CheckScheduleFor(token.text); });
      targets = Next().text;
    }
    Expect("{");
    std::vector<ScheduleStep> steps;
    while (!Is("}")) {
      Span place = Peek().span;
      steps.push_back({ParseStep(), place});
    }
    Expect("}");
    *it = Located(span, [&] {
      return WithFurtherSchedule(AsPrimFunc(*it), targets, MakeScheduleSteps(std::move(steps)));
    });
  }
  // The words up to the end of the line, as tern/schedule reads them.
  std::string ParseStep() {
    std::string step;
    int depth = 0;  // of braces
    do {
      if (AtEnd()) Unexpected("'}'");
      const Token& token = Next();
      depth += token.text == "{" ? 1 : token.text == "}" ? -1 : 0;
      if (token.kind == Token::Kind::kString)
        Fail(token.span, "a step takes names and integers, not the string " + Spell(token) +
                             "; names stand without quotes");
      bool is_word = token.kind != Token::Kind::kPunct;
      if (is_word && !step.empty() && std::isalnum(static_cast<unsigned char>(step.back())))
        step += " ";
      step += token.text == "=" ? " = " : token.text == "," ? ", " : token.text;
    } while (depth > 0 || (!Is("}") && !Peek().first_on_line));
    return step;
  }

  // A buffer may have the name `kernel`.
  bool AtKernel() const { return Is("kernel") && Peek(1).kind == Token::Kind::kIdent; }

  // kernel name(parameters) launch(axes) writes(tensors) from "kind" format "format" { code }
  ExternKernel ParseKernel() {
    auto kernel = ffi::Make<ExternKernelNode>();
    kernel->span = Next().span;
    kernel->name = ExpectFunctionName("a kernel's name");
    ForgetSymbols();
    kernel->params = ParseParams();
    Expect("launch");
    Expect("(");
    CommaList(")", [&] {
      Span span = Peek().span;
      std::string axis = ParseLaunchTag();
      for (const std::string& other : kernel->launch_tags)
        if (other == axis) Fail(span, "axis " + axis + " is given twice");
      kernel->launch_tags.push_back(axis);
    });
    kernel->writes = ParseWrites(kernel->params);
    Expect("from");
    kernel->kind = ExpectString("the kind of device that the code is for, as a string");
    Expect("format");
    kernel->format = ExpectString("the format of the code, as a string");
    Expect("{");
    if (Accept("file")) {
      Span span = Peek().span;
      kernel->file = ExpectString("the name of a file, as a string");
      if (!directory_) Fail(span, "a text that is no file names a file of code");
      kernel->code = Located(span, [&] { return ReadFile(*directory_ / kernel->file); });
    } else {
      kernel->code = ExpectString("the kernel's code, as a string, or file and its name");
    }
    Expect("}");
    return kernel;
  }
  // A thread axis, or how much dynamic shared memory there is.
  // A thread axis, or shared.dynamic: how many bytes of it there are.
  std::string ParseLaunchTag() {
    return Is(StorageScopeName(StorageScope::kSharedDynamic)) ? Next().text
                                                              : ParseThreadAxis(false);
  }
  std::vector<bool> ParseWrites(const std::vector<Param>& params) {
    std::vector<bool> writes(params.size());
    Span span = Peek().span;
    Expect("writes");
    Expect("(");
    CommaList(")", [&] {
      auto is_named = [&](const Param& param) {
        return param.is_tensor() && param.name() == Peek().text;
      };
      auto it = std::find_if(params.begin(), params.end(), is_named);
      if (it == params.end()) Unexpected("a tensor of the kernel's parameters");
      writes[it - params.begin()] = true;
      Next();
    });
    if (std::find(writes.begin(), writes.end(), true) == writes.end())
      Fail(span, "a kernel writes to one of its tensors at least");
    return writes;
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
        Buffer buffer = ParseBufferType(name, dtype, span);
        if (symbols_.count(name))
          Fail(span, "'" + name + "' is used as an extent and cannot be a tensor");
        Define(name, {buffer->data, buffer});
        params.push_back({buffer->data, buffer});
      } else {
        auto it = symbols_.find(name);
        if (it == symbols_.end()) {
          Define(name, {Var(name, dtype, span), {}});
          it = symbols_.find(name);
        }
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
    std::vector<Stmt> stmts;
    std::vector<Definition> definitions;
    while (!Is("}")) {
      if (AtEnd()) Unexpected("'}'");
      size_t start = at_;
      try {
        if (auto around = ParseDefinition())
          definitions.push_back({std::move(around), stmts.size(), Peek().span});
        else
          stmts.push_back(ParseStmt());
      } catch (const Abandon&) {
        Recover(start);
      }
    }
    Next();
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
    if (Is("let")) return ParseLet();
    if (Is("alloc")) return ParseAlloc();
    if (Is("buffer")) return ParseDeclBuffer();
    return {};
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
  std::string ParseThreadAxis(bool may_be_virtual) {
    static const std::set<std::string> kAxes = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                                "threadIdx.x", "threadIdx.y", "threadIdx.z"};
    static const std::set<std::string> kVirtualAxes = {"vthread.x", "vthread.y", "vthread.z"};
    const std::string& name = Peek().text;
    if (!kAxes.count(name) && !(may_be_virtual && kVirtualAxes.count(name)))
      Unexpected(std::string("a thread axis (blockIdx.x, .y, .z, threadIdx.x, .y, .z") +
                 (may_be_virtual ? ", vthread.x, .y, .z)" : ")"));
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
    Expr predicate = Accept("where") ? ParseExpr().expr : Expr();
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

  const std::filesystem::path* directory_;
  std::map<std::string, std::shared_ptr<const ir::MappedFile>> files_;  // of constants, by name
};

}  // namespace

ir::IRModule ParseModule(const std::string& file_name, const std::string& text) {
  return Parser(ffi::Make<ir::Source>(file_name, text), nullptr).Run();
}

ir::IRModule ParseUnsaved(const std::string& path, const std::string& text) {
  std::filesystem::path directory = std::filesystem::path(path).parent_path();
  return Parser(ffi::Make<ir::Source>(path, text), &directory).Run();
}

ir::IRModule ParseFile(const std::string& path) {
  std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::string text = ReadFile(path);
  TERN_CHECK(text.find('\0') == std::string::npos)
      << path
      << ": not a .tir file: it is no text; expected .tir, .onnx, or a compiled .so or .tern";
  return Parser(ffi::Make<ir::Source>(path, std::move(text)), &directory).Run();
}

}  // namespace tern::tir
