// SPDX-License-Identifier: Apache-2.0
#include "codegen/codegen_emu.h"

namespace emu {
namespace {

constexpr const char* kOpNames[] = {
#define EMU_OP(name, operands) #name,
    EMU_OPS(EMU_OP)
#undef EMU_OP
};
constexpr const char* kTypeNames[] = {
#define EMU_TYPE(name, type) #name,
    EMU_TYPES(EMU_TYPE)
#undef EMU_TYPE
};

std::string Operand(const Instruction& instruction, char operand) {
  switch (operand) {
    case 'd':
      return "r" + std::to_string(instruction.d);
    case 'a':
      return "r" + std::to_string(instruction.a);
    case 'b':
      return "r" + std::to_string(instruction.b);
    case 'c':
      return "r" + std::to_string(instruction.c);
    case 't':
      return "@" + std::to_string(instruction.d);
    default:
      return std::to_string(instruction.immediate());
  }
}

}  // namespace

std::string Disassemble(const std::vector<Instruction>& code) {
  std::string text;
  for (size_t i = 0; i < code.size(); ++i) {
    const Instruction& instruction = code[i];
    auto op = static_cast<int>(instruction.op);
    std::string place = std::to_string(i);
    text += std::string(5 - std::min<size_t>(place.size(), 4), ' ') + place + "  " + kOpNames[op] +
            "." + kTypeNames[static_cast<int>(instruction.type)];
    if (instruction.op == Op::kCast || instruction.op == Op::kReinterpret)
      text += std::string(".") + kTypeNames[static_cast<int>(instruction.to)];
    const char* separator = " ";
    for (const char* operand = kOperands[op]; *operand; ++operand) {
      text += separator + Operand(instruction, *operand);
      separator = ", ";
    }
    text += "\n";
  }
  return text;
}

}  // namespace emu
