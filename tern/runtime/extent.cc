// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/extent.h"

#include <algorithm>
#include <charconv>

#include "tern/ffi/error.h"

namespace tern::runtime {
namespace {

constexpr int kMaxDepth = 100;

bool StartsSymbol(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

size_t SymbolEnd(std::string_view text, size_t at) {
  while (at < text.size() && (StartsSymbol(text[at]) || IsDigit(text[at]))) ++at;
  return at;
}

class Evaluator {
 public:
  Evaluator(std::string_view text, const std::map<std::string, int64_t>& values)
      : text_(text), values_(values) {}

  int64_t Run() {
    int64_t value = Sum(0);
    if (Peek()) Fail("expected an operator: + - * // %");
    return value;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error("ValueError", "extent \"" + std::string(text_) + "\": " + what);
  }
  char Peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool Accept(std::string_view token) {
    Peek();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  template <class Operation>
  int64_t Checked(Operation&& overflows) const {
    int64_t result = 0;
    if (overflows(&result)) Fail("the value does not fit in 64 bits");
    return result;
  }
  int64_t Add(int64_t a, int64_t b) const {
    return Checked([&](int64_t* result) { return __builtin_add_overflow(a, b, result); });
  }
  int64_t Subtract(int64_t a, int64_t b) const {
    return Checked([&](int64_t* result) { return __builtin_sub_overflow(a, b, result); });
  }
  int64_t Multiply(int64_t a, int64_t b) const {
    return Checked([&](int64_t* result) { return __builtin_mul_overflow(a, b, result); });
  }

  int64_t Sum(int depth) {
    int64_t left = Product(depth);
    for (;;) {
      if (Accept("+"))
        left = Add(left, Product(depth));
      else if (Accept("-"))
        left = Subtract(left, Product(depth));
      else
        return left;
    }
  }

  int64_t Product(int depth) {
    int64_t left = Term(depth);
    for (;;) {
      if (Accept("*"))
        left = Multiply(left, Term(depth));
      else if (Accept("//"))
        left = Divide(left, Term(depth), /*want_remainder=*/false);
      else if (Accept("%"))
        left = Divide(left, Term(depth), /*want_remainder=*/true);
      else
        return left;
    }
  }

  int64_t Divide(int64_t left, int64_t right, bool want_remainder) const {
    if (right == 0) Fail("division by zero");
    if (right == -1)  // the one divisor that overflows
      return want_remainder ? 0 : Subtract(0, left);
    int64_t quotient = left / right, remainder = left % right;
    if (remainder != 0 && (remainder < 0) != (right < 0)) {
      --quotient;
      remainder += right;
    }
    return want_remainder ? remainder : quotient;
  }

  // Behind "max(" or "min(".
  int64_t Extreme(bool largest, int depth) {
    int64_t left = Sum(depth);
    if (!Accept(",")) Fail("expected ','");
    int64_t right = Sum(depth);
    if (!Accept(")")) Fail("expected ')'");
    return largest ? std::max(left, right) : std::min(left, right);
  }

  int64_t Term(int depth) {
    if (depth == kMaxDepth) Fail("nested too deeply");
    if (Accept("(")) {
      int64_t value = Sum(depth + 1);
      if (!Accept(")")) Fail("expected ')'");
      return value;
    }
    if (Accept("-")) return Subtract(0, Term(depth + 1));
    char c = Peek();
    if (StartsSymbol(c)) {
      size_t end = SymbolEnd(text_, at_);
      std::string symbol(text_.substr(at_, end - at_));
      at_ = end;
      auto it = values_.find(symbol);
      if (it == values_.end() && (symbol == "min" || symbol == "max") && Accept("("))
        return Extreme(symbol == "max", depth + 1);
      if (it == values_.end()) Fail(symbol + " has no value");
      return it->second;
    }
    if (!IsDigit(c)) Fail("expected a number, a symbol or '('");
    return Checked([&](int64_t* result) {
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), *result);
      at_ = static_cast<size_t>(end - text_.data());
      return error != std::errc();
    });
  }

  std::string_view text_;
  const std::map<std::string, int64_t>& values_;
  size_t at_ = 0;
};

}  // namespace

bool IsSymbol(std::string_view text) {
  return !text.empty() && StartsSymbol(text[0]) && SymbolEnd(text, 0) == text.size();
}

std::vector<std::string> SymbolsOf(std::string_view text) {
  std::vector<std::string> symbols;
  for (size_t at = 0; at < text.size();) {
    if (!StartsSymbol(text[at])) {
      ++at;
      continue;
    }
    size_t end = SymbolEnd(text, at), next = text.find_first_not_of(' ', end);
    // What a parenthesis follows is min or max.
    if (next == std::string_view::npos || text[next] != '(')
      symbols.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return symbols;
}

int64_t EvaluateExtent(std::string_view text, const std::map<std::string, int64_t>& values) {
  return Evaluator(text, values).Run();
}

}  // namespace tern::runtime
