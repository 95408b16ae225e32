// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/lexer.h"

#include <cctype>
#include <charconv>
#include <string_view>

namespace tern::ir {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Longer ones first.
constexpr std::string_view kPuncts[] = {
    "//=", "<<=", ">>=", "..", "//", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "+=",
    "-=",  "*=",  "/=",  "%=", "&=", "|=", "^=", "<",  ">",  "=",  "+",  "-",  "*",  "/",
    "%",   "&",   "|",   "^",  "~",  "!",  "(",  ")",  "[",  "]",  "{",  "}",  ",",  ":"};

class Lexer {
 public:
  Lexer(const ffi::Ref<const Source>& source, Diagnostics* diagnostics)
      : source_(source), text_(source->text), diagnostics_(diagnostics) {}

  std::vector<Token> Run() {
    std::vector<Token> tokens;
    while (true) {
      SkipBlank();
      Token token;
      token.span = Here();
      token.first_on_line = std::exchange(first_on_line_, false);
      if (at_ >= text_.size()) {
        tokens.push_back(std::move(token));
        return tokens;
      }
      if (ReadToken(&token)) tokens.push_back(std::move(token));
    }
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  Span Here() const { return {source_, line_, static_cast<int>(at_ - line_begin_) + 1}; }

  void SkipBlank() {
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
        first_on_line_ = true;
      } else if (c == '#') {
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  bool ReadToken(Token* token) {
    if (IsLetter(Peek())) return ReadIdent(token);
    if (IsDigit(Peek())) return ReadNumber(token);
    if (Peek() == '"') return ReadString(token);
    for (std::string_view punct : kPuncts) {
      if (std::string_view(text_).substr(at_, punct.size()) != punct) continue;
      token->kind = Token::Kind::kPunct;
      token->text = punct;
      at_ += punct.size();
      return true;
    }
    char c = text_[at_++];
    diagnostics_->Add(token->span, c >= ' ' && c < 127
                                       ? std::string("unexpected character '") + c + "'"
                                       : std::string("unexpected byte in the text"));
    return false;
  }

  // Dots join the parts of names like threadIdx.x; ".." does not belong to a name.
  bool ReadIdent(Token* token) {
    token->kind = Token::Kind::kIdent;
    while (IsLetter(Peek()) || IsDigit(Peek()) || (Peek() == '.' && IsLetter(Peek(1))))
      token->text += text_[at_++];
    return true;
  }

  // 0x1f, 0b101. True where such a number stands here.
  bool ReadBasedNumber(Token* token) {
    char letter = Peek() == '0' ? Peek(1) : '\0';
    bool is_hex = letter == 'x' || letter == 'X', is_binary = letter == 'b' || letter == 'B';
    if (!is_hex && !is_binary) return false;
    token->text = is_hex ? "0x" : "0b";
    at_ += 2;
    for (; IsLetter(Peek()) || IsDigit(Peek()); ++at_) {
      bool is_digit = is_hex ? std::isxdigit(static_cast<unsigned char>(Peek())) != 0
                             : Peek() == '0' || Peek() == '1';
      if (!is_digit)
        diagnostics_->Add(Here(), std::string("'") + Peek() + "' is no digit of a " +
                                      (is_hex ? "hexadecimal" : "binary") + " number");
      token->text += is_digit ? Peek() : '0';
    }
    if (token->text.size() > 2) return true;
    diagnostics_->Add(Here(), "expected a digit behind " + token->text);
    token->text += '0';
    return true;
  }

  bool ReadNumber(Token* token) {
    token->kind = Token::Kind::kInt;
    if (ReadBasedNumber(token)) return true;
    auto digits = [&] {
      while (IsDigit(Peek())) token->text += text_[at_++];
    };
    digits();
    if (Peek() == '.' && IsDigit(Peek(1))) {
      token->kind = Token::Kind::kFloat;
      token->text += text_[at_++];
      digits();
    }
    if (Peek() == 'e' || Peek() == 'E') {
      size_t sign = Peek(1) == '+' || Peek(1) == '-';
      if (IsDigit(Peek(1 + sign))) {
        token->kind = Token::Kind::kFloat;
        token->text.append(text_, at_, 1 + sign);
        at_ += 1 + sign;
        digits();
      }
    }
    if (!IsLetter(Peek())) return true;
    diagnostics_->Add(Here(), "a number cannot be followed by a letter");
    while (IsLetter(Peek()) || IsDigit(Peek())) ++at_;
    return true;
  }

  bool ReadLines(Token* token) {
    constexpr std::string_view kQuotes = "\"\"\"";
    size_t begin = at_ + kQuotes.size();
    if (begin < text_.size() && text_[begin] == '\n') ++begin;
    size_t end = text_.find(kQuotes, begin);
    if (end == std::string::npos) {
      diagnostics_->Add(token->span, "the string has no closing \"\"\"");
      end = text_.size();
    }
    token->text = text_.substr(begin, end - begin);
    size_t after = std::min(end + kQuotes.size(), text_.size());
    for (; at_ < after; ++at_) {
      if (text_[at_] != '\n') continue;
      ++line_;
      line_begin_ = at_ + 1;
    }
    return true;
  }

  bool ReadString(Token* token) {
    token->kind = Token::Kind::kString;
    if (Peek(1) == '"' && Peek(2) == '"') return ReadLines(token);
    for (++at_; Peek() != '"'; ++at_) {
      if (at_ >= text_.size() || Peek() == '\n') {
        diagnostics_->Add(token->span, "the string does not end on its line");
        return true;
      }
      if (Peek() != '\\') {
        token->text += Peek();
        continue;
      }
      ++at_;
      switch (Peek()) {
        case 'n':
          token->text += '\n';
          break;
        case 't':
          token->text += '\t';
          break;
        case '"':
        case '\\':
          token->text += Peek();
          break;
        default:
          diagnostics_->Add(Here(), "unknown escape; legal are \\n \\t \\\" \\\\");
          if (Peek() == '\n' || at_ >= text_.size()) return true;
      }
    }
    ++at_;
    return true;
  }

  ffi::Ref<const Source> source_;
  const std::string& text_;
  Diagnostics* diagnostics_;
  size_t at_ = 0, line_begin_ = 0;
  int line_ = 1;
  bool first_on_line_ = true;
};

}  // namespace

std::vector<Token> Lex(const ffi::Ref<const Source>& source, Diagnostics* diagnostics) {
  return Lexer(source, diagnostics).Run();
}

std::optional<uint64_t> ParseDigits(std::string_view digits) {
  int base = digits.starts_with("0x") ? 16 : digits.starts_with("0b") ? 2 : 10;
  if (base != 10) digits.remove_prefix(2);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return {};
  return value;
}

std::string QuoteString(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

std::string QuoteLines(const std::string& text) {
  bool has_lines = text.find('\n') != std::string::npos;
  if (!has_lines || text.back() == '"' || text.find("\"\"\"") != std::string::npos)
    return QuoteString(text);
  return "\"\"\"\n" + text + "\"\"\"";
}

}  // namespace tern::ir
