// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/block_kind.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/schedule/nest.h"
#include "tern/tir/text.h"

namespace tern::schedule {
namespace {

// The descriptions of the blocks of a function, a line each.
std::string DescriptionOf(const std::string& text) {
  Initialize();
  tir::PrimFunc function =
      tir::AsPrimFunc(tir::ParseModule("test.tir", text)->functions.begin()->second);
  std::string lines;
  for (const BlockInfo& block : DescribeBlocks(function))
    lines += (lines.empty() ? "" : "\n") + block.name + " " + block.str();
  return lines;
}

constexpr const char* kArrays =
    "A: float32[8, 8], B: float32[8, 8], C: float32[8, 8], V: float32[8], I: int64[8], T: "
    "float32[8, 8, 8], Q: float32[16, 16]";

// One block b of these axes, which are 8 long. Upper case: what the letter stands for.
struct Case {
  const char* axes;  // "s s r": v0, v1, v2
  const char* body;
  const char* expected;
};

std::string Program(const Case& test) {
  std::string loops, axes, close;
  int i = 0;
  for (const char* c = test.axes; *c; ++c) {
    if (*c == ' ') continue;
    std::string n = std::to_string(i++);
    const char* kind = *c == 's' ? "spatial" : *c == 'r' ? "reduce" : *c == 'c' ? "scan" : "opaque";
    loops += "for i" + n + " in 0..8 {\n";
    axes += (n == "0" ? "v" : ", v") + n + ": " + kind + "(8) = i" + n;
    close += "}\n";
  }
  return std::string("func f(") + kArrays + ") {\n" + loops + "block b(" + axes + ") {\n" +
         test.body + "\n}\n" + close + "}\n";
}

constexpr Case kCases[] = {
    // Elements.
    {"s s", "C[v0, v1] = A[v0, v1] + B[v0, v1]", "elementwise: spatial v0, spatial v1"},
    {"s s", "C[v0, v1] = 0", "elementwise: spatial v0, spatial v1"},
    {"s s", "let x = A[v0, v1]\nC[v0, v1] = x * x", "elementwise: spatial v0, spatial v1"},
    {"s s", "C[v1, v0] = A[v1, v0]", "elementwise: spatial v0, spatial v1"},
    {"s s", "C[v0, v1] = A[v0, v1] + V[v1]", "broadcast: spatial v0, spatial v1"},
    {"s s", "C[v0, v1] = V[0]", "broadcast: spatial v0, spatial v1"},
    {"s s", "C[v0, v1] = A[v1, v0]", "injective: spatial v0, spatial v1"},
    {"s s", "C[v0, v1] = A[v0, 7 - v1]", "injective: spatial v0, spatial v1"},
    {"s s", "C[v0, v1] = A[v0, v0]", "injective: spatial v0, spatial v1"},
    {"s s", "C[v0, 7 - v1] = A[v0, v1]", "injective: spatial v0, spatial v1"},
    {"s s", "C[v0, v1] = A[v0, v1]\nB[v1, v0] = A[v0, v1]", "injective: spatial v0, spatial v1"},
    {"s s", "C[v0, v1] = A[I[v0], v1]", "gather: spatial v0, spatial v1"},
    {"s s", "let row = I[v0]\nC[v0, v1] = A[row, v1]", "gather: spatial v0, spatial v1"},
    {"s s", "C[I[v0], v1] = A[v0, v1]", "scatter: spatial v0, spatial v1"},
    {"s r", "C[I[v1], v0] = C[I[v1], v0] + A[v1, v0]", "scatter: spatial v0, reduce v1"},
    // Reductions that are nothing more.
    {"s r", "V[v0] = V[v0] + A[v0, v1]", "reduction: spatial v0, reduce v1"},
    {"s r", "V[v0] = max(V[v0], A[v0, v1])", "reduction: spatial v0, reduce v1"},
    {"s r", "V[v0] = V[v0] + A[v0, v1] * A[v0, v1]", "reduction: spatial v0, reduce v1"},
    {"s r", "V[v0] = V[v0] + A[v0, I[v1]] * B[v1, 0]", "reduction: spatial v0, reduce v1"},
    {"r", "V[0] = V[0] + A[v0, 0] * B[v0, 0]", "reduction: reduce v0"},
    {"s s r", "C[v0, v1] = max(C[v0, v1], A[v0, v2] * B[v2, v1])",
     "reduction: spatial v0, spatial v1, reduce v2"},
    {"s s r", "C[v0, v1] = C[v0, v1] + A[v0, v2] * B[v2, v1] * V[v2]",
     "reduction: spatial v0, spatial v1, reduce v2"},
    {"s s r", "C[v0, v1] = C[v0, v1] + (A[v0, v2] + B[v2, v1])",
     "reduction: spatial v0, spatial v1, reduce v2"},
    {"s s r", "C[v0, v1] = C[v0, v1] * 2 + A[v0, v2] * B[v2, v1]",
     "reduction: spatial v0, spatial v1, reduce v2"},
    {"s s r", "C[v0, v1] = C[v0, v1] + A[v0, v2] * V[v0]",
     "reduction: spatial v0, spatial v1, reduce v2"},
    {"s s r", "C[v0, v1] = C[v0, v1] + A[v0, v2] * V[v2]",
     "reduction: spatial v0, spatial v1, reduce v2"},
    // Matrix products: the last axis of the result is the column, whatever the order.
    {"s s r", "C[v0, v1] = C[v0, v1] + A[v0, v2] * B[v2, v1]", "matmul: M v0, N v1, K v2"},
    {"s s r", "C[v0, v1] = B[v2, v1] * A[v0, v2] + C[v0, v1]", "matmul: M v0, N v1, K v2"},
    {"s s r", "C[v1, v0] = C[v1, v0] + A[v1, v2] * B[v0, v2]", "matmul: N v0, M v1, K v2"},
    {"s s r", "C[v0, v1] = C[v0, v1] + A[v0, v2] * A[v1, v2]", "matmul: M v0, N v1, K v2"},
    {"s r", "V[v0] = V[v0] + A[v0, v1] * B[v1, 3]", "matmul: N v0, K v1"},
    {"s s s r", "T[v0, v1, v2] = T[v0, v1, v2] + A[v0, v3] * B[v3, v2]",
     "reduction: spatial v0, spatial v1, spatial v2, reduce v3"},
    {"s s s r", "T[v0, v1, v2] = T[v0, v1, v2] + Q[v1, v3] * T[v0, v3, v2]",
     "reduction: spatial v0, spatial v1, spatial v2, reduce v3"},
    {"s s r", "C[v0, v1] = C[v0, v1] + T[v0, v1, v2] * A[v0, v2]", "matmul: batch v0, N v1, K v2"},
    {"s s r r", "C[v0, v1] = C[v0, v1] + T[v0, v2, v3] * T[v1, v2, v3]",
     "matmul: M v0, N v1, K v2, K v3"},
    // Windows.
    {"s s r r", "C[v0, v1] = C[v0, v1] + Q[v0 + v2, v1 + v3] * A[v2, v3]",
     "convolution: pixel v0, pixel v1, window v2, window v3"},
    {"s s r r", "C[v0, v1] = C[v0, v1] + A[v2, v3] * Q[v0 + v2, v1 + v3]",
     "convolution: pixel v0, pixel v1, window v2, window v3"},
    {"s s r", "C[v0, v1] = C[v0, v1] + Q[v0, v1 * 2 + v2 - 1] * V[v2]",
     "convolution: batch v0, pixel v1, window v2"},
    {"s s r r", "C[v0, v1] = C[v0, v1] + Q[v3, v1 + v2] * T[v0, v3, v2]",
     "convolution: N v0, pixel v1, window v2, K v3"},
    {"s s r", "C[v0, v1] = C[v0, v1] + Q[v0, v1 + v2] * A[v0, v2]",
     "convolution: group v0, pixel v1, window v2"},
    {"s s r", "C[v0, v1] = C[v0, v1] + select(v1 + v2 >= 1, Q[v0, v1 + v2 - 1], 0) * V[v2]",
     "convolution: batch v0, pixel v1, window v2"},
    {"s s r", "C[v0, v1] = C[v0, v1] + Q[v0, (v1 + v2) // 2] * V[v2]",
     "reduction: spatial v0, spatial v1, reduce v2"},
    {"s s r", "C[v0, v1] = C[v0, v1] + Q[v0, v1 + v2] * A[v1, v2]",
     "reduction: spatial v0, spatial v1, reduce v2"},
    {"s s r r", "C[v0, v1] = max(C[v0, v1], Q[v0 + v2, v1 + v3])",
     "pooling: pixel v0, pixel v1, window v2, window v3"},
    {"s s r", "C[v0, v1] = C[v0, v1] + Q[v0, v1 * 2 + v2]",
     "pooling: spatial v0, pixel v1, window v2"},
    {"s s r r", "C[v0, v1] = C[v0, v1] + T[v0, v1 * 4 + v2, v3]",
     "reduction: spatial v0, spatial v1, reduce v2, reduce v3"},
    {"s s r", "C[v0, v1] = C[v0, v1] + Q[v0 + v1, v2]",
     "reduction: spatial v0, spatial v1, reduce v2"},
    // What is not followed.
    {"s c", "C[v0, v1] = A[v0, v1] + select(v1 > 0, C[v0, v1 - 1], 0)",
     "scan: spatial v0, scan v1"},
    {"s o", "C[v0, v1] = A[v0, v1]", "opaque: spatial v0, opaque v1"},
    {"s", "for j in 0..8 {\nC[v0, j] = A[v0, j]\n}", "opaque: spatial v0"},
};

TEST(BlockKind, CasesAreWhatTheyAre) {
  for (const Case& test : kCases)
    EXPECT_EQ(DescriptionOf(Program(test)), std::string("b ") + test.expected) << test.body;
}

// Three blocks over the rows of A: `first` and `second` reduce, `last` computes elements.
std::string Rows(const std::string& first, const std::string& second, const std::string& last) {
  auto nest = [](const std::string& name, const std::string& kind, const std::string& body) {
    return "for i in 0..8, j in 0..9 {\nblock " + name + "(vi: spatial(8) = i, vj: " + kind +
           "(9) = j) {\n" + body + "\n}\n}\n";
  };
  return "func f(A: float32[8, 9], C: float32[8, 9], W: float32[9]) {\nalloc m: float32[8]\nalloc "
         "t: float32[8]\nalloc w: float32[9]\n" +
         nest("first", "reduce", first) + nest("second", "reduce", second) +
         nest("last", "spatial", last) + "}\n";
}

TEST(BlockKind, BlocksOverTheSameRowsAreOne) {
  const char* largest = "init { m[vi] = -inf }\nm[vi] = max(m[vi], A[vi, vj])";
  const char* total = "init { t[vi] = 0 }\nt[vi] = t[vi] + exp(A[vi, vj] - m[vi])";
  const char* mean = "init { m[vi] = 0 }\nm[vi] = m[vi] + A[vi, vj] / 9";
  const char* square = "init { t[vi] = 0 }\nt[vi] = t[vi] + A[vi, vj] * A[vi, vj]";
  std::string parts =
      "first reduction: spatial vi, reduce vj\nsecond reduction: spatial vi, reduce vj\n";
  EXPECT_EQ(DescriptionOf(Rows(largest, total, "C[vi, vj] = exp(A[vi, vj] - m[vi]) / t[vi]")),
            parts + "last softmax: spatial vi, spatial vj; with first, second");
  EXPECT_EQ(
      DescriptionOf(Rows(mean, square, "C[vi, vj] = (A[vi, vj] - m[vi]) * rsqrt(t[vi]) * W[vj]")),
      parts + "last normalization: spatial vi, spatial vj; with first, second");
  // Only what it needs.
  EXPECT_EQ(DescriptionOf(Rows(mean, square, "C[vi, vj] = A[vi, vj] - m[vi]")),
            parts + "last normalization: spatial vi, spatial vj; with first");
  // Nothing that was reduced.
  EXPECT_EQ(DescriptionOf(Rows(mean, square, "C[vi, vj] = A[vi, vj] * W[vj]")),
            parts + "last broadcast: spatial vi, spatial vj");
  // Along the columns.
  EXPECT_EQ(DescriptionOf(Rows(mean, square, "C[vi, vj] = A[vi, vj] - m[7 - vi]")),
            parts + "last injective: spatial vi, spatial vj");
}

BlockInfo Describe(const std::string& body) {
  tir::PrimFunc function = tir::AsPrimFunc(
      tir::ParseModule("test.tir", Program({"s s", body.c_str(), ""}))->functions.begin()->second);
  return DescribeBlocks(function).at(0);
}

TEST(BlockKind, LoopsAndOperationsAreKnown) {
  Initialize();
  BlockInfo block = Describe("C[v0, v1] = select(v0 > 3, A[v0 - 4, v1], 0) + exp(V[v1])");
  EXPECT_EQ(block.axes[1].loop.name(), "i1");
  EXPECT_TRUE(block.conditional);
  EXPECT_TRUE(block.axes[0].decides);
  EXPECT_FALSE(block.axes[1].decides);
  EXPECT_GT(block.operations, 16);
  ASSERT_EQ(block.accesses.size(), 3u);
  EXPECT_TRUE(block.accesses[0].store);
  EXPECT_EQ(block.accesses[2].axes, std::vector<size_t>{1});
}

TEST(BlockKind, LoadsThatAreInsideInAnyCaseAreNoCondition) {
  Initialize();
  BlockInfo block = Describe("C[v0, v1] = select(v0 > 3, A[v0, v1], 0) + exp(V[v1])");
  EXPECT_FALSE(block.conditional);
  EXPECT_FALSE(block.axes[0].decides);
}

// "matmul: batch vb, ..." of a product in the last two dimensions, or "none".
std::string BatchedGemmOf(const std::string& store, const std::string& a, const std::string& b) {
  Initialize();
  std::string text = R"(func f(A: float32[8, 16, 32], B: float32[2, 32, 16], D: float32[2, 16, 32],
                               C: float32[8, 16, 16]) {
    for b in 0..8, i in 0..16, j in 0..16, k in 0..32 {
      block f(vb: spatial(8) = b, vi: spatial(16) = i, vj: spatial(16) = j, vk: reduce(32) = k) {
        init {
          STORE = 0.0
        }
        STORE = STORE + LEFT * RIGHT
      }
    }
  })";
  for (const auto& [name, by] : {std::pair("STORE", store), {"LEFT", a}, {"RIGHT", b}})
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name))
      text.replace(at, std::string(name).size(), by);
  ir::IRModule module = tir::ParseModule("test.tir", text);
  tir::PrimFunc function = tir::AsPrimFunc(module->functions.begin()->second);
  const tir::BlockNode* block = BlocksIn(function->body)[0];
  std::optional<BlockInfo> gemm = DescribeBatchedGemm(block, DescribeBlock(block));
  return gemm ? gemm->str() : "none";
}

TEST(BatchedGemm, HeadsShareAnOperand) {
  const std::string gemm = "matmul: batch vb, M vi, N vj, K vk";
  EXPECT_EQ(BatchedGemmOf("C[vb, vi, vj]", "A[vb, vi, vk]", "B[vb // 4, vk, vj]"), gemm);
  EXPECT_EQ(BatchedGemmOf("C[vb, vi, vj]", "D[vb // 4, vj, vk]", "A[vb, vi, vk]"), gemm);
  EXPECT_EQ(BatchedGemmOf("C[vb, vj, vi]", "A[vb, vi, vk]", "B[0, vk, vj]"),
            "matmul: batch vb, N vi, M vj, K vk");
}

TEST(BatchedGemm, IsInTheLastTwoDimensions) {
  EXPECT_EQ(BatchedGemmOf("C[vb, vi, vj]", "A[vi // 2, vb, vk]", "B[vb // 4, vk, vj]"), "none");
  EXPECT_EQ(BatchedGemmOf("C[vb, vi, vj]", "A[vb, vi, 31 - vk]", "B[vb // 4, vk, vj]"), "none");
  EXPECT_EQ(BatchedGemmOf("C[vb, vi, vj]", "A[vb, vi, vk]", "A[vb, vi, vk]"), "none");
  EXPECT_EQ(BatchedGemmOf("C[vb, vi, vj]", "A[vb, vi, vk]", "B[vb // 4, vk, vi]"), "none");
  EXPECT_EQ(BatchedGemmOf("C[vb, vi, vj]", "A[vb, vi, vk]", "D[vb // 4, vj, 0]"), "none");
}

TEST(BlockKind, NamesOperators) {
  auto program = [](const std::string& op) {
    return "func f(A: float32[8], B: float32[8]) { for i in 0..8 { block relu(vi: spatial(8) = i) "
           "attrs {op = \"" +
           op + "\"} { B[vi] = max(A[vi], 0.0) } } }";
  };
  EXPECT_EQ(DescriptionOf(program("conv+relu")), "relu elementwise of conv+relu: spatial vi");
  EXPECT_EQ(DescriptionOf(program("relu")), "relu elementwise: spatial vi");
}

}  // namespace
}  // namespace tern::schedule
