// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/intrinsic_reference.h"

#include <bit>
#include <cmath>

#include "tern/ffi/registry_table.h"

namespace tern::tir {
namespace {

ffi::RegistryTable<LaneFunction>& References() {
  static auto* references = new ffi::RegistryTable<LaneFunction>("reference of intrinsic");
  return *references;
}

Lane FloatLane(double value) {
  Lane lane{};
  lane.f = value;
  return lane;
}
Lane IntLane(int64_t value) {
  Lane lane{};
  lane.i = value;
  return lane;
}

// The double nearest to `exact`, or where that is another number, the neighbour with an odd last
// bit: it rounds to any narrower type as `exact` itself does.
double RoundToOddDouble(long double exact) {
  auto nearest = static_cast<double>(exact);
  if (nearest == exact || std::isnan(nearest)) return nearest;
  auto bits = std::bit_cast<uint64_t>(nearest);
  if (std::fabs(static_cast<long double>(nearest)) > std::fabs(exact)) --bits;  // towards zero
  return std::bit_cast<double>(bits | 1);
}

double RoundOnce(DataType dtype, long double exact) {
  if (dtype.bits() == 64) return static_cast<double>(exact);
  return RoundToType(dtype, RoundToOddDouble(exact));
}

long double Sigmoid(long double x) {
  long double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

// a * b + c, rounded once.
double Fma(DataType dtype, double a, double b, double c) {
  if (dtype.bits() == 64) return std::fma(a, b, c);
  double product = a * b;  // exact: a double has more than twice the digits
  double sum = product + c;
  if (!std::isfinite(sum)) return RoundToType(dtype, sum);
  double part = sum - product;
  double lost = (product - (sum - part)) + (c - part);  // what `sum` lacks, exactly
  auto bits = std::bit_cast<uint64_t>(sum);
  if (lost != 0 && bits % 2 == 0) {
    bool towards_zero = (lost < 0) != (sum < 0);
    bits = towards_zero ? bits - 1 : bits + 1;
  }
  return RoundToType(dtype, std::bit_cast<double>(bits));
}

using Unary = long double (*)(long double);
using Binary = long double (*)(long double, long double);

const std::map<std::string, Unary> kUnary = {
    {"exp", std::exp},
    {"exp2", std::exp2},
    {"expm1", std::expm1},
    {"log", std::log},
    {"log2", std::log2},
    {"log10", std::log10},
    {"log1p", std::log1p},
    {"sin", std::sin},
    {"cos", std::cos},
    {"tan", std::tan},
    {"asin", std::asin},
    {"acos", std::acos},
    {"atan", std::atan},
    {"sinh", std::sinh},
    {"cosh", std::cosh},
    {"tanh", std::tanh},
    {"erf", std::erf},
    {"sigmoid", Sigmoid},
    {"floor", std::floor},
    {"ceil", std::ceil},
    {"trunc", std::trunc},
    {"round", std::rint},
    {"rsqrt", [](long double x) { return 1 / std::sqrt(x); }},
};
const std::map<std::string, Binary> kBinary = {
    {"pow", std::pow}, {"atan2", std::atan2}, {"copysign", std::copysign}};
const std::map<std::string, bool (*)(double)> kTests = {
    {"isnan", std::isnan}, {"isinf", std::isinf}, {"isfinite", std::isfinite}};

// ---- Integers. Lanes hold them extended to 64 bits.

uint64_t Mask(DataType dtype) { return ~uint64_t{0} >> (64 - dtype.bits()); }
uint64_t BitsOf(DataType dtype, Lane lane) { return static_cast<uint64_t>(lane.i) & Mask(dtype); }

Lane FromBits(DataType dtype, uint64_t bits) {
  return CastLane(DataType::UInt(64), dtype, IntLane(static_cast<int64_t>(bits)));
}

int ShiftBy(DataType dtype, Lane amount) {
  TERN_CHECK(amount.i >= 0 && amount.i < dtype.bits())
      << "a shift of " << dtype.str() << " by " << amount.i << " bits";
  return static_cast<int>(amount.i);
}

Lane Abs(DataType dtype, Lane x) {
  if (dtype.is_float()) return FloatLane(std::fabs(x.f));
  if (dtype.is_uint() || x.i >= 0) return x;
  return BinaryLane(ir::ExprKind::kSub, dtype, IntLane(0), x);
}

}  // namespace

void RegisterIntrinsicReference(const std::string& name, LaneFunction function) {
  References().Add(name, std::move(function));
}

const LaneFunction* FindIntrinsicReference(std::string_view name) {
  return References().Find(name);
}

void RegisterIntrinsicReferences() {
  for (const auto& [name, function] : kUnary)
    RegisterIntrinsicReference(name, [function](DataType dtype, const Lane* args) {
      return FloatLane(RoundOnce(dtype, function(args[0].f)));
    });
  for (const auto& [name, function] : kBinary)
    RegisterIntrinsicReference(name, [function](DataType dtype, const Lane* args) {
      return FloatLane(RoundOnce(dtype, function(args[0].f, args[1].f)));
    });
  for (const auto& [name, function] : kTests)
    RegisterIntrinsicReference(
        name, [function](DataType, const Lane* args) { return IntLane(function(args[0].f)); });
  RegisterIntrinsicReference("abs",
                             [](DataType dtype, const Lane* args) { return Abs(dtype, args[0]); });
  // In double: a narrower type has less than half of its digits, so rounding twice is harmless.
  RegisterIntrinsicReference("sqrt", [](DataType dtype, const Lane* args) {
    return FloatLane(RoundToType(dtype, std::sqrt(args[0].f)));
  });
  RegisterIntrinsicReference("fma", [](DataType dtype, const Lane* args) {
    return FloatLane(Fma(dtype, args[0].f, args[1].f, args[2].f));
  });

  // Here a copy is done at once.
  RegisterIntrinsicReference("async_copy", [](DataType, const Lane* args) { return args[0]; });
  RegisterIntrinsicReference("streamed", [](DataType, const Lane* args) { return args[0]; });
  RegisterIntrinsicReference("shift_left", [](DataType dtype, const Lane* args) {
    return FromBits(dtype, BitsOf(dtype, args[0]) << ShiftBy(dtype, args[1]));
  });
  RegisterIntrinsicReference("shift_right", [](DataType dtype, const Lane* args) {
    int bits = ShiftBy(dtype, args[1]);
    return dtype.is_uint() ? FromBits(dtype, BitsOf(dtype, args[0]) >> bits)
                           : IntLane(args[0].i >> bits);
  });
  RegisterIntrinsicReference(
      "bit_and", [](DataType, const Lane* args) { return IntLane(args[0].i & args[1].i); });
  RegisterIntrinsicReference(
      "bit_or", [](DataType, const Lane* args) { return IntLane(args[0].i | args[1].i); });
  RegisterIntrinsicReference(
      "bit_xor", [](DataType, const Lane* args) { return IntLane(args[0].i ^ args[1].i); });
  RegisterIntrinsicReference("bit_not", [](DataType dtype, const Lane* args) {
    return FromBits(dtype, ~BitsOf(dtype, args[0]));
  });
  RegisterIntrinsicReference("popcount", [](DataType dtype, const Lane* args) {
    return IntLane(std::popcount(BitsOf(dtype, args[0])));
  });
  RegisterIntrinsicReference("dot4", [](DataType dtype, const Lane* args) {
    uint64_t sum = BitsOf(dtype, args[2]);
    for (int shift = 0; shift < 32; shift += 8) {
      int64_t a = static_cast<uint8_t>(args[0].i >> shift);
      sum += static_cast<uint64_t>(a * static_cast<int8_t>(args[1].i >> shift));
    }
    return FromBits(dtype, sum);
  });
  RegisterIntrinsicReference("clz", [](DataType dtype, const Lane* args) {
    return IntLane(std::countl_zero(BitsOf(dtype, args[0])) - (64 - dtype.bits()));
  });
  RegisterIntrinsicReference("ctz", [](DataType dtype, const Lane* args) {
    return IntLane(std::min(std::countr_zero(BitsOf(dtype, args[0])), dtype.bits()));
  });
}

}  // namespace tern::tir
