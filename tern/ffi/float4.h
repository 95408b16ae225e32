// SPDX-License-Identifier: Apache-2.0
//
// float4_e2m1fn by its bits, rounded to nearest even. It holds 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their
// negatives: what is beyond 6 becomes 6, and a NaN becomes 0.
#ifndef TERN_FFI_FLOAT4_H_
#define TERN_FFI_FLOAT4_H_

#include <cmath>
#include <cstdint>

namespace tern {

inline float Float4E2M1FNToFloat(uint8_t bits) {
  constexpr float kValues[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return bits & 8 ? -kValues[bits & 7] : kValues[bits & 7];
}

inline uint8_t FloatToFloat4E2M1FN(float value) {
  if (std::isnan(value)) return 0;
  float magnitude = std::fabs(value);
  // Between two values the one with the even bits has the middle.
  int bits = (magnitude > 0.25f) + (magnitude >= 0.75f) + (magnitude > 1.25f) +
             (magnitude >= 1.75f) + (magnitude > 2.5f) + (magnitude >= 3.5f) + (magnitude > 5.0f);
  return static_cast<uint8_t>(bits | (std::signbit(value) ? 8 : 0));
}

}  // namespace tern

#endif  // TERN_FFI_FLOAT4_H_
