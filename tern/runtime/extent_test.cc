// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/extent.h"

#include <gtest/gtest.h>

#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

int64_t Evaluate(std::string_view text) { return EvaluateExtent(text, {{"n", 7}, {"m_2", -3}}); }
std::string Error(std::string_view text) {
  return ErrorOf([&] { Evaluate(text); });
}

TEST(Extent, Evaluates) {
  EXPECT_EQ(Evaluate("128"), 128);
  EXPECT_EQ(Evaluate("n"), 7);
  EXPECT_EQ(Evaluate("n * 2 + 1"), 15);
  EXPECT_EQ(Evaluate("(n + 3) // 4 * 4"), 8);
  EXPECT_EQ(Evaluate("1-2-3"), -4);
  EXPECT_EQ(Evaluate("-n // 2"), -4);
  EXPECT_EQ(Evaluate("-n % 4"), 1);
  EXPECT_EQ(Evaluate("n // m_2"), -3);
  EXPECT_EQ(Evaluate("n // -1"), -7);
  EXPECT_EQ(Evaluate("max(n * 36, 0) + min(m_2, max(n, 9))"), 249);
  EXPECT_EQ(EvaluateExtent("max * 2", {{"max", 4}}), 8);
}

TEST(Extent, SaysWhatIsWrong) {
  EXPECT_EQ(Error("k"), "extent \"k\": k has no value");
  EXPECT_EQ(Error("n //"), "extent \"n //\": expected a number, a symbol or '('");
  EXPECT_EQ(Error("n / 2"), "extent \"n / 2\": expected an operator: + - * // %");
  EXPECT_EQ(Error("n // 0"), "extent \"n // 0\": division by zero");
  EXPECT_EQ(Error("max(n)"), "extent \"max(n)\": expected ','");
  EXPECT_EQ(Error("min(n, 2"), "extent \"min(n, 2\": expected ')'");
  EXPECT_EQ(Error("(n"), "extent \"(n\": expected ')'");
  EXPECT_EQ(Error("9223372036854775807 + 1"),
            "extent \"9223372036854775807 + 1\": the value does not fit in 64 bits");
  EXPECT_EQ(Error("99999999999999999999"),
            "extent \"99999999999999999999\": the value does not fit in 64 bits");
  EXPECT_NE(Error(""), "no error");
  EXPECT_NE(Error(std::string(100000, '(')), "no error");
  EXPECT_NE(Error(std::string(100000, '-')), "no error");
}

TEST(Extent, Symbols) {
  EXPECT_TRUE(IsSymbol("n_1"));
  EXPECT_FALSE(IsSymbol("n "));
  EXPECT_FALSE(IsSymbol("1"));
  EXPECT_FALSE(IsSymbol(""));
  EXPECT_EQ(SymbolsOf("n * (m + 2) // n"), (std::vector<std::string>{"n", "m", "n"}));
  EXPECT_EQ(SymbolsOf("max(n, min (m, max))"), (std::vector<std::string>{"n", "m", "max"}));
}

}  // namespace
}  // namespace tern::runtime
