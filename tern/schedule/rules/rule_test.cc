// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/rule.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/default_schedules.h"
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
MachineFacts Imaginary(int64_t which) {
  MachineFacts facts;
  facts.is_device = true;
  facts.warp_size = 1000 + which;
  return facts;
}
Rule RuleFor(int64_t which, std::string name, int priority,
             std::function<void(Schedule*, const BlockInfo&, const MachineFacts&)> apply) {
  Rule rule;
  rule.name = std::move(name);
  rule.priority = priority;
  rule.fits = [=](const MachineFacts& facts) { return facts.warp_size == 1000 + which; };
  rule.apply = std::move(apply);
  return rule;
}

RuleResult Apply(Schedule* schedule, const MachineFacts& facts) {
  return ApplyRules(schedule, DescribeBlocks(schedule->function()).at(0), facts);
}

TEST(Rule, HighestPriorityIsAskedFirst) {
  auto unroll = [](Schedule* schedule, const BlockInfo&, const MachineFacts&) {
    schedule->Unroll("i");
  };
  auto parallel = [](Schedule* schedule, const BlockInfo&, const MachineFacts&) {
    schedule->Parallel("i");
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
  auto refuses = [](Schedule* schedule, const BlockInfo&, const MachineFacts&) {
    schedule->Unroll("i");
    schedule->Split("nowhere", {4});
  };
  auto declines = [](Schedule* schedule, const BlockInfo&, const MachineFacts&) {
    schedule->Unroll("i");
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
  EXPECT_EQ(result.passed_over[0].rfind("test_refuses: split(nowhere, 4): there is no loop", 0), 0u)
      << result.passed_over[0];
  EXPECT_EQ(result.passed_over[1], "test_declines: the loop is too short");
  // The next one is asked.
  RegisterRule(RuleFor(2, "test_last", 0, [](Schedule* schedule, const BlockInfo& block, auto&) {
    schedule->Parallel(block.name + ".i");
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

TEST(MachineFacts, AreThoseOfTheTarget) {
  Initialize();
  auto facts = MachineFacts::Of(target::Target::Parse("c"));
  EXPECT_FALSE(facts.is_device);
  EXPECT_EQ(facts.vector_bytes, 0);
  EXPECT_EQ(facts.vector_registers, 16);
  EXPECT_EQ(facts.l1_bytes, 32 << 10);
  EXPECT_EQ(facts.threads, 0);
  EXPECT_EQ(MachineFacts::Of(target::Target::Parse("c -api=plain")).threads, 1);
  facts = MachineFacts::Of(target::Target::Parse("c -vector_bytes=32 -threads=4 -l2_bytes=1024"));
  EXPECT_EQ(facts.vector_bytes, 32);
  EXPECT_EQ(facts.threads, 4);
  EXPECT_EQ(facts.l2_bytes, 1024);
  facts = MachineFacts::Of(target::Target::Parse("opencl -max_threads=64"));
  EXPECT_TRUE(facts.is_device);
  EXPECT_EQ(facts.max_threads, 64);
  EXPECT_EQ(facts.shared_bytes, 32768);
}

TEST(MachineFacts, AttributesAreChecked) {
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
      C[vk] = A[vk] + 2
    }
  }
})");
  Rule rule;
  rule.name = "test_bind_first";
  rule.fits = [](const MachineFacts& facts) { return facts.max_threads == 77; };
  rule.apply = [](Schedule* schedule, const BlockInfo& block, const MachineFacts&) {
    if (block.name != "first") Refuse("it is not the first");
    schedule->Bind("i", "threadIdx.x");
  };
  RegisterRule(rule);
  PrimFunc bound = ApplyDefaultSchedule(
      function.WithAttr(attr::kTarget, target::Target::Parse("opencl -max_threads=77")));
  std::string text = Print(bound);
  EXPECT_NE(text.find("for i in 0..63 bind(threadIdx.x) {\n    block first"), std::string::npos)
      << text;
  EXPECT_NE(text.find("for thread in 0..77 bind(threadIdx.x)"), std::string::npos) << text;
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
  schedule.Parallel("i");
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

// The steps are a schedule section that does the same.
TEST(DefaultSchedules, ExplanationCanBeCopied) {
  PrimFunc add = Parse(kAdd).WithAttr(attr::kTarget, target::Target::Parse("c -vector_bytes=32"));
  Explanation explanation;
  PrimFunc scheduled = ApplyDefaultSchedule(add, &explanation);
  EXPECT_FALSE(scheduled.same(add));
  PrimFunc copied = Parse(std::string(kAdd) + "\n" + explanation.str("add"));
  EXPECT_EQ(Print(ApplySchedule(copied)->body), Print(scheduled->body));
}

}  // namespace
}  // namespace tern::schedule
