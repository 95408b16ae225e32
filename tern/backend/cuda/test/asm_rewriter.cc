// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "tern/backend/cuda/test/source_rewriter.h"

namespace tern::backend::cuda::standin {
namespace {

std::string_view Trim(std::string_view text) {
  auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)); };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Where the string literal that starts here ends.
size_t EndOfString(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

// At separators outside of parentheses, braces and strings.
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      i = EndOfString(text, i);
      continue;
    }
    if (std::string_view("([{").find(text[i]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(text[i]) != std::string_view::npos) --depth;
    if (depth == 0 && text[i] == separator) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    }
    ++i;
  }
  parts.push_back(text.substr(start));
  return parts;
}

// Adjacent literals are one.
std::string Unquote(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    if (text[i] != '"') {
      ++i;
      continue;
    }
    size_t end = EndOfString(text, i);
    for (size_t j = i + 1; j + 1 < end; ++j) {
      if (text[j] == '\\') {
        ++j;
        result += text[j] == 'n' || text[j] == 't' ? ' ' : text[j];
      } else {
        result += text[j];
      }
    }
    i = end;
  }
  return result;
}

class AsmRewriter {
 public:
  explicit AsmRewriter(const std::set<std::string>& instructions) : instructions_(instructions) {}

  AsmStatement Run(std::string_view inside) {
    std::vector<std::string_view> sections = Split(inside, ':');
    for (size_t i = 1; i < sections.size() && i <= 2; ++i)
      for (std::string_view operand : Split(sections[i], ',')) AddOperand(Trim(operand), i == 1);
    std::string code = Unquote(sections[0]), text = "do { ";
    std::string_view body = Trim(code);
    if (body.starts_with('{') && body.ends_with('}')) body = body.substr(1, body.size() - 2);
    for (std::string_view instruction : Split(body, ';'))
      if (!Trim(instruction).empty()) text += Instruction(Trim(instruction)) + "; ";
    return {text + "} while (0)", error_};
  }

 private:
  void Fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }

  // "=r"(x)
  void AddOperand(std::string_view text, bool is_out) {
    if (text.empty()) return;
    size_t end = EndOfString(text, 0);
    std::string constraint = Unquote(text.substr(0, end));
    bool has_sign = constraint.starts_with('=') || constraint.starts_with('+');
    if (has_sign != is_out || constraint.size() != (is_out ? 2u : 1u) ||
        std::string_view("hrlfdn").find(constraint.back()) == std::string_view::npos)
      return Fail("an asm operand has the constraint \"" + constraint + "\"");
    operands_.push_back(std::string("tern_standin::") + (is_out ? "Out" : "In") + "<'" +
                        constraint.back() + "'>" + std::string(Trim(text.substr(end))));
  }

  std::string Instruction(std::string_view text) {
    if (constexpr std::string_view kPredicate = ".reg .pred "; text.starts_with(kPredicate)) {
      predicates_.emplace(Trim(text.substr(kPredicate.size())));
      return "bool " + *predicates_.rbegin() + " = false";
    }
    size_t space = std::min(text.find_first_of(" \t\n"), text.size());
    std::string mnemonic(text.substr(0, space)), name = "__ptx_" + mnemonic;
    std::replace_if(name.begin(), name.end(), [](char c) { return c == '.' || c == ':'; }, '_');
    if (!instructions_.contains(name))
      Fail("Not a name of any known instruction: '" + mnemonic + "'");
    std::string rest(text.substr(space)), args;
    // Lists of registers are registers; an address in brackets is its register.
    std::erase_if(rest, [](char c) { return c == '{' || c == '}' || c == '[' || c == ']'; });
    for (std::string_view operand : Split(rest, ','))
      if (!Trim(operand).empty() && Trim(operand) != "_")
        args += (args.empty() ? "" : ", ") + Operand(Trim(operand));
    return name + "(" + args + ")";
  }

  // A register, one with a distance, a predicate, or a number.
  std::string Operand(std::string_view text) {
    if (predicates_.contains(std::string(text))) return std::string(text);
    size_t plus = text.find('+');
    if (plus != std::string_view::npos)
      return "(" + Operand(Trim(text.substr(0, plus))) + " + " +
             Operand(Trim(text.substr(plus + 1))) + ")";
    bool is_register = text.starts_with('%');
    std::string digits(text.substr(is_register ? 1 : 0));
    if (digits.empty() || !std::all_of(digits.begin(), digits.end(),
                                       [](unsigned char c) { return std::isdigit(c); })) {
      Fail("Unknown operand '" + std::string(text) + "' in inline PTX");
      return "0";
    }
    if (!is_register) return digits;
    size_t number = std::stoul(digits);
    if (number < operands_.size()) return operands_[number];
    Fail("asm operand " + std::string(text) + " is not given");
    return "0";
  }

  const std::set<std::string>& instructions_;
  std::vector<std::string> operands_;
  std::set<std::string> predicates_;
  std::string error_;
};

}  // namespace

AsmStatement RewriteAsm(std::string_view inside, const std::set<std::string>& instructions) {
  return AsmRewriter(instructions).Run(inside);
}

}  // namespace tern::backend::cuda::standin
