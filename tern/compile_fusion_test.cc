// SPDX-License-Identifier: Apache-2.0
//
// Composites as exporters spell them: how many kernels each becomes, and that these compute what
// the operators compute one by one.
#include <gtest/gtest.h>

#include "tern/compile_model.h"
#include "tern/runtime/runner.h"
#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/vm/session.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

namespace vm = runtime::vm;

constexpr const char* kConstants = R"(
constant zero: float32[] = [0]
constant half: float32[] = [0.5]
constant one: float32[] = [1]
constant two: float32[] = [2]
constant three: float32[] = [3]
constant epsilon: float32[] = [1e-05]
constant count: float32[] = [40]
constant root_of_half: float32[] = [0.70710677]
constant root_of_two: float32[] = [1.4142135]
constant quick: float32[] = [1.702]
constant root: float32[] = [0.7978846]
constant cube: float32[] = [0.044715]
constant both: float32[] = [0.035677407]
constant last: int64[1] = [-1]
constant axis: int64[1] = [3]
constant first: int64[1] = [0]
constant middle: int64[1] = [16]
constant end: int64[1] = [9223372036854775807]
constant halves: int64[2] = [16, 16]
constant parts: int64[2] = [4, 2]
constant four: int64[4] = [-1, 3, 49, 49]
constant four_q: int64[4] = [-1, 3, 49, 16]
constant four_k: int64[4] = [-1, 3, 16, 49]
constant five: int64[5] = [-1, 4, 3, 49, 49]
constant scale: float32[40] = splat(1.5)
constant bias: float32[40] = splat(0.25)
)";

struct Spelling {
  const char* name;
  const char* params;
  const char* body;
  std::vector<std::vector<int64_t>> shapes;
  size_t calls = 1;
};

void PrintTo(const Spelling& spelling, std::ostream* out) { *out << spelling.name; }

class Fused : public testing::TestWithParam<Spelling> {};

TEST_P(Fused, IsSoManyKernelsAndTheSameNumbers) {
  Initialize();
  const Spelling& spelling = GetParam();
  std::string text = std::string(kConstants) + "graph main(" + spelling.params + ") {\n" +
                     spelling.body + "  return y\n}\n";
  target::Target target = target::Target::DefaultHost();
  ir::IRModule module = tir::ParseModule("t.tir", text);
  CompiledModel fused = CompileModel(module, target);
  std::string kernels;
  for (const auto& call : fused.calls) {
    for (const std::string& op : call.ops) kernels += op + " ";
    kernels += "\n";
  }
  // The rules of the target are asked, so others may answer otherwise.
  if (target->kind->name == "llvm") {
    EXPECT_EQ(fused.calls.size(), spelling.calls) << kernels;
  }
  ModelOptions apart;
  apart.fuse = false;
  vm::Session session(LoadModel(fused), {.poison_memory = true});
  vm::Session plain(LoadModel(CompileModel(module, target, apart)));
  std::vector<runtime::Tensor> inputs;
  uint32_t state = 1;
  for (const std::vector<int64_t>& shape : spelling.shapes) {
    inputs.push_back(runtime::Tensor::Empty(shape, DataType::Float(32)));
    for (int64_t i = 0; i < inputs.back()->num_elements(); ++i) {
      state = state * 1664525 + 1013904223;
      inputs.back().as<float>()[i] = static_cast<float>(state >> 8) / (1 << 23) - 1;
    }
  }
  for (int run = 0; run < 2; ++run)
    EXPECT_LT(runtime::CompareTensors(session.Run(inputs)[0], plain.Run(inputs)[0]).scaled, 1e-5);
}

constexpr const char* kRows = "x: float32[b, t, 40]";
const std::vector<std::vector<int64_t>> kRowShapes = {{2, 3, 40}};

const Spelling kNorms[] = {
    {"PyTorchLayerNorm", kRows, R"(
  mean = reduce_mean(x, last)
  c = sub(x, mean)
  s = pow(c, two)
  v = reduce_mean(s, last)
  e = add(v, epsilon)
  d = sqrt(e)
  n = div(c, d)
  g = mul(n, scale)
  y = add(g, bias)
)",
     kRowShapes},
    {"KerasLayerNorm", kRows, R"(
  mean = reduce_mean(x, last)
  c = sub(x, mean)
  s = mul(c, c)
  v = reduce_mean(s, last)
  e = add(v, epsilon)
  d = sqrt(e)
  r = reciprocal(d)
  f = mul(r, scale)
  g = mul(x, f)
  m = mul(mean, f)
  h = sub(bias, m)
  y = add(g, h)
)",
     kRowShapes},
    {"FlaxLayerNorm", kRows, R"(
  mean = reduce_mean(x, last)
  s = mul(x, x)
  squares = reduce_mean(s, last)
  m = mul(mean, mean)
  v = sub(squares, m)
  c = sub(x, mean)
  e = add(v, epsilon)
  d = sqrt(e)
  r = reciprocal(d)
  f = mul(r, scale)
  g = mul(c, f)
  y = add(g, bias)
)",
     kRowShapes},
    {"FlaxLayerNormSquaresFirst", kRows, R"(
  s = mul(x, x)
  squares = reduce_mean(s, last)
  mean = reduce_mean(x, last)
  m = mul(mean, mean)
  w = sub(squares, m)
  v = max(zero, w)
  e = add(v, epsilon)
  d = sqrt(e)
  c = sub(x, mean)
  n = div(c, d)
  g = mul(n, scale)
  y = add(g, bias)
)",
     kRowShapes},
    {"FlaxLayerNormSquaresBetween", kRows, R"(
  s = mul(x, x)
  mean = reduce_mean(x, last)
  squares = reduce_mean(s, last)
  m = mul(mean, mean)
  v = sub(squares, m)
  c = sub(x, mean)
  e = add(v, epsilon)
  d = sqrt(e)
  n = div(c, d)
  g = mul(n, scale)
  y = add(g, bias)
)",
     kRowShapes},
    // Statistics without the reduced axis, put back by a reshape.
    {"JaxLayerNorm", kRows, R"(
  sum = reduce_sum(x, last) {keepdims = 0}
  mean = div(sum, count)
  s = mul(x, x)
  sums = reduce_sum(s, last) {keepdims = 0}
  squares = div(sums, count)
  m = mul(mean, mean)
  w = sub(squares, m)
  v = max(w, zero)
  mean_1 = unsqueeze(mean, last)
  v_1 = unsqueeze(v, last)
  c = sub(x, mean_1)
  e = add(v_1, epsilon)
  d = sqrt(e)
  r = reciprocal(d)
  f = mul(r, scale)
  g = mul(c, f)
  y = add(g, bias)
)",
     kRowShapes},
    {"LlamaRmsNorm", kRows, R"(
  s = pow(x, two)
  v = reduce_mean(s, last)
  e = add(v, epsilon)
  d = sqrt(e)
  n = div(x, d)
  y = mul(scale, n)
)",
     kRowShapes},
    {"T5RmsNorm", kRows, R"(
  s = mul(x, x)
  v = reduce_mean(s, last)
  e = add(v, epsilon)
  d = sqrt(e)
  r = reciprocal(d)
  n = mul(x, r)
  y = mul(n, scale)
)",
     kRowShapes},
    // A statistic that others read, too, stays in memory.
    {"MeanIsAResult", kRows, R"(
  mean = reduce_mean(x, last)
  c = sub(x, mean)
  s = mul(c, c)
  v = reduce_mean(s, last)
  e = add(v, epsilon)
  d = sqrt(e)
  n = div(c, d)
  k = concat(n, mean) {axis = 2}
  y = neg(k)
)",
     kRowShapes, 5},
};

constexpr const char* kDense = "x: float32[b, 24], w: float32[24, 40]";
const std::vector<std::vector<int64_t>> kDenseShapes = {{3, 24}, {24, 40}};

const Spelling kActivations[] = {
    {"ErfGelu", kDense, R"(
  h = matmul(x, w)
  s = div(h, root_of_two)
  e = erf(s)
  p = add(e, one)
  m = mul(h, p)
  y = mul(m, half)
)",
     kDenseShapes},
    {"ErfGeluHalfFirst", kDense, R"(
  h = matmul(x, w)
  s = mul(h, root_of_half)
  e = erf(s)
  p = add(one, e)
  m = mul(half, h)
  y = mul(m, p)
)",
     kDenseShapes},
    {"TanhGeluPow", kDense, R"(
  h = matmul(x, w)
  q = pow(h, three)
  c = mul(q, cube)
  a = add(h, c)
  s = mul(a, root)
  e = tanh(s)
  p = add(e, one)
  m = mul(h, half)
  y = mul(m, p)
)",
     kDenseShapes},
    {"TanhGeluMul", kDense, R"(
  h = matmul(x, w)
  q = mul(h, h)
  r = mul(q, h)
  c = mul(cube, r)
  a = add(h, c)
  s = mul(root, a)
  e = tanh(s)
  p = add(one, e)
  m = mul(half, h)
  y = mul(m, p)
)",
     kDenseShapes},
    {"FastGelu", kDense, R"(
  h = matmul(x, w)
  q = mul(h, h)
  c = mul(q, both)
  a = add(root, c)
  s = mul(h, a)
  e = tanh(s)
  p = add(one, e)
  m = mul(half, p)
  y = mul(h, m)
)",
     kDenseShapes},
    {"QuickGelu", kDense, R"(
  h = matmul(x, w)
  s = mul(h, quick)
  e = sigmoid(s)
  y = mul(h, e)
)",
     kDenseShapes},
    {"Silu", kDense, R"(
  h = matmul(x, w)
  e = sigmoid(h)
  y = mul(h, e)
)",
     kDenseShapes},
    // Two elementwise branches that come together.
    {"Branches",
     "a: float32[n, 40], b: float32[n, 40]",
     R"(
  s = sigmoid(a)
  t = tanh(b)
  y = mul(s, t)
)",
     {{5, 40}, {5, 40}}},
};

constexpr const char* kWindows =
    "q: float32[B, 4, 3, 49, 16], k: float32[B, 4, 3, 16, 49], v: float32[B, 4, 3, 49, 16], "
    "position: float32[1, 3, 49, 49], mask: float32[1, 4, 1, 49, 49]";
constexpr const char* kSwin = R"(
  q4 = reshape(q, four_q)
  k4 = reshape(k, four_k)
  v4 = reshape(v, four_q)
  s = matmul(q4, k4)
  t = add(s, position)
  u = reshape(t, five)
  m = add(u, mask)
  r = reshape(m, four)
  p = softmax(r) {axis = -1}
  o = matmul(p, v4)
  y = neg(o)
)";

const Spelling kAttention[] = {
    {"SwinWindows",
     kWindows,
     kSwin,
     {{2, 4, 3, 49, 16}, {2, 4, 3, 16, 49}, {2, 4, 3, 49, 16}, {1, 3, 49, 49}, {1, 4, 1, 49, 49}}},
    {"SwinWindowsOfOneImage",
     "q: float32[1, 4, 3, 49, 16], k: float32[1, 4, 3, 16, 49], v: float32[1, 4, 3, 49, 16], "
     "position: float32[1, 3, 49, 49], mask: float32[1, 4, 1, 49, 49]",
     kSwin,
     {{1, 4, 3, 49, 16}, {1, 4, 3, 16, 49}, {1, 4, 3, 49, 16}, {1, 3, 49, 49}, {1, 4, 1, 49, 49}}},
    // Halves turned (GPT-NeoX, LLaMA), behind the transposition of the heads.
    {"RotaryHalves",
     "x: float32[b, t, 3, 32], cos: float32[b, 1, t, 32], sin: float32[b, 1, t, 32]",
     R"(
  h = transpose(x) {perm = [0, 2, 1, 3]}
  low = slice(h, first, middle, axis)
  high = slice(h, middle, end, axis)
  n = neg(high)
  turned = concat(n, low) {axis = -1}
  c = mul(h, cos)
  s = mul(turned, sin)
  y = add(c, s)
)",
     {{2, 5, 3, 32}, {2, 1, 5, 32}, {2, 1, 5, 32}}},
    {"RotaryByChunks",
     "x: float32[b, t, 3, 32], cos: float32[b, 1, t, 32], sin: float32[b, 1, t, 32]",
     R"(
  h = transpose(x) {perm = [0, 2, 1, 3]}
  low, high = split(h, halves) {axis = 3}
  n = neg(high)
  turned = concat(n, low) {axis = 3}
  c = mul(h, cos)
  s = mul(turned, sin)
  y = add(c, s)
)",
     {{2, 5, 3, 32}, {2, 1, 5, 32}, {2, 1, 5, 32}}},
    // What others read of a split is computed, too.
    {"PartOfASplit",
     "x: float32[n, 6], w: float32[2, 6]",
     R"(
  a, b = split(x, parts) {axis = 1}
  c = concat(a, x) {axis = 1}
  d = matmul(b, w)
  y = concat(c, d) {axis = 1}
)",
     {{3, 6}, {2, 6}},
     3},
    {"RotaryWithoutTransposition",
     "x: float32[b, t, 3, 32], cos: float32[t, 1, 32], sin: float32[t, 1, 32]",
     R"(
  c = mul(x, cos)
  high = slice(x, middle, end, axis)
  n = neg(high)
  low = slice(x, first, middle, axis)
  turned = concat(n, low) {axis = 3}
  s = mul(turned, sin)
  y = add(c, s)
)",
     {{2, 5, 3, 32}, {5, 1, 32}, {5, 1, 32}}},
    // With a cache that grows: the rotated keys are written to it.
    {"RotaryIntoACache",
     "x: float32[b, t, 3, 32], cos: float32[t, 32], sin: float32[t, 32], "
     "past: float32[b, 3, p, 32]",
     R"(
  h = transpose(x) {perm = [0, 2, 1, 3]}
  low = slice(h, first, middle, axis)
  high = slice(h, middle, end, axis)
  n = neg(high)
  turned = concat(n, low) {axis = -1}
  c = mul(h, cos)
  s = mul(turned, sin)
  r = add(c, s)
  y = concat(past, r) {axis = 2}
)",
     {{2, 5, 3, 32}, {5, 32}, {5, 32}, {2, 3, 4, 32}}},
};

std::string NameOf(const testing::TestParamInfo<Spelling>& info) { return info.param.name; }

constexpr const char* kManyParams =
    "a: float32[40], b: float32[40], c: float32[40], d: float32[40], e: float32[40], f: "
    "float32[40], "
    "g: float32[40], h: float32[40]";
const std::vector<std::vector<int64_t>> kManyShapes(8, {40});

// Kernels of more tensors than devices bind stay apart.
const Spelling kMany[] = {
    {"OperandsOfTheLastNode", kManyParams, R"(
  ab = mul(a, b)
  abc = mul(ab, c)
  abcd = mul(abc, d)
  ef = mul(e, f)
  efg = mul(ef, g)
  if_h = less(h, zero)
  y = where(if_h, abcd, efg)
)",
     kManyShapes, 2},
    {"PrologueAndStatistics", kManyParams, R"(
  ab = mul(a, b)
  abc = mul(ab, c)
  abcd = mul(abc, d)
  x = mul(abcd, e)
  m = reduce_mean(e, last)
  n = reduce_mean(x, last)
  mn = mul(m, n)
  p = mul(mn, f)
  q = add(p, g)
  y = mul(q, h)
)",
     kManyShapes, 4},
};

INSTANTIATE_TEST_SUITE_P(Norms, Fused, testing::ValuesIn(kNorms), NameOf);
INSTANTIATE_TEST_SUITE_P(Activations, Fused, testing::ValuesIn(kActivations), NameOf);
INSTANTIATE_TEST_SUITE_P(Attention, Fused, testing::ValuesIn(kAttention), NameOf);
INSTANTIATE_TEST_SUITE_P(Many, Fused, testing::ValuesIn(kMany), NameOf);

}  // namespace
}  // namespace tern
