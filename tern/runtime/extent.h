// SPDX-License-Identifier: Apache-2.0
//
// Extents of shapes as text: "128", "n", "(n + 1) // 2 * m".
#ifndef TERN_RUNTIME_EXTENT_H_
#define TERN_RUNTIME_EXTENT_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tern::runtime {

// Whether the text is a symbol alone, whose value the extent of a given tensor tells.
bool IsSymbol(std::string_view text);
// The symbols in the text, in order of appearance.
std::vector<std::string> SymbolsOf(std::string_view text);
// Integers, symbols, + - * // %, a minus sign, parentheses, min(a, b) and max(a, b); // and % round
// down. Throws on other text, on a symbol without a value, on division by zero and on overflow.
int64_t EvaluateExtent(std::string_view text, const std::map<std::string, int64_t>& values);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_EXTENT_H_
