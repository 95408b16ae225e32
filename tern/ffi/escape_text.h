// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_FFI_ESCAPE_TEXT_H_
#define TERN_FFI_ESCAPE_TEXT_H_

#include <string>
#include <string_view>

namespace tern::ffi {

// Text of a file, to be shown: what would move the cursor, start a line, or turn what follows
// around (control characters, separators of lines, marks of direction) is written as \u000a; what
// is no UTF-8 becomes U+FFFD. Lines and tabs stay where `keep_lines` is set.
std::string Escaped(std::string_view text, bool keep_lines = false);

}  // namespace tern::ffi

#endif  // TERN_FFI_ESCAPE_TEXT_H_
