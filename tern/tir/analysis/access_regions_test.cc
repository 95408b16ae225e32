// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/access_regions.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/tir/function.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

// "A[lo..+extent, ...]" for every region, with a '=' where it is exact.
std::string Text(const std::vector<AccessRegion>& regions) {
  std::string text;
  for (const AccessRegion& region : regions) {
    text += (text.empty() ? "" : " ") + region.buffer->name + (region.exact ? "=" : "") + "[";
    for (size_t d = 0; d < region.ranges.size(); ++d)
      text +=
          (d ? ", " : "") + Print(region.ranges[d].min) + "..+" + Print(region.ranges[d].extent);
    text += "]";
  }
  return text;
}

AccessRegions Regions(const std::string& body) {
  Initialize();
  ir::IRModule module = ParseModule(
      "test.tir",
      "func f(A: float32[n], B: float32[n, m], C: float32[64], x: int64) {" + body + "}");
  PrimFunc function = AsPrimFunc(module->functions.begin()->second);
  arith::Analyzer analyzer;
  for (const Param& param : function->params)
    if (param.is_tensor())
      for (const Expr& extent : param.buffer->shape)
        if (const auto* var = extent.As<VarNode>())
          analyzer.Bind(Var(var), {0, arith::ConstBounds::kPosInf});
  return FindAccessRegions(function->body, analyzer);
}
std::string Writes(const std::string& body) { return Text(Regions(body).writes); }

TEST(AccessRegions, OfOneElementAndOfLoops) {
  EXPECT_EQ(Writes("A[x] = 1"), "A=[x..+1]");
  EXPECT_EQ(Writes("for i in 0..n { A[i] = 1 }"), "A=[0..+n]");
  EXPECT_EQ(Writes("for i in 0..4, j in 0..16 { C[i * 16 + j] = 1 }"), "C=[0..+64]");
  EXPECT_EQ(Writes("for i in 0..n, j in 0..m { B[i, j] = 1 }"), "B=[0..+n, 0..+m]");
  EXPECT_EQ(Writes("for i in 0..4 { C[60 - i] = 1 }"), "C=[57..+4]");
  EXPECT_EQ(Writes("C[ramp(x, 1, 4)] = broadcast(0.0, 4)"), "C=[x..+4]");
}

TEST(AccessRegions, AreNotExactWhereElementsAreLeftOut) {
  EXPECT_EQ(Writes("for i in 0..4 { C[i * 2] = 1 }"), "C[0..+7]");
  EXPECT_EQ(Writes("for i in 0..n { B[i, i] = 1 }"), "B[0..+n, 0..+n]");
  EXPECT_EQ(Writes("for i in 0..n { if i > x { A[i] = 1 } }"),
            "A[max(x + 1, 0)..+n - max(x + 1, 0)]");
  EXPECT_EQ(Writes("for i in 0..n, j in 0..4 { if i * 4 + j < n { A[i * 4 + j] = 1 } }"),
            "A[0..+n]");
  // The other loop may not run.
  EXPECT_EQ(Writes("for i in 0..n, j in 0..m { A[i] = 1 }"), "A[0..+n]");
  EXPECT_EQ(Writes("for i in 0..n, j in 0..2 { A[i] = 1 }"), "A=[0..+n]");
  EXPECT_EQ(Writes("for i in 0..n, j in 0..i { A[j] = 1 }"), "A[0..+n - 1]");
  EXPECT_EQ(Writes("while A[0] > 0 { A[0] = 1 }"), "A[0..+1]");
  EXPECT_EQ(Writes("for t in 0..64 bind(threadIdx.x) { C[t] = 1 }"), "C[0..+64]");
}

TEST(AccessRegions, JoinToOneBox) {
  EXPECT_EQ(Writes("C[x] = 1\nC[x + 1] = 1"), "C=[x..+2]");
  EXPECT_EQ(Writes("C[x] = 1\nC[x + 2] = 1"), "C[x..+3]");
  EXPECT_EQ(Writes("if x > 0 { C[0] = 1 }\nfor i in 0..8 { C[i] = 1 }"), "C=[0..+8]");
  EXPECT_EQ(Writes("C[0] = 1\nC[x] = 1"), "C[min(x, 0)..+max(x, 0) - min(x, 0) + 1]");
}

TEST(AccessRegions, OfWhatIsNotUnderstoodAreTheWholeDimension) {
  EXPECT_EQ(Writes("for i in 0..n { B[int64(A[i]), 3] = 1 }"), "B[0..+n, 3..+1]");
  EXPECT_EQ(Text(Regions("for i in 0..n { B[int64(A[i]), 3] = 1 }").reads), "A=[0..+n]");
  EXPECT_EQ(Writes("B[int64(A[0]), 3] = 1"), "B[0..+n, 3..+1]");
  EXPECT_EQ(Writes("for i in 0..n { C[i * x // n] = 1 }"), "C[0..+64]");
}

TEST(AccessRegions, OfOneElementAreThat) { EXPECT_EQ(Writes("C[x // n] = 1"), "C=[x // n..+1]"); }

TEST(AccessRegions, AreOfBuffersFromOutside) {
  AccessRegions regions = Regions("alloc t: float32[4] in local\nt[0] = A[0]\nC[0] = t[0]");
  EXPECT_EQ(Text(regions.reads), "A=[0..+1]");
  EXPECT_EQ(Text(regions.writes), "C=[0..+1]");
  EXPECT_TRUE(regions.opaque.empty());
  AccessRegions views = Regions("buffer v: float32[4] at A\nv[0] = 1");
  EXPECT_EQ(Text(views.writes), "");
  EXPECT_EQ(views.opaque.size(), 1u);
}

TEST(AccessRegions, OfAnAddressAreAllOrTheTileThatIsNamed) {
  AccessRegions all = Regions("call_extern(\"f\", address_of(B[x, 0]))");
  EXPECT_EQ(all.opaque.size(), 1u);
  AccessRegions tile = Regions("call_extern(\"f\", address_of(B[x, 2], 4, 8))");
  EXPECT_TRUE(tile.opaque.empty());
  EXPECT_EQ(Text(tile.reads), "B[x..+4, 2..+8]");
  EXPECT_EQ(Text(tile.writes), "");
  EXPECT_EQ(Text(Regions("call_extern(\"f\", address_of(B[x, 2], 4, 8, \"write\"))").writes),
            "B[x..+4, 2..+8]");
}

}  // namespace
}  // namespace tern::tir
