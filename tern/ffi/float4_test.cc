// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/float4.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tern {
namespace {

TEST(Float4, EveryValueRoundTrips) {
  for (uint8_t bits = 0; bits < 16; ++bits)
    EXPECT_EQ(FloatToFloat4E2M1FN(Float4E2M1FNToFloat(bits)), bits);
  EXPECT_EQ(Float4E2M1FNToFloat(5), 3.0f);
  EXPECT_EQ(Float4E2M1FNToFloat(0xf), -6.0f);
}

TEST(Float4, RoundsToNearestEven) {
  for (uint8_t bits = 0; bits < 7; ++bits) {
    float low = Float4E2M1FNToFloat(bits), high = Float4E2M1FNToFloat(bits + 1);
    float middle = (low + high) / 2;
    EXPECT_EQ(FloatToFloat4E2M1FN(middle), bits + bits % 2) << middle;
    EXPECT_EQ(FloatToFloat4E2M1FN(-middle), 8 | (bits + bits % 2)) << middle;
    EXPECT_EQ(FloatToFloat4E2M1FN(std::nextafter(middle, 0.0f)), bits) << middle;
    EXPECT_EQ(FloatToFloat4E2M1FN(std::nextafter(middle, 9.0f)), bits + 1) << middle;
  }
}

TEST(Float4, SaturatesAndHasNoNaN) {
  EXPECT_EQ(FloatToFloat4E2M1FN(1e30f), 7);
  EXPECT_EQ(FloatToFloat4E2M1FN(-INFINITY), 0xf);
  EXPECT_EQ(FloatToFloat4E2M1FN(NAN), 0);
}

}  // namespace
}  // namespace tern
