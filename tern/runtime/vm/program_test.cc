// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/program.h"

#include <gtest/gtest.h>

#include "tern/runtime/test_data/test_environment.h"
#include "tern/runtime/vm/text.h"

namespace tern::runtime::vm {
namespace {

void ExpectError(const std::function<void()>& body, const std::string& message) {
  std::string error = ErrorOf(body);
  EXPECT_NE(error.find(message), std::string::npos) << error;
}

// Every instruction, kind of constant and operator.
constexpr const char* kText = R"(model 1
dim n
dim "seq len"
input x: float32[n, 4]
input "in:0": int64[n * 2 + 1, "seq len"]
output y: float32[n, max(n, "seq len") // 2]
output found: int64[?, 1]
constant w: float32[4, 8] weights
constant two: int64[2] = 0x01000000000000000200000000000000
constant zero: float32[64] splat 0x00000000
constant "p:1": float32[1, 4, 8] made
prepack pack_prepare(w, "p:1")

func main(i0, i1, t0: float32[:, :], t1: int64[:, :]) -> (tensor, tensor) {
  ints 5
  lists 1
  t2: float32[:, :]
  t3: float32[:, :, :]
  t4: float32[]
  i2 = dim t0, 1
  i3 = int select(i0 < 3 && !(i1 == 2) || i0 <= -1, div(i0, 2), rem(i0 - (i1 - 1), 3) % 7)
  check i2 == 4 && i1 != 0, "x \"y\": {} and\x0a{}", i2, i1 * (i0 + 1)
  t2 = alloc [i0, 8] output 0
  t2 = alloc [i0 + 1, min(i0, 8)]
  t3 = view t2, i0 * 4, [1, i0, 4], [8, 8, 2]
  t4 = view t2, 0, []
  t3 = const "p:1"
  call pack(t0, t3, t2, i0, -3, 1.5, 1e+30, bits(0x000000000000f07f))
L9:
  i3 = call_packed host.count(t0)
  call_packed host.note()
  i3, t2 = invoke sub(i0, t2, l0)
  branch i3 == 0, L9
  jump L14
L14:
  i4 = read t1, i0 - 1
  copy t2, t2
  l0 = list make(t2, t0)
  i4 = list size(l0)
  t2 = list get(l0), i4 - 1
  list insert(l0, t2), 0
  list erase(l0), i0
  free t2, l0
  ret t2, t1
}

func sub(i0, t0: float32[:, :], l0) -> (int, tensor) {
  ret i0, t0
}
)";

TEST(Program, TextIsReadBack) {
  Program program = ParseProgram(kText, "a.vm");
  EXPECT_EQ(PrintProgram(program), kText);
  EXPECT_EQ(ParseProgram(PrintProgram(program), "a.vm"), program);
}

TEST(Program, BytesAreReadBack) {
  Program program = ParseProgram(kText, "a.vm");
  std::string bytes = EncodeProgram(program);
  EXPECT_EQ(DecodeProgram(bytes), program);
  EXPECT_EQ(EncodeProgram(DecodeProgram(bytes)), bytes);
}

TEST(Program, EveryTruncationIsAnError) {
  std::string bytes = EncodeProgram(ParseProgram(kText, "a.vm"));
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(DecodeProgram(bytes.substr(0, size)), Error) << size;
  ExpectError([&] { DecodeProgram(bytes + "x"); }, "the program has 1 bytes too many");
}

TEST(Program, OtherVersionsAndCodesAreRefused) {
  Program program;
  std::string bytes = EncodeProgram(program);
  bytes[0] = 9;
  ExpectError([&] { DecodeProgram(bytes); },
              "version 9 of the program is not supported: this runtime reads version 1");
  program.functions.emplace_back().code.emplace_back();
  bytes = EncodeProgram(program);
  size_t opcode = bytes.rfind(static_cast<char>(Opcode::kRet));
  bytes[opcode] = 16;
  ExpectError([&] { DecodeProgram(bytes); }, "unknown code 16 for an instruction");
}

TEST(Program, AsABuilderMakesIt) {
  Program program;
  program.dims = {"n"};
  IntExpr n = IntExpr::Register(0);
  program.inputs = {{"x", DataType::Float(32), {n, IntExpr::Const(4)}}};
  program.outputs = {
      {"y", DataType::Float(32), {IntExpr::Apply(IntOp::kMul, {n, IntExpr::Const(2)})}}};
  Function& main = program.functions.emplace_back();
  main.name = "main";
  main.params = {.ints = 1, .tensors = 1};
  main.results = {.tensors = 1};
  main.AddInt();
  uint32_t x = main.AddTensor(DataType::Float(32), 2), y = main.AddTensor(DataType::Float(32), 1);
  main.code.push_back({.op = Opcode::kAlloc,
                       .index = 1,
                       .results = {Operand::Tensor(y)},
                       .exprs = program.outputs[0].shape});
  main.code.push_back({.op = Opcode::kCall,
                       .index = program.Kernel("f"),
                       .args = {Operand::Tensor(x), Operand::Tensor(y), Operand::ConstFloat(2)}});
  main.code.push_back({.op = Opcode::kRet, .args = {Operand::Tensor(y)}});
  EXPECT_EQ(PrintProgram(program), R"(model 1
dim n
input x: float32[n, 4]
output y: float32[n * 2]

func main(i0, t0: float32[:, :]) -> (tensor) {
  t1: float32[:]
  t1 = alloc [i0 * 2] output 0
  call f(t0, t1, 2.0)
  ret t1
}
)");
}

TEST(Program, TextOfOthersIsAnErrorWithItsPlace) {
  auto expect = [](const std::string& lines, const std::string& message) {
    ExpectError([&] { ParseProgram("model 1\n" + lines, "a.vm"); }, message);
  };
  ExpectError([&] { ParseProgram("", "a.vm"); }, "a.vm:1:1: error: expected 'model 1'");
  ExpectError([&] { ParseProgram("model 2", "a.vm"); },
              "a.vm:1:8: error: version 2 is not supported: expected 1");
  expect("dims n", "a.vm:2:1: error: expected dim, input, output, constant, prepack or func");
  expect("dim batch\ninput x: float32[batc]",
         "a.vm:3:18: error: there is no dim batc (did you mean batch?)");
  expect("input x: float33[]", "a.vm:2:10: error: 'float33' is no data type");
  expect("constant c: int8[1] = 0x0", "a.vm:2:25: error: expected two digits for each byte");
  expect("prepack f(w)", "a.vm:2:11: error: there is no constant w");
  expect("func main() -> () {\n  jump L1\n}", "a.vm:3:8: error: there is no label L1");
  expect("func main() -> () {\n  invoke f()\n}", "a.vm:3:10: error: there is no function f");
  expect("func main() -> () {\n  i0 = x 3\n}", "a.vm:3:8: error: expected an instruction");
  expect("func main() -> () {\n  t1: int8[]\n}",
         "a.vm:3:3: error: expected t0: tensors are declared in order");
  expect("func main() -> () {\n  ret", "a.vm:3:1: error: expected '}'");
  expect("func main() -> () {\n  i0 = int " + std::string(1000, '(') + "\n}",
         "the expression is nested too deeply");
}

}  // namespace
}  // namespace tern::runtime::vm
