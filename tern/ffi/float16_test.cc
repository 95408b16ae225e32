// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tern {
namespace {

TEST(Half, EveryValueRoundTrips) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float value = HalfToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
    } else {
      ASSERT_EQ(FloatToHalf(value), half);
    }
    float wide = Bfloat16ToFloat(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(Bfloat16ToFloat(FloatToBfloat16(wide))));
    } else {
      ASSERT_EQ(FloatToBfloat16(wide), half);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(FloatToHalf(1.0f), 0x3c00);
  EXPECT_EQ(FloatToHalf(1.0f + 0x1p-11f), 0x3c00);      // tie, down to even
  EXPECT_EQ(FloatToHalf(1.0f + 3 * 0x1p-11f), 0x3c02);  // tie, up to even
  EXPECT_EQ(FloatToHalf(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);
  EXPECT_EQ(FloatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalf(0x1p-25f), 0);  // tie with zero
  EXPECT_EQ(FloatToHalf(0x1.8p-25f), 1);
  EXPECT_EQ(FloatToHalf(-0.0f), 0x8000);
  EXPECT_EQ(FloatToBfloat16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(FloatToBfloat16(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(FloatToBfloat16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(Half, RoundsDoublesOnce) {
  // Just above the tie between 1 and the next half: by way of the nearest float it would be the
  // tie, and go down.
  double above = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ(FloatToHalf(static_cast<float>(above)), 0x3c00);
  EXPECT_EQ(FloatToHalf(RoundToOdd(above)), 0x3c01);
  EXPECT_EQ(FloatToHalf(RoundToOdd(-above)), 0xbc01);
  EXPECT_EQ(FloatToHalf(RoundToOdd(1.0 + 0x1p-11)), 0x3c00);
  EXPECT_EQ(FloatToHalf(RoundToOdd(0x1p-25 + 0x1p-70)), 1);
  EXPECT_EQ(FloatToBfloat16(RoundToOdd(1e300)), 0x7f80);
  EXPECT_EQ(FloatToHalf(RoundToOdd(-1e300)), 0xfc00);
  EXPECT_TRUE(std::isnan(RoundToOdd(NAN)));
}

}  // namespace
}  // namespace tern
