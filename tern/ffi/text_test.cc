// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/text.h"

#include <gtest/gtest.h>

namespace tern::ffi {
namespace {

TEST(NearNames, BestFirstThreeAtMost) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(NearNames("flaot", {"int", "float", "string"}), Names{"float"});
  EXPECT_EQ(NearNames("nosuch", {"int", "float"}), Names{});
  EXPECT_EQ(NearNames("abcdef", {"abcdxx", "abcdeg", "abcdef2", "abcxef", "abcdef"}),
            (Names{"abcdef", "abcdef2", "abcdeg"}));
  EXPECT_EQ(NearNames("mat", {"matmul_kernel"}), Names{"matmul_kernel"});
}

TEST(NearNames, Text) {
  EXPECT_EQ(DidYouMean("flaot", {"float", "int"}), " (did you mean float?)");
  EXPECT_EQ(DidYouMean("FLOAT", {"float", "int"}), " (did you mean float?)");
  EXPECT_EQ(DidYouMean("zzz", {"float"}), "");
}

TEST(Text, Lists) {
  EXPECT_EQ(Join({"a", "b"}), "a, b");
  EXPECT_EQ(Join({}), "none");
  EXPECT_EQ(ShapeText({2, 3}), "(2, 3)");
  EXPECT_EQ(ShapeText({}), "()");
}

}  // namespace
}  // namespace tern::ffi
