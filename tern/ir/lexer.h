// SPDX-License-Identifier: Apache-2.0
//
// The tokens of the text forms. White space separates, # starts a comment to the end of the line.
#ifndef TERN_IR_LEXER_H_
#define TERN_IR_LEXER_H_

#include <string>
#include <vector>

#include "tern/ir/diagnostic.h"

namespace tern::ir {

struct Token {
  enum class Kind { kEnd, kIdent, kInt, kFloat, kString, kPunct };
  Kind kind = Kind::kEnd;
  std::string text;  // of a string: its value; of a number: its digits
  Span span;
  bool first_on_line = false;
};

// Ends with a kEnd token. Characters and literals that are no tokens are reported and skipped.
std::vector<Token> Lex(const ffi::Ref<const Source>& source, Diagnostics* diagnostics);

// `text` as a literal that Lex reads back.
std::string QuoteString(const std::string& text);

}  // namespace tern::ir

#endif  // TERN_IR_LEXER_H_
