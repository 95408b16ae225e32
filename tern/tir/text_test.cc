// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/text.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/ir/structural.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/extern_kernel.h"
#include "tern/tir/stmt.h"

namespace tern::tir {
namespace {

class TextTest : public ::testing::Test {
 protected:
  void SetUp() override { Initialize(); }

  // Parses, prints, parses again: the same structure and the same text.
  static void RoundTrip(const std::string& text) {
    ir::IRModule first = ParseModule("test.tir", text);
    Verify(first);
    std::string printed = PrintModule(first);
    ir::IRModule second = ParseModule("printed.tir", printed);
    EXPECT_TRUE(StructuralEqual(first, second)) << printed;
    EXPECT_EQ(PrintModule(second), printed);
  }
  static std::string ErrorsOf(const std::string& text) {
    try {
      Verify(ParseModule("test.tir", text));
    } catch (const Error& error) {
      return error.message();
    }
    ADD_FAILURE() << "no error";
    return "";
  }
};

TEST_F(TextTest, StringsOverLines) {
  auto code = [](const std::string& literal) {
    ir::IRModule module = ParseModule(
        "t.tir",
        "kernel k(A: float32[n]) launch(threadIdx.x) writes(A) from \"d\" format \"f\" {\n" +
            literal + "\n}\nfunc kernel(kernel: float32[n]) { kernel[0] = 1 }");
    std::string printed = PrintModule(module);
    ir::IRModule again = ParseModule("printed.tir", printed);
    EXPECT_TRUE(StructuralEqual(module, again)) << printed;
    EXPECT_EQ(PrintModule(again), printed);
    return AsExternKernel(module->functions.at("k"))->code;
  };
  EXPECT_EQ(code(R"("""a""")"), "a");
  EXPECT_EQ(code("\"\"\"\n\n  a \\n \"b\"\n\"\"\""), "\n  a \\n \"b\"\n");
  EXPECT_EQ(code(R"("""""")"), "");
  // Not every text can stand between triple quotes.
  EXPECT_EQ(code(R"("\n\"\"\"x")"), "\n\"\"\"x");
  EXPECT_EQ(code(R"("\nx\"")"), "\nx\"");
  // Tokens behind such a string are on their lines.
  EXPECT_EQ(ErrorsOf("func f(A: float32[n]) {\n  assert n > 0, \"\"\"\nno\n\"\"\" x\n}"),
            "test.tir:4:5: error: expected a statement (for, while, if, let, alloc, buffer, "
            "assert, block, scope, return, a store or a call), found 'x'\n  \"\"\" x\n      ^");
  EXPECT_EQ(
      ErrorsOf("kernel k(A: float32[n]) launch(threadIdx.x) writes(A) from \"d\" format \"f\" "
               "{ file \"x\" }"),
      "test.tir:1:82: error: a text that is no file names a file of code\n  kernel k(A: "
      "float32[n]) launch(threadIdx.x) writes(A) from \"d\" format \"f\" { file \"x\" }\n" +
          std::string(83, ' ') + "^");
}

TEST_F(TextTest, ExternalKernelsDifferByWhatTheySay) {
  auto kernel = [](const std::string& head, const std::string& tail) {
    return ParseModule("t.tir", "kernel k(" + head + ") launch(threadIdx.x) writes(A) " + tail);
  };
  std::string tail = "from \"d\" format \"f\" { \"code\" }";
  ir::IRModule first = kernel("A: float32[n]", tail);
  EXPECT_TRUE(StructuralEqual(first, kernel("A: float32[m]", tail)));
  EXPECT_FALSE(StructuralEqual(first, kernel("A: float32[n], n: int64", tail)));
  EXPECT_FALSE(
      StructuralEqual(first, kernel("A: float32[n]", "from \"d\" format \"f\" { \"other\" }")));
  EXPECT_FALSE(
      StructuralEqual(first, kernel("A: float32[n]", "from \"e\" format \"f\" { \"code\" }")));
  EXPECT_FALSE(StructuralEqual(first, ParseModule("t.tir", "func k(A: float32[n]) { A[0] = 1 }")));
}

TEST_F(TextTest, RoundTripsStatements) {
  RoundTrip(
      R"(func f(A: float32[n, m], s: float32, B: int32[n] strides(t), C: bool[]) attrs {test.x = [1, "a", true], test.y = -3} {
    let a = n + 1
    let b: float64 = 2
    alloc tmp: float32[4, 4] in local
    for i in 0..n, j in 1..m - 1 {
      A[i, j] = tmp[i % 4, j % 4] * s
    }
    for i in 2..+n parallel { B[i - 2] = 0 }
    for i in 0..4 unrolled { tmp[i, i] = 1.5 }
    for i in 0..4 vectorized { tmp[0, i] = 0 }
    for i in 3..7 { tmp[i - 3, 0] = 0 }
    for i in int32(0)..int32(4) { tmp[i, 0] = 0 }
    while A[0, 0] < 1 { A[0, 0] = A[0, 0] + 1 }
    if a > 3 && !C[] { B[0] = 1 } else if a == 2 { B[0] = 2 } else { B[0] = 3 }
    assert b == 2, ValueError, "b is ", a, " not two"
    assert a > 0, "plain"
    scope { let c = a  B[0] = int32(c) }
    scope { }
    block sum(vi: spatial(n) = a - 1, vj: reduce(m) = 0) { init { A[vi, 0] = 0 } A[vi, 0] = A[vi, 0] + A[vi, vj] }
    for t in 0..64 bind(threadIdx.x) { B[t] = 1 barrier("shared") barrier("global") }
  })");
}

TEST_F(TextTest, RoundTripsExpressions) {
  RoundTrip(R"(func f(A: float32[n], D: float64[n], H: float16[n], U: uint64[n], I: int8[n]) {
    A[0] = (1.0 - (2.0 - A[1])) * A[0] / (A[1] / A[2]) + -A[3] - -1.5
    A[1] = min(A[0], max(A[1], 0)) + select(A[0] < A[1] || A[1] == 2 && !(A[0] >= 1), 1e-30, 3.4028235e38)
    A[2] = inf + -inf * nan + 0.1 + 16777216 + -0.0
    D[0] = 0.1 + float64(A[0]) + inf
    H[0] = float16(0.333) + 2
    U[0] = uint64(18446744073709551615) + U[1] % 3
    I[0] = int8(-128) + cast<int8>(300) + int8(A[0])
    A[ramp(0, 1, 4)] = broadcast(A[0], 4) + A[ramp(n - 4, 1, 4)] + 1
    A[3] = (let x = A[0] * 2 in x * x) + float32(truncdiv(n, 2) + truncmod(n, 3) - n // 4 % 5 * (n - (1 + 2)))
  })");
}

TEST_F(TextTest, NamesAreMadeUnique) {
  Var x("x"), other("x"), keyword("for");
  Expr sum = x + other * keyword;
  EXPECT_EQ(Print(sum), "x + x_1 * for_1");
}

TEST_F(TextTest, LiteralsTakeTheTypeTheyMeet) {
  ir::IRModule module = ParseModule("t", "func f(A: float64[4]) { A[0] = 0.1 }");
  Stmt body = AsPrimFunc(module->functions.at("f"))->body;
  const auto* value = body.As<BufferStoreNode>()->value.As<ir::FloatImmNode>();
  ASSERT_TRUE(value);
  EXPECT_EQ(value->value, 0.1);  // all digits, not those of a float32
}

TEST_F(TextTest, ReportsSeveralMistakesWithTheirPlaces) {
  EXPECT_EQ(ErrorsOf("func f(A: float32[n]) {\n"
                     "  A[0] = B[0]\n"
                     "  let x = y + 1\n"
                     "  A[x] = 1\n"  // x was reported already
                     "  for i in 0..n {\n"
                     "    A[i, i] = 1\n"
                     "  }\n"
                     "  A[0] = true\n"
                     "}\n"),
            "test.tir:2:10: error: 'B' is not defined\n"
            "    A[0] = B[0]\n"
            "           ^\n"
            "test.tir:3:11: error: 'y' is not defined\n"
            "    let x = y + 1\n"
            "            ^\n"
            "test.tir:6:5: error: A has rank 1, but is accessed with 2 indices\n"
            "      A[i, i] = 1\n"
            "      ^\n"
            "test.tir:8:3: error: cannot store bool in A, which holds float32\n"
            "    A[0] = true\n"
            "    ^");
}

TEST_F(TextTest, SurvivesNonsense) {
  // Any prefix and any single deletion of a program parses or is refused with an error; nothing
  // else happens.
  std::string text =
      "func f(A: float32[n], s: int32) attrs {test.a = \"x\"} {\n  block b(v: spatial(n) = n - 1) "
      "{ "
      "A[v] = float32(s) * 2.5e3 }\n}";
  for (size_t i = 0; i < text.size(); ++i)
    for (const std::string& mutant : {text.substr(0, i), text.substr(0, i) + text.substr(i + 1)}) {
      try {
        ParseModule("t", mutant);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), "ParseError");
      }
    }
  std::string deep = "func f(A: float32[n]) { A[0] = " + std::string(100000, '(') + "1 }";
  EXPECT_NE(ErrorsOf(deep).find("nested too deeply"), std::string::npos);
  deep = "func f(A: float32[n]) { " + std::string(100000, '{') + " }";
  EXPECT_NE(ErrorsOf(deep).find("error"), std::string::npos);
}

TEST_F(TextTest, VerifierFindsWhatIsOutOfScope) {
  Var i("i");
  Buffer a = BufferNode::Make("A", DataType::Float(32), {4});
  Stmt store = BufferStoreNode::Make(a, {i}, ir::MakeConst(DataType::Float(32), 1));
  auto check = [](const PrimFunc& function) {
    try {
      Verify(ir::IRModule::Make({function}));
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  EXPECT_EQ(check(PrimFunc::Make("f", {}, store)),
            "error: buffer A is not in scope\nerror: variable i is used where it is not defined");
  Stmt loop = ForNode::Make(i, 0, 4, ForKind::kSerial, store);
  EXPECT_EQ(check(PrimFunc::Make("f", {{a->data, a}}, loop)), "");
  // The same loop twice in a row defines i twice, but never at once; nested it does.
  EXPECT_EQ(check(PrimFunc::Make("f", {{a->data, a}}, SeqNode::Make({loop, loop}))), "");
  EXPECT_EQ(
      check(PrimFunc::Make("f", {{a->data, a}}, ForNode::Make(i, 0, 4, ForKind::kSerial, loop))),
      "error: variable i is defined twice");
}

TEST_F(TextTest, ExtentsOfOneNameAreOneExtent) {
  ir::IRModule one = ParseModule("t.tir", "func f(A: float32[n], B: float32[n]) { }"),
               two = ParseModule("t.tir", "func f(A: float32[n], B: float32[m]) { }");
  EXPECT_FALSE(StructuralEqual(one, two));
  EXPECT_FALSE(StructuralEqual(two, one));
}

TEST_F(TextTest, EqualProgramsHaveOneHash) {
  auto hash = [](const std::string& text) { return StructuralHash(ParseModule("t.tir", text)); };
  auto program = [](const char* head, const char* memory, const char* loop, const char* value) {
    return std::string("func ") + head + " {\n alloc t: float32[" + memory +
           "] in local\n for i in " + loop + " {\n let x = A[i]\n t[0] = x\n A[i] = " + value +
           "\n } }";
  };
  const char* head = "f(A: float32[n], s: float32)";
  uint64_t expected = hash(program(head, "1", "0..n", "t[0] * s"));
  EXPECT_EQ(hash(program(head, "1", "0..n", "t[0] * s")), expected);
  // Names and places do not count.
  EXPECT_EQ(hash("func f(B: float32[m], r: float32) { alloc u: float32[1] in local\n"
                 "for j in 0..m { let y = B[j]\n u[0] = y\n B[j] = u[0] * r } }"),
            expected);
  EXPECT_NE(hash(program("g(A: float32[n], s: float32)", "1", "0..n", "t[0] * s")), expected);
  EXPECT_NE(
      hash(program("f(A: float32[n], s: float32) attrs {test.note = 1}", "1", "0..n", "t[0] * s")),
      expected);
  EXPECT_NE(hash(program(head, "2", "0..n", "t[0] * s")), expected);
  EXPECT_NE(hash(program(head, "1", "0..n parallel", "t[0] * s")), expected);
  EXPECT_NE(hash(program(head, "1", "0..n", "x * s")), expected);
  // Extents may have scalars in them that come later.
  const char* later = "func f(A: float32[max(n, 2)], n: int64) { A[0] = 1 }";
  EXPECT_EQ(hash(later), hash(later));
  EXPECT_TRUE(StructuralEqual(ParseModule("t.tir", later), ParseModule("t.tir", later)));
}

}  // namespace
}  // namespace tern::tir
