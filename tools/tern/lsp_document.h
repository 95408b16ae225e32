// SPDX-License-Identifier: Apache-2.0
//
// What an editor may ask of the text of a .tir file. Definitions are found among the tokens, so
// that they are there while the text has mistakes; types that the text does not say, and plans,
// come from the program where it can be parsed.
#ifndef TOOLS_TERN_LSP_DOCUMENT_H_
#define TOOLS_TERN_LSP_DOCUMENT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tern/ir/lexer.h"
#include "tern/ir/module.h"

namespace tern::tools {

// As in the protocol: both count from 0, characters in units of UTF-16.
struct LspPosition {
  int line = 0, character = 0;
};
struct LspRange {
  LspPosition start, end;
};

class LspDocument {
 public:
  LspDocument(std::string path, std::string text);

  struct Mistake {
    LspRange range;
    std::string message;
  };
  // Of the parser; where it finds none, of the verifier and of schedules.
  std::vector<Mistake> Mistakes() const;

  // What is said of the name at a place, in Markdown; none where there is no name, or nothing to
  // say.
  std::optional<std::string> Hover(LspPosition position) const;
  std::optional<LspRange> DefinitionOf(LspPosition position) const;

  struct Symbol {
    std::string name, detail;
    bool is_function = false;  // else a block of the function before it
    LspRange name_range, range;
  };
  std::vector<Symbol> Symbols() const;

 private:
  struct Definition {
    std::string name;
    std::string what;           // "parameter", "loop", "block", ...
    std::string type;           // as written, or ""
    size_t token = 0;           // of the name
    size_t begin = 0, end = 0;  // tokens where it is known
  };

  void FindDefinitions();
  // The token behind the bracket that closes the one at `open`.
  size_t BehindBracket(size_t open) const;
  // The end of the braces that token `at` is in.
  size_t EndOfScope(size_t at) const;
  std::string TypeText(size_t colon) const;
  std::optional<size_t> TokenAt(LspPosition position) const;
  const Definition* Find(size_t token) const;
  LspRange RangeOf(size_t token) const;
  LspPosition ToLsp(int line, int column) const;
  void AddMistakes(const std::string& text, std::vector<Mistake>* mistakes) const;
  std::string PlanOf(const std::string& function) const;
  std::string LineText(int line) const;

  std::string path_, text_;
  std::vector<size_t> line_starts_;
  ffi::Ref<const ir::Source> source_;
  std::vector<ir::Token> tokens_;
  std::vector<Definition> definitions_;
  ir::IRModule module_;  // null where the text has mistakes
  std::string parse_error_;
};

}  // namespace tern::tools

#endif  // TOOLS_TERN_LSP_DOCUMENT_H_
