// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/import_files.h"

#include <algorithm>
#include <set>

#include "tern/ffi/error.h"

namespace tern::tir {
namespace {

using ir::Token;
using Path = std::filesystem::path;

// One file under whichever name it is imported.
Path Identity(const Path& path) {
  std::error_code failed;
  Path canonical = std::filesystem::canonical(path, failed);
  return failed ? path : canonical;
}

class Importer {
 public:
  Importer(SourceFiles* files, ir::Diagnostics* diagnostics)
      : files_(files), diagnostics_(diagnostics) {}

  std::vector<Token> Expand(std::vector<Token> tokens) {
    std::vector<Token> result;
    std::vector<size_t> places;
    for (size_t at : OutermostTokens(tokens))
      if (IsItemWord(tokens, at, "import")) places.push_back(at);
    if (places.empty()) return tokens;
    size_t done = 0;
    for (size_t at : places) {
      result.insert(result.end(), tokens.begin() + static_cast<std::ptrdiff_t>(done),
                    tokens.begin() + static_cast<std::ptrdiff_t>(at));
      std::vector<Token> imported = Import(tokens[at], tokens[at + 1]);
      result.insert(result.end(), imported.begin(), imported.end());
      done = at + 2;
    }
    result.insert(result.end(), tokens.begin() + static_cast<std::ptrdiff_t>(done), tokens.end());
    return result;
  }

 private:
  std::vector<Token> Import(const Token& word, const Token& name) {
    std::optional<Path> directory = files_->DirectoryOf(word.span);
    if (!directory) return Refuse(name, "a text that is no file imports a file");
    if (stack_.empty()) Enter(word.span.source->name);
    Path path = (*directory / name.text).lexically_normal();
    Path identity = Identity(path);
    if (auto it = std::find(stack_.begin(), stack_.end(), identity); it != stack_.end()) {
      std::string cycle;
      for (; it != stack_.end(); ++it) cycle += it->filename().string() + " -> ";
      return Refuse(name, "files cannot import themselves: " + cycle + path.filename().string());
    }
    if (!known_.insert(identity).second) return {};
    std::vector<Token> tokens;
    try {
      auto source = ffi::Make<ir::Source>(path.string(), ReadRegularFile(path));
      files_->AddFile(source, path);
      tokens = ir::Lex(source, diagnostics_);
    } catch (const Error& error) {
      return Refuse(name, error.message());
    }
    tokens.pop_back();  // its end
    stack_.push_back(identity);
    tokens = Expand(std::move(tokens));
    stack_.pop_back();
    return tokens;
  }
  void Enter(const Path& path) {
    stack_.push_back(Identity(path));
    known_.insert(stack_.back());
  }
  std::vector<Token> Refuse(const Token& at, const std::string& message) {
    diagnostics_->Add(at.span, message);
    return {};
  }

  SourceFiles* files_;
  ir::Diagnostics* diagnostics_;
  std::vector<Path> stack_;  // files that are being read, each imported by the one before
  std::set<Path> known_;
};

}  // namespace

bool IsItemWord(const std::vector<Token>& tokens, size_t at, std::string_view word) {
  if (at + 1 >= tokens.size() || tokens[at].kind != Token::Kind::kIdent || tokens[at].text != word)
    return false;
  Token::Kind next = tokens[at + 1].kind;
  return word == "import" ? next == Token::Kind::kString : next == Token::Kind::kIdent;
}

std::vector<size_t> OutermostTokens(const std::vector<Token>& tokens) {
  std::vector<size_t> places;
  int depth = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Token& token = tokens[i];
    if (token.first_on_line && token.span.column == 1 && IsItemWord(tokens, i, "func")) depth = 0;
    if (token.kind != Token::Kind::kPunct) {
      if (depth == 0) places.push_back(i);
      continue;
    }
    const std::string& text = token.text;
    if (text == "(" || text == "[" || text == "{") ++depth;
    if ((text == ")" || text == "]" || text == "}") && depth > 0) --depth;
  }
  return places;
}

std::vector<Token> ImportFiles(std::vector<Token> tokens, SourceFiles* files,
                               ir::Diagnostics* diagnostics) {
  return Importer(files, diagnostics).Expand(std::move(tokens));
}

}  // namespace tern::tir
