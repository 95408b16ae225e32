// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_PARSE_UNSAVED_H_
#define TERN_TIR_PARSE_UNSAVED_H_

#include <string>

#include "tern/ir/module.h"

namespace tern::tir {

// As ParseFile, with the text that an editor shows in place of the file's.
ir::IRModule ParseUnsaved(const std::string& path, const std::string& text);
// As ParseFile, with further items behind the file's: instances of its templates.
ir::IRModule ParseFileWith(const std::string& path, const std::string& items);

}  // namespace tern::tir

#endif  // TERN_TIR_PARSE_UNSAVED_H_
