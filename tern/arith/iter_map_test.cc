// SPDX-License-Identifier: Apache-2.0
//
// Random maps are in test/fuzz/check_arith.cc.
#include "tern/arith/iter_map.h"

#include <gtest/gtest.h>

#include "tern/arith/test_index_text.h"

namespace tern::arith {
namespace {

using namespace tern::ir;

// "base + scale * name[lower, extent]" per binding, or the error.
std::string Describe(const IterMap& map) {
  std::string text;
  for (const IterSum& sum : map.bindings) {
    text += text.empty() ? "" : "; ";
    if (!IsConst(sum.base, 0) || sum.splits.empty()) text += tir::Print(sum.base);
    for (const IterSplit& split : sum.splits) {
      if (!IsConst(sum.base, 0)) text += " + ";
      if (!IsConst(split.scale, 1)) text += tir::Print(split.scale) + " * ";
      if (split.source->var.get()) {
        text += split.source->var.name();
      } else {
        text += "(";
        for (const IterSplit& part : split.source->fused.splits)
          text += (text.back() == '(' ? "" : " ") + part.source->var.name();
        text += ")";
      }
      text += "[" + tir::Print(split.lower_factor) + ", " + tir::Print(split.extent) + "]";
    }
  }
  return text + (map.not_injective.empty() ? "" : " (" + map.not_injective + ")");
}

std::string Detect(const std::string& loops, const std::vector<std::string>& bindings) {
  IndexText text = IndexText::Parse(loops, bindings);
  Analyzer outside = text.Outside();
  IterMapResult result = DetectIterMap(text.exprs, text.loops, text.condition, outside);
  return result.map ? Describe(*result.map) : "error: " + result.error;
}

TEST(IterMap, SplitsAndFusedLoops) {
  EXPECT_EQ(Detect("i in 0..4, j in 0..8", {"i", "j"}), "i[1, 4]; j[1, 8]");
  EXPECT_EQ(Detect("f in 0..64", {"f // 16", "f % 16"}), "f[16, 4]; f[1, 16]");
  EXPECT_EQ(Detect("f in 0..64", {"f // 4 % 4", "f // 16", "f % 4"}), "f[4, 4]; f[16, 4]; f[1, 4]");
  EXPECT_EQ(Detect("i in 0..4, j in 0..8", {"i * 8 + j"}), "(i j)[1, 32]");
  EXPECT_EQ(Detect("i in 0..4, j in 0..8", {"(i * 8 + j) // 16", "(i * 8 + j) % 16"}),
            "i[2, 2]; (i j)[1, 16]");
  EXPECT_EQ(Detect("i in 0..4, j in 0..8", {"j * 2 + 3", "i"}), "3 + 2 * j[1, 8]; i[1, 4]");
  EXPECT_EQ(Detect("i in 2..6", {"i"}), "2 + i[1, 4]");
  EXPECT_EQ(Detect("i in 0..1, j in 0..8", {"i", "j"}), "0; j[1, 8]");
}

TEST(IterMap, SymbolicExtents) {
  EXPECT_EQ(Detect("i in 0..m, j in 0..n", {"i * n + j"}), "(i j)[1, n * m]");
  EXPECT_EQ(Detect("i in 0..n, j in 0..4", {"i * 4 + j"}), "(i j)[1, n * 4]");
  EXPECT_EQ(Detect("f in 0..n * 4", {"f // 4", "f % 4"}), "f[4, n]; f[1, 4]");
}

TEST(IterMap, TailsOfSplits) {
  EXPECT_EQ(Detect("i in 0..(n + 3) // 4, j in 0..4 where i * 4 + j < n", {"i * 4 + j"}),
            "(i j)[1, n]");
  EXPECT_EQ(
      Detect("i in 0..3, j in 0..4, k in 0..8 where i * 4 + j < 10 && k < 5", {"k", "i * 4 + j"}),
      "k[1, 5]; (i j)[1, 10]");
  EXPECT_EQ(Detect("i in 0..3, j in 0..4 where i * 4 + j < 10", {"i", "j"}),
            "error: the condition bounds i and j, which no binding is");
}

TEST(IterMap, ReasonsWhyNot) {
  EXPECT_EQ(Detect("i in 0..4, j in 0..8", {"i"}), "i[1, 4] (no binding depends on j)");
  EXPECT_EQ(Detect("f in 0..64", {"f // 16"}), "f[16, 4] (no binding depends on some digits of f)");
  EXPECT_EQ(Detect("f in 0..64", {"f % 16"}),
            "f[1, 16] (no binding depends on the upper digits of f)");
  EXPECT_EQ(Detect("i in 0..4", {"i", "i"}), "error: two bindings depend on the same part of i");
  EXPECT_EQ(Detect("i in 0..4, j in 0..8", {"i * 4 + j"}),
            "error: the values of i and j overlap in a sum, or leave gaps");
  EXPECT_EQ(Detect("i in 0..4, j in 0..8", {"i * 16 + j"}),
            "error: the values of i and j overlap in a sum, or leave gaps");
  EXPECT_EQ(Detect("f in 0..10", {"f // 4", "f % 4"}),
            "error: the extent of f is not surely a multiple of what it is split by");
  EXPECT_EQ(Detect("i in 0..4, j in 0..8", {"i * j"}),
            "error: a product of loops is neither a split nor a fused loop");
  EXPECT_EQ(Detect("i in 0..8", {"min(i, 4)"}),
            "error: a choice of loops is neither a split nor a fused loop");
  EXPECT_EQ(Detect("i in 0..8 where i >= 1", {"i"}),
            "error: the condition bounds no loop from above");
  EXPECT_EQ(Detect("i in 0..8", {"(i + 3) // 4"}), "error: i is shifted before it is divided");
  EXPECT_EQ(Detect("i in 0..8", {"7 - i"}), "error: the factor of i is not surely positive");
}

TEST(IterMap, BijectiveOntoAxes) {
  IndexText text = IndexText::Parse("i in 0..4, j in 0..8", {"i * 8 + j"});
  Analyzer outside = text.Outside();
  IterMap map = *DetectIterMap(text.exprs, text.loops, {}, outside).map;
  std::string reason;
  EXPECT_TRUE(IsBijective(map, {Expr(32)}, outside));
  EXPECT_FALSE(IsBijective(map, {Expr(33)}, outside, &reason));
  EXPECT_EQ(reason, "binding 0 does not surely have all values of its axis");
  text = IndexText::Parse("i in 0..4", {"i * 2"});
  map = *DetectIterMap(text.exprs, text.loops, {}, outside).map;
  EXPECT_FALSE(IsBijective(map, {Expr(4)}, outside, &reason));
  EXPECT_EQ(reason, "binding 0 has gaps");
}

TEST(IterMap, Inverse) {
  auto inverse = [](const std::string& loops, const std::vector<std::string>& bindings) {
    IndexText text = IndexText::Parse(loops, bindings);
    Analyzer outside = text.Outside();
    IterMap map = *DetectIterMap(text.exprs, text.loops, text.condition, outside).map;
    std::vector<Expr> outputs;
    for (size_t i = 0; i < bindings.size(); ++i) {
      Var output("y" + std::to_string(i));
      outside.BindRange(output, map.bindings[i].base, map.Extent(i));
      outputs.push_back(output);
    }
    std::string result;
    for (const Expr& value : InverseIterMap(map, outputs, outside))
      result += (result.empty() ? "" : ", ") + tir::Print(value);
    return result;
  };
  EXPECT_EQ(inverse("i in 0..4, j in 0..8", {"j", "i"}), "y1, y0");
  EXPECT_EQ(inverse("i in 0..4, j in 0..8", {"i * 8 + j"}), "y0 // 8, y0 % 8");
  EXPECT_EQ(inverse("f in 0..64", {"f // 16", "f % 16"}), "y0 * 16 + y1");
  EXPECT_EQ(inverse("i in 0..m, j in 0..n", {"i * n + j"}), "y0 // n, y0 % n");
  EXPECT_EQ(inverse("i in 2..6", {"i * 3"}), "y0 // 3");
  EXPECT_EQ(inverse("i in 0..4, j in 0..8", {"(i * 8 + j) // 4", "j % 4"}),
            "y0 // 2, y0 % 2 * 4 + y1");
}

}  // namespace
}  // namespace tern::arith
