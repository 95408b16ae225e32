// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/span.h"

namespace tern::ir {

std::string Source::Line(int line) const {
  size_t begin = 0;
  for (int i = 1; i < line; ++i) {
    begin = text.find('\n', begin);
    if (begin == std::string::npos) return "";
    ++begin;
  }
  return text.substr(begin, text.find('\n', begin) - begin);
}

std::string Span::str() const {
  if (!source) return "generated code";
  return source->name + ":" + std::to_string(line) + ":" + std::to_string(column);
}

}  // namespace tern::ir
