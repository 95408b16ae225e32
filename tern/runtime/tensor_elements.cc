// SPDX-License-Identifier: Apache-2.0
//
// Elements of host tensors, one at a time.
#include <bit>
#include <cmath>
#include <cstring>

#include "tern/ffi/float16.h"
#include "tern/runtime/tensor.h"

namespace tern::runtime {
namespace {

[[noreturn]] void FailOnType(DataType dtype) {
  throw Error("TypeError", "elements of type " + dtype.str() + " cannot be read as numbers");
}

// Two's complement: what remains of an integer in 64 bits.
int64_t ToWrappedInt(double integer) {
  if (!std::isfinite(integer)) return 0;
  if (std::abs(integer) < 0x1p63) return static_cast<int64_t>(integer);
  double wrapped = std::fmod(integer, 0x1p64);
  if (wrapped < 0) wrapped += 0x1p64;
  return static_cast<int64_t>(wrapped >= 0x1p63 ? wrapped - 0x1p64 : wrapped);
}

// The bits of an element, in the low bits of a number.
uint64_t LoadBits(const TensorObj& tensor, int64_t element) {
  int64_t place = tensor.PlaceOf(element);
  const auto* data = static_cast<const char*>(tensor.data());
  if (tensor.dtype().is_packed())
    return static_cast<unsigned char>(data[place / 2]) >> (place % 2 * 4) & 15;
  uint64_t bits = 0;
  auto bytes = static_cast<size_t>(tensor.dtype().bytes());
  std::memcpy(&bits, data + place * static_cast<int64_t>(bytes), bytes);
  return bits;
}

void StoreBits(const TensorObj& tensor, int64_t element, uint64_t bits) {
  int64_t place = tensor.PlaceOf(element);
  auto* data = static_cast<char*>(tensor.data());
  if (tensor.dtype().is_packed()) {
    auto shift = static_cast<int>(place % 2 * 4);
    auto rest = static_cast<unsigned char>(data[place / 2]) & (0xf0 >> shift);
    data[place / 2] = static_cast<char>(rest | ((bits & 15) << shift));
    return;
  }
  auto bytes = static_cast<size_t>(tensor.dtype().bytes());
  std::memcpy(data + place * static_cast<int64_t>(bytes), &bits, bytes);
}

void CheckNumbers(DataType dtype) {
  if (!dtype.is_scalar() || !(dtype.is_integer() || dtype.is_float() || dtype.is_bool()))
    FailOnType(dtype);
}

int64_t SignExtended(uint64_t bits, int width) {
  return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
}

double FloatOf(DataType dtype, uint64_t bits) {
  if (dtype.bits() == 64) return std::bit_cast<double>(bits);
  if (dtype.bits() == 32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return WidenFloat(dtype, static_cast<uint16_t>(bits));
}

uint64_t FloatBits(DataType dtype, double value) {
  if (dtype.bits() == 64) return std::bit_cast<uint64_t>(value);
  if (dtype.bits() == 32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  return NarrowFloat(dtype, RoundToOdd(value));
}

// An integer as a double that rounds to the same narrower float: what does not fit in its 53 bits
// leaves a mark in the last one.
double ToDoubleForRounding(uint64_t magnitude, bool negative) {
  int excess = 11 - std::countl_zero(magnitude | 1);
  if (excess > 0) {
    uint64_t lost = magnitude & ((uint64_t{1} << excess) - 1);
    magnitude = (magnitude >> excess | (lost != 0)) << excess;
  }
  auto value = static_cast<double>(magnitude);
  return negative ? -value : value;
}

// The bits of an integer (of 64 bits, `is_negative` telling what they mean) as a float.
uint64_t IntegerAsFloat(DataType to, uint64_t bits, bool is_negative) {
  if (to.bits() == 64)
    return std::bit_cast<uint64_t>(is_negative ? static_cast<double>(static_cast<int64_t>(bits))
                                               : static_cast<double>(bits));
  double value = ToDoubleForRounding(is_negative ? 0 - bits : bits, is_negative);
  // The mark makes this the only rounding, for float32 too.
  return FloatBits(to, value);
}

uint64_t ConvertBits(DataType from, DataType to, uint64_t bits) {
  if (from.is_float()) {
    double value = FloatOf(from, bits);
    if (to.is_float()) return FloatBits(to, value);
    if (to.is_bool()) return value != 0;
    return static_cast<uint64_t>(ToWrappedInt(std::trunc(value)));
  }
  if (from.is_bool()) bits = (bits & 0xff) != 0;
  if (from.is_int()) bits = static_cast<uint64_t>(SignExtended(bits, from.bits()));
  if (to.is_bool()) return bits != 0;
  if (to.is_integer()) return bits;
  return IntegerAsFloat(to, bits, from.is_int() && static_cast<int64_t>(bits) < 0);
}

}  // namespace

double GetElement(const Tensor& tensor, int64_t element) {
  DataType dtype = tensor->dtype();
  CheckNumbers(dtype);
  uint64_t bits = LoadBits(*tensor, element);
  if (dtype.is_float()) return FloatOf(dtype, bits);
  if (dtype.is_bool()) return bits != 0;
  if (dtype.is_uint()) return static_cast<double>(bits);
  return static_cast<double>(SignExtended(bits, dtype.bits()));
}

void SetElement(const Tensor& tensor, int64_t element, double value) {
  DataType dtype = tensor->dtype();
  CheckNumbers(dtype);
  uint64_t bits = dtype.is_float()  ? FloatBits(dtype, value)
                  : dtype.is_bool() ? value != 0
                                    : static_cast<uint64_t>(ToWrappedInt(std::nearbyint(value)));
  StoreBits(*tensor, element, bits);
}

void CopyElements(const Tensor& from, const Tensor& to) {
  TERN_ICHECK(from->shape() == to->shape() && from->dtype() == to->dtype());
  auto bytes = static_cast<int64_t>(from->dtype().bytes());
  for (int64_t i = 0; i < from->num_elements(); ++i)
    if (bytes <= 8)
      StoreBits(*to, i, LoadBits(*from, i));
    else
      std::memcpy(to.as<char>() + to->PlaceOf(i) * bytes,
                  from.as<char>() + from->PlaceOf(i) * bytes, static_cast<size_t>(bytes));
}

void ConvertElements(const Tensor& from, const Tensor& to) {
  TERN_ICHECK(from->shape() == to->shape());
  DataType before = from->dtype(), after = to->dtype();
  CheckNumbers(before);
  CheckNumbers(after);
  for (int64_t i = 0; i < from->num_elements(); ++i)
    StoreBits(*to, i, ConvertBits(before, after, LoadBits(*from, i)));
}

}  // namespace tern::runtime
