// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/schedule.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/tensor_intrinsic.h"
#include "tern/tir/text.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;

void ExpectContains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

PrimFunc Parse(const std::string& text) {
  Initialize();
  return AsPrimFunc(ParseModule("test.tir", text)->functions.begin()->second);
}

constexpr const char* kMatmul = R"(
func matmul(A: int32[7, 5], B: int32[5, 6], C: int32[7, 6]) {
  for i in 0..7, j in 0..6, l in 0..5 {
    block matmul(vi: spatial(7) = i, vj: spatial(6) = j, vk: reduce(5) = l) {
      init { C[vi, vj] = int32(0) }
      C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    }
  }
})";

TEST(Schedule, NamesWhatItMakes) {
  Schedule schedule(Parse(kMatmul));
  EXPECT_EQ(schedule.Split("i", {4}), (std::vector<std::string>{"i_0", "i_1"}));
  EXPECT_EQ(schedule.Fuse({"j", "l"}), "j_l_fused");
  EXPECT_EQ(schedule.trace().str(), "i_0, i_1 = split(i, 4)\nj_l_fused = fuse(j, l)\n");
}

// Rules look at nests between steps.
TEST(Schedule, ANestOutlivesTheStepsThatReplaceIt) {
  Schedule schedule(Parse(kMatmul));
  Nest nest = NestOf(schedule.function()->body, BlocksIn(schedule.function()->body)[0]);
  for (const char* loop : {"i", "j", "l"}) schedule.Unroll(loop);
  EXPECT_FALSE(nest.root.same(schedule.function()->body));
  EXPECT_EQ(*ir::AsConstInt(nest.loops.at(2)->extent), 5);
  EXPECT_EQ(nest.block->name, "matmul");
}

// New blocks have loops in the order of axes.
TEST(Schedule, NewBlocksKeepTheOrderOfASum) {
  std::string conv = R"(
func f(X: float32[2, 8, 8], W: float32[4, 2, 3, 3], Y: float32[4, 6, 6]) {
  for o in 0..4, y in 0..6, x in 0..6, dx in 0..3, c in 0..2, dy in 0..3 {
    block conv(vo: spatial(4) = o, vy: spatial(6) = y, vx: spatial(6) = x, vc: reduce(2) = c,
               vdy: reduce(3) = dy, vdx: reduce(3) = dx) {
      init { Y[vo, vy, vx] = 0 }
      Y[vo, vy, vx] = Y[vo, vy, vx] + X[vc, vy + vdy, vx + vdx] * W[vo, vc, vdy, vdx]
    }
  }
})";
  PrimFunc function = Parse(conv);
  EXPECT_THROW(Schedule(function).FlattenSpatial("conv", 1), Error);
  EXPECT_THROW(Schedule(function).Im2col("conv"), Error);
  PrimFunc free = function.WithAttr(attr::kReassociate, true);
  EXPECT_NO_THROW(Schedule(free).FlattenSpatial("conv", 1));
  EXPECT_NO_THROW(Schedule(free).Im2col("conv"));
}

TEST(Schedule, RefusesWhatTextCannotSay) {
  Schedule schedule(Parse(kMatmul));
  auto refusal = [](auto f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(refusal([&] { schedule.Split("i", {}); }), "split(i): there is no factor");
  EXPECT_EQ(refusal([&] { schedule.Fuse({"i"}); }), "fuse(i): there are no two loops");
  EXPECT_EQ(refusal([&] { schedule.Reorder({}); }), "reorder(): there is no loop");
  EXPECT_TRUE(schedule.trace().steps.empty());
}

// Both forms of a trace do the same to the same function; to a changed one, what still applies.
TEST(Trace, IsReadBackAndReplayed) {
  Schedule schedule(Parse(kMatmul));
  schedule.Split("i", {4}, {"io", "ii"});
  schedule.Reorder({"io", "j", "l", "ii"});
  schedule.CacheRead("matmul", "B", "local");
  schedule.TransformLayout("B_local", IndexMap::Parse("(k, j) -> (j, k)"));
  const Trace& trace = schedule.trace();
  EXPECT_EQ(trace.str(),
            "io, ii = split(i, 4)\nreorder(io, j, l, ii)\nB_local = cache_read(matmul, B, local)\n"
            "transform_layout(B_local, (k, j) -> (j, k))\n");
  for (const std::string& text : {trace.str(), trace.ToJson()}) {
    Schedule again(Parse(kMatmul));
    for (const Step& step : Trace::Parse(text).steps) again.Apply(step);
    EXPECT_TRUE(StructuralEqual(again.function(), schedule.function())) << text;
    EXPECT_EQ(again.trace().str(), trace.str());
  }
  std::string changed = kMatmul;
  changed.replace(changed.find("l in"), 1, "k");
  changed.replace(changed.find("= l)"), 3, "= k");
  Schedule other(Parse(changed));
  other.Apply(trace.steps[0]);
  try {
    other.Apply(trace.steps[1]);
    FAIL() << "a loop that is not there was moved";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "reorder(io, j, l, ii): there is no loop l; the loops of matmul are io, ii, j, k");
  }
}

TEST(Trace, RefusesWhatIsNone) {
  auto refusal = [](const std::string& text) -> std::string {
    try {
      Trace::Parse(text);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  ExpectContains(refusal("split i"), "expected a step");
  ExpectContains(refusal("[{\"args\": []}]"), "has no name");
  ExpectContains(refusal("[{\"step\": 3}]"), "expected string");
  ExpectContains(refusal("[1"), "expected");
}

TEST(TensorIntrinsic, IsTwoFunctionsOfTheSameParameters) {
  Initialize();
  auto refusal = [](const std::string& name, const std::string& text) -> std::string {
    try {
      RegisterTensorIntrinsic(name, text);
    } catch (const Error& error) {
      return error.message();
    }
    return "";
  };
  ExpectContains(refusal("x", "func description(A: int32[4]) {\n}\n"),
                 "has no function implementation");
  ExpectContains(refusal("x",
                         "func description(A: int32[4]) {\n}\nfunc implementation(A: "
                         "int32[n]) {\n}\n"),
                 "do not have the same parameters");
  std::string empty = "func description(A: int32[4]) {\n}\nfunc implementation(A: int32[4]) {\n}\n";
  ExpectContains(refusal("f32_axpy_4", empty), "already");
}

}  // namespace
}  // namespace tern::schedule
