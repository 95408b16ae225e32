// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/schedule.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "tern/compile.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/interpreter/interpreter.h"
#include "tern/tir/text.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;
using runtime::Tensor;

PrimFunc Parse(const std::string& text) {
  Initialize();
  return AsPrimFunc(ParseModule("test.tir", text)->functions.begin()->second);
}

// Sums of integers, so that any order gives the same.
constexpr const char* kMatmul = R"(
func matmul(A: int32[7, 5], B: int32[5, 6], C: int32[7, 6]) {
  for i in 0..7, j in 0..6, l in 0..5 {
    block matmul(vi: spatial(7) = i, vj: spatial(6) = j, vk: reduce(5) = l) {
      init { C[vi, vj] = int32(0) }
      C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    }
  }
})";
constexpr const char* kRows = R"(
func rows(A: int32[6, 5], B: int32[5, 4], C: int32[6, 5]) {
  alloc s: int32[6]
  for i in 0..6 {
    for j in 0..5 {
      block sum(vi: spatial(6) = i, vj: reduce(5) = j) {
        init { s[vi] = int32(0) }
        s[vi] = s[vi] + A[vi, vj]
      }
    }
    for k in 0..5 {
      block scale(vi: spatial(6) = i, vk: spatial(5) = k) {
        C[vi, vk] = A[vi, vk] * s[vi] + B[vk, 0]
      }
    }
  }
})";
constexpr const char* kShift = R"(
func shift(A: int32[8, 9], B: int32[9, 8], C: int32[8, 9]) {
  for i in 2..8 {
    for j in 0..i {
      C[i, j] = A[i, j] + B[j, i]
    }
    for k in 1..9 {
      C[i - 1, k] = C[i - 1, k] + C[i - 1, k - 1]
    }
  }
})";

std::vector<int32_t> ResultOf(const PrimFunc& function) {
  std::vector<ffi::Any> args;
  for (const Param& param : function->params) {
    std::vector<int64_t> shape;
    for (const Expr& extent : param.buffer->shape) shape.push_back(*ir::AsConstInt(extent));
    Tensor tensor = Tensor::Empty(shape, param.buffer->dtype);
    for (int64_t i = 0; i < tensor->num_elements(); ++i)
      tensor.as<int32_t>()[i] = static_cast<int32_t>(i * 7 % 13);
    args.emplace_back(tensor);
  }
  Interpret(ir::IRModule::Make({function}), function->name, args);
  auto last = args.back().As<Tensor>();
  return {last.as<int32_t>(), last.as<int32_t>() + last->num_elements()};
}

std::vector<std::string> LoopNames(const PrimFunc& function) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ForNode* node) override {
      names.push_back(node->var.name());
      VisitChildren(node);
    }
    std::vector<std::string> names;
  } scan;
  scan.Visit(function->body);
  return scan.names;
}

// A step that may or may not be legal.
std::string RandomStep(const PrimFunc& function, std::mt19937* random) {
  std::vector<std::string> loops = LoopNames(function);
  auto any = [&](size_t count) { return (*random)() % count; };
  auto loop = [&] { return loops[any(loops.size())]; };
  switch (any(7)) {
    case 0:
      return "split(" + loop() + ", " + std::to_string(1 + any(4)) + ")";
    case 1:
      return "split(" + loop() + ", " + std::to_string(1 + any(3)) + ", 2)";
    case 2: {
      size_t first = any(loops.size());
      return "fuse(" + loops[first] + ", " + loops[(first + 1) % loops.size()] + ")";
    }
    case 3:
      return "parallel(" + loop() + ")";
    case 4:
      return "vectorize(" + loop() + ")";
    case 5:
      return "unroll(" + loop() + ")";
    default: {
      std::shuffle(loops.begin(), loops.end(), *random);
      std::string text = "reorder(" + loops[0];
      for (size_t i = 1; i < 2 + any(2) && i < loops.size(); ++i) text += ", " + loops[i];
      return text + ")";
    }
  }
}

class RandomSchedules : public ::testing::TestWithParam<const char*> {};

// Whatever is not refused keeps the result; the trace replays to the same function.
TEST_P(RandomSchedules, KeepTheResult) {
  PrimFunc original = Parse(GetParam());
  std::vector<int32_t> expected = ResultOf(original);
  std::mt19937 random(1);  // NOLINT: the same every time
  int applied = 0;
  for (int sequence = 0; sequence < 340; ++sequence) {
    Schedule schedule(original);
    for (int step = 0; step < 6; ++step) {
      PrimFunc before = schedule.function();
      try {
        schedule.Apply(RandomStep(before, &random));
        ++applied;
      } catch (const Error& error) {
        ASSERT_EQ(error.kind(), "ScheduleError") << error.what();
        ASSERT_TRUE(schedule.function().same(before));
      }
    }
    std::string trace = schedule.trace().str();
    ASSERT_EQ(ResultOf(schedule.function()), expected)
        << trace << PrintModule(ir::IRModule::Make({schedule.function()}));
    Schedule again(original);
    for (const Step& step : schedule.trace().steps) again.Apply(step);
    ASSERT_TRUE(StructuralEqual(again.function(), schedule.function())) << trace;
  }
  EXPECT_GT(applied, 400);
}
INSTANTIATE_TEST_SUITE_P(Programs, RandomSchedules, ::testing::Values(kMatmul, kRows, kShift));

TEST(Schedule, NamesWhatItMakes) {
  Schedule schedule(Parse(kMatmul));
  EXPECT_EQ(schedule.Split("i", {4}), (std::vector<std::string>{"i_0", "i_1"}));
  EXPECT_EQ(schedule.Fuse({"j", "l"}), "j_l_fused");
  EXPECT_EQ(schedule.trace().str(), "i_0, i_1 = split(i, 4)\nj_l_fused = fuse(j, l)\n");
}

}  // namespace
}  // namespace tern::schedule
