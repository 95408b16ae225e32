// SPDX-License-Identifier: Apache-2.0
//
// float8_e4m3fn and float8_e5m2 by their bits, rounded to nearest even. e5m2 is the upper half of a
// float16. e4m3fn has no infinity: what is beyond its largest number, 448, becomes NaN. The fnuz
// types have no infinity and no negative zero, whose bits are their only NaN, and an exponent bias
// that is larger by 1.
#ifndef TERN_FFI_FLOAT8_H_
#define TERN_FFI_FLOAT8_H_

#include "tern/ffi/float16.h"

namespace tern {

inline float Float8E5M2ToFloat(uint8_t bits) {
  return HalfToFloat(static_cast<uint16_t>(bits << 8));
}

inline uint8_t FloatToFloat8E5M2(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint8_t sign = static_cast<uint8_t>((bits >> 24) & 0x80);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e;
  if (magnitude >= 0x47700000) return sign | 0x7c;  // 61440 and up round to infinity
  if (magnitude < 0x38800000) {  // below 2^-14: adding 2^7 leaves multiples of 2^-16
    float shifted = std::bit_cast<float>(magnitude) + 0x1p7f;
    return sign | static_cast<uint8_t>(std::bit_cast<uint32_t>(shifted) - 0x43000000);
  }
  uint32_t rounded = magnitude + 0xfffff + ((magnitude >> 21) & 1) - (uint32_t{112} << 23);
  return sign | static_cast<uint8_t>(rounded >> 21);
}

inline float Float8E4M3FNToFloat(uint8_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24, magnitude = bits & 0x7f;
  if (magnitude == 0x7f) return std::bit_cast<float>(sign | 0x7fc00000);
  float value = magnitude < 8 ? static_cast<float>(magnitude) * 0x1p-9f
                              : std::bit_cast<float>((magnitude << 20) + (uint32_t{120} << 23));
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

inline uint8_t FloatToFloat8E4M3FN(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint8_t sign = static_cast<uint8_t>((bits >> 24) & 0x80);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x43e80000) return sign | 0x7f;  // 464, between 448 and 480, is the last to fit
  if (magnitude < 0x3c800000) {  // below 2^-6: adding 2^14 leaves multiples of 2^-9
    float shifted = std::bit_cast<float>(magnitude) + 0x1p14f;
    return sign | static_cast<uint8_t>(std::bit_cast<uint32_t>(shifted) - 0x46800000);
  }
  uint32_t rounded = magnitude + 0x7ffff + ((magnitude >> 20) & 1) - (uint32_t{120} << 23);
  return sign | static_cast<uint8_t>(rounded >> 20);
}

inline constexpr int kE4M3Mantissa = 3, kE5M2Mantissa = 2;
inline constexpr uint8_t kFnuzNaN = 0x80;

// Half of what the bits mean with the usual bias, which the larger one makes of them.
template <int kMantissa>
float Float8FnuzToFloat(uint8_t bits) {
  if (bits == kFnuzNaN) return std::bit_cast<float>(0x7fc00000);
  constexpr int kBias = 1 << (6 - kMantissa);
  constexpr uint32_t kOne = uint32_t{1} << kMantissa;
  uint32_t sign = static_cast<uint32_t>(bits & 0x80) << 24, magnitude = bits & 0x7f;
  // The smallest number, 2^(1 - bias - mantissa), as a float.
  constexpr float kSmallest =
      std::bit_cast<float>(static_cast<uint32_t>(127 + 1 - kBias - kMantissa) << 23);
  float value = magnitude < kOne ? static_cast<float>(magnitude) * kSmallest
                                 : std::bit_cast<float>((magnitude << (23 - kMantissa)) +
                                                        (static_cast<uint32_t>(127 - kBias) << 23));
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

template <int kMantissa>
uint8_t FloatToFloat8Fnuz(float value) {
  constexpr int kBias = 1 << (6 - kMantissa);
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint8_t sign = static_cast<uint8_t>((bits >> 24) & 0x80);
  uint32_t magnitude = bits & 0x7fffffff, result;
  if (magnitude >= 0x7f800000) return kFnuzNaN;
  if (magnitude < static_cast<uint32_t>(127 + 1 - kBias) << 23) {
    // Below the smallest normal: adding 2^23 of the smallest number leaves multiples of it.
    constexpr uint32_t kShift = static_cast<uint32_t>(127 + 1 - kBias - kMantissa + 23) << 23;
    result =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kShift)) -
        kShift;
  } else {
    constexpr int kDrop = 23 - kMantissa;
    uint32_t half = (uint32_t{1} << (kDrop - 1)) - 1 + ((magnitude >> kDrop) & 1);
    result = (magnitude + half - (static_cast<uint32_t>(127 - kBias) << 23)) >> kDrop;
  }
  if (result > 0x7f) return kFnuzNaN;
  return result == 0 ? uint8_t{0} : static_cast<uint8_t>(sign | result);
}

}  // namespace tern

#endif  // TERN_FFI_FLOAT8_H_
