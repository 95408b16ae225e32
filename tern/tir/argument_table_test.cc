// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/argument_table.h"

#include <gtest/gtest.h>

#include <bit>

#include "tern/compile.h"
#include "tern/ffi/error.h"
#include "tern/tir/text.h"

namespace tern::tir {
namespace {

// A tensor of float32, of its own memory unless it is moved.
struct Given {
  std::vector<int64_t> shape, strides;
  TernTensorView view{};
  Given(std::vector<int64_t> shape, std::vector<int64_t> strides = {})
      : shape(std::move(shape)), strides(std::move(strides)) {}
};

class ArgumentTableTest : public testing::Test {
 protected:
  ArgumentTableTest() { Initialize(); }

  // The table of the first function.
  void Take(const std::string& text,
            ArgumentFacts facts = {"cpu", kTernDeviceCpu, true, true, {}}) {
    ir::IRModule module = ParseModule("t.tir", text);
    function_ = AsPrimFunc(module->functions.begin()->second);
    facts.tensors.resize(function_->params.size());
    for (size_t i = 0; i < facts.tensors.size(); ++i)
      if (const Param& param = function_->params[i]; param.is_tensor()) {
        if (facts.tensors[i].alignment == 0) facts.tensors[i].alignment = param.buffer->alignment;
        facts.tensors[i].is_written |= param.name() == "C";
      }
    table_ = MakeArgumentTable(function_, facts);
    std::vector<Expr> args = {Var("env", DataType::Handle()), Var("args", DataType::Handle()),
                              Var("n", DataType::Int(32)), Var("slots", DataType::Handle()),
                              ir::IntImmNode::Make(DataType::Int(32), 3)};
    args.insert(args.end(), table_.words.begin(), table_.words.end());
    Expr call = ir::CallNode::Make(intrinsic::kCheckArguments, args, DataType::Void());
    data_ = ReadTable(call.As<ir::CallNode>());
    device_ = {facts.device_type, 0};
  }

  static TernAny Int(int64_t value) {
    TernAny any{};
    any.type_index = kTernInt;
    any.v_int = value;
    return any;
  }
  static TernAny FloatValue(double value) {
    TernAny any{};
    any.type_index = kTernFloat;
    any.v_float = value;
    return any;
  }
  TernAny Tensor(Given& given, int64_t first_byte, uint64_t byte_offset = 0) {
    given.view.data = memory_ + first_byte;
    given.view.device = device_;
    given.view.ndim = static_cast<int32_t>(given.shape.size());
    given.view.dtype = DataType::Float(32).raw();
    given.view.shape = given.shape.data();
    given.view.strides = given.strides.empty() ? nullptr : given.strides.data();
    given.view.byte_offset = byte_offset;
    TernAny any{};
    any.type_index = kTernTensorView;
    any.v_tensor = &given.view;
    return any;
  }

  // The message, or "".
  std::string Call(const std::vector<TernAny>& args, int steps = 3) {
    slots_.resize(static_cast<size_t>(table_.num_slots));
    try {
      CheckArgumentsHere(args.data(), static_cast<int32_t>(args.size()), slots_.data(), data_,
                         steps);
    } catch (const Error& error) {
      return error.kind() + ": " + error.message();
    }
    return "";
  }
  int64_t Value(size_t param) const { return slots_[static_cast<size_t>(table_.values[param])]; }

  PrimFunc function_;
  ArgumentTable table_;
  TableData data_;
  TernDevice device_{};
  std::vector<int64_t> slots_;
  alignas(64) char memory_[4096] = {};
};

TEST_F(ArgumentTableTest, Scalars) {
  Take("func f(i: int8, u: uint16, x: float32, b: bool, p: handle) {}");
  TernAny none{};
  EXPECT_EQ(Call({Int(-128), Int(65535), FloatValue(0.5), Int(7), none}), "");
  EXPECT_EQ(Value(0), -128);
  EXPECT_EQ(Value(1), 65535);
  EXPECT_EQ(Call({Int(0), Int(0), Int(3), Int(0), none}), "");
  EXPECT_EQ(std::bit_cast<double>(Value(2)), 3.0);
  EXPECT_EQ(Call({Int(0), Int(0)}), "TypeError: f: expected 5 arguments, got 2");
  EXPECT_EQ(Call({Int(128), Int(0), Int(0), Int(0), none}),
            "ValueError: f: argument 0 (i): expected int8, which the value fits in, got int 128");
  EXPECT_EQ(Call({Int(0), Int(-1), Int(0), Int(0), none}),
            "ValueError: f: argument 1 (u): expected uint16, which the value fits in, got int -1");
  EXPECT_EQ(Call({Int(0), Int(65536), Int(0), Int(0), none}),
            "ValueError: f: argument 1 (u): expected uint16, which the value fits in, got int "
            "65536");
  EXPECT_EQ(Call({Int(0), FloatValue(0.5), Int(0), Int(0), none}),
            "TypeError: f: argument 1 (u): expected uint16, got float 0.5");
  EXPECT_EQ(Call({Int(0), Int(0), none, Int(0), none}),
            "TypeError: f: argument 2 (x): expected float32, got none");
  EXPECT_EQ(Call({Int(0), Int(0), Int(0), Int(0), Int(0)}),
            "TypeError: f: argument 4 (p): expected handle, got int 0");
}

TEST_F(ArgumentTableTest, TypesRanksAndExtents) {
  Take("func f(A: float32[n, 3], B: float32[n], k: int64, C: float32[k]) {}");
  Given a({2, 3}), b({2}), c({5}), wrong({4, 3}), flat({6}), other({3, 4});
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(b, 512), Int(5), Tensor(c, 1024)}), "");
  EXPECT_EQ(slots_[static_cast<size_t>(table_.variables[0].second)], 2);
  EXPECT_EQ(Call({Int(1), Tensor(b, 512), Int(5), Tensor(c, 1024)}),
            "TypeError: f: argument 0 (A): expected float32 tensor of rank 2, got int 1");
  EXPECT_EQ(Call({Tensor(flat, 0), Tensor(b, 512), Int(5), Tensor(c, 1024)}),
            "TypeError: f: argument 0 (A): expected float32 tensor of rank 2, got float32 tensor "
            "of shape (6,) on cpu:0");
  EXPECT_EQ(Call({Tensor(other, 0), Tensor(b, 512), Int(5), Tensor(c, 1024)}),
            "ValueError: f: argument 0 (A): expected extent 1 to be 3, got float32 tensor of shape "
            "(3, 4) on cpu:0");
  EXPECT_EQ(Call({Tensor(wrong, 0), Tensor(b, 512), Int(5), Tensor(c, 1024)}),
            "ValueError: f: argument 1 (B): expected extent 0 to be n = 4, got float32 tensor of "
            "shape (2,) on cpu:0");
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(b, 512), Int(6), Tensor(c, 1024)}),
            "ValueError: f: argument 3 (C): expected extent 0 to be k = 6, got float32 tensor of "
            "shape (5,) on cpu:0");
  TernAny doubles = Tensor(a, 0);
  a.view.dtype = DataType::Float(64).raw();
  EXPECT_EQ(Call({doubles, Tensor(b, 512), Int(5), Tensor(c, 1024)}),
            "TypeError: f: argument 0 (A): expected float32 tensor of rank 2, got float64 tensor "
            "of shape (2, 3) on cpu:0");
  TernAny elsewhere = Tensor(b, 512);
  b.view.device = {2, 0};
  EXPECT_EQ(Call({Tensor(a, 0), elsewhere, Int(5), Tensor(c, 1024)}).substr(0, 62),
            "ValueError: f: argument 1 (B): expected a tensor on cpu, got f");
}

// The function computes them between the two steps.
TEST_F(ArgumentTableTest, ExtentsThatAreExpressions) {
  Take("func f(A: float32[n + 1], B: float32[n]) {}");
  ASSERT_EQ(table_.computed.size(), 1U);
  Given a({5}), b({4});
  std::vector<TernAny> args = {Tensor(a, 0), Tensor(b, 512)};
  ASSERT_EQ(Call(args, kUnpackArguments), "");
  auto slot = static_cast<size_t>(table_.computed[0].second);
  slots_[slot] = 5;
  EXPECT_EQ(Call(args, kCompareArguments), "");
  slots_[slot] = 6;
  EXPECT_EQ(Call(args, kCompareArguments),
            "ValueError: f: argument 0 (A): expected extent 0 to be n + 1 = 6, got float32 tensor "
            "of shape (5,) on cpu:0");
}

TEST_F(ArgumentTableTest, Strides) {
  Take("func f(A: float32[n, 4] strides(s, 1), C: float32[n, 4]) {}");
  Given a({2, 4}, {8, 1}), c({2, 4}), none({2, 4}), steps({2, 4}, {8, 2}), apart({2, 4}, {8, 1});
  Given ones({1, 4}, {77, 1}), one({1, 4}, {9, 1});
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(c, 512)}), "");
  EXPECT_EQ(Call({Tensor(none, 0), Tensor(c, 512)}),
            "ValueError: f: argument 0 (A): expected strides, got a tensor without");
  EXPECT_EQ(Call({Tensor(steps, 0), Tensor(c, 512)}),
            "ValueError: f: argument 0 (A): expected stride 1 to be 1, got float32 tensor of shape "
            "(2, 4) on cpu:0");
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(apart, 512)}),
            "ValueError: f: argument 1 (C): expected a compact tensor, got float32 tensor of shape "
            "(2, 4) on cpu:0");
  EXPECT_EQ(Call({Tensor(one, 0), Tensor(ones, 512)}), "");
}

TEST_F(ArgumentTableTest, Alignment) {
  Take("func f(A: float32[n] align(16)) {}");
  Given a({4});
  EXPECT_EQ(Call({Tensor(a, 32)}), "");
  EXPECT_EQ(Call({Tensor(a, 8, 8)}), "");
  EXPECT_EQ(Call({Tensor(a, 8)}),
            "ValueError: f: argument 0 (A): expected data aligned to 16 bytes, got float32 tensor "
            "of shape (4,) on cpu:0");
}

TEST_F(ArgumentTableTest, MemoryThatIsWrittenIsApart) {
  Take("func f(A: float32[n], B: float32[n], C: float32[m] strides(s)) {}");
  Given a({4}), b({4}), c({4}, {-2}), none({0}, {1});
  const char* overlap =
      "ValueError: f: argument 2 (C): expected memory apart from that of argument 0 (A); a "
      "function with the attribute may_alias takes tensors that overlap";
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(b, 0), Tensor(c, 40)}), "");       // C has 16..43
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(b, 0), Tensor(c, 36)}), overlap);  // 12..39
  EXPECT_EQ(Call({Tensor(a, 44), Tensor(b, 0), Tensor(c, 40)}), "");
  EXPECT_EQ(Call({Tensor(a, 40), Tensor(b, 0), Tensor(c, 40)}), overlap);
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(b, 0), Tensor(none, 4)}), "");
}

// An offset in a handle is a multiple of elements, which need not be of a power of 2 bytes.
TEST_F(ArgumentTableTest, HandlesBeginWithWholeElements) {
  Take("func f(A: float32[n]) {}", {"opencl", 4, false, true, {{.alignment = 12}}});
  Given a({4});
  EXPECT_EQ(Call({Tensor(a, 0, 12)}), "");
  EXPECT_NE(Call({Tensor(a, 0, 4)}).find("aligned to 12 bytes"), std::string::npos);
}

// Without tensors nothing says which device it is: there is no slot for it.
TEST_F(ArgumentTableTest, TheDeviceIsThatOfTensors) {
  Take("func f(n: int64) {}", {"opencl", 4, false, true, {}});
  EXPECT_EQ(table_.device, -1);
  Take("func f(A: float32[n]) {}", {"opencl", 4, false, true, {}});
  EXPECT_GE(table_.device, 0);
}

// Where a device's memory has addresses, right arguments are let pass by one walk, as on hosts.
TEST_F(ArgumentTableTest, DevicesWithAddresses) {
  constexpr size_t kFlags = 4;          // of TernArgumentHead
  constexpr int64_t kTernIsSimple = 4;  // check_arguments.c
  Take("func f(A: float32[n], B: float32[n], k: int32, C: float32[n]) {}",
       {"cuda", 2, true, true, {}});
  EXPECT_TRUE(data_.words[kFlags] & kTernIsSimple);
  device_.id = 3;
  Given a({4}), b({4}), c({4});
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(b, 16), Int(7), Tensor(c, 32)}), "");
  EXPECT_EQ(slots_[static_cast<size_t>(table_.device)], 3);
  EXPECT_EQ(slots_[static_cast<size_t>(table_.values[2])], 7);
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(b, 16), Int(7), Tensor(c, 28)}).substr(0, 70),
            "ValueError: f: argument 3 (C): expected memory apart from that of argu");
  TernAny other = Tensor(b, 16);
  b.view.device.id = 2;
  EXPECT_EQ(Call({Tensor(a, 0), other, Int(7), Tensor(c, 32)}),
            "ValueError: f: argument 1 (B): expected a tensor on the device of the others, got "
            "float32 tensor of shape (4,) on device 2:2");
  // A number below 0 is that of a device like any other.
  TernAny first = Tensor(a, 0);
  other = Tensor(b, 16);
  a.view.device.id = -1;
  EXPECT_EQ(Call({first, other, Int(7), Tensor(c, 32)}),
            "ValueError: f: argument 1 (B): expected a tensor on the device of the others, got "
            "float32 tensor of shape (4,) on device 2:3");
  device_ = {kTernDeviceCpu, 0};
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(b, 16), Int(7), Tensor(c, 32)}),
            "ValueError: f: argument 0 (A): expected a tensor on cuda, got float32 tensor of shape "
            "(4,) on cpu:0");
  Take("func f(A: float32[n], C: float32[n]) {}", {"opencl", 4, false, true, {}});
  EXPECT_FALSE(data_.words[kFlags] & kTernIsSimple);
}

// Where memory has handles, two handles are two memories, and byte offsets are places in one.
TEST_F(ArgumentTableTest, Handles) {
  ArgumentFacts facts{"opencl", 4, false, true, {{}, {.takes_no_offset = true}, {}}};
  Take("func f(A: float32[n], B: float32[n], C: float32[n]) {}", facts);
  Given a({4}), b({4}), c({4});
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(b, 0), Tensor(c, 0, 16)}), "");
  EXPECT_EQ(slots_[static_cast<size_t>(table_.offsets[2])], 16);
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(b, 8), Tensor(c, 4)}), "");
  EXPECT_EQ(Call({Tensor(a, 0), Tensor(b, 8), Tensor(c, 0, 12)}).substr(0, 70),
            "ValueError: f: argument 2 (C): expected memory apart from that of argu");
  EXPECT_EQ(
      Call({Tensor(a, 0), Tensor(b, 8, 4), Tensor(c, 4)}),
      "ValueError: f: argument 1 (B): expected a tensor without byte offset (a kernel that is "
      "given as code takes it), got float32 tensor of shape (4,) on device 4:0");
  TernAny other = Tensor(b, 8);
  b.view.device.id = 1;
  EXPECT_EQ(Call({Tensor(a, 0), other, Tensor(c, 4)}),
            "ValueError: f: argument 1 (B): expected a tensor on the device of the others, got "
            "float32 tensor of shape (4,) on device 4:1");
}

}  // namespace
}  // namespace tern::tir
