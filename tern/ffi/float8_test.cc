// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/float8.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tern {
namespace {

TEST(Float8, EveryValueRoundTrips) {
  for (uint32_t i = 0; i < 0x100; ++i) {
    auto bits = static_cast<uint8_t>(i);
    float e4m3 = Float8E4M3FNToFloat(bits), e5m2 = Float8E5M2ToFloat(bits);
    if (std::isnan(e4m3))
      EXPECT_EQ(bits & 0x7f, 0x7f);
    else
      EXPECT_EQ(FloatToFloat8E4M3FN(e4m3), bits);
    if (std::isnan(e5m2))
      EXPECT_TRUE(std::isnan(Float8E5M2ToFloat(FloatToFloat8E5M2(e5m2))));
    else
      EXPECT_EQ(FloatToFloat8E5M2(e5m2), bits);
  }
}

TEST(Float8, KnownValues) {
  EXPECT_EQ(Float8E4M3FNToFloat(0x38), 1.0f);
  EXPECT_EQ(Float8E4M3FNToFloat(0x7e), 448.0f);
  EXPECT_EQ(Float8E4M3FNToFloat(0x01), 0x1p-9f);
  EXPECT_EQ(Float8E4M3FNToFloat(0x88), -0x1p-6f);
  EXPECT_EQ(Float8E5M2ToFloat(0x3c), 1.0f);
  EXPECT_EQ(Float8E5M2ToFloat(0x7b), 57344.0f);
  EXPECT_EQ(Float8E5M2ToFloat(0x01), 0x1p-16f);
  EXPECT_EQ(Float8E5M2ToFloat(0xfc), -INFINITY);
}

TEST(Float8, RoundsToNearestEven) {
  EXPECT_EQ(FloatToFloat8E4M3FN(1.0625f), 0x38);  // tie, down to even
  EXPECT_EQ(FloatToFloat8E4M3FN(1.1875f), 0x3a);  // tie, up to even
  EXPECT_EQ(FloatToFloat8E4M3FN(0x1p-10f), 0);    // tie with zero
  EXPECT_EQ(FloatToFloat8E4M3FN(-0x1.8p-10f), 0x81);
  EXPECT_EQ(FloatToFloat8E5M2(1.125f), 0x3c);
  EXPECT_EQ(FloatToFloat8E5M2(1.375f), 0x3e);
  EXPECT_EQ(FloatToFloat8E5M2(0x1p-17f), 0);
}

TEST(Float8, Overflows) {
  EXPECT_EQ(FloatToFloat8E4M3FN(464.0f), 0x7e);  // a tie with what would be the next number
  EXPECT_EQ(FloatToFloat8E4M3FN(std::nextafter(464.0f, 500.0f)), 0x7f);
  EXPECT_EQ(FloatToFloat8E4M3FN(-INFINITY), 0xff);
  EXPECT_EQ(FloatToFloat8E5M2(61439.0f), 0x7b);
  EXPECT_EQ(FloatToFloat8E5M2(61440.0f), 0x7c);
  EXPECT_EQ(FloatToFloat8E5M2(-1e30f), 0xfc);
}

TEST(Float8, FnuzValuesRoundTrip) {
  for (uint32_t i = 0; i < 0x100; ++i) {
    auto bits = static_cast<uint8_t>(i);
    float e4m3 = Float8FnuzToFloat<kE4M3Mantissa>(bits),
          e5m2 = Float8FnuzToFloat<kE5M2Mantissa>(bits);
    EXPECT_EQ(FloatToFloat8Fnuz<kE4M3Mantissa>(e4m3), bits);
    EXPECT_EQ(FloatToFloat8Fnuz<kE5M2Mantissa>(e5m2), bits);
    EXPECT_EQ(std::isnan(e4m3), bits == 0x80);
    EXPECT_EQ(std::isnan(e5m2), bits == 0x80);
    // Half of what the same bits mean in the other types, where these have a number.
    if (bits == 0x80) continue;
    float fn = Float8E4M3FNToFloat(bits), ieee = Float8E5M2ToFloat(bits);
    EXPECT_TRUE(std::isnan(fn) || e4m3 == fn / 2);
    EXPECT_TRUE(!std::isfinite(ieee) || e5m2 == ieee / 2);
  }
}

TEST(Float8, FnuzRoundsAndOverflows) {
  EXPECT_EQ(Float8FnuzToFloat<kE4M3Mantissa>(0x7f), 240.0f);
  EXPECT_EQ(Float8FnuzToFloat<kE5M2Mantissa>(0x7f), 57344.0f);
  EXPECT_EQ(FloatToFloat8Fnuz<kE4M3Mantissa>(247.9f), 0x7f);
  EXPECT_EQ(FloatToFloat8Fnuz<kE4M3Mantissa>(248.0f), 0x80);  // a tie, to what is no number
  EXPECT_EQ(FloatToFloat8Fnuz<kE4M3Mantissa>(-1e30f), 0x80);
  EXPECT_EQ(FloatToFloat8Fnuz<kE5M2Mantissa>(INFINITY), 0x80);
  EXPECT_EQ(FloatToFloat8Fnuz<kE4M3Mantissa>(-0.0f), 0);
  EXPECT_EQ(FloatToFloat8Fnuz<kE4M3Mantissa>(-0x1p-11f), 0);  // a tie with zero
  EXPECT_EQ(FloatToFloat8Fnuz<kE4M3Mantissa>(-0x1.8p-11f), 0x81);
  EXPECT_EQ(FloatToFloat8Fnuz<kE5M2Mantissa>(1.125f), FloatToFloat8Fnuz<kE5M2Mantissa>(1.0f));
}

}  // namespace
}  // namespace tern
