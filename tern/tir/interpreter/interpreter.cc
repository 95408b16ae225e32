// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/interpreter.h"

#include "tern/ir/deep_stack.h"
#include "tern/tir/interpreter/machine.h"

namespace tern::tir {

void Interpret(const ir::IRModule& module, const std::string& function,
               const std::vector<ffi::Any>& args) {
  ir::OnDeepStack([&] { Machine(module).Call(function, args); });
}

}  // namespace tern::tir
