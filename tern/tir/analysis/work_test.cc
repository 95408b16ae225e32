// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/work.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

Work WorkOfText(const char* text) {
  Initialize();
  return WorkOf(AsPrimFunc(ParseModule("t.tir", text)->functions.at("f")));
}

TEST(Work, AMatmulIsTwoFlopsAStep) {
  Work work = WorkOfText(R"(
func f(A: float32[3, 5], B: float32[5, 7], C: float32[3, 7]) {
  for i in 0..3 { for j in 0..7 { for k in 0..5 {
    block c(vi: spatial(3) = i, vj: spatial(7) = j, vk: reduce(5) = k) {
      init { C[vi, vj] = 0.0 }
      C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    }
  } } }
}
)");
  EXPECT_EQ(ir::AsConstInt(work.flops), 2 * 3 * 5 * 7);
  EXPECT_EQ(ir::AsConstInt(work.bytes), 4 * (15 + 35 + 21));
}

// Indices and conditions are not counted, a call is one.
TEST(Work, OfDynamicSizesIsAnExpression) {
  Work work = WorkOfText(R"(
func f(A: float16[n], B: float16[n], C: float32[2]) {
  for i in 0..n {
    B[i] = select(i * 2 < n, exp(A[i]), A[n - 1 - i] * float16(2.0) + float16(1.0))
  }
}
)");
  EXPECT_EQ(Print(work.flops), "n * 3");
  EXPECT_EQ(Print(work.bytes), "n * 4 + 8");
}

}  // namespace
}  // namespace tern::tir
