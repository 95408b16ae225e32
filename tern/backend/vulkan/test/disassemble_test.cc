// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/vulkan/codegen/disassemble.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tern/backend/vulkan/common/spirv.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::backend::vulkan {
namespace {

using runtime::ErrorOf;

std::string Bytes(const std::vector<uint32_t>& words) {
  std::string bytes(words.size() * 4, '\0');
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

TEST(DisassembleTest, ConstantsAreShownByTheirTypes) {
  std::string text = Disassemble(Bytes({spirv::kMagic,
                                        spirv::kVersion,
                                        0,
                                        9,
                                        0,  //
                                        4 << 16 | 21,
                                        1,
                                        32,
                                        0,  // TypeInt
                                        3 << 16 | 22,
                                        2,
                                        32,  // TypeFloat
                                        4 << 16 | 43,
                                        1,
                                        3,
                                        0x3f800000,  //
                                        4 << 16 | 43,
                                        2,
                                        4,
                                        0x3f800000,  //
                                        3 << 16 | 22,
                                        5,
                                        64,  //
                                        5 << 16 | 43,
                                        5,
                                        6,
                                        0,
                                        0xbff80000}));
  EXPECT_EQ(text,
            "; SPIR-V 1.3, bound 9\n"
            "               %1 = OpTypeInt 32 0\n"
            "               %2 = OpTypeFloat 32\n"
            "               %3 = OpConstant %1 1065353216\n"
            "               %4 = OpConstant %2 0x1p+0\n"
            "               %5 = OpTypeFloat 64\n"
            "               %6 = OpConstant %5 -0x1.8p+0\n");
}

TEST(DisassembleTest, WhatIsNotFiniteIsInTheSyntaxOfTheAssembler) {
  std::string text = Disassemble(Bytes({spirv::kMagic, spirv::kVersion, 0, 9, 0,  //
                                        3 << 16 | 22, 2, 32,                      //
                                        4 << 16 | 43, 2, 4, 0xff800000,           //
                                        4 << 16 | 43, 2, 5, 0x7fc00000}));
  EXPECT_NE(text.find("%4 = OpConstant %2 -0x1.000000p+128\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%5 = OpConstant %2 0x1.800000p+128\n"), std::string::npos) << text;
}

TEST(DisassembleTest, WhatIsNotKnownIsShownByNumbers) {
  std::string text = Disassemble(Bytes({spirv::kMagic, spirv::kVersion, 0, 9, 0,  //
                                        3 << 16 | 4000, 7, 8,                     //
                                        2 << 16 | 17, 4000}));
  EXPECT_EQ(text,
            "; SPIR-V 1.3, bound 9\n; instruction 4000 7 8\n"
            "                    OpCapability 4000\n");
}

TEST(DisassembleTest, BytesThatAreNoModuleAreRefused) {
  EXPECT_EQ(ErrorOf([] { Disassemble("abc"); }),
            "a SPIR-V module is words of 4 bytes, 5 at least; these are 3 bytes");
  EXPECT_EQ(ErrorOf([] { Disassemble(Bytes({1, 2, 3, 4, 5})); }),
            "no SPIR-V module: it begins with 0x1, not 0x7230203");
  EXPECT_EQ(ErrorOf([] { Disassemble(Bytes({spirv::kMagic, 2, 3, 4, 5, 9 << 16 | 17})); }),
            "the instruction at word 5 has 9 words; the module has 6");
}

}  // namespace
}  // namespace tern::backend::vulkan
