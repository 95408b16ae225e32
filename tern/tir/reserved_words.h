// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_RESERVED_WORDS_H_
#define TERN_TIR_RESERVED_WORDS_H_

#include <string_view>

namespace tern::tir {

// Words of the text form that cannot name a variable or buffer.
inline constexpr std::string_view kReservedWords[] = {
    "alloc",  "assert", "at",      "attrs",   "block", "bind", "buffer",   "else",       "false",
    "for",    "func",   "if",      "in",      "inf",   "init", "let",      "parallel",   "reduce",
    "return", "scope",  "spatial", "strides", "nan",   "true", "unrolled", "vectorized", "while"};

// Those that only stand behind others, and say how a loop runs or what an axis is: functions may
// have these names.
inline constexpr std::string_view kQualifiers[] = {"parallel", "reduce",   "spatial",
                                                   "strides",  "unrolled", "vectorized"};

}  // namespace tern::tir

#endif  // TERN_TIR_RESERVED_WORDS_H_
