// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/codegen/spirv_builder.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tern/backend/vulkan/codegen/disassemble.h"

namespace tern::backend::vulkan {
namespace {

using spirv::Capability;
using spirv::Op;

std::string Text(SpirvBuilder& builder) {
  SpirvBuilder::Words words = builder.Finish("main");
  std::string bytes(words.size() * 4, '\0');
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return Disassemble(bytes);
}

// What remains of the text behind "part", or "" where there is none.
bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

SpirvBuilder WithEntry() {
  SpirvBuilder builder;
  builder.BeginBlock(builder.NewId());
  return builder;
}

TEST(SpirvBuilderTest, TypesAndConstantsAreThereOnce) {
  SpirvBuilder builder = WithEntry();
  EXPECT_EQ(builder.Int(32), builder.Int(32));
  EXPECT_NE(builder.Int(32), builder.Int(64));
  EXPECT_EQ(builder.Constant(32, 7), builder.Constant(32, 7));
  EXPECT_NE(builder.Constant(32, 7), builder.Constant(64, 7));
  EXPECT_EQ(builder.Array(builder.Float(32), 4), builder.Array(builder.Float(32), 4));
  EXPECT_EQ(builder.BufferBlock(builder.Float(32), 4), builder.BufferBlock(builder.Float(32), 4));
  EXPECT_NE(builder.BufferBlock(builder.Float(32), 4),
            builder.BufferBlock(builder.Float(32), 4, true));
  // The same bits of another type are another constant.
  EXPECT_NE(builder.Constant(32, 0), builder.ConstantFloat(32, 0));
  // Blocks with members at other places are others.
  Id word = builder.Int(32);
  EXPECT_NE(builder.Block({word, word}, {0, 4}), builder.Block({word, word}, {0, 8}));
}

TEST(SpirvBuilderTest, CapabilitiesAreThoseThatAreUsed) {
  SpirvBuilder plain = WithEntry();
  plain.Int(32);
  plain.Float(32);
  plain.EmitVoid(Op::kReturn, {});
  std::string text = Text(plain);
  EXPECT_EQ(text.find("OpCapability"), text.rfind("OpCapability")) << text;
  EXPECT_TRUE(Has(text, "OpCapability Shader")) << text;
  EXPECT_FALSE(Has(text, "OpExtension")) << text;
  EXPECT_FALSE(Has(text, "GLSL.std.450")) << text;

  SpirvBuilder wide = WithEntry();
  wide.Int(64);
  wide.Float(64);
  wide.Require(Capability::kStorageBuffer8BitAccess);
  wide.Require(Capability::kGroupNonUniformShuffle);
  wide.EmitVoid(Op::kReturn, {});
  text = Text(wide);
  for (const char* capability : {"Int64", "Float64", "StorageBuffer8BitAccess", "GroupNonUniform\n",
                                 "GroupNonUniformShuffle"})
    EXPECT_TRUE(Has(text, std::string("OpCapability ") + capability)) << text;
  EXPECT_TRUE(Has(text, "OpExtension \"SPV_KHR_8bit_storage\"")) << text;
}

TEST(SpirvBuilderTest, VariablesOfAFunctionStandAtItsBegin) {
  SpirvBuilder builder = WithEntry();
  Id next = builder.NewId();
  builder.EmitVoid(Op::kBranch, {next});
  builder.BeginBlock(next);
  Id array = builder.LocalVariable(builder.Array(builder.Float(32), 4));
  builder.Name(array, "tile");
  builder.EmitVoid(Op::kReturn, {});
  std::string text = Text(builder);
  EXPECT_LT(text.find("%tile = OpVariable"), text.find("OpBranch")) << text;
}

TEST(SpirvBuilderTest, NamesOfAnyLengthEndWithAZero) {
  for (const char* name : {"a", "abc", "abcd", "abcdefgh"}) {
    SpirvBuilder builder = WithEntry();
    builder.EmitVoid(Op::kReturn, {});
    SpirvBuilder::Words words = builder.Finish(name);
    std::string bytes(words.size() * 4, '\0');
    std::memcpy(bytes.data(), words.data(), bytes.size());
    EXPECT_TRUE(Has(Disassemble(bytes), "\"" + std::string(name) + "\"")) << name;
  }
}

}  // namespace
}  // namespace tern::backend::vulkan
