// SPDX-License-Identifier: Apache-2.0
//
// The kinds of functions that a module can hold: PrimFuncs, external kernels, and those that other
// libraries register, as a graph of operators is one.
#ifndef TERN_TIR_FUNCTION_KIND_H_
#define TERN_TIR_FUNCTION_KIND_H_

#include <functional>
#include <string>
#include <string_view>

#include "tern/ir/diagnostic.h"
#include "tern/tir/expr_parser.h"

namespace tern::tir {

// What modules need of a class derived from ir::BaseFuncNode. Passes over PrimFuncs leave functions
// of other kinds as they are; Compile takes PrimFuncs and external kernels alone.
struct FunctionKind {
  int32_t type_index = 0;   // of the class
  std::string description;  // for messages: "a function", "a kernel"
  // What its text form starts with, as in `func f(...)`; a name follows. No reserved word.
  std::string keyword;
  // Reads it, from the keyword on.
  std::function<ir::BaseFunc(ExprParser&)> parse;
  // The text form, with a line break at its end. It parses back to an equal function.
  std::function<std::string(const ir::BaseFunc&)> print;
  // Reports what is not well formed.
  std::function<void(const ir::BaseFunc&, const ir::IRModule&, ir::Diagnostics*)> verify;
  // Whether two of the kind are the same up to the names of what they define. Equal ones have one
  // hash, in every process.
  std::function<bool(const ir::BaseFunc&, const ir::BaseFunc&)> equal;
  std::function<uint64_t(const ir::BaseFunc&)> hash;
};

// Throws where the class or the keyword is registered already.
void RegisterFunctionKind(FunctionKind kind);
// Throws where the function's class is not registered.
const FunctionKind& FunctionKindOf(const ir::BaseFunc& function);
// The kind whose text starts with the word, or null. PrimFuncs and kernels are the parser's own.
const FunctionKind* FindFunctionKind(std::string_view keyword);

}  // namespace tern::tir

#endif  // TERN_TIR_FUNCTION_KIND_H_
