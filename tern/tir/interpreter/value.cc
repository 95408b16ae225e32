// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/value.h"

#include <cmath>
#include <cstring>

#include "tern/arith/fold.h"
#include "tern/ffi/error.h"

namespace tern::tir {
namespace {

using ir::ExprKind;

int64_t WrapInt(DataType dtype, int64_t value) {
  if (dtype.is_bool()) return value != 0;
  int shift = 64 - dtype.bits();
  if (shift == 0) return value;
  uint64_t bits = static_cast<uint64_t>(value) << shift;
  return dtype.is_uint() ? static_cast<int64_t>(bits >> shift)
                         : static_cast<int64_t>(bits) >> shift;
}

// An operation on float32 or wider operands, rounded once; narrower types are computed in float32,
// which is wide enough that rounding twice changes nothing.
Lane FloatOp(ExprKind kind, DataType dtype, double a, double b) {
  Lane out{};
  switch (kind) {
    case ExprKind::kAdd:
      out.f = RoundToType(
          dtype, dtype.bits() == 64 ? a + b : static_cast<float>(a) + static_cast<float>(b));
      return out;
    case ExprKind::kSub:
      out.f = RoundToType(
          dtype, dtype.bits() == 64 ? a - b : static_cast<float>(a) - static_cast<float>(b));
      return out;
    case ExprKind::kMul:
      out.f = RoundToType(
          dtype, dtype.bits() == 64 ? a * b : static_cast<float>(a) * static_cast<float>(b));
      return out;
    case ExprKind::kDiv:
      out.f = RoundToType(
          dtype, dtype.bits() == 64 ? a / b : static_cast<float>(a) / static_cast<float>(b));
      return out;
    case ExprKind::kMin:
      out.f = a < b ? a : b;
      return out;
    case ExprKind::kMax:
      out.f = a > b ? a : b;
      return out;
    case ExprKind::kEQ:
      out.i = a == b;
      return out;
    case ExprKind::kNE:
      out.i = a != b;
      return out;
    case ExprKind::kLT:
      out.i = a < b;
      return out;
    case ExprKind::kLE:
      out.i = a <= b;
      return out;
    case ExprKind::kGT:
      out.i = a > b;
      return out;
    case ExprKind::kGE:
      out.i = a >= b;
      return out;
    default:
      TERN_ICHECK(false) << "float operator";
      return out;
  }
}

// uint64 values above int64: what differs from the signed case.
Lane UInt64Op(ExprKind kind, uint64_t a, uint64_t b) {
  auto make = [](uint64_t value) {
    Lane out{};
    out.i = static_cast<int64_t>(value);
    return out;
  };
  switch (kind) {
    case ExprKind::kAdd:
      return make(a + b);
    case ExprKind::kSub:
      return make(a - b);
    case ExprKind::kMul:
      return make(a * b);
    case ExprKind::kTruncDiv:
    case ExprKind::kFloorDiv:
      return make(a / b);
    case ExprKind::kTruncMod:
    case ExprKind::kFloorMod:
      return make(a % b);
    case ExprKind::kMin:
      return make(a < b ? a : b);
    case ExprKind::kMax:
      return make(a > b ? a : b);
    case ExprKind::kEQ:
      return make(a == b);
    case ExprKind::kNE:
      return make(a != b);
    case ExprKind::kLT:
      return make(a < b);
    case ExprKind::kLE:
      return make(a <= b);
    case ExprKind::kGT:
      return make(a > b);
    case ExprKind::kGE:
      return make(a >= b);
    default:
      TERN_ICHECK(false) << "uint64 operator";
      return {};
  }
}

}  // namespace

Lane BinaryLane(ExprKind kind, DataType dtype, Lane a, Lane b) {
  if (dtype.is_float()) return FloatOp(kind, dtype, a.f, b.f);
  bool divides = kind >= ExprKind::kTruncDiv && kind <= ExprKind::kFloorMod;
  TERN_CHECK(!divides || b.i != 0) << "division by zero";
  if (dtype == DataType::UInt(64, dtype.lanes()))
    return UInt64Op(kind, static_cast<uint64_t>(a.i), static_cast<uint64_t>(b.i));
  std::optional<int64_t> value = arith::FoldInt(kind, a.i, b.i);
  bool compares = kind >= ExprKind::kEQ;
  Lane out{};
  if (value) out.i = compares ? *value : WrapInt(dtype, *value);
  bool trapped = dtype.is_int() && dtype.bits() >= 32;
  // uint32 products fit in 64 bits as unsigned, where FoldInt may see an overflow.
  if (!value && !trapped) {
    out.i = WrapInt(dtype,
                    static_cast<int64_t>(static_cast<uint64_t>(a.i) * static_cast<uint64_t>(b.i)));
    return out;
  }
  TERN_CHECK(value && (!trapped || compares || out.i == *value)) << dtype.str() << " overflow";
  return out;
}

Lane CastLane(DataType from, DataType to, Lane value) {
  Lane out{};
  if (to.is_float()) {
    bool is_uint64 = from == DataType::UInt(64, from.lanes());
    uint64_t bits = static_cast<uint64_t>(value.i);
    if (from.is_float())
      out.f = RoundToType(to, value.f);
    else if (to.bits() == 32)  // integers have more digits than a double
      out.f = is_uint64 ? static_cast<float>(bits) : static_cast<float>(value.i);
    else
      out.f = RoundToType(to, is_uint64 ? static_cast<double>(bits) : static_cast<double>(value.i));
    return out;
  }
  if (from.is_float()) {
    if (to.is_bool()) {
      out.i = value.f != 0;
      return out;
    }
    double limit = std::ldexp(1, to.is_uint() ? to.bits() : to.bits() - 1);
    double whole = std::trunc(value.f);  // a NaN is in no range
    TERN_CHECK(whole >= (to.is_uint() ? 0 : -limit) && whole < limit)
        << value.f << " does not fit in " << to.str();
    out.i = to == DataType::UInt(64, to.lanes())
                ? static_cast<int64_t>(static_cast<uint64_t>(whole))
                : static_cast<int64_t>(whole);
    return out;
  }
  out.i = WrapInt(to, value.i);
  return out;
}

Lane LoadLane(DataType dtype, const void* memory) {
  Lane out{};
  if (dtype.is_float()) {
    uint16_t narrow = 0;  // little endian
    float single;
    if (dtype.bits() == 64) {
      std::memcpy(&out.f, memory, 8);
    } else if (dtype.bits() == 32) {
      std::memcpy(&single, memory, 4);
      out.f = single;
    } else {
      std::memcpy(&narrow, memory, static_cast<size_t>(ElementBytes(dtype)));
      out.f = WidenFloat(dtype, narrow);
    }
    return out;
  }
  std::memcpy(&out, memory, static_cast<size_t>(ElementBytes(dtype)));
  if (!dtype.is_handle()) out.i = WrapInt(dtype, out.i);
  return out;
}

void StoreLane(DataType dtype, void* memory, Lane value) {
  if (!dtype.is_float() || dtype.bits() == 64) {
    std::memcpy(memory, &value, static_cast<size_t>(ElementBytes(dtype)));
  } else if (dtype.bits() == 32) {
    float single = static_cast<float>(value.f);
    std::memcpy(memory, &single, 4);
  } else {
    uint16_t narrow = NarrowFloat(dtype, static_cast<float>(value.f));
    std::memcpy(memory, &narrow, static_cast<size_t>(ElementBytes(dtype)));
  }
}

Lane LoadLane(DataType dtype, ElementPlace place) {
  if (place.half < 0) return LoadLane(dtype, place.data);
  auto bits = static_cast<uint8_t>(static_cast<uint8_t>(*place.data) >> (place.half * 4) & 15);
  return LoadLane(dtype, &bits);
}

void StoreLane(DataType dtype, ElementPlace place, Lane value) {
  if (place.half < 0) return StoreLane(dtype, place.data, value);
  uint8_t bits = 0, other = static_cast<uint8_t>(*place.data) & (0xf0 >> (place.half * 4));
  StoreLane(dtype, &bits, value);
  *place.data = static_cast<char>(other | (bits & 15) << (place.half * 4));
}

}  // namespace tern::tir
