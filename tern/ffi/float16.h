// SPDX-License-Identifier: Apache-2.0
//
// float16 and bfloat16 by their bits, rounded to nearest even. NaN stays NaN.
#ifndef TERN_FFI_FLOAT16_H_
#define TERN_FFI_FLOAT16_H_

#include <bit>
#include <cstdint>

namespace tern {

inline float Bfloat16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t FloatToBfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value)
    return static_cast<uint16_t>((bits >> 16) | 0x40);  // quiet, whatever the payload
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

inline float HalfToFloat(uint16_t half) {
  uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  uint32_t exponent = (half >> 10) & 0x1f, mantissa = half & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000 | (mantissa << 13));
  if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24, exact in float
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

inline uint16_t FloatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  if (magnitude >= 0x477ff000) return sign | 0x7c00;  // 65520 and up round to infinity
  if (magnitude < 0x38800000) {
    // Below the smallest normal, 2^-14: adding 0.5 leaves multiples of 2^-24 in the low bits,
    // rounded to even.
    float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(shifted) - 0x3f000000);
  }
  uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1) - (uint32_t{112} << 23);
  return sign | static_cast<uint16_t>(rounded >> 13);
}

// `value` as a float that rounds to the same 16-bit float as `value` itself: where it is inexact,
// the one of the two neighbours with an odd last bit. Rounding twice to nearest could end on the
// wrong side of a tie.
inline float RoundToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (nearest == value || value != value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  double magnitude = value < 0 ? -value : value;
  if (std::bit_cast<float>(bits & 0x7fffffff) > magnitude) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1);
}

}  // namespace tern

#endif  // TERN_FFI_FLOAT16_H_
