// SPDX-License-Identifier: Apache-2.0
//
// A kernel as it was read from a blob: checked, so that the machine need not.
#ifndef EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_KERNEL_H_
#define EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_KERNEL_H_

#include <string>
#include <string_view>
#include <vector>

#include "bytecode.h"

namespace emu {

struct Kernel {
  std::string name;
  std::vector<Type> params;
  std::vector<Instruction> code;
  uint32_t num_registers = 0, local_bytes = 0, shared_bytes = 0;
};

// Throws on bytes that no code generator made: every register, type, op and jump is checked.
Kernel ReadKernel(std::string name, std::string_view blob);

}  // namespace emu

#endif  // EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_KERNEL_H_
