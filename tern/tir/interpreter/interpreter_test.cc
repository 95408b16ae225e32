// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tern/compile.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

using runtime::Tensor;

class InterpreterTest : public ::testing::Test {
 protected:
  void SetUp() override { Initialize(); }

  static void Run(const std::string& text, const std::vector<ffi::Any>& args) {
    Interpret(ParseModule("t.tir", text), "f", args);
  }
  template <class... T>
  static Tensor Make(DataType dtype, T... values) {
    Tensor tensor = Tensor::Empty({static_cast<int64_t>(sizeof...(T))}, dtype);
    int64_t i = 0;
    (runtime::SetElement(tensor, i++, values), ...);
    return tensor;
  }
  static std::string ErrorOf(const std::string& text, const std::vector<ffi::Any>& args) {
    try {
      Run(text, args);
    } catch (const Error& error) {
      return error.kind() + ": " + error.message();
    }
    return "no error";
  }
};

TEST_F(InterpreterTest, BlocksInitialiseAtTheFirstStepOfTheReduction) {
  Tensor a = Make(DataType::Float(32), 1, 2, 3), sum = Make(DataType::Float(32), 99);
  Run(R"(func f(A: float32[n], S: float32[1]) {
    for i in 0..n { block s(vo: spatial(1) = 0, vi: reduce(n) = i) { init { S[vo] = 0 } S[vo] = S[vo] + A[vi] } }
  })",
      {a, sum});
  EXPECT_EQ(sum.as<float>()[0], 6);
}

TEST_F(InterpreterTest, BlocksInitialiseWhereTheReductionHasNoFirstStep) {
  Tensor a = Tensor::Empty({2, 0}, DataType::Float(32));
  // The loops, and what stands in the block's parentheses and behind them.
  std::pair<const char*, const char*> nests[] = {
      {"i in 0..2, j in 0..m", "vi: spatial(2) = i, vj: reduce(m) = j)"},
      {"j in 0..m, i in 0..2", "vi: spatial(2) = i, vj: reduce(m) = j)"},
      {"i in 0..2, j in 0..0", "vi: spatial(2) = i, vj: reduce(0) = j)"},
      {"i in 0..2, j in 0..5", "vi: spatial(2) = i, vj: reduce(m) = j) where j < m"},
      {"f in 0..2 * m", "vi: spatial(2) = f // m, vj: reduce(m) = f % m)"},
      {"k in 0..3, j in 0..m, i in 0..2",
       "vi: spatial(2) = i, vk: reduce(3) = k, vj: reduce(m) = j)"},
      {"i in 0..2 bind(blockIdx.x) { for j in 0..m bind(threadIdx.x)",
       "vi: spatial(2) = i, vj: reduce(m) = j)"},
  };
  for (const auto& [loops, axes] : nests) {
    Tensor sum = Make(DataType::Float(32), 99, 99, 99);
    std::string text = std::string("func f(A: float32[2, m], S: float32[3]) { for ") + loops +
                       " { block s(" + axes + " { init { S[vi] = 7 } S[vi] = S[vi] + A[vi, vj] }";
    text.append(
        std::count(text.begin(), text.end(), '{') - std::count(text.begin(), text.end(), '}'), '}');
    Run(text, {a, sum});
    EXPECT_EQ(sum.as<float>()[0], 7) << loops;
    EXPECT_EQ(sum.as<float>()[1], 7) << loops;
    EXPECT_EQ(sum.as<float>()[2], 99) << loops;
  }
}

TEST_F(InterpreterTest, ExtentsMayBeUsedBeforeTheTensorThatDefinesThem) {
  Tensor c = Make(DataType::Float(32), 1, 2, 3), a = Make(DataType::Float(32), 5, 7);
  Run("func f(C: float32[n + 1], A: float32[n]) { C[n] = A[n - 1] }", {c, a});
  EXPECT_EQ(c.as<float>()[2], 7);
}

TEST_F(InterpreterTest, FloatsOutOfRangeOfAnIntegerAreReported) {
  Tensor c = Make(DataType::Int(32), 0);
  for (const char* text : {"int32(int64(float64(1e19)))", "int32(uint64(-1.0))",
                           "int32(float64(1e300))", "int32(nan)", "int32(uint8(256.0))"}) {
    std::string error = ErrorOf(std::string("func f(C: int32[1]) { C[0] = ") + text + " }", {c});
    EXPECT_NE(error.find("does not fit in"), std::string::npos) << text << ": " << error;
  }
  Run("func f(C: int32[1]) { C[0] = int32(uint8(-0.5)) + int32(int8(-128.9)) }", {c});
  EXPECT_EQ(c.as<int32_t>()[0], -128);
}

TEST_F(InterpreterTest, RoundsAndWrapsAsTheTypesDo) {
  Tensor f = Make(DataType::Float(32), 16777216, 1), u = Make(DataType::UInt(8), 250, 10),
         h = Make(DataType::Float(16), 1, 0.0004), i = Make(DataType::Int(8), -128, 1);
  Run(R"(func f(F: float32[2], U: uint8[2], H: float16[2], I: int8[2]) {
    F[0] = F[0] + F[1]   U[0] = U[0] + U[1]   H[0] = H[0] + H[1]   I[0] = I[0] - I[1]
  })",
      {f, u, h, i});
  EXPECT_EQ(f.as<float>()[0], 16777216.0f);
  EXPECT_EQ(u.as<uint8_t>()[0], 4);
  EXPECT_EQ(runtime::GetElement(h, 0), 1.0);
  EXPECT_EQ(i.as<int8_t>()[0], 127);
}

TEST_F(InterpreterTest, DividesBothWays) {
  Tensor out = Tensor::Empty({4}, DataType::Int(32));
  Run(R"(func f(O: int32[4], a: int32, b: int32) {
    O[0] = a // b   O[1] = a % b   O[2] = truncdiv(a, b)   O[3] = truncmod(a, b)
  })",
      {out, -7, 2});
  EXPECT_EQ(std::vector<int32_t>(out.as<int32_t>(), out.as<int32_t>() + 4),
            (std::vector<int32_t>{-4, 1, -3, -1}));
}

TEST_F(InterpreterTest, LogicStopsEarly) {
  Tensor out = Make(DataType::Int(32), 0);
  Run("func f(O: int32[1], a: int32) { if a == 0 || 4 // a == 2 { O[0] = 1 } }", {out, 0});
  EXPECT_EQ(out.as<int32_t>()[0], 1);
}

TEST_F(InterpreterTest, RunsVectors) {
  Tensor a = Make(DataType::Float(32), 1, 2, 3, 4, 0, 0, 0, 0);
  Run("func f(A: float32[8]) { A[ramp(7, -1, 4)] = A[ramp(0, 1, 4)] * broadcast(A[1], 4) }", {a});
  EXPECT_EQ(a.as<float>()[7], 2);
  EXPECT_EQ(a.as<float>()[4], 8);
}

TEST_F(InterpreterTest, ThreadsOfABlockWaitAtBarriers) {
  Tensor a = Tensor::Empty({64}, DataType::Int(32)), s = Tensor::Empty({4}, DataType::Int(32));
  for (int i = 0; i < 64; ++i) a.as<int32_t>()[i] = i * i;
  Run(R"(func f(A: int32[64], S: int32[4]) {
    for b in 0..4 bind(blockIdx.x) {
      for t in 0..16 bind(threadIdx.x) {
        alloc part: int32[16] in shared
        part[t] = A[b * 16 + t]
        alloc width: int64[1] in local
        width[0] = 8
        while width[0] > 0 {
          barrier("shared")
          if t < width[0] { part[t] = part[t] + part[t + width[0]] }
          width[0] = width[0] // 2
        }
        if t == 0 { S[b] = part[0] }
      }
    }
  })",
      {a, s});
  for (int b = 0; b < 4; ++b) {
    int sum = 0;
    for (int i = 16 * b; i < 16 * b + 16; ++i) sum += i * i;
    EXPECT_EQ(s.as<int32_t>()[b], sum);
  }
}

TEST_F(InterpreterTest, BlocksOfThreadsHaveTheirOwnSharedAndLocalMemory) {
  Tensor a = Make(DataType::Int(32), 0, 0, 0, 0);
  Run(R"(func f(A: int32[4]) {
    for b in 0..2 bind(blockIdx.x) {
      alloc s: int32[1] in shared
      for t in 0..2 bind(threadIdx.x) {
        alloc mine: int32[1] in local
        mine[0] = int32(10 * b + t)
        if t == 1 { s[0] = 100 + int32(b) }
        barrier("shared")
        A[2 * b + t] = mine[0] + s[0]
      }
    }
  })",
      {a});
  EXPECT_EQ(std::vector<int32_t>(a.as<int32_t>(), a.as<int32_t>() + 4),
            (std::vector<int32_t>{100, 101, 111, 112}));
}

// Two copies by each of two threads, and `order` before a thread reads what the other one copied to
// `read` or behind it.
std::string CopiesThenReads(const char* order, int read) {
  return R"(func f(A: int32[4], B: int32[4]) {
    for t in 0..2 bind(threadIdx.x) {
      alloc s: int32[4] in shared
      s[t] = async_copy(A[t])
      async_commit()
      s[2 + t] = async_copy(A[2 + t])
      async_commit()
      )" +
         std::string(order) + "\n      B[t] = s[" + std::to_string(read) + " + 1 - t] } }";
}

TEST_F(InterpreterTest, CopiesThatAreWaitedForAreThere) {
  for (auto [order, read] : {std::pair{R"(async_wait(0) barrier("shared"))", 2},
                             std::pair{R"(async_wait(1) barrier("shared"))", 0}}) {
    Tensor a = Make(DataType::Int(32), 3, 4, 5, 6), b = Make(DataType::Int(32), 0, 0, 0, 0);
    Run(CopiesThenReads(order, read), {a, b});
    EXPECT_EQ(b.as<int32_t>()[0], a.as<int32_t>()[read + 1]);
    EXPECT_EQ(b.as<int32_t>()[1], a.as<int32_t>()[read]);
  }
}

TEST_F(InterpreterTest, CopiesThatAreNotWaitedForMayNotBeThere) {
  Tensor a = Make(DataType::Int(32), 3, 4, 5, 6), b = Make(DataType::Int(32), 0, 0, 0, 0);
  auto error = [&](const char* order, int read) {
    return ErrorOf(CopiesThenReads(order, read), {a, b});
  };
  EXPECT_EQ(error(R"(barrier("shared"))", 0),
            "RuntimeError: t.tir:9:14: s[1] is read, but thread threadIdx.x=1 copies to it "
            "asynchronously at t.tir:4:7, and has not waited for that; is async_wait missing?");
  EXPECT_NE(error(R"(async_wait(1) barrier("shared"))", 2).find("s[3] is read, but"),
            std::string::npos);
  // Each thread has waited for its own copies alone.
  EXPECT_NE(error(R"(barrier("shared") async_wait(0))", 0).find("data race on s[1]"),
            std::string::npos);
  EXPECT_NE(error("s[t] = 7", 0).find("s[0] is written, but thread threadIdx.x=0 copies"),
            std::string::npos);
}

TEST_F(InterpreterTest, AWholeBlockCanTakeABranchWithABarrier) {
  Tensor a = Make(DataType::Int(32), 0, 0, 0, 0);
  Run(R"(func f(A: int32[4]) {
    for b in 0..2 bind(blockIdx.x) {
      for t in 0..2 bind(threadIdx.x) {
        A[2 * b + t] = 1
        if b == 1 {
          barrier("global")
          let x = A[2 * b + 1 - t]
          barrier("global")
          A[2 * b + t] = x + int32(t)
        }
      }
    }
  })",
      {a});
  EXPECT_EQ(std::vector<int32_t>(a.as<int32_t>(), a.as<int32_t>() + 4),
            (std::vector<int32_t>{1, 1, 1, 2}));
}

// One launch, or one parallel loop, waits for the one before it; a task may use an element alone.
TEST_F(InterpreterTest, OrderedAccessesAreNoRaces) {
  Tensor a = Make(DataType::Int(32), 1, 2, 3, 4);
  Run(R"(func f(A: int32[4]) {
    for t in 0..4 bind(threadIdx.x) { A[t] = A[t] + 1  A[t] = A[t] * 2 }
    for t in 0..4 bind(threadIdx.x) { A[3 - t] = A[3 - t] + 1 }
    for i in 0..4 parallel { A[i] = A[i] + 1 }
    for i in 0..2 parallel {
      for j in 0..2 parallel { A[2 * i + j] = A[2 * i + j] + 1 }
      for j in 0..2 parallel { A[2 * i + 1 - j] = A[2 * i + 1 - j] + 1 }
      A[2 * i] = A[2 * i + 1]
    }
    A[3] = A[0]
  })",
      {a});
  EXPECT_EQ(std::vector<int32_t>(a.as<int32_t>(), a.as<int32_t>() + 4),
            (std::vector<int32_t>{10, 10, 14, 10}));
}

TEST_F(InterpreterTest, RunsKernelsAfterTheyAreSplitOff) {
  ir::IRModule module = ParseModule("t.tir", R"(func f(A: int32[n]) {
    for b in 0..n // 4 bind(blockIdx.x) {
      for t in 0..4 bind(threadIdx.x) {
        alloc s: int32[4] in shared
        s[t] = A[b * 4 + t]
        barrier("shared")
        A[b * 4 + t] = s[3 - t]
      }
    }
  })");
  target::Target target = target::Target::Parse("opencl");
  module = MapFunctions(
      module, [&](const PrimFunc& function) { return function.WithAttr(attr::kTarget, target); });
  module = ir::RunPasses(module, {"simplify", "flatten_buffers", "split_host_device"});
  Tensor a = Make(DataType::Int(32), 1, 2, 3, 4, 5, 6, 7, 8);
  Interpret(module, "f", {a});
  EXPECT_EQ(std::vector<int32_t>(a.as<int32_t>(), a.as<int32_t>() + 8),
            (std::vector<int32_t>{4, 3, 2, 1, 8, 7, 6, 5}));
}

TEST_F(InterpreterTest, RunsFunctionsThatUnpackTheirArguments) {
  ir::IRModule module = ParseModule("t.tir", R"(func f(A: int32[n], B: int32[n, 2], s: int32) {
    for i in 0..n bind(blockIdx.x) { B[i, 0] = A[i] + s  B[i, 1] = A[i] * s }
  })");
  module = Lower(module, target::Target::Parse("c"));
  Tensor a = Make(DataType::Int(32), 5, 6), b = Tensor::Empty({2, 2}, DataType::Int(32));
  Interpret(module, "f", {a, b, 3});
  EXPECT_EQ(std::vector<int32_t>(b.as<int32_t>(), b.as<int32_t>() + 4),
            (std::vector<int32_t>{8, 15, 9, 18}));
  try {
    Interpret(module, "f", {a, a, 3});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("argument 1 (B): expected int32 tensor of rank 2, got "
                                   "int32 tensor of shape (2,) on cpu:0"),
              std::string::npos)
        << error.message();
  }
}

// As sessions of models pass them.
TEST_F(InterpreterTest, TakesViewsOfTensors) {
  ir::IRModule module = ParseModule("t.tir", R"(func f(A: int32[n], B: int32[n]) {
    for i in 0..n { B[i] = A[i] + 1 }
  })");
  Tensor a = Make(DataType::Int(32), 5, 6, 7), b = Tensor::Empty({2}, DataType::Int(32));
  Tensor tail = a.Slice(0, 1, 3);
  TernTensorView views[] = {tail->view(), b->view()};
  std::vector<ffi::Any> args;
  for (TernTensorView& view : views)
    args.push_back(ffi::Any::Adopt({kTernTensorView, 0, {.v_tensor = &view}}));
  Interpret(module, "f", args);
  EXPECT_EQ(b.as<int32_t>()[0], 7);
  EXPECT_EQ(b.as<int32_t>()[1], 8);
}

TEST_F(InterpreterTest, SaysHowMuchMemoryIsMissing) {
  EXPECT_EQ(
      ErrorOf("func f(n: int64) { alloc t: float32[n] in local }", {int64_t{1} << 50}),
      "RuntimeError: t.tir:1:26: there is no memory for t, which needs 4503599627370496 bytes");
}

TEST_F(InterpreterTest, OnlyTheChosenValueCounts) {
  Tensor a = Make(DataType::Float(32), 1, 2);
  EXPECT_EQ(ErrorOf("func f(A: float32[n]) { A[0] = select(n < 2, A[n], A[1]) }", {a}), "no error");
  EXPECT_EQ(ErrorOf("func f(A: float32[n]) { A[0] = if_then_else(n < 2, A[n], A[1]) }", {a}),
            "no error");
  const char* out_of_bounds = "index 2 is out of bounds in dimension 0 of A, whose shape is (2)";
  EXPECT_EQ(ErrorOf("func f(A: float32[n]) { A[0] = select(n < 3, A[n], A[1]) }", {a}),
            std::string("IndexError: t.tir:1:46: ") + out_of_bounds);
  // The lanes of a vector may choose differently: both values are there.
  EXPECT_EQ(ErrorOf("func f(A: float32[n]) { A[ramp(0, 1, 2)] = select(broadcast(n < 2, 2), "
                    "A[ramp(1, 1, 2)], A[ramp(0, 1, 2)]) }",
                    {a}),
            std::string("IndexError: t.tir:1:72: ") + out_of_bounds);
}

TEST_F(InterpreterTest, ReportsWrongPrograms) {
  Tensor a = Tensor::Empty({4}, DataType::Float(32)), i = Make(DataType::Int(32), 2147483647);
  EXPECT_EQ(
      ErrorOf("func f(A: float32[n]) { A[n] = 1 }", {a}),
      "IndexError: t.tir:1:25: index 4 is out of bounds in dimension 0 of A, whose shape is (4)");
  EXPECT_EQ(
      ErrorOf("func f(A: float32[n]) { A[0] = A[-1] }", {a}),
      "IndexError: t.tir:1:32: index -1 is out of bounds in dimension 0 of A, whose shape is (4)");
  EXPECT_EQ(ErrorOf("func f(I: int32[1]) { I[0] = I[0] + 1 }", {i}),
            "ValueError: t.tir:1:35: int32 overflow");
  EXPECT_EQ(ErrorOf("func f(A: float32[n]) { A[9223372036854775807 + n] = 1 }", {a}),
            "ValueError: t.tir:1:47: int64 overflow");
  EXPECT_EQ(ErrorOf("func f(I: int32[1]) { I[0] = 1 // (I[0] - I[0]) }", {i}),
            "ValueError: t.tir:1:32: division by zero");
  EXPECT_EQ(ErrorOf("func f(A: float32[n]) { assert n == 5, IndexError, \"n is \", n }", {a}),
            "IndexError: n is 4");
  EXPECT_EQ(ErrorOf("func f(A: float32[n]) { block b(v: spatial(n) = n) { A[v] = 0 } }", {a}),
            "IndexError: t.tir:1:25: axis v of block b is 4, outside of 0..4");
}

TEST_F(InterpreterTest, ChecksArguments) {
  Tensor a = Tensor::Empty({4}, DataType::Float(32)), b = Tensor::Empty({5}, DataType::Float(32));
  const char* text = "func f(A: float32[n], B: float32[n]) { }";
  EXPECT_EQ(ErrorOf(text, {a}), "ValueError: f: expected 2 arguments, got 1");
  EXPECT_EQ(ErrorOf(text, {a, 3}),
            "ValueError: f: argument 1 (B): expected float32 tensor of rank 1, got int 3");
  EXPECT_EQ(ErrorOf(text, {a, b}),
            "ValueError: f: argument 1 (B): expected extent 0 to be 4, got shape (5)");
}

}  // namespace
}  // namespace tern::tir
