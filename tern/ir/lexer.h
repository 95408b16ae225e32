// SPDX-License-Identifier: Apache-2.0
//
// The tokens of the text forms. White space separates, # starts a comment to the end of the line. A
// string is "on one line", with escapes, or between """ and """, as it stands there; a line break
// right behind the opening quotes is no part of it.
#ifndef TERN_IR_LEXER_H_
#define TERN_IR_LEXER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

// The value of a kInt token: decimal digits, 0x1f or 0b101. Nothing where it exceeds 64 bits.
std::optional<uint64_t> ParseDigits(std::string_view digits);

// `text` as a literal that Lex reads back: "text", with escapes.
std::string QuoteString(const std::string& text);
// The same, over several lines and without escapes where the text has several lines and such a
// literal can hold it. The first line stands below the opening quotes.
std::string QuoteLines(const std::string& text);

}  // namespace tern::ir

#endif  // TERN_IR_LEXER_H_
