// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/rule.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/dot_matmul.h"
#include "tern/tir/schedule_steps.h"
#include "tern/tir/text.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;

PrimFunc Parse(const std::string& text) {
  Initialize();
  return AsPrimFunc(ParseModule("test.tir", text)->functions.begin()->second);
}

constexpr const char* kAdd = R"(
func add(A: float32[64, 128], C: float32[64, 128]) {
  for i in 0..64, j in 0..128 {
    block add(vi: spatial(64) = i, vj: spatial(128) = j) {
      C[vi, vj] = A[vi, vj] + 1
    }
  }
})";

// Facts of a machine that no target has, so that these rules are nobody else's.
TargetInfo Imaginary(int64_t which) {
  TargetInfo info;
  info.is_device = true;
  info.warp_size = 1000 + which;
  return info;
}
Rule RuleFor(int64_t which, std::string name, int priority,
             std::function<void(Schedule*, const BlockInfo&, const TargetInfo&)> apply) {
  Rule rule;
  rule.name = std::move(name);
  rule.priority = priority;
  rule.fits = [=](const TargetInfo& info) { return info.warp_size == 1000 + which; };
  rule.apply = std::move(apply);
  return rule;
}

RuleResult Apply(Schedule* schedule, const TargetInfo& info) {
  return ApplyRules(schedule, DescribeBlocks(*schedule).at(0), info);
}

TEST(Rule, HighestPriorityIsAskedFirst) {
  auto unroll = [](Schedule* schedule, const BlockInfo&, const TargetInfo&) {
    schedule->Unroll(schedule->LoopNamed("i"));
  };
  auto parallel = [](Schedule* schedule, const BlockInfo&, const TargetInfo&) {
    schedule->Parallel(schedule->LoopNamed("i"));
  };
  Schedule schedule(Parse(kAdd));
  RegisterRule(RuleFor(1, "test_low", 1, unroll));
  RegisterRule(RuleFor(1, "test_high", 2, parallel));
  RegisterRule(RuleFor(1, "test_high_later", 2, unroll));
  RuleResult result = Apply(&schedule, Imaginary(1));
  EXPECT_EQ(result.rule, "test_high");
  EXPECT_EQ(result.steps.str(), "parallel(i)\n");
  EXPECT_TRUE(result.passed_over.empty());
}

TEST(Rule, OneThatRefusesOrDeclinesChangesNothing) {
  auto refuses = [](Schedule* schedule, const BlockInfo&, const TargetInfo&) {
    schedule->Unroll(schedule->LoopNamed("i"));
    schedule->Split(schedule->LoopNamed("nowhere"), {4});
  };
  auto declines = [](Schedule* schedule, const BlockInfo&, const TargetInfo&) {
    schedule->Unroll(schedule->LoopNamed("i"));
    Refuse("the loop is too short");
  };
  Schedule schedule(Parse(kAdd));
  PrimFunc before = schedule.function();
  RegisterRule(RuleFor(2, "test_refuses", 3, refuses));
  RegisterRule(RuleFor(2, "test_declines", 1, declines));
  RuleResult result = Apply(&schedule, Imaginary(2));
  EXPECT_EQ(result.rule, "");
  EXPECT_TRUE(schedule.function().same(before));
  EXPECT_TRUE(schedule.trace().steps.empty());
  ASSERT_EQ(result.passed_over.size(), 2u);
  EXPECT_EQ(result.passed_over[0].rfind("test_refuses: there is no loop nowhere", 0), 0u)
      << result.passed_over[0];
  EXPECT_EQ(result.passed_over[1], "test_declines: the loop is too short");
  // The next one is asked.
  RegisterRule(RuleFor(2, "test_last", 0, [](Schedule* schedule, const BlockInfo& block, auto&) {
    schedule->Parallel(schedule->LoopNamed(block.name + ".i"));
  }));
  EXPECT_EQ(Apply(&schedule, Imaginary(2)).rule, "test_last");
  EXPECT_EQ(schedule.trace().str(), "parallel(add.i)\n");
}

TEST(Rule, BugsOfARuleAreNotHiddenByTheNext) {
  RegisterRule(RuleFor(5, "test_fails", 2, [](Schedule*, const BlockInfo&, auto&) {
    TERN_THROW(ValueError) << "a bug of the rule";
  }));
  RegisterRule(RuleFor(5, "test_next", 1, [](auto...) {}));
  Schedule schedule(Parse(kAdd));
  try {
    Apply(&schedule, Imaginary(5));
    FAIL() << "it was passed over";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "a bug of the rule\n  while asking schedule rule test_fails for block add");
  }
}

// Splits a loop by one of three factors, the largest of which costs most.
struct SplitPlan : PlanCost {
  int64_t factor = 0, unroll = 0;
  static const std::vector<PlanField<SplitPlan>>& Fields() {
    static const std::vector<PlanField<SplitPlan>> fields = {{"factor", &SplitPlan::factor},
                                                             {"unroll", &SplitPlan::unroll}};
    return fields;
  }
};
Rule SplitRule(int64_t which) {
  Rule rule = RuleFor(which, "test_split_" + std::to_string(which), 0, nullptr);
  rule.planned = Planned<SplitPlan>(
      [](Schedule*, const BlockInfo&, const TargetInfo&, const Wanted<SplitPlan>& want) {
        std::vector<SplitPlan> plans;
        for (int64_t factor : {16, 8, 4}) {
          SplitPlan plan;
          plan.factor = factor;
          plan.unroll = want.Or(&SplitPlan::unroll, 0);
          plan.cycles = static_cast<double>(10 * factor);
          plans.push_back(plan);
        }
        return plans;
      },
      [](Schedule* schedule, const BlockInfo&, const TargetInfo&, const SplitPlan& plan) {
        schedule->Split(schedule->LoopNamed("j"), {plan.factor}, {"jo", "ji"});
        if (plan.unroll) schedule->Unroll(schedule->LoopNamed("ji"));
      });
  return rule;
}

TEST(Plan, TheCheapestIsApplied) {
  RegisterRule(SplitRule(6));
  Schedule schedule(Parse(kAdd));
  RuleResult result = Apply(&schedule, Imaginary(6));
  EXPECT_EQ(result.steps.str(), "jo, ji = split(j, 4)\n");
  ASSERT_EQ(result.plans.size(), 2u);
  EXPECT_EQ(result.plans[0].str(), "{factor = 4, unroll = 0}");
  EXPECT_EQ(result.plans[1].str(), "{factor = 8, unroll = 0}");
}

TEST(Plan, FieldsCanBeAskedFor) {
  RegisterRule(SplitRule(7));
  auto ask = [](const std::string& step) {
    Schedule schedule(Parse(kAdd));
    PlanRequest request = PlanRequest::Parse(Step::Parse(step));
    RuleResult result =
        ApplyRules(&schedule, DescribeBlocks(schedule).at(0), Imaginary(7), &request);
    return result.rule.empty() ? result.passed_over.at(0) : result.steps.str();
  };
  EXPECT_EQ(ask("plan(test_split_7, {factor = 8})"), "jo, ji = split(j, 8)\n");
  EXPECT_EQ(ask("plan(test_split_7, {unroll = 1})"), "jo, ji = split(j, 4)\nunroll(ji)\n");
  EXPECT_EQ(ask("plan(test_split_7, {unroll = 1, factor = 5})"),
            "test_split_7: no plan has factor = 5; without that it is 4, 8, 16");
  EXPECT_EQ(ask("plan(test_split_7, {factor = 5})"),
            "test_split_7: no plan has factor = 5; without that it is 4, 8, 16");
}

TEST(Plan, TextIsThatOfTheFields) {
  Plan plan = Plan::Parse(" {tile_m = 8,tile_n=-32 } ");
  EXPECT_EQ(plan.str(), "{tile_m = 8, tile_n = -32}");
  EXPECT_EQ(*plan.Find("tile_n"), -32);
  EXPECT_EQ(plan.Find("tile_k"), nullptr);
  EXPECT_EQ(Plan::Parse("{}").str(), "{}");
  for (const char* text : {"", "{", "tile_m = 8", "{tile_m}", "{= 8}", "{tile_m = 8.5}",
                           "{tile_m = 8, tile_m = 8}", "{tile_m = 8, , }"})
    EXPECT_THROW(Plan::Parse(text), Error) << text;
}

TEST(Rule, KindsAreThoseAskedFor) {
  Rule rule = RuleFor(3, "test_matmul_only", 0, [](auto...) {});
  rule.kinds = {BlockKind::kMatmul};
  Initialize();
  RegisterRule(rule);
  EXPECT_EQ(RulesFor(BlockKind::kMatmul, Imaginary(3)).size(), 1u);
  EXPECT_TRUE(RulesFor(BlockKind::kReduction, Imaginary(3)).empty());
  EXPECT_TRUE(RulesFor(BlockKind::kMatmul, Imaginary(4)).empty());
}

TEST(Rule, RegistrationIsChecked) {
  auto message = [](const Rule& rule) {
    try {
      RegisterRule(rule);
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  Rule rule = RuleFor(5, "test_twice", 0, [](auto...) {});
  EXPECT_EQ(message(rule), "");
  EXPECT_EQ(message(rule), "schedule rule test_twice is already registered");
  rule.name = "";
  EXPECT_EQ(message(rule), "a schedule rule is registered without a name");
  rule.name = "test_nothing";
  rule.apply = nullptr;
  EXPECT_EQ(message(rule), "schedule rule test_nothing has no function");
}

TEST(TargetInfo, AreThoseOfTheTarget) {
  Initialize();
  auto info = TargetInfo::Of(target::Target::Parse("c"));
  EXPECT_FALSE(info.is_device);
  EXPECT_EQ(info.vector_bytes, 0);
  EXPECT_EQ(info.vector_registers, 16);
  EXPECT_EQ(info.l1_bytes, 32 << 10);
  EXPECT_EQ(info.threads, 0);
  EXPECT_EQ(TargetInfo::Of(target::Target::Parse("c -api=plain")).threads, 1);
  info = TargetInfo::Of(target::Target::Parse("c -vector_bytes=32 -threads=4 -l2_bytes=1024"));
  EXPECT_EQ(info.vector_bytes, 32);
  EXPECT_EQ(info.threads, 4);
  EXPECT_EQ(info.l2_bytes, 1024);
  info = TargetInfo::Of(target::Target::Parse("opencl -max_threads=64"));
  EXPECT_TRUE(info.is_device);
  EXPECT_EQ(info.max_threads, 64);
  EXPECT_EQ(info.shared_bytes, 32768);
}

TEST(TargetInfo, AttributesAreChecked) {
  Initialize();
  for (const char* text : {"c -vector_bytes=1000", "c -threads=-1", "c -vector_registers=0"}) {
    try {
      target::Target::Parse(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("is out of range; expected"), std::string::npos)
          << error.message();
    }
  }
}

// What a device's rule leaves runs on threads, too.
TEST(DefaultSchedules, DevicesGetThreadsForEverything) {
  PrimFunc function = Parse(R"(
func two(A: float32[63], B: float32[63], C: float32[63]) {
  for i in 0..63 {
    block first(vi: spatial(63) = i) {
      B[vi] = A[vi] + 1
    }
  }
  for k in 0..63 {
    block second(vk: spatial(63) = k) {
      for step in 0..2 {
        C[vk] = A[vk] + 2
      }
    }
  }
})");
  Rule rule;
  rule.priority = 100;
  rule.name = "test_bind_first";
  rule.fits = [](const TargetInfo& info) { return info.max_threads == 77; };
  rule.apply = [](Schedule* schedule, const BlockInfo& block, const TargetInfo&) {
    if (block.name != "first") Refuse("it is not the first");
    schedule->Bind(schedule->LoopNamed("i"), "threadIdx.x");
  };
  RegisterRule(rule);
  PrimFunc bound = ApplyDefaultSchedule(
      function.WithAttr(attr::kTarget, target::Target::Parse("opencl -max_threads=77")));
  std::string text = Print(bound);
  EXPECT_NE(text.find("for i in 0..63 bind(threadIdx.x) {\n    block first"), std::string::npos)
      << text;
  EXPECT_NE(text.find("for thread in 0..38 bind(threadIdx.x)"), std::string::npos) << text;
}

TEST(DefaultSchedules, SomeFunctionsAreLeftAlone) {
  PrimFunc add = Parse(kAdd);
  auto why = [](const PrimFunc& function) {
    Explanation explanation;
    EXPECT_TRUE(ApplyDefaultSchedule(function, &explanation).same(function));
    return explanation.left_alone;
  };
  EXPECT_EQ(why(add), "it has no target");
  PrimFunc bound = add.WithAttr(attr::kTarget, target::Target::Parse("c"));
  EXPECT_EQ(why(bound.WithAttr(attr::kSchedule, MakeScheduleSteps({}))),
            "it has a schedule of its own");
  EXPECT_EQ(why(bound.WithAttr(attr::kMayAlias, true)), "its tensors may overlap");
  Schedule schedule(bound);
  schedule.Parallel(schedule.LoopNamed("i"));
  EXPECT_EQ(why(schedule.function()), "loop i is parallel already");
  EXPECT_EQ(why(Parse("func f(A: float32[4]) {\n  A[0] = 1\n}")
                    .WithAttr(attr::kTarget, target::Target::Parse("c"))),
            "it has no blocks");
}

// Vectors of any size, also of less than an element; extents are divided where they can be.
TEST(DefaultSchedules, LanesFitTheMachineAndTheExtent) {
  auto lanes = [](const std::string& bytes, const std::string& extent) {
    std::string text = "func f(A: float32[" + extent + "]) {\n  for i in 0.." + extent +
                       " {\n    block b(vi: spatial(" + extent +
                       ") = i) {\n      A[vi] = 1\n    }\n  }\n}";
    PrimFunc function = ApplyDefaultSchedule(Parse(text).WithAttr(
        attr::kTarget, target::Target::Parse("c -threads=1 -vector_bytes=" + bytes)));
    for (const ForNode* loop : LoopsIn(function->body))
      if (loop->for_kind == ForKind::kVectorized) return *ir::AsConstInt(loop->extent);
    return int64_t{0};
  };
  EXPECT_EQ(lanes("0", "64"), 0);
  EXPECT_EQ(lanes("1", "64"), 0);
  EXPECT_EQ(lanes("16", "64"), 8);
  EXPECT_EQ(lanes("16", "12"), 4);  // one vector leaves no tail, two would
  EXPECT_EQ(lanes("16", "13"), 8);
  EXPECT_EQ(lanes("16", "3"), 2);
  EXPECT_EQ(lanes("16", "1"), 0);
  EXPECT_EQ(lanes("16", "0"), 0);
  EXPECT_EQ(lanes("16", "n"), 8);
  EXPECT_EQ(lanes("256", "n"), 64);
}

// From C++ a plan is asked for as in a file.
TEST(DefaultSchedules, PlansAreTakenFromTheFunction) {
  PrimFunc mm =
      Parse(R"(
func mm(A: float32[32, 16], B: float32[16, 64], C: float32[32, 64]) {
  for i in 0..32, j in 0..64, k in 0..16 {
    block mm(vi: spatial(32) = i, vj: spatial(64) = j, vk: reduce(16) = k) {
      init { C[vi, vj] = 0 }
      C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    }
  }
})")
          .WithAttr(attr::kTarget, target::Target::Parse("c -vector_bytes=32 -threads=1"));
  Explanation explanation;
  PrimFunc scheduled = ApplyDefaultSchedule(
      WithSchedule(mm, Trace::Parse("plan(gemm, {tile_m = 2, tile_n = 16})")), &explanation);
  EXPECT_FALSE(HasSchedule(scheduled));
  ASSERT_EQ(explanation.results.size(), 1u);
  const Plan& plan = explanation.results[0].plans.at(0);
  EXPECT_EQ(*plan.Find("tile_m"), 2);
  EXPECT_EQ(*plan.Find("tile_n"), 16);
  // The same again from what was chosen.
  std::string all = "plan(mm, packed_matmul, " + plan.str() + ")";
  EXPECT_EQ(Print(ApplyDefaultSchedule(WithSchedule(mm, Trace::Parse(all)))), Print(scheduled));
}

// The steps are a schedule section that does the same, also with fused axes.
TEST(DefaultSchedules, ExplanationCanBeCopied) {
  const char* fused = R"(
func add(X: float32[n, 6, 8], Y: float32[n, 6, 8]) {
  for i in 0..n, j in 0..6, k in 0..8 {
    block b(vi: spatial(n) = i, vj: spatial(6) = j, vk: spatial(8) = k) {
      Y[vi, vj, vk] = X[vi, vj, vk] + 1
    }
  }
})";
  for (const char* text : {kAdd, fused}) {
    PrimFunc add = Parse(text).WithAttr(attr::kTarget, target::Target::Parse("c -vector_bytes=32"));
    Explanation explanation;
    PrimFunc scheduled = ApplyDefaultSchedule(add, &explanation);
    EXPECT_FALSE(scheduled.same(add));
    EXPECT_EQ(explanation.notes.empty(), text != fused);
    PrimFunc copied = Parse(std::string(text) + "\n" + explanation.str("add"));
    EXPECT_EQ(Print(ApplySchedule(copied)->body), Print(scheduled->body));
  }
}

constexpr const char* kConvolution = R"(
func conv(X: uint8[1, 14, 14, 64], W: int8[3, 3, 64, 32], Y: int32[1, 12, 12, 32]) {
  for b in 0..1, y in 0..12, x in 0..12, o in 0..32, r in 0..3, s in 0..3, c in 0..64 {
    block conv(vb: spatial(1) = b, vy: spatial(12) = y, vx: spatial(12) = x, vo: spatial(32) = o,
               vr: reduce(3) = r, vs: reduce(3) = s, vc: reduce(64) = c) {
      init { Y[vb, vy, vx, vo] = int32(0) }
      Y[vb, vy, vx, vo] = Y[vb, vy, vx, vo] + int32(X[vb, vy + vr, vx + vs, vc]) * int32(W[vr, vs, vc, vo])
    }
  }
})";

// Instructions whose tensor intrinsics nobody has registered: they have plans, of tiles that
// no others have, and their steps are refused.
TEST(Rule, DotProductsAreAskedForUntilStepsAreNotRefused) {
  Schedule schedule(Parse(kConvolution)), other = schedule;
  target::Target machine;
  try {
    machine =
        target::Target::Parse("llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server -threads=97");
  } catch (const Error& error) {
    GTEST_SKIP() << error.message();
  }
  TargetInfo info = TargetInfo::Of(machine);
  if (Apply(&other, info).rule != "implicit_dot_gemm")
    GTEST_SKIP() << "this build has no dot-product instructions";
  DotInstructions nowhere{.rule = "test_refused_dots",
                          .description = "test",
                          .priority = 90,
                          .prefix = "test_nowhere",
                          .columns = 12,
                          .step_bytes = 4,
                          .word_bytes = 4};
  nowhere.types = {{DataType::UInt(8), DataType::Int(8), DataType::Int(32), "u8s8",
                    [](const TargetInfo& target) { return target.threads == 97; }}};
  RegisterDotMatmul(nowhere);
  RuleResult result = Apply(&schedule, info);
  EXPECT_EQ(result.rule, "implicit_dot_gemm") << result.steps.str();
  EXPECT_EQ(result.steps.str().find("test_nowhere"), std::string::npos);
  EXPECT_NE(result.steps.str().find("tensorize("), std::string::npos);
}

}  // namespace
}  // namespace tern::schedule
