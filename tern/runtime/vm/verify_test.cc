// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/verify.h"

#include <gtest/gtest.h>

#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/vm/flow.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

constexpr const char* kHead = R"(model 1
dim n
input x: float32[n, 4]
output y: float32[n, 4]
constant w: float32[4, 4] weights
constant at: int64[2] = 0x01000000000000000200000000000000
)";

// add(a, b, c): c is written; scale(a, s, c); pack(w, p)
std::vector<FunctionInfo> Kernels() {
  DataType f32 = DataType::Float(32);
  ParamInfo in{"a", f32, true, {"n", "4"}}, b = in, out = in, s{"s", f32};
  b.name = "b";
  out.name = "c";
  out.is_output = true;
  ParamInfo w{"w", f32, true, {"4", "4"}}, p = out;
  p.name = "p";
  return {{"add", {in, b, out}}, {"scale", {in, s, out}}, {"pack", {w, p}}};
}

std::string Verify(const std::string& text) {
  std::vector<FunctionInfo> kernels = Kernels();
  return ErrorOf([&] { VerifyProgram(ParseProgram(text, "a.vm"), &kernels); });
}

// main with one more register of each kind, t1 of type float32[:, :], and `code`.
std::string Main(const std::string& code, const std::string& head = "", bool ints = true) {
  return kHead + head + "func main(i0, t0: float32[:, :]) -> (tensor) {\n" +
         (ints ? "ints 2\n" : "") + "t1: float32[:, :]\n" + code + "\n}\n";
}
std::string VerifyMain(const std::string& code) {
  return Verify(Main(code + "\ni1 = int 0\nt1 = alloc [i0, 4]\nret t1"));
}

TEST(Verify, WhatIsRight) {
  EXPECT_EQ(VerifyMain(""), "no error");
  EXPECT_EQ(
      VerifyMain("t1 = alloc [i0, 4] output 0\ncall add(t0, t0, t1)\ncall scale(t0, 2.5, t1)"),
      "no error");
  EXPECT_EQ(VerifyMain("branch i0 < 3, A\ni1 = int 1\njump B\nA:\ni1 = int 2\nB:\ncheck i1, \"\""),
            "no error");
}

TEST(Verify, InstructionsThatAreNotWellFormed) {
  auto expect = [](const std::string& code, const std::string& message) {
    std::string error = VerifyMain(code);
    EXPECT_NE(error.find(message), std::string::npos) << error;
  };
  expect("t2 = alloc [i0]",
         "function main, instruction 0 (t2 = alloc [i0]): there is no register t2");
  expect("i1 = int i7", "there is no int register 7");
  expect("t1 = dim t0, 0", "expected results of kind 'i', got 't'");
  expect("i1 = dim t0, 2", "t0 has no axis 2");
  expect("t1 = alloc [i0]",
         "t1 is a float32 tensor of rank 2, expected a float32 tensor of rank 1");
  expect("t1 = alloc [i0, 4] output 1", "there is no output 1");
  expect("t1 = const at", "t1 is a float32 tensor of rank 2, expected a int64 tensor of rank 1");
  expect("i0 = int 3", "parameter i0 is written");
  expect("invoke main(i0, t0)", "a function invokes functions behind it alone");
  expect("call mul(t0, t0, t0)", "the host code has no function mul");
  expect("call add(t0, t0)", "add takes 3 arguments, not 2");
  expect("call add(t0, 3, t0)", "argument b of add is a tensor");
  expect("call add(t0, t0, t0)", "t0 is written, and may be a constant");
  expect("t1 = alloc [i0, 4]\ncall scale(t0, t0, t1)", "argument s of scale is no tensor");
  expect("i1 = read t0, 0", "only integers and bools are read");
  expect("free i0", "only tensors and lists are freed");
  expect("ret i0", "expected results of kind 't', got 'i'");
  expect("t1 = alloc [i0, 4]\ncopy t1, t0", "t0 is written, and may be a constant");
}

TEST(Verify, RegistersHoldValuesOnEveryPath) {
  auto expect = [](const std::string& code, const std::string& message) {
    std::string error = VerifyMain(code);
    EXPECT_NE(error.find(message), std::string::npos) << error;
  };
  expect("check i1, \"\"",
         "function main, instruction 0 (check i1, \"\"): register i1 may hold no");
  expect("branch i0 < 3, A\ni1 = int 1\nA:\ncheck i1, \"\"", "register i1 may hold no value here");
  expect("t1 = alloc [i0, 4]\nfree t1\ncall add(t0, t0, t1)", "register t1 may hold no value here");
  // A loop that frees what it reads.
  expect("t1 = alloc [i0, 4]\nA:\ncall add(t0, t0, t1)\nfree t1\nbranch i0 < 3, A",
         "register t1 may hold no value here");
}

TEST(Verify, ViewsHaveTheirRank) {
  std::string error = Verify(Main("t1 = view t0, 0, [4]\nret t1", "", false));
  EXPECT_NE(error.find("it has 2 expressions"), std::string::npos) << error;
}

TEST(Verify, ViewsEndWithWhatTheyAreViewsOf) {
  auto verify = [](const std::string& code) {
    return Verify(Main("t2: float32[:]\n" + code + "\nret t1", "", false));
  };
  std::string made = "t1 = alloc [i0, 4]\nt2 = view t1, 0, [i0 * 4]\n";
  EXPECT_EQ(verify(made + "free t2"), "no error");
  EXPECT_NE(
      verify(made + "free t1\nt1 = alloc [i0, 4]\ni1 = dim t2, 0").find("there is no register"),
      std::string::npos);
  std::string error = verify(made + "t1 = alloc [i0, 4]\ncopy t2, t1");
  EXPECT_NE(error.find("register t2 may hold no value here"), std::string::npos) << error;
  error = verify(made + "t2 = view t0, 0, [i0]");
  EXPECT_NE(error.find("t2 is a view of one tensor, and something else too"), std::string::npos)
      << error;
  error = Verify(Main("t1 = view t1, 0, [i0, 4]\nret t1", "", false));
  EXPECT_NE(error.find("t1 is a view of itself"), std::string::npos) << error;
  // What is written through a view of an input.
  error = Verify(Main("t1 = view t0, 0, [i0, 4]\ncall add(t0, t0, t1)\nret t1", "", false));
  EXPECT_NE(error.find("t1 is written, and may be a constant"), std::string::npos) << error;
}

TEST(Verify, ConstantsThatAreInvokedWithAreNotWritten) {
  std::string text = Main("t1 = const w\nt2: float32[:, :]\nt2 = invoke f(t1)\nret t2", "", false) +
                     "func f(t0: float32[:, :]) -> (tensor) {\ncall add(t0, t0, t0)\nret t0\n}\n";
  EXPECT_NE(Verify(text).find("function f, instruction 0 (call add(t0, t0, t0)): t0 is written"),
            std::string::npos)
      << Verify(text);
}

TEST(Verify, TheWhole) {
  auto expect = [](const std::string& text, const std::string& message) {
    std::string error = Verify(text);
    EXPECT_NE(error.find(message), std::string::npos) << error;
  };
  std::string right = Main("t1 = alloc [i0, 4]\nret t1", "", false);
  EXPECT_EQ(Verify(right), "no error");
  expect("model 1\n", "the program has no function");
  expect(Main("t1 = alloc [i0, 4]\nret t1", "dim m\n", false), "no input tells the dim m");
  expect(Main("t1 = alloc [i0, 4]\nret t1", "output z: float32[]\n", false), "gives its 2 outputs");
  expect(Main("t1 = alloc [i0, 4]", "", false), "function main: it does not end in ret or jump");
  expect(Main("t1 = const w\nret t1"), "i1 is never written");
  expect(Main("t1 = alloc [i0, 4]\nret t1", "constant z: int8[3] = 0x00\n", false),
         "constant z has 1 bytes, expected 3");
  expect(Main("t1 = alloc [i0, 4]\nret t1", "constant z: int8[-1] weights\n", false),
         "constant z: shape (-1) is not legal");
  expect(Main("t1 = alloc [i0, 4]\nret t1", "constant z: float32[4, 4] made\n", false),
         "constant z is never made");
  std::string made = "constant z: float32[4, 4] made\nprepack pack(w, z)\n";
  EXPECT_EQ(Verify(Main("t1 = const z\nret t1", made, false)), "no error");
  expect(Main("t1 = const z\nret t1", made + "prepack pack(w, z)\n", false), "z is made twice");
  expect(Main("t1 = const z\nret t1", made + "prepack pack(z, w)\n", false),
         "pack writes to constant w, which is not made");
}

TEST(Verify, CountsWithoutBytesBehindThem) {
  Program program = ParseProgram(Main("t1 = alloc [i0, 4]\nret t1", "", false), "a.vm");
  program.functions[0].num_ints = ~0u;
  EXPECT_EQ(ErrorOf([&] { VerifyProgram(program, nullptr); }),
            "function main: more registers than are ever written");
  program.functions[0].num_ints = 1;
  program.functions.emplace_back().params.ints = ~0u;
  EXPECT_EQ(ErrorOf([&] { VerifyProgram(program, nullptr); }),
            "function : more than 65536 parameters or results");
}

TEST(Flow, Lifetimes) {
  Program program = ParseProgram(Main(R"(t2: float32[:]
t3: float32[:]
t2 = alloc [i0]
t3 = alloc [i0]
free t2
t1 = alloc [i0, 4]
L:
branch i0, L
ret t1)",
                                      "", false),
                                 "a.vm");
  std::vector<Lifetime> lifetimes = TensorLifetimes(program.functions[0]);
  EXPECT_EQ(lifetimes[0], (Lifetime{0, 5}));
  EXPECT_EQ(lifetimes[1], (Lifetime{3, 5}));
  EXPECT_EQ(lifetimes[2], (Lifetime{0, 2}));
  EXPECT_EQ(lifetimes[3], (Lifetime{1, 5}));
}

// What is allocated again behind its free lives until the loop comes around.
TEST(Flow, LifetimesAcrossLoops) {
  Program program = ParseProgram(
      Main("t1 = alloc [i0, 4]\nL:\nfree t1\nt1 = alloc [i0, 4]\nbranch i0, L\nret t1", "", false),
      "a.vm");
  EXPECT_EQ(TensorLifetimes(program.functions[0])[1], (Lifetime{0, 4}));
}

}  // namespace
}  // namespace tern::runtime::vm
