// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_IMPORT_FILES_H_
#define TERN_TIR_IMPORT_FILES_H_

#include <string>
#include <vector>

#include "tern/ir/lexer.h"
#include "tern/tir/source_files.h"

namespace tern::tir {

// Whether an item begins at the token: `word`, and a name or a string behind it.
bool IsItemWord(const std::vector<ir::Token>& tokens, size_t at, std::string_view word);
// Where items may begin: tokens outside of all brackets. A line that starts with `func`, whatever
// bracket before it is open, is outside.
std::vector<size_t> OutermostTokens(const std::vector<ir::Token>& tokens);

// The tokens, in which those of the file stand in place of each `import "file"`, once for each
// file. The files are added to `files`. Reports those that cannot be read, and cycles.
std::vector<ir::Token> ImportFiles(std::vector<ir::Token> tokens, SourceFiles* files,
                                   ir::Diagnostics* diagnostics);

}  // namespace tern::tir

#endif  // TERN_TIR_IMPORT_FILES_H_
