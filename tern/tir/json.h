// SPDX-License-Identifier: Apache-2.0
//
// The IR as JSON, for tools and other languages: every node with its kind, its fields by name, and
// of expressions the type. docs/tir.md describes it. It is written, not read: the text form
// (text.h) is the one that comes back.
#ifndef TERN_TIR_JSON_H_
#define TERN_TIR_JSON_H_

#include <string>

#include "tern/ir/module.h"

namespace tern::tir {

std::string ModuleToJson(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_JSON_H_
