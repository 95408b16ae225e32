// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include "tern/ffi/text.h"
#include "tern/runtime/artifact/byte_stream.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

constexpr int kMaxDepth = 100;
constexpr uint32_t kMaxRegisters = 1 << 24;  // more than any text declares

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// One line of the text.
class Line {
 public:
  Line(std::string_view text, std::string place) : text_(text), place_(std::move(place)) {}

  [[noreturn]] void Fail(const std::string& what) const { FailAt(at_, what); }
  [[noreturn]] void FailAt(size_t at, const std::string& what) const {
    throw Error("ValueError", place_ + ":" + std::to_string(at + 1) + ": error: " + what);
  }
  char Peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
    if (at_ < text_.size() && text_[at_] == '#') at_ = text_.size();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  // Where the next token begins.
  size_t at() {
    Peek();
    return at_;
  }
  bool AtEnd() { return Peek() == '\0'; }
  bool Accept(std::string_view token) {
    Peek();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void Expect(std::string_view token) {
    if (!Accept(token)) Fail("expected '" + std::string(token) + "'");
  }
  void ExpectEnd() {
    if (!AtEnd()) Fail("expected the end of the line");
  }
  // A word of letters, digits, _ and dots; "" where there is none.
  std::string_view PeekWord() {
    if (!IsLetter(Peek())) return {};
    size_t end = at_;
    while (end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]) || text_[end] == '.'))
      ++end;
    return text_.substr(at_, end - at_);
  }
  bool AcceptWord(std::string_view word) {
    if (PeekWord() != word) return false;
    at_ += word.size();
    return true;
  }
  std::string_view Word(const char* what) {
    std::string_view word = PeekWord();
    if (word.empty()) Fail(std::string("expected ") + what);
    at_ += word.size();
    return word;
  }
  std::string String() {
    Expect("\"");
    std::string value;
    while (true) {
      if (at_ == text_.size()) Fail("a string does not end");
      char c = text_[at_++];
      if (c == '"') return value;
      if (c != '\\') {
        value += c;
        continue;
      }
      if (at_ < text_.size() && text_[at_] == 'x') {
        int high = at_ + 2 < text_.size() ? HexDigit(text_[at_ + 1]) : -1;
        int low = high >= 0 ? HexDigit(text_[at_ + 2]) : -1;
        if (low < 0) Fail("expected two hexadecimal digits behind \\x");
        value += static_cast<char>(high * 16 + low);
        at_ += 3;
      } else {
        if (at_ == text_.size()) Fail("a string does not end");
        value += text_[at_++];
      }
    }
  }
  std::string Name(const char* what) { return Peek() == '"' ? String() : std::string(Word(what)); }
  std::string Bytes() {
    Expect("0x");
    std::string bytes;
    while (at_ + 1 < text_.size() && HexDigit(text_[at_]) >= 0 && HexDigit(text_[at_ + 1]) >= 0) {
      bytes += static_cast<char>(HexDigit(text_[at_]) * 16 + HexDigit(text_[at_ + 1]));
      at_ += 2;
    }
    if (at_ < text_.size() && HexDigit(text_[at_]) >= 0) Fail("expected two digits for each byte");
    return bytes;
  }
  template <class T>
  T Number(const char* what) {
    Peek();
    T value{};
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) Fail("the number does not fit");
    if (error != std::errc()) Fail(std::string("expected ") + what);
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }
  // Whether the number that begins here has a fraction or an exponent.
  bool IsFloat() {
    Peek();
    size_t end = at_;
    if (end < text_.size() && text_[end] == '-') ++end;
    while (end < text_.size() && IsDigit(text_[end])) ++end;
    return end < text_.size() && (text_[end] == '.' || text_[end] == 'e');
  }

 private:
  std::string_view text_;
  std::string place_;  // "prog.vm:3"
  size_t at_ = 0;
};

// Arithmetic over registers, or over the dims that are given.
class ExprParser {
 public:
  ExprParser(Line* line, const std::vector<std::string>* dims) : line_(*line), dims_(dims) {}

  IntExpr Parse() {
    IntExpr expr;
    Binary(0, 0, &expr);
    return expr;
  }

 private:
  struct Infix {
    const char* text;
    IntOp op;
  };

  // Left to right, from loose to tight.
  void Binary(size_t level, int depth, IntExpr* out) {
    static const std::vector<std::vector<Infix>> kLevels = {
        {{"||", IntOp::kOr}},
        {{"&&", IntOp::kAnd}},
        {{"==", IntOp::kEq}, {"!=", IntOp::kNe}, {"<=", IntOp::kLe}, {"<", IntOp::kLt}},
        {{"+", IntOp::kAdd}, {"-", IntOp::kSub}},
        {{"*", IntOp::kMul}, {"//", IntOp::kFloorDiv}, {"%", IntOp::kFloorMod}}};
    if (level == kLevels.size()) return Term(depth, out);
    Binary(level + 1, depth, out);
    while (true) {
      auto found = std::find_if(kLevels[level].begin(), kLevels[level].end(),
                                [&](const Infix& infix) { return line_.Accept(infix.text); });
      if (found == kLevels[level].end()) return;
      Binary(level + 1, depth, out);
      out->tokens.push_back({found->op, 0});
    }
  }

  void Call(IntOp op, int depth, IntExpr* out) {
    line_.Expect("(");
    for (int i = 0; i < ArityOf(op); ++i) {
      if (i > 0) line_.Expect(",");
      Binary(0, depth + 1, out);
    }
    line_.Expect(")");
    out->tokens.push_back({op, 0});
  }

  void Term(int depth, IntExpr* out) {
    if (depth == kMaxDepth) line_.Fail("the expression is nested too deeply");
    if (line_.Accept("(")) {
      Binary(0, depth + 1, out);
      return line_.Expect(")");
    }
    if (line_.Accept("!")) {
      Term(depth + 1, out);
      return out->tokens.push_back({IntOp::kNot, 0});
    }
    char c = line_.Peek();
    if (IsDigit(c) || c == '-')
      return out->tokens.push_back({IntOp::kConst, line_.Number<int64_t>("a number")});
    static const std::map<std::string_view, IntOp> kCalls = {{"div", IntOp::kTruncDiv},
                                                             {"rem", IntOp::kTruncMod},
                                                             {"min", IntOp::kMin},
                                                             {"max", IntOp::kMax},
                                                             {"select", IntOp::kSelect}};
    if (auto call = kCalls.find(line_.PeekWord()); call != kCalls.end()) {
      line_.AcceptWord(call->first);
      return Call(call->second, depth, out);
    }
    size_t at = line_.at();
    out->tokens.push_back({IntOp::kRegister, dims_ ? Dim(at) : Register(at)});
  }

  int64_t Dim(size_t at) const {
    std::string name = line_.Name("a number, a dim or '('");
    auto found = std::find(dims_->begin(), dims_->end(), name);
    if (found == dims_->end())
      line_.FailAt(at, "there is no dim " + name + ffi::DidYouMean(name, *dims_));
    return found - dims_->begin();
  }
  int64_t Register(size_t at) const {
    if (line_.Peek() != 'i') line_.FailAt(at, "expected a number, an int register or '('");
    line_.Expect("i");
    return line_.Number<uint32_t>("the number of a register");
  }

  Line& line_;
  const std::vector<std::string>* dims_;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Program Run() {
    while (std::optional<Line> line = Next()) Statement(&*line);
    if (!saw_model_) throw Error("ValueError", file_ + ":1:1: error: expected 'model 1'");
    Resolve();
    return std::move(program_);
  }

 private:
  // A name that stands for what may follow: known when all is read.
  struct Pending {
    size_t function, instruction;
    std::string name;
    Line line;
    size_t at;
  };

  // The next one with something on it.
  std::optional<Line> Next() {
    while (!text_.empty()) {
      size_t end = std::min(text_.find('\n'), text_.size());
      Line line(text_.substr(0, end), file_ + ":" + std::to_string(++number_));
      text_.remove_prefix(std::min(end + 1, text_.size()));
      if (!line.AtEnd()) return line;
    }
    return {};
  }

  void Statement(Line* line) {
    if (!saw_model_) {
      if (!line->AcceptWord("model")) line->Fail("expected 'model 1'");
      auto version = line->Number<uint32_t>("a version");
      if (version != kProgramVersion)
        line->Fail("version " + std::to_string(version) + " is not supported: expected " +
                   std::to_string(kProgramVersion));
      saw_model_ = true;
      return line->ExpectEnd();
    }
    size_t at = line->at();
    std::string_view word = line->Word("a statement");
    if (word == "dim")
      program_.dims.push_back(line->Name("the name of a dim"));
    else if (word == "input")
      program_.inputs.push_back(ParsePort(line));
    else if (word == "output")
      program_.outputs.push_back(ParsePort(line));
    else if (word == "constant")
      ParseConstant(line);
    else if (word == "prepack")
      ParsePrepack(line);
    else if (word == "func")
      return ParseFunction(line);
    else
      line->FailAt(at, "expected dim, input, output, constant, prepack or func");
    line->ExpectEnd();
  }

  static DataType ParseType(Line* line) {
    size_t at = line->at();
    std::string_view name = line->Word("a data type");
    std::optional<DataType> dtype = DataType::Parse(name);
    if (!dtype) line->FailAt(at, "'" + std::string(name) + "' is no data type");
    return *dtype;
  }

  // Items between brackets, each by `item`.
  template <class Item>
  static void Bracketed(Line* line, const char* open, const char* close, Item&& item) {
    line->Expect(open);
    if (line->Accept(close)) return;
    do item();
    while (line->Accept(","));
    line->Expect(close);
  }

  Port ParsePort(Line* line) {
    Port port;
    port.name = line->Name("a name");
    line->Expect(":");
    port.dtype = ParseType(line);
    Bracketed(line, "[", "]", [&] {
      port.shape.push_back(line->Accept("?") ? IntExpr()
                                             : ExprParser(line, &program_.dims).Parse());
    });
    return port;
  }

  void ParseConstant(Line* line) {
    Constant constant;
    size_t at = line->at();
    constant.name = line->Name("a name");
    line->Expect(":");
    constant.dtype = ParseType(line);
    Bracketed(line, "[", "]",
              [&] { constant.shape.push_back(line->Number<int64_t>("an extent")); });
    if (line->AcceptWord("weights")) {
      constant.source = ConstantSource::kWeights;
    } else if (line->AcceptWord("made")) {
      constant.source = ConstantSource::kMade;
    } else if (line->AcceptWord("splat")) {
      constant.source = ConstantSource::kSplat;
      constant.data = line->Bytes();
    } else if (line->Accept("=")) {
      constant.source = ConstantSource::kInline;
      constant.data = line->Bytes();
    } else {
      line->Fail("expected weights, made, splat or '='");
    }
    if (!constants_.emplace(constant.name, program_.constants.size()).second)
      line->FailAt(at, "there are two constants " + constant.name);
    program_.constants.push_back(std::move(constant));
  }

  uint32_t ParseConstantName(Line* line) const {
    size_t at = line->at();
    std::string name = line->Name("the name of a constant");
    auto found = constants_.find(name);
    if (found == constants_.end()) line->FailAt(at, "there is no constant " + name);
    return static_cast<uint32_t>(found->second);
  }

  void ParsePrepack(Line* line) {
    Prepack prepack;
    prepack.function = line->Name("the name of a function");
    Bracketed(line, "(", ")", [&] { prepack.constants.push_back(ParseConstantName(line)); });
    program_.prepack.push_back(std::move(prepack));
  }

  static uint32_t ParseRegister(Line* line, const char* kind) {
    line->Expect(kind);
    auto index = line->Number<uint32_t>("the number of a register");
    if (index >= kMaxRegisters) line->Fail("there are no so many registers");
    return index;
  }

  // t1: float32[:, :]
  static void ParseTensor(Line* line, Function* function) {
    size_t at = line->at();
    if (ParseRegister(line, "t") != function->tensors.size())
      line->FailAt(at, "expected t" + std::to_string(function->tensors.size()) +
                           ": tensors are declared in order");
    line->Expect(":");
    TensorType type{ParseType(line), 0};
    Bracketed(line, "[", "]", [&] {
      line->Expect(":");
      ++type.rank;
    });
    function->tensors.push_back(type);
  }

  static void CountParam(Line* line, uint32_t* count, const char* kind) {
    size_t at = line->at();
    if (ParseRegister(line, kind) != *count)
      line->FailAt(at, "expected " + std::string(kind) + std::to_string(*count) +
                           ": parameters are the first registers");
    ++*count;
  }

  void ParseFunction(Line* line) {
    Function& function = program_.functions.emplace_back();
    function.name = line->Name("the name of a function");
    Bracketed(line, "(", ")", [&] {
      char kind = line->Peek();
      if (kind == 'i') {
        CountParam(line, &function.params.ints, "i");
      } else if (kind == 'l') {
        CountParam(line, &function.params.lists, "l");
      } else {
        ParseTensor(line, &function);
        ++function.params.tensors;
      }
    });
    function.num_ints = function.params.ints;
    function.num_lists = function.params.lists;
    line->Expect("->");
    Bracketed(line, "(", ")", [&] {
      if (line->AcceptWord("int"))
        ++function.results.ints;
      else if (line->AcceptWord("tensor"))
        ++function.results.tensors;
      else if (line->AcceptWord("list"))
        ++function.results.lists;
      else
        line->Fail("expected int, tensor or list");
    });
    line->Expect("{");
    line->ExpectEnd();
    ParseBody(&function);
  }

  void ParseBody(Function* function) {
    labels_.clear();
    std::vector<Pending> jumps;
    while (std::optional<Line> line = Next()) {
      if (line->Accept("}")) {
        line->ExpectEnd();
        for (Pending& jump : jumps) {
          auto found = labels_.find(jump.name);
          if (found == labels_.end()) jump.line.FailAt(jump.at, "there is no label " + jump.name);
          function->code[jump.instruction].index = found->second;
        }
        return;
      }
      ParseLine(&*line, function, &jumps);
      line->ExpectEnd();
    }
    throw Error("ValueError", file_ + ":" + std::to_string(number_) + ":1: error: expected '}'");
  }

  void ParseLine(Line* line, Function* function, std::vector<Pending>* jumps) {
    std::string_view word = line->PeekWord();
    if (line->AcceptWord("ints")) {
      function->num_ints = line->Number<uint32_t>("how many");
    } else if (line->AcceptWord("lists")) {
      function->num_lists = line->Number<uint32_t>("how many");
    } else if (Line declared = *line; word.starts_with('t') && IsDeclaration(&declared)) {
      ParseTensor(line, function);
    } else if (Line labelled = *line; labelled.AcceptWord(word) && labelled.Accept(":")) {
      size_t at = line->at();
      *line = labelled;
      auto place = static_cast<uint32_t>(function->code.size());
      if (!labels_.emplace(word, place).second)
        line->FailAt(at, "there are two labels " + std::string(word));
    } else {
      ParseInstruction(line, function, jumps);
    }
  }

  static bool IsDeclaration(Line* line) {
    std::string_view word = line->PeekWord();
    bool is_register = word.size() > 1 && std::all_of(word.begin() + 1, word.end(), IsDigit);
    return is_register && line->AcceptWord(word) && line->Accept(":");
  }

  static Operand ParseOperand(Line* line) {
    char c = line->Peek();
    if (c == 'i') return Operand::Int(ParseRegister(line, "i"));
    if (c == 't') return Operand::Tensor(ParseRegister(line, "t"));
    if (c == 'l') return Operand::List(ParseRegister(line, "l"));
    if (line->AcceptWord("bits")) {
      line->Expect("(");
      std::string bytes = line->Bytes();
      if (bytes.size() != 8) line->Fail("expected 8 bytes");
      line->Expect(")");
      return Operand::ConstFloat(std::bit_cast<double>(LoadLe<uint64_t>(bytes)));
    }
    if (!IsDigit(c) && c != '-') line->Fail("expected a register or a number");
    if (line->IsFloat()) return Operand::ConstFloat(line->Number<double>("a number"));
    return Operand::ConstInt(line->Number<int64_t>("a number"));
  }

  static void Args(Line* line, Instruction* to) {
    Bracketed(line, "(", ")", [&] { to->args.push_back(ParseOperand(line)); });
  }
  static void Exprs(Line* line, Instruction* to) {
    Bracketed(line, "[", "]", [&] { to->exprs.push_back(Expr(line)); });
  }
  static IntExpr Expr(Line* line) { return ExprParser(line, nullptr).Parse(); }

  void ParseInstruction(Line* line, Function* function, std::vector<Pending>* jumps) {
    Instruction instruction;
    std::string_view word = line->PeekWord();
    if (!FindOpcode(word)) {
      do instruction.results.push_back(ParseOperand(line));
      while (line->Accept(","));
      line->Expect("=");
      word = line->PeekWord();
    }
    std::optional<Opcode> op = FindOpcode(word);
    if (!op) line->Fail("expected an instruction");
    line->AcceptWord(word);
    instruction.op = *op;
    Pending pending{program_.functions.size() - 1, function->code.size(), "", *line, line->at()};
    ParseRest(line, &instruction, &pending);
    if (!pending.name.empty())
      (*op == Opcode::kInvoke ? invokes_ : *jumps).push_back(std::move(pending));
    function->code.push_back(std::move(instruction));
  }

  static std::optional<Opcode> FindOpcode(std::string_view word) {
    for (int i = 0; i < kNumOpcodes; ++i)
      if (word == NameOf(static_cast<Opcode>(i))) return static_cast<Opcode>(i);
    return {};
  }

  void ParseRest(Line* line, Instruction* to, Pending* pending) {
    switch (to->op) {
      case Opcode::kDim:
        to->args.push_back(ParseOperand(line));
        line->Expect(",");
        to->index = line->Number<uint32_t>("an axis");
        return;
      case Opcode::kInt:
        to->exprs.push_back(Expr(line));
        return;
      case Opcode::kCheck:
        to->exprs.push_back(Expr(line));
        line->Expect(",");
        to->text = line->String();
        while (line->Accept(",")) to->exprs.push_back(Expr(line));
        return;
      case Opcode::kAlloc:
        Exprs(line, to);
        if (line->AcceptWord("output")) to->index = line->Number<uint32_t>("an output") + 1;
        return;
      case Opcode::kView:
        to->args.push_back(ParseOperand(line));
        line->Expect(",");
        to->exprs.push_back(Expr(line));
        line->Expect(",");
        Exprs(line, to);
        if (line->Accept(",")) {
          to->index = 1;
          Exprs(line, to);
        }
        return;
      case Opcode::kConst:
        to->index = ParseConstantName(line);
        return;
      case Opcode::kCall:
        to->index = program_.Kernel(line->Name("the name of a kernel"));
        return Args(line, to);
      case Opcode::kCallPacked:
        to->text = line->Name("the name of a function");
        return Args(line, to);
      case Opcode::kInvoke:
        pending->name = line->Name("the name of a function");
        return Args(line, to);
      case Opcode::kJump:
        pending->name = line->Word("a label");
        return;
      case Opcode::kBranch:
        to->exprs.push_back(Expr(line));
        line->Expect(",");
        pending->at = line->at();
        pending->name = line->Word("a label");
        return;
      case Opcode::kRead:
        to->args.push_back(ParseOperand(line));
        line->Expect(",");
        to->exprs.push_back(Expr(line));
        return;
      case Opcode::kList:
        return ParseList(line, to);
      case Opcode::kCopy:
      case Opcode::kFree:
      case Opcode::kRet:
        if (line->AtEnd()) return;
        do to->args.push_back(ParseOperand(line));
        while (line->Accept(","));
        return;
    }
  }

  static void ParseList(Line* line, Instruction* to) {
    std::string_view word = line->PeekWord();
    int op = 0;
    while (op < kNumListOps && word != NameOf(static_cast<ListOp>(op))) ++op;
    if (op == kNumListOps) line->Fail("expected make, size, get, insert or erase");
    line->AcceptWord(word);
    to->index = static_cast<uint32_t>(op);
    Args(line, to);
    if (line->Accept(",")) to->exprs.push_back(Expr(line));
  }

  void Resolve() {
    for (Pending& invoke : invokes_) {
      auto found = std::find_if(program_.functions.begin(), program_.functions.end(),
                                [&](const Function& one) { return one.name == invoke.name; });
      if (found == program_.functions.end())
        invoke.line.FailAt(invoke.at, "there is no function " + invoke.name);
      program_.functions[invoke.function].code[invoke.instruction].index =
          static_cast<uint32_t>(found - program_.functions.begin());
    }
  }

  std::string_view text_;
  const std::string& file_;
  int number_ = 0;
  bool saw_model_ = false;
  Program program_;
  std::map<std::string, size_t> constants_;
  std::map<std::string_view, uint32_t> labels_;
  std::vector<Pending> invokes_;
};

}  // namespace

Program ParseProgram(std::string_view text, const std::string& file) {
  return Parser(text, file).Run();
}

}  // namespace tern::runtime::vm
