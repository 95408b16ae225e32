// SPDX-License-Identifier: Apache-2.0
//
// Element types: DLPack's (code, bits, lanes), with names.
#ifndef TERN_FFI_DTYPE_H_
#define TERN_FFI_DTYPE_H_

#include <optional>
#include <string>
#include <string_view>

#include "tern/ffi/c_abi.h"

namespace tern {

// A scalar type, or a vector of `lanes` of them. Names: bool, int4..int64, uint4..uint64, float16,
// bfloat16, float4_e2m1fn, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float32,
// float64, handle; a vector is float32x4. A scalable vector, float32xvscalex4, has a multiple of
// its lanes, vscale, that only the machine knows: lanes() is then -4.
class DataType {
 public:
  constexpr DataType() : DataType(kTernTypeHandle, 0, 0) {}
  constexpr DataType(int code, int bits, int lanes = 1)
      : value_{static_cast<uint8_t>(code), static_cast<uint8_t>(bits),
               static_cast<uint16_t>(lanes)} {}
  constexpr explicit DataType(TernDType value) : value_(value) {}

  static constexpr int kMaxLanes = 32767;

  static constexpr DataType Int(int bits, int lanes = 1) { return {kTernTypeInt, bits, lanes}; }
  static constexpr DataType UInt(int bits, int lanes = 1) { return {kTernTypeUInt, bits, lanes}; }
  static constexpr DataType Float(int bits, int lanes = 1) { return {kTernTypeFloat, bits, lanes}; }
  static constexpr DataType Bfloat16(int lanes = 1) { return {kTernTypeBfloat, 16, lanes}; }
  static constexpr DataType Float8E4M3FN(int lanes = 1) {
    return {kTernTypeFloat8E4M3FN, 8, lanes};
  }
  static constexpr DataType Float8E5M2(int lanes = 1) { return {kTernTypeFloat8E5M2, 8, lanes}; }
  static constexpr DataType Float8E4M3FNUZ() { return {kTernTypeFloat8E4M3FNUZ, 8}; }
  static constexpr DataType Float8E5M2FNUZ() { return {kTernTypeFloat8E5M2FNUZ, 8}; }
  static constexpr DataType Float4E2M1FN() { return {kTernTypeFloat4E2M1FN, 4}; }
  static constexpr DataType Bool(int lanes = 1) { return {kTernTypeBool, 8, lanes}; }
  static constexpr DataType Handle() { return {kTernTypeHandle, 64, 1}; }
  // No value at all: the type of a call made for its effect.
  static constexpr DataType Void() { return {kTernTypeHandle, 0, 0}; }

  // The type of that name, if there is one.
  static std::optional<DataType> Parse(std::string_view name);
  std::string str() const;

  constexpr int code() const { return value_.code; }
  constexpr int bits() const { return value_.bits; }
  constexpr int lanes() const { return static_cast<int16_t>(value_.lanes); }
  // Of a scalar, or a vector that is not scalable; 0 for what is less than a byte.
  constexpr int bytes() const { return value_.bits * value_.lanes / 8; }
  // Of that many elements that lie side by side. The product does not overflow.
  constexpr int64_t BytesOf(int64_t elements) const {
    return is_packed() ? elements / 2 + elements % 2 : elements * bytes();
  }
  // Two elements to a byte, the first one in the low bits: int4, uint4 and float4_e2m1fn.
  constexpr bool is_packed() const {
    return (is_integer() || is_float4()) && bits() == 4 && is_scalar();
  }
  constexpr TernDType raw() const { return value_; }

  constexpr bool is_int() const { return code() == kTernTypeInt; }
  constexpr bool is_uint() const { return code() == kTernTypeUInt; }
  constexpr bool is_bool() const { return code() == kTernTypeBool; }
  constexpr bool is_float() const {
    return code() == kTernTypeFloat || is_bfloat16() || is_float8() || is_float4();
  }
  constexpr bool is_float8() const {
    return code() >= kTernTypeFloat8E4M3FN && code() <= kTernTypeFloat8E5M2FNUZ;
  }
  constexpr bool is_float4() const { return code() == kTernTypeFloat4E2M1FN; }
  // Of 16 bits or fewer: computed in float32 and rounded.
  constexpr bool is_narrow_float() const { return is_float() && bits() < 32; }
  constexpr bool is_bfloat16() const { return code() == kTernTypeBfloat; }
  constexpr bool is_handle() const { return code() == kTernTypeHandle && bits() != 0; }
  constexpr bool is_void() const { return code() == kTernTypeHandle && bits() == 0; }
  // int or uint: what floor division, shifts and indexing accept.
  constexpr bool is_integer() const { return is_int() || is_uint(); }
  constexpr bool is_scalar() const { return lanes() == 1; }
  constexpr bool is_scalable() const { return lanes() < 0; }
  constexpr DataType element() const { return with_lanes(1); }
  constexpr DataType with_lanes(int lanes) const { return {code(), bits(), lanes}; }

  friend constexpr bool operator==(DataType a, DataType b) {
    return a.code() == b.code() && a.bits() == b.bits() && a.lanes() == b.lanes();
  }

 private:
  TernDType value_;
};

// `value` rounded to the float type, once, to nearest even.
double RoundToType(DataType dtype, double value);

// The bits of a float of 16 bits or fewer, and back; narrowing rounds to nearest even.
float WidenFloat(DataType dtype, uint16_t bits);
uint16_t NarrowFloat(DataType dtype, float value);

}  // namespace tern

#endif  // TERN_FFI_DTYPE_H_
