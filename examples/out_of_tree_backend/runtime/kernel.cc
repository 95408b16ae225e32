// SPDX-License-Identifier: Apache-2.0
#include "runtime/kernel.h"

#include <cstring>

#include "tern/ffi/error.h"

namespace emu {
namespace {

bool IsSound(const Instruction& instruction, const Header& header) {
  if (static_cast<int>(instruction.op) >= kNumOps ||
      static_cast<int>(instruction.type) >= kNumTypes ||
      static_cast<int>(instruction.to) >= kNumTypes)
    return false;
  for (const char* operand = kOperands[static_cast<int>(instruction.op)]; *operand; ++operand) {
    bool sound = *operand == 'd'   ? instruction.d < header.num_registers
                 : *operand == 'a' ? instruction.a < header.num_registers
                 : *operand == 'b' ? instruction.b < header.num_registers
                 : *operand == 'c' ? instruction.c < header.num_registers
                 : *operand == 't' ? instruction.d < header.num_instructions
                                   : true;
    if (!sound) return false;
  }
  return instruction.op != Op::kIndex || instruction.immediate() < 6;
}

}  // namespace

Kernel ReadKernel(std::string name, std::string_view blob) {
  auto check = [&](bool sound) {
    TERN_CHECK(sound) << "kernel " << name << " is not code for emu, or was damaged";
  };
  Header header;
  check(blob.size() >= sizeof header);
  std::memcpy(&header, blob.data(), sizeof header);
  check(header.magic == kMagic && header.num_params <= header.num_registers &&
        header.num_params <= 4096 && header.num_registers <= 1 << 24);
  uint64_t code_at = (sizeof header + header.num_params + uint64_t{15}) / 16 * 16;
  check(blob.size() == code_at + uint64_t{header.num_instructions} * sizeof(Instruction));
  Kernel kernel{.name = name,
                .num_registers = header.num_registers,
                .local_bytes = header.local_bytes,
                .shared_bytes = header.shared_bytes};
  kernel.params.resize(header.num_params);
  std::memcpy(kernel.params.data(), blob.data() + sizeof header, header.num_params);
  for (Type type : kernel.params) check(static_cast<int>(type) < kNumTypes);
  kernel.code.resize(header.num_instructions);
  if (!kernel.code.empty())
    std::memcpy(kernel.code.data(), blob.data() + code_at, blob.size() - code_at);
  for (const Instruction& instruction : kernel.code) check(IsSound(instruction, header));
  check(!kernel.code.empty() && kernel.code.back().op == Op::kHalt);
  return kernel;
}

}  // namespace emu
