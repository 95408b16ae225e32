// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/interpreter.h"

#include <gtest/gtest.h>

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
