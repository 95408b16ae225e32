// SPDX-License-Identifier: Apache-2.0
//
// For the tests of the source-writing generators: operations on every element type, with what they
// must give.
#ifndef TERN_CODEGEN_C_ARITHMETIC_CASES_H_
#define TERN_CODEGEN_C_ARITHMETIC_CASES_H_

#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tern/ffi/float16.h"
#include "tern/ir/expr.h"

namespace tern::codegen {

struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

// An element type: its dtype, the C++ type that computes with it, and the way between the two.
template <class T>
struct Element {
  using Value = T;
  static constexpr DataType kType = std::is_floating_point_v<T> ? DataType::Float(8 * sizeof(T))
                                    : std::is_signed_v<T>       ? DataType::Int(8 * sizeof(T))
                                                                : DataType::UInt(8 * sizeof(T));
  static T Get(T x) { return x; }
  template <class U>
  static T Put(U x) {
    return static_cast<T>(x);
  }
};
template <>
struct Element<Half> {
  using Value = float;
  static constexpr DataType kType = DataType::Float(16);
  static float Get(Half x) { return HalfToFloat(x.bits); }
  static Half Put(float x) { return {FloatToHalf(x)}; }
};
template <>
struct Element<Bfloat> {
  using Value = float;
  static constexpr DataType kType = DataType::Bfloat16();
  static float Get(Bfloat x) { return Bfloat16ToFloat(x.bits); }
  static Bfloat Put(float x) { return {FloatToBfloat16(x)}; }
};

// For TYPED_TEST: Types is testing::Types.
template <template <class...> class Types>
using ElementTypes = Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t,
                           Half, Bfloat, float, double>;

template <class T>
struct ArithmeticCase {
  std::string name;
  std::function<ir::Expr(ir::Expr a, ir::Expr b)> build;
  std::function<T(T a, T b)> expected;
};

// Values of the type, none zero. Narrow types have their extremes, whose sums and products wrap;
// the wide ones stay where nothing overflows.
template <class T>
std::vector<T> Samples() {
  using V = Element<T>::Value;
  std::vector<double> values = {1, 2, 3, 7, 10, 100, 127};
  if (Element<T>::kType.is_float()) values.insert(values.end(), {0.1, 0.333, 1.5, 1e-3, 3e-5});
  if (!Element<T>::kType.is_uint()) {
    size_t size = values.size();
    for (size_t i = 0; i < size; ++i) values.push_back(-values[i]);
  }
  if constexpr (std::is_integral_v<T> && sizeof(T) < 4) {
    values.push_back(std::numeric_limits<T>::max());
    if (std::is_signed_v<T>) values.push_back(std::numeric_limits<T>::min());
  }
  std::vector<T> samples;
  for (double value : values) samples.push_back(Element<T>::Put(static_cast<V>(value)));
  return samples;
}

namespace detail {

template <class V>
V FloorMod(V a, V b) {
  V r = static_cast<V>(a % b);
  return r != 0 && (r < 0) != (b < 0) ? static_cast<V>(r + b) : r;
}
template <class V>
V FloorDiv(V a, V b) {
  V q = static_cast<V>(a / b);
  return a % b != 0 && (a < 0) != (b < 0) ? static_cast<V>(q - 1) : q;
}

}  // namespace detail

template <class T>
std::vector<ArithmeticCase<T>> ArithmeticCases() {
  using ir::Expr;
  using E = Element<T>;
  using V = E::Value;
  std::vector<ArithmeticCase<T>> cases;
  auto add = [&](std::string name, auto build, auto expected) {
    cases.push_back({std::move(name), build,
                     [expected](T a, T b) { return E::Put(expected(E::Get(a), E::Get(b))); }});
  };
  // What the type makes of the result of one operation; operands of a narrow integer type are
  // computed in a wider one.
  auto round = [](auto x) { return E::Get(E::Put(x)); };
  add("add", [](Expr a, Expr b) { return a + b; }, [](V a, V b) { return a + b; });
  add("sub", [](Expr a, Expr b) { return a - b; }, [](V a, V b) { return a - b; });
  add(
      "mul", [](Expr a, Expr b) { return a * b; },
      [](V a, V b) {
        if constexpr (std::is_same_v<V, uint16_t>)
          return uint32_t{a} * b;
        else
          return a * b;
      });
  add(
      "sum_of_products", [](Expr a, Expr b) { return a * a + b * a; },
      [=](V a, V b) {
        if constexpr (std::is_same_v<V, uint16_t>)
          return uint32_t{a} * a + uint32_t{b} * a;
        else
          return round(a * a) + round(b * a);
      });
  add(
      "min", [](Expr a, Expr b) { return ir::MinNode::Make(a, b); },
      [](V a, V b) { return a < b ? a : b; });
  add(
      "max", [](Expr a, Expr b) { return ir::MaxNode::Make(a, b); },
      [](V a, V b) { return a > b ? a : b; });
  add(
      "constant", [](Expr a, Expr) { return a + ir::MakeConst(a.dtype(), 3); },
      [=](V a, V) { return a + V(3); });
  add(
      "less", [](Expr a, Expr b) { return ir::SelectNode::Make(a < b, b - a, a); },
      [](V a, V b) { return a < b ? b - a : a; });
  add(
      "not_less_and_not_equal",
      [](Expr a, Expr b) {
        return ir::SelectNode::Make(ir::NotNode::Make(a < b) && ir::NotNode::Make(a == b), b, a);
      },
      [](V a, V b) { return !(a < b) && !(a == b) ? b : a; });
  add(
      "is_not_zero",
      [](Expr a, Expr b) {
        return ir::SelectNode::Make(ir::CastNode::Make(DataType::Bool(), a - b), a, b);
      },
      [=](V a, V b) { return round(a - b) != 0 ? a : b; });
  add(
      "from_bool", [](Expr a, Expr b) { return ir::CastNode::Make(a.dtype(), a < b); },
      [](V a, V b) { return V(a < b); });
  add(
      "through_float64",
      [](Expr a, Expr) {
        return ir::CastNode::Make(a.dtype(), ir::CastNode::Make(DataType::Float(64), a));
      },
      [](V a, V) { return a; });
  if constexpr (std::is_floating_point_v<V>) {
    add("div", [](Expr a, Expr b) { return a / b; }, [](V a, V b) { return a / b; });
  } else {
    add(
        "truncdiv", [](Expr a, Expr b) { return ir::TruncDivNode::Make(a, b); },
        [](V a, V b) { return a / b; });
    add(
        "truncmod", [](Expr a, Expr b) { return ir::TruncModNode::Make(a, b); },
        [](V a, V b) { return a % b; });
    add("floordiv", [](Expr a, Expr b) { return ir::FloorDiv(a, b); }, detail::FloorDiv<V>);
    add("floormod", [](Expr a, Expr b) { return ir::FloorMod(a, b); }, detail::FloorMod<V>);
    add(
        "nested", [](Expr a, Expr b) { return a - (b - (a + b) * ir::FloorDiv(a, b)); },
        [=](V a, V b) {
          V sum = round(a + b);
          V quotient = detail::FloorDiv<V>(a, b);
          V product = std::is_same_v<V, uint16_t>
                          ? round(uint32_t{static_cast<uint32_t>(sum)} * quotient)
                          : round(sum * quotient);
          return a - round(b - product);
        });
  }
  return cases;
}

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_C_ARITHMETIC_CASES_H_
