// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/dtype.h"

#include <charconv>

#include "tern/ffi/error.h"
#include "tern/ffi/float4.h"
#include "tern/ffi/float8.h"

namespace tern {
namespace {

struct NamedType {
  std::string_view name;
  DataType type;
};

constexpr std::string_view kScalable = "vscalex";  // as in float32xvscalex4

constexpr NamedType kScalars[] = {
    {"bool", DataType::Bool()},
    {"int4", DataType::Int(4)},
    {"int8", DataType::Int(8)},
    {"int16", DataType::Int(16)},
    {"int32", DataType::Int(32)},
    {"int64", DataType::Int(64)},
    {"uint4", DataType::UInt(4)},
    {"uint8", DataType::UInt(8)},
    {"uint16", DataType::UInt(16)},
    {"uint32", DataType::UInt(32)},
    {"uint64", DataType::UInt(64)},
    {"float16", DataType::Float(16)},
    {"bfloat16", DataType::Bfloat16()},
    {"float32", DataType::Float(32)},
    {"float64", DataType::Float(64)},
    {"handle", DataType::Handle()},
    {"float4_e2m1fn", DataType::Float4E2M1FN()},
    {"float8_e4m3fn", DataType::Float8E4M3FN()},
    {"float8_e4m3fnuz", DataType::Float8E4M3FNUZ()},
    {"float8_e5m2", DataType::Float8E5M2()},
    {"float8_e5m2fnuz", DataType::Float8E5M2FNUZ()},
};

}  // namespace

std::optional<DataType> DataType::Parse(std::string_view name) {
  int lanes = 1;
  if (size_t x = name.find('x'); x != std::string_view::npos) {
    std::string_view count = name.substr(x + 1);
    bool scalable = count.starts_with(kScalable);
    if (scalable) count.remove_prefix(kScalable.size());
    auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), lanes);
    // One spelling per type: "x1" and leading zeros are refused.
    if (error != std::errc() || end != count.data() + count.size() || lanes < 2 ||
        lanes > DataType::kMaxLanes || count[0] == '0')
      return std::nullopt;
    if (scalable) lanes = -lanes;
    name = name.substr(0, x);
  }
  for (const NamedType& scalar : kScalars)
    if (scalar.name == name &&
        (lanes == 1 || !(scalar.type.is_handle() || scalar.type.is_packed())))
      return scalar.type.with_lanes(lanes);
  return std::nullopt;
}

std::string DataType::str() const {
  if (is_void()) return "void";
  std::string name;
  for (const NamedType& scalar : kScalars)
    if (scalar.type == element()) name = scalar.name;
  if (name.empty()) name = "type(" + std::to_string(code()) + ", " + std::to_string(bits()) + ")";
  if (is_scalable()) return name + "x" + std::string(kScalable) + std::to_string(-lanes());
  return is_scalar() ? name : name + "x" + std::to_string(lanes());
}

double RoundToType(DataType dtype, double value) {
  if (dtype.bits() == 64) return value;
  if (dtype.bits() == 32) return static_cast<float>(value);
  return WidenFloat(dtype, NarrowFloat(dtype, RoundToOdd(value)));
}

float WidenFloat(DataType dtype, uint16_t bits) {
  switch (dtype.code()) {
    case kTernTypeBfloat:
      return Bfloat16ToFloat(bits);
    case kTernTypeFloat8E4M3FN:
      return Float8E4M3FNToFloat(static_cast<uint8_t>(bits));
    case kTernTypeFloat8E4M3FNUZ:
      return Float8FnuzToFloat<kE4M3Mantissa>(static_cast<uint8_t>(bits));
    case kTernTypeFloat8E5M2FNUZ:
      return Float8FnuzToFloat<kE5M2Mantissa>(static_cast<uint8_t>(bits));
    case kTernTypeFloat8E5M2:
      return Float8E5M2ToFloat(static_cast<uint8_t>(bits));
    case kTernTypeFloat4E2M1FN:
      return Float4E2M1FNToFloat(static_cast<uint8_t>(bits));
    default:
      TERN_ICHECK(dtype.is_narrow_float()) << dtype.str();
      return HalfToFloat(bits);
  }
}

uint16_t NarrowFloat(DataType dtype, float value) {
  switch (dtype.code()) {
    case kTernTypeBfloat:
      return FloatToBfloat16(value);
    case kTernTypeFloat8E4M3FN:
      return FloatToFloat8E4M3FN(value);
    case kTernTypeFloat8E4M3FNUZ:
      return FloatToFloat8Fnuz<kE4M3Mantissa>(value);
    case kTernTypeFloat8E5M2FNUZ:
      return FloatToFloat8Fnuz<kE5M2Mantissa>(value);
    case kTernTypeFloat8E5M2:
      return FloatToFloat8E5M2(value);
    case kTernTypeFloat4E2M1FN:
      return FloatToFloat4E2M1FN(value);
    default:
      TERN_ICHECK(dtype.is_narrow_float()) << dtype.str();
      return FloatToHalf(value);
  }
}

}  // namespace tern
