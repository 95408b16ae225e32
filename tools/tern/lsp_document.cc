// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/lsp_document.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "tern/ir/intrinsic.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/schedule.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/parse_unsaved.h"
#include "tern/tir/visitor.h"

namespace tern::tools {
namespace {

using Token = ir::Token;

// Units of UTF-16 in the first `bytes` bytes of a line.
int UtfUnits(std::string_view line, size_t bytes) {
  int units = 0;
  for (size_t i = 0; i < std::min(bytes, line.size()); ++i) {
    auto c = static_cast<unsigned char>(line[i]);
    if ((c & 0xC0) != 0x80) units += c >= 0xF0 ? 2 : 1;
  }
  return units;
}

bool IsPunct(const Token& token, std::string_view text) {
  return token.kind == Token::Kind::kPunct && token.text == text;
}
bool IsWord(const Token& token, std::string_view text) {
  return token.kind == Token::Kind::kIdent && token.text == text;
}

int ParseNumber(std::string_view digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

// The types of variables by the place where they are defined.
class VariableTypes : public tir::StmtVisitor {
 public:
  // Those that are defined in the file; it may import others.
  VariableTypes(const std::string& path, std::map<std::pair<int, int>, std::string>* types)
      : path_(path), types_(types) {}

 protected:
  using StmtVisitor::VisitNode;
  void VisitNode(const tir::ForNode* node) override {
    Add(node->var);
    StmtVisitor::VisitNode(node);
  }
  void VisitNode(const tir::LetStmtNode* node) override {
    Add(node->var);
    StmtVisitor::VisitNode(node);
  }
  void VisitNode(const tir::BlockNode* node) override {
    for (const tir::BlockIter& iter : node->iters) Add(iter.var);
    StmtVisitor::VisitNode(node);
  }

 private:
  void Add(const tir::Var& var) {
    const ir::Span& span = var->span;
    if (span && span.source->name == path_) (*types_)[{span.line, span.column}] = var.dtype().str();
  }
  const std::string& path_;
  std::map<std::pair<int, int>, std::string>* types_;
};

}  // namespace

LspDocument::LspDocument(std::string path, std::string text)
    : path_(std::move(path)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (size_t i = 0; i < text_.size(); ++i)
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  source_ = ffi::Make<ir::Source>(path_, text_);
  ir::Diagnostics ignored;
  tokens_ = ir::Lex(source_, &ignored);
  FindDefinitions();
  try {
    module_ = tir::ParseUnsaved(path_, text_);
  } catch (const Error& error) {
    parse_error_ = error.what();
  }
}

// ---- places

std::string LspDocument::LineText(int line) const {
  if (line < 1 || line > static_cast<int>(line_starts_.size())) return "";
  size_t start = line_starts_[line - 1];
  return text_.substr(start, std::min(text_.find('\n', start), text_.size()) - start);
}

LspPosition LspDocument::ToLsp(int line, int column) const {
  return {line - 1, UtfUnits(LineText(line), column - 1)};
}

LspRange LspDocument::RangeOf(size_t token) const {
  const ir::Span& span = tokens_[token].span;
  size_t length = std::max<size_t>(tokens_[token].text.size(), 1);
  if (tokens_[token].kind == Token::Kind::kString) length += 2;
  length = std::min(length, LineText(span.line).size() + 1 - span.column);
  return {ToLsp(span.line, span.column), ToLsp(span.line, span.column + static_cast<int>(length))};
}

std::optional<size_t> LspDocument::TokenAt(LspPosition position) const {
  for (size_t i = 0; i + 1 < tokens_.size(); ++i) {
    LspRange range = RangeOf(i);
    if (range.start.line == position.line && range.start.character <= position.character &&
        position.character <= range.end.character && tokens_[i].kind == Token::Kind::kIdent)
      return i;
  }
  return std::nullopt;
}

// ---- definitions

size_t LspDocument::BehindBracket(size_t open) const {
  int depth = 0;
  for (size_t i = open; i < tokens_.size(); ++i) {
    if (tokens_[i].kind != Token::Kind::kPunct) continue;
    const std::string& text = tokens_[i].text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if ((text == ")" || text == "]" || text == "}") && --depth == 0) return i + 1;
  }
  return tokens_.size();
}

size_t LspDocument::EndOfScope(size_t at) const {
  int depth = 0;
  for (size_t i = at; i < tokens_.size(); ++i) {
    if (IsPunct(tokens_[i], "{")) ++depth;
    if (IsPunct(tokens_[i], "}") && --depth < 0) return i;
  }
  return tokens_.size();
}

// "float32[n, k]", from behind a colon to what ends it.
std::string LspDocument::TypeText(size_t colon) const {
  std::string text;
  int depth = 0;
  for (size_t i = colon + 1; i + 1 < tokens_.size(); ++i) {
    const std::string& word = tokens_[i].text;
    bool is_punct = tokens_[i].kind == Token::Kind::kPunct;
    if (is_punct && depth == 0 && (word == "," || word == ")" || word == "=" || word == "{")) break;
    if (depth == 0 && i > colon + 1 && tokens_[i].first_on_line) break;
    if (is_punct && (word == "[" || word == "(")) ++depth;
    if (is_punct && (word == "]" || word == ")")) --depth;
    if (!is_punct && !text.empty() &&
        (std::isalnum(static_cast<unsigned char>(text.back())) || text.back() == ']'))
      text += " ";
    text += word == "," ? ", " : word;
  }
  return text;
}

void LspDocument::FindDefinitions() {
  auto add = [&](size_t token, std::string what, size_t begin, size_t end, bool typed) {
    if (token + 1 >= tokens_.size() || tokens_[token].kind != Token::Kind::kIdent) return;
    std::string type = typed && IsPunct(tokens_[token + 1], ":") ? TypeText(token + 1) : "";
    definitions_.push_back(
        {tokens_[token].text, std::move(what), std::move(type), token, begin, end});
  };
  // name: type, ... between the brackets that open at `open`, known up to `end`.
  auto add_list = [&](size_t open, const char* what, size_t end) {
    size_t close = BehindBracket(open);
    for (size_t i = open + 1; i + 1 < close; ++i) {
      bool starts = i == open + 1 || IsPunct(tokens_[i - 1], ",");
      if (starts && tokens_[i].kind == Token::Kind::kIdent && IsPunct(tokens_[i + 1], ":"))
        add(i, what, i, end, true);
    }
  };
  for (size_t i = 0; i + 2 < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    const Token& next = tokens_[i + 1];
    if (token.kind != Token::Kind::kIdent) continue;
    bool is_item =
        token.first_on_line && token.span.column == 1 && next.kind == Token::Kind::kIdent;
    if (is_item && (token.text == "func" || token.text == "graph" || token.text == "kernel")) {
      add(i + 1, token.text == "func" ? "function" : token.text, 0, tokens_.size(), false);
      bool is_template = IsPunct(tokens_[i + 2], "[");
      size_t params = is_template ? BehindBracket(i + 2) : i + 2;
      if (params < tokens_.size() && IsPunct(tokens_[params], "(")) {
        size_t body = BehindBracket(params);
        while (body < tokens_.size() && !IsPunct(tokens_[body], "{")) ++body;
        size_t end = BehindBracket(body);
        for (size_t j = i + 3; is_template && j + 1 < params; ++j)
          add(j, "template parameter", j, end, false);
        add_list(params, "parameter", end);
      }
    } else if (is_item && token.text == "struct") {
      add(i + 1, "struct", 0, tokens_.size(), false);
    } else if (is_item && token.text == "constant") {
      add(i + 1, "constant", 0, tokens_.size(), true);
    } else if (token.text == "block" && next.kind == Token::Kind::kIdent &&
               IsPunct(tokens_[i + 2], "(")) {
      add(i + 1, "block", 0, tokens_.size(), false);
      size_t body = BehindBracket(i + 2);
      while (body < tokens_.size() && !IsPunct(tokens_[body], "{")) ++body;
      add_list(i + 2, "axis", BehindBracket(body));
    } else if (token.text == "let" || token.text == "alloc" || token.text == "buffer") {
      add(i + 1, token.text == "let" ? "variable" : "buffer", i + 1, EndOfScope(i), true);
    } else if (token.text == "for") {
      size_t body = i;
      while (body < tokens_.size() && !IsPunct(tokens_[body], "{")) ++body;
      for (size_t j = i + 1; j + 1 < body; ++j)
        if (IsWord(tokens_[j + 1], "in") && (j == i + 1 || IsPunct(tokens_[j - 1], ",")))
          add(j, "loop", j, BehindBracket(body), false);
    }
  }
}

// The innermost, that is the last one that begins, of those that are known at the token.
const LspDocument::Definition* LspDocument::Find(size_t token) const {
  const Definition* found = nullptr;
  for (const Definition& definition : definitions_) {
    if (definition.name != tokens_[token].text) continue;
    if (definition.token == token) return &definition;
    bool known = definition.begin <= token && token < definition.end;
    if (known && (!found || definition.begin >= found->begin)) found = &definition;
  }
  if (found) return found;
  // An extent that a parameter's shape names; the loops of a function, in its schedule.
  for (const Definition& definition : definitions_)
    if (definition.name == tokens_[token].text && definition.token < token) found = &definition;
  return found;
}

// ---- answers

void LspDocument::AddMistakes(const std::string& text, std::vector<Mistake>* mistakes) const {
  std::istringstream lines(text);
  std::string prefix = path_ + ":";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(prefix)) continue;
    size_t colon = line.find(':', prefix.size()), space = line.find(": ", prefix.size());
    if (colon == std::string::npos || space == std::string::npos || colon >= space) continue;
    int row = ParseNumber(std::string_view(line).substr(prefix.size(), colon - prefix.size()));
    int column = ParseNumber(std::string_view(line).substr(colon + 1, space - colon - 1));
    std::string message = line.substr(space + 2);
    if (message.starts_with("error: ")) message = message.substr(7);
    LspRange range{ToLsp(row, column), ToLsp(row, column + 1)};
    for (size_t i = 0; i + 1 < tokens_.size(); ++i)
      if (tokens_[i].span.line == row && tokens_[i].span.column == column) range = RangeOf(i);
    mistakes->push_back({range, message});
  }
}

std::vector<LspDocument::Mistake> LspDocument::Mistakes() const {
  std::vector<Mistake> mistakes;
  auto check = [&](auto&& what) {
    try {
      what();
    } catch (const Error& error) {
      size_t before = mistakes.size();
      AddMistakes(error.what(), &mistakes);
      // One without a place is of the file.
      if (mistakes.size() == before) mistakes.push_back({{}, error.message()});
    }
  };
  if (!module_) {
    AddMistakes(parse_error_, &mistakes);
    // Those of files that this one imports are shown at its first line.
    if (mistakes.empty()) mistakes.push_back({{}, parse_error_});
    return mistakes;
  }
  check([&] { tir::Verify(module_); });
  if (!mistakes.empty()) return mistakes;
  for (const auto& [name, function] : module_->functions)
    if (tir::PrimFunc loops = tir::IfPrimFunc(function); loops && schedule::HasSchedule(loops))
      check([&] { schedule::ScheduleOf(loops); });
  return mistakes;
}

// What the rules do with a function without a schedule, on its target or on this machine.
std::string LspDocument::PlanOf(const std::string& name) const {
  if (!module_) return "";
  auto found = module_->functions.find(name);
  if (found == module_->functions.end()) return "";
  tir::PrimFunc function = tir::IfPrimFunc(found->second);
  if (!function) return "";
  try {
    if (!function->attrs.count(tir::attr::kTarget))
      function = function.WithAttr(tir::attr::kTarget, target::Target::DefaultHost());
    schedule::Explanation explanation;
    schedule::ApplyDefaultSchedule(function, &explanation);
    return explanation.str(name);
  } catch (const Error& error) {
    return std::string("# ") + error.message() + "\n";
  }
}

std::optional<std::string> LspDocument::Hover(LspPosition position) const {
  std::optional<size_t> token = TokenAt(position);
  if (!token) return std::nullopt;
  const Definition* definition = Find(*token);
  const std::string& name = tokens_[*token].text;
  if (!definition) {
    if (!ir::FindIntrinsic(name)) return std::nullopt;
    return "intrinsic `" + name + "`";
  }
  std::string type = definition->type;
  if (type.empty() && module_) {
    std::map<std::pair<int, int>, std::string> types;
    VariableTypes collect(path_, &types);
    for (const auto& [function_name, function] : module_->functions)
      if (tir::PrimFunc loops = tir::IfPrimFunc(function)) collect.VisitFunction(loops);
    const ir::Span& span = tokens_[definition->token].span;
    if (auto it = types.find({span.line, span.column}); it != types.end()) type = it->second;
  }
  std::string text = definition->what + " `" + name + (type.empty() ? "" : ": " + type) + "`";
  if (definition->what == "function") {
    std::string line = LineText(tokens_[definition->token].span.line);
    text = "```tir\n" + line.substr(0, line.find_last_not_of(" {") + 1) + "\n```";
    if (std::string plan = PlanOf(name); !plan.empty())
      text += "\n\nscheduled by the rules as\n\n```tir\n" + plan + "```";
  }
  return text;
}

std::optional<LspRange> LspDocument::DefinitionOf(LspPosition position) const {
  std::optional<size_t> token = TokenAt(position);
  const Definition* definition = token ? Find(*token) : nullptr;
  if (!definition) return std::nullopt;
  return RangeOf(definition->token);
}

std::vector<LspDocument::Symbol> LspDocument::Symbols() const {
  std::vector<Symbol> symbols;
  for (const Definition& definition : definitions_) {
    bool is_function =
        definition.what == "function" || definition.what == "graph" || definition.what == "kernel";
    if (!is_function && definition.what != "block") continue;
    LspRange name = RangeOf(definition.token);
    size_t body = definition.token;
    while (body < tokens_.size() && !IsPunct(tokens_[body], "{")) ++body;
    size_t end = std::min(BehindBracket(body), tokens_.size()) - 1;
    const ir::Span& first = tokens_[definition.token - 1].span;
    symbols.push_back({definition.name,
                       definition.what,
                       is_function,
                       name,
                       {ToLsp(first.line, first.column), RangeOf(end).end}});
  }
  return symbols;
}

}  // namespace tern::tools
