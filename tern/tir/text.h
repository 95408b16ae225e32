// SPDX-License-Identifier: Apache-2.0
//
// The text form of the loop IR. docs/tir.md describes it. Whatever PrintModule writes, ParseModule
// reads back to the same structure.
#ifndef TERN_TIR_TEXT_H_
#define TERN_TIR_TEXT_H_

#include <string>

#include "tern/ir/module.h"
#include "tern/tir/function.h"

namespace tern::tir {

struct ExternKernelNode;

// Throws ParseError with every mistake found, each as "file:line:col: error: ...", its line and a
// caret. Only the text of a file may name files of code, which are found from its directory.
ir::IRModule ParseModule(const std::string& file_name, const std::string& text);
ir::IRModule ParseFile(const std::string& path);

std::string PrintModule(const ir::IRModule& module);
std::string Print(const PrimFunc& function);
std::string Print(const ExternKernelNode& kernel);
std::string Print(const Stmt& stmt);
std::string Print(const Expr& expr);

}  // namespace tern::tir

#endif  // TERN_TIR_TEXT_H_
