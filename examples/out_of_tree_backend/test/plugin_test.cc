// SPDX-License-Identifier: Apache-2.0
//
// The plugin through the runtime: the tests that every plugin passes, on a kernel by hand.
#include <cstring>

#include "bytecode.h"
#include "tern/runtime/test_data/device_plugin_test.h"

namespace tern::runtime {
namespace {

using emu::Op;
using emu::Type;

// Registers: the parameters a, b, c, n and scale, then others.
enum Register : uint32_t { kA, kB, kC, kN, kScale, kBlock, kThread, kThreads, kI, kX, kY, kCount };

std::string VectorAddCode() {
  const std::vector<Type> params = {Type::kU64, Type::kU64, Type::kU64, Type::kI32, Type::kF32};
  const Type i32 = Type::kI32, f32 = Type::kF32;
  const std::vector<emu::Instruction> code = {
      {.op = Op::kIndex, .d = kBlock, .b = 0},
      {.op = Op::kIndex, .d = kThread, .b = 3},
      {.op = Op::kConst, .d = kThreads, .b = 64},  // that the tests launch it with
      {.op = Op::kMul, .type = i32, .d = kI, .a = kBlock, .b = kThreads},
      {.op = Op::kAdd, .type = i32, .d = kI, .a = kI, .b = kThread},
      {.op = Op::kLt, .type = i32, .d = kX, .a = kI, .b = kN},
      {.op = Op::kJumpUnless, .d = 12, .a = kX},
      {.op = Op::kLoad, .type = f32, .d = kX, .a = kA, .b = kI},
      {.op = Op::kLoad, .type = f32, .d = kY, .a = kB, .b = kI},
      {.op = Op::kAdd, .type = f32, .d = kX, .a = kX, .b = kY},
      {.op = Op::kMul, .type = f32, .d = kX, .a = kX, .b = kScale},
      {.op = Op::kStore, .type = f32, .a = kC, .b = kI, .c = kX},
      {.op = Op::kHalt},
  };
  const emu::Header header = {.magic = emu::kMagic,
                              .num_params = static_cast<uint32_t>(params.size()),
                              .num_registers = kCount,
                              .num_instructions = static_cast<uint32_t>(code.size())};
  std::string blob(reinterpret_cast<const char*>(&header), sizeof header);
  blob.append(reinterpret_cast<const char*>(params.data()), params.size());
  blob.resize((blob.size() + 15) / 16 * 16);
  return blob.append(reinterpret_cast<const char*>(code.data()), code.size() * sizeof code[0]);
}

struct Emu {
  static constexpr const char* kKind = "emu";
  static void Open() { setenv("TERN_BACKEND_PATH", EMU_DIRECTORY, 1); }
  static std::string WhyNot() { return ""; }
  static DeviceArtifact VectorAdd() {
    DeviceArtifact artifact{.kind = kKind, .fmt = "emu"};
    artifact.fmap["vector_add"] = VectorAddInfo();
    artifact.payload["vector_add"] = VectorAddCode();
    return artifact;
  }
};
INSTANTIATE_TYPED_TEST_SUITE_P(Emu, DevicePluginTest, Emu);

}  // namespace
}  // namespace tern::runtime
