// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/test/source_rewriter.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace tern::backend::cuda::standin {
namespace {

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Rewriter {
 public:
  Rewriter(const std::string& source, const std::string& file,
           const std::set<std::string>& instructions)
      : source_(source), file_(file), instructions_(instructions) {}

  Rewritten Run() {
    while (at_ < source_.size()) Step();
    return std::move(result_);
  }

 private:
  void Step() {
    std::string_view rest = std::string_view(source_).substr(at_);
    if (rest.starts_with("//")) return Copy(std::min(rest.find('\n'), rest.size()));
    if (rest.starts_with("/*")) return Copy(std::min(rest.find("*/"), rest.size() - 2) + 2);
    if (rest[0] == '"' || rest[0] == '\'') return Copy(EndOfLiteral(at_) - at_);
    if (rest[0] == '#') return Directive();
    if (IsWord(rest[0])) return Word();
    if (rest[0] == '{' && depth_++ == 0) kernel_ = pending_;
    if (rest[0] == '}' && --depth_ == 0) kernel_.clear();
    if (depth_ == 0 && (rest[0] == ';' || rest[0] == '}')) is_extern_c_ = false, pending_.clear();
    Copy(1);
  }

  void Copy(size_t count) {
    result_.text += source_.substr(at_, count);
    at_ += count;
  }

  size_t EndOfLiteral(size_t at) const {
    char quote = source_[at];
    for (++at; at < source_.size() && source_[at] != quote; ++at)
      if (source_[at] == '\\') ++at;
    return std::min(at + 1, source_.size());
  }

  // After the parenthesis that closes the one here.
  size_t EndOfParentheses(size_t at) const {
    int depth = 0;
    for (; at < source_.size(); ++at) {
      if (source_[at] == '"') at = EndOfLiteral(at) - 1;
      if (source_[at] == '(') ++depth;
      if (source_[at] == ')' && --depth == 0) return at + 1;
    }
    return at;
  }

  size_t SkipSpace(size_t at) const {
    while (at < source_.size() && std::isspace(static_cast<unsigned char>(source_[at]))) ++at;
    return at;
  }

  std::string WordAt(size_t at) const {
    size_t end = at;
    while (end < source_.size() && IsWord(source_[end])) ++end;
    return source_.substr(at, end - at);
  }

  void Error(const std::string& what) {
    auto line =
        1 + std::count(source_.begin(), source_.begin() + static_cast<ptrdiff_t>(at_), '\n');
    result_.errors += file_ + "(" + std::to_string(line) + "): error: " + what + "\n";
  }

  // Puts `text` in the place of the source up to `end`, on as many lines.
  void Replace(size_t end, const std::string& text) {
    auto begin = source_.begin();
    auto lines =
        std::count(begin + static_cast<ptrdiff_t>(at_), begin + static_cast<ptrdiff_t>(end), '\n');
    result_.text += text + std::string(static_cast<size_t>(lines), '\n');
    at_ = end;
  }

  void Directive() {
    size_t end = std::min(source_.find('\n', at_), source_.size());
    std::string line = source_.substr(at_, end - at_);
    if (line.find("include") != std::string::npos) Error("cannot open source file: " + line);
    Copy(end - at_);
  }

  void Word() {
    std::string word = WordAt(at_);
    if (word == "extern") return Extern();
    if (word == "__global__") return Kernel();
    if (word == "__shared__")
      return Replace(at_ + word.size(),
                     "TERN_SHARED(" + (kernel_.empty() ? "device" : kernel_) + ")");
    if (word == "asm" || word == "__asm__" || word == "__asm") return Asm();
    Copy(word.size());
  }

  void Extern() {
    size_t next = SkipSpace(at_ + 6);
    if (source_.compare(next, 3, "\"C\"") == 0) is_extern_c_ = true;
    if (WordAt(next) != "__shared__") return Copy(next - at_);
    size_t end = source_.find(';', next);
    if (end == std::string::npos || depth_ == 0) {
      Error("dynamic shared memory is declared inside of a function here");
      return Copy(next - at_);
    }
    // Type, alignment and name, then brackets.
    std::string declaration = source_.substr(next + 10, end - next - 10);
    for (const char* word : {"__align__", "alignas"})
      if (size_t from = declaration.find(word); from != std::string::npos)
        declaration.erase(from, declaration.find(')', from) + 1 - from);
    size_t bracket = declaration.find('['), name_end = bracket;
    while (name_end > 0 && !IsWord(declaration[name_end - 1])) --name_end;
    size_t name = name_end;
    while (name > 0 && IsWord(declaration[name - 1])) --name;
    std::string type = declaration.substr(0, name);
    Replace(end, type + "* const " + declaration.substr(name, name_end - name) + " = static_cast<" +
                     type + "*>(tern_standin::host.dynamic_shared())");
  }

  // __global__ void __launch_bounds__(64) name(
  void Kernel() {
    std::string name, max_threads = "0";
    size_t at = at_;
    while (at < source_.size()) {
      at = SkipSpace(at);
      std::string word = WordAt(at);
      if (word.empty()) break;
      at = SkipSpace(at + word.size());
      if (word == "__launch_bounds__") {
        size_t end = EndOfParentheses(at);
        max_threads = source_.substr(at + 1, end - at - 2);
        max_threads = max_threads.substr(0, max_threads.find(','));
        at = end;
      } else {
        name = word;
      }
    }
    if (at >= source_.size() || source_[at] != '(')
      Error("expected the parameters of a __global__ function");
    pending_ = name;
    auto is_same = [&](const KernelHead& head) { return head.name == name; };
    if (is_extern_c_ && std::none_of(result_.kernels.begin(), result_.kernels.end(), is_same))
      result_.kernels.push_back({name, max_threads});
    Copy(at - at_);
  }

  void Asm() {
    size_t at = SkipSpace(at_ + WordAt(at_).size());
    for (std::string word = WordAt(at); word == "volatile" || word == "__volatile__";
         word = WordAt(at))
      at = SkipSpace(at + word.size());
    size_t end = EndOfParentheses(at);
    AsmStatement statement =
        RewriteAsm(std::string_view(source_).substr(at + 1, end - at - 2), instructions_);
    if (!statement.error.empty()) Error(statement.error);
    Replace(end, statement.text);
  }

  const std::string& source_;
  const std::string& file_;
  const std::set<std::string>& instructions_;
  size_t at_ = 0;
  int depth_ = 0;
  bool is_extern_c_ = false;
  std::string pending_, kernel_;  // whose body comes next, and whose this is
  Rewritten result_;
};

}  // namespace

Rewritten Rewrite(const std::string& source, const std::string& file,
                  const std::set<std::string>& instructions) {
  return Rewriter(source, file, instructions).Run();
}

}  // namespace tern::backend::cuda::standin
