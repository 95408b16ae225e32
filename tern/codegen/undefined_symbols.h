// SPDX-License-Identifier: Apache-2.0
//
// What host code may leave to the process that loads it.
#ifndef TERN_CODEGEN_UNDEFINED_SYMBOLS_H_
#define TERN_CODEGEN_UNDEFINED_SYMBOLS_H_

#include <string>
#include <string_view>
#include <vector>

#include "tern/ir/module.h"

namespace tern::codegen {

// A call of a C function by its name (call_extern).
struct ExternCall {
  std::string symbol, function;  // what is called, and by whom
  ir::Span span;
};
std::vector<ExternCall> FindExternCalls(const ir::IRModule& module);

// Throws, with the caller and its place, where one calls what is not among the symbols that the
// process has: memcpy, memmove, memset, dlopen and dlsym.
void CheckExternCalls(const std::vector<ExternCall>& calls);

// The symbols that an ELF shared object asks the dynamic linker for.
std::vector<std::string> UndefinedSymbols(std::string_view shared_object);

// Throws with the names of those that are not memcpy, memmove, memset, dlopen or dlsym.
void CheckUndefinedSymbols(std::string_view shared_object);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_UNDEFINED_SYMBOLS_H_
