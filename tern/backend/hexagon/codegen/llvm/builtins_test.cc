// SPDX-License-Identifier: Apache-2.0
//
// What LLVM calls on Hexagon, compiled for this machine, against this machine's arithmetic.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace {

// The name is the C library's, too.
#define sqrt tern_test_sqrt
#include "tern/backend/hexagon/codegen/llvm/builtins.c"  // NOLINT: what is tested
#undef sqrt

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// Numbers of all kinds: special ones, subnormal ones, neighbours of powers of two, any bits.
template <class T>
class Numbers {
 public:
  T Next() {
    using Limits = std::numeric_limits<T>;
    static const T kSpecial[] = {0,
                                 T(-0.0),
                                 1,
                                 -1,
                                 Limits::infinity(),
                                 -Limits::infinity(),
                                 Limits::quiet_NaN(),
                                 Limits::min(),
                                 Limits::max(),
                                 Limits::denorm_min(),
                                 T(0.5),
                                 2,
                                 3,
                                 Limits::epsilon()};
    auto bits = static_cast<Bits<T>>(random_());
    switch (random_() % 4) {
      case 0:
        return kSpecial[random_() % std::size(kSpecial)];
      case 1:
        return std::ldexp(T(1) + static_cast<T>(bits % 5) * Limits::epsilon(),
                          static_cast<int>(random_() % 40) - 20);
      case 2:
        return std::bit_cast<T>(static_cast<Bits<T>>(bits >> random_() % (sizeof(T) * 8)));
      default:
        return std::bit_cast<T>(bits);
    }
  }

 private:
  std::mt19937_64 random_{7};
};

// To the bit; one NaN is as good as another.
template <class T>
void ExpectSame(T got, T expected, T a, T b) {
  if (std::isnan(expected) && std::isnan(got)) return;
  ASSERT_EQ(std::bit_cast<Bits<T>>(got), std::bit_cast<Bits<T>>(expected)) << a << ", " << b;
}

constexpr int kCount = 200000;

TEST(HexagonBuiltins, Divide) {
  Numbers<float> singles;
  Numbers<double> doubles;
  for (int i = 0; i < kCount; ++i) {
    float a = singles.Next(), b = singles.Next();
    ExpectSame(__hexagon_divsf3(a, b), a / b, a, b);
    double c = doubles.Next(), d = doubles.Next();
    ExpectSame(__hexagon_divdf3(c, d), c / d, c, d);
  }
}

TEST(HexagonBuiltins, SquareRoot) {
  Numbers<float> singles;
  Numbers<double> doubles;
  for (int i = 0; i < kCount; ++i) {
    float a = singles.Next();
    ExpectSame(__hexagon_sqrtf(a), std::sqrt(a), a, a);
    double c = doubles.Next();
    ExpectSame(tern_test_sqrt(c), std::sqrt(c), c, c);
  }
}

TEST(HexagonBuiltins, AddSubtractMultiply) {
  Numbers<double> doubles;
  for (int i = 0; i < kCount; ++i) {
    double a = doubles.Next(), b = doubles.Next();
    ExpectSame(__hexagon_adddf3(a, b), a + b, a, b);
    ExpectSame(__hexagon_subdf3(a, b), a - b, a, b);
    ExpectSame(__hexagon_muldf3(a, b), a * b, a, b);
    // Near to each other, where digits cancel.
    double c = a * (1 + static_cast<double>(i % 7) * 1e-16);
    ExpectSame(__hexagon_subdf3(a, c), a - c, a, c);
  }
}

TEST(HexagonBuiltins, Integers) {
  std::mt19937_64 random(7);
  for (int i = 0; i < kCount; ++i) {
    auto a = static_cast<int64_t>(random() >> random() % 64) * (random() % 2 ? 1 : -1);
    auto b = static_cast<int64_t>(random() >> random() % 64) * (random() % 2 ? 1 : -1);
    auto c = static_cast<int32_t>(a), d = static_cast<int32_t>(b);
    auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    auto uc = static_cast<uint32_t>(c), ud = static_cast<uint32_t>(d);
    if (b == 0 || d == 0 || b == -1 || d == -1) continue;
    ASSERT_EQ(__hexagon_divdi3(a, b), a / b) << a << " / " << b;
    ASSERT_EQ(__hexagon_moddi3(a, b), a % b) << a << " % " << b;
    ASSERT_EQ(__hexagon_udivdi3(ua, ub), ua / ub) << ua << " / " << ub;
    ASSERT_EQ(__hexagon_umoddi3(ua, ub), ua % ub) << ua << " % " << ub;
    ASSERT_EQ(__hexagon_divsi3(c, d), c / d) << c << " / " << d;
    ASSERT_EQ(__hexagon_modsi3(c, d), c % d) << c << " % " << d;
    ASSERT_EQ(__hexagon_udivsi3(uc, ud), uc / ud) << uc << " / " << ud;
    ASSERT_EQ(__hexagon_umodsi3(uc, ud), uc % ud) << uc << " % " << ud;
  }
  EXPECT_EQ(__hexagon_divsi3(std::numeric_limits<int32_t>::min(), 1),
            std::numeric_limits<int32_t>::min());
}

}  // namespace
