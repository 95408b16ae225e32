// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/references.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/text.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;

// Two blocks in loops of the same names.
constexpr const char* kTwoBlocks = R"(
func f(A: int32[8, 4], C: int32[8, 4]) {
  alloc T: int32[8, 4]
  for i in 0..8, j in 0..4 {
    block first(vi: spatial(8) = i, vj: spatial(4) = j) {
      T[vi, vj] = A[vi, vj] * int32(2)
    }
  }
  for i in 0..8, j in 0..4 {
    block second(vi: spatial(8) = i, vj: spatial(4) = j) {
      C[vi, vj] = T[vi, vj] + int32(1)
    }
  }
})";

Schedule Begin() {
  Initialize();
  return Schedule(AsPrimFunc(ParseModule("test.tir", kTwoBlocks)->functions.begin()->second));
}

LoopRefs LoopsAround(const Schedule& schedule, const BlockRef& block) {
  LoopRefs loops;
  for (const ForNode* loop : NestOf(schedule.tree(), schedule.At(block)).loops)
    loops.emplace_back(loop);
  return loops;
}

std::string MessageOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.kind() + ": " + error.message();
  }
  return "";
}

TEST(References, OutliveTheStatements) {
  Schedule schedule = Begin();
  BlockRef second = schedule.BlockNamed("second");
  LoopRefs loops = LoopsAround(schedule, second);
  PrimFunc function = schedule.function();  // keeps its statements, and their addresses
  const ForNode* before = schedule.At(loops[0]);
  auto [jo, ji] = schedule.Split(loops[1], {2});
  schedule.Reorder({jo, loops[0], ji});
  schedule.Vectorize(ji);
  EXPECT_NE(schedule.At(loops[0]), before);
  EXPECT_EQ(schedule.At(jo)->body.get(), schedule.At(loops[0]));
  EXPECT_EQ(schedule.At(ji)->for_kind, ForKind::kVectorized);
  EXPECT_EQ(schedule.At(second)->name, "second");
  CopyRef copy = schedule.CacheWrite(second, BufferRef("C"), StorageScope::kLocal);
  EXPECT_EQ(copy.name(), "C_local");
  LoopRefs moved = schedule.ReverseComputeAt(copy, jo);
  EXPECT_EQ(schedule.At(moved[0])->var.name(), "C_local_0");
  schedule.CheckState();
}

// Text says which of several loops is meant, and has the same done when it is replayed.
TEST(References, AreCalledByTheirBlocksInTracesWhereNamesDoNotDo) {
  Schedule schedule = Begin();
  LoopRefs loops = LoopsAround(schedule, schedule.BlockNamed("second"));
  schedule.Parallel(loops[0]);
  auto [jo, ji] = schedule.Split(loops[1], {2});
  schedule.Unroll(ji);
  schedule.Unroll(jo.Of(schedule.BlockNamed("second")));
  EXPECT_EQ(schedule.trace().str(),
            "parallel(second.i)\nj_0, j_1 = split(second.j, 2)\nunroll(j_1)\nunroll(second.j_0)\n");
  Schedule replayed = Begin();
  for (const Step& step : schedule.trace().steps) replayed.Apply(step);
  EXPECT_EQ(Print(replayed.function()), Print(schedule.function()));
}

TEST(References, ThatAreStaleAreNamed) {
  Schedule schedule = Begin();
  BlockRef first = schedule.BlockNamed("first");
  LoopRefs loops = LoopsAround(schedule, first);
  schedule.Fuse(loops, "ij");
  EXPECT_NE(MessageOf([&] {
              schedule.Unroll(loops[0]);
            }).find("a reference to loop i is used, which is gone"),
            std::string::npos);
  schedule.ComputeInline(first);
  EXPECT_NE(MessageOf([&] {
              schedule.ComputeInline(first);
            }).find("a reference to block first is used, which is gone"),
            std::string::npos);
  EXPECT_FALSE(schedule.tree().Has(first));
}

// A block of the same name that comes later is another one.
TEST(References, AreNotToWhatComesLater) {
  Schedule schedule = Begin();
  BlockRef first = schedule.BlockNamed("first");
  schedule.ComputeInline(first);
  CopyRef later = schedule.CacheRead(schedule.BlockNamed("second"), BufferRef("A"),
                                     StorageScope::kLocal, "first");
  EXPECT_FALSE(schedule.tree().Has(first));
  EXPECT_TRUE(schedule.tree().Has(later));
}

// A step that is refused leaves blocks, facts and references as they were; of a copy, too.
TEST(References, HoldBehindARefusedStep) {
  Schedule schedule = Begin();
  BlockRef first = schedule.BlockNamed("first");
  LoopRefs loops = LoopsAround(schedule, schedule.BlockNamed("second"));
  Schedule attempt = schedule;
  attempt.ComputeInline(first);
  EXPECT_TRUE(schedule.tree().Has(first));
  schedule.Bind(loops[0], "threadIdx.x");
  // The axis has a loop already, which the step finds at its end.
  EXPECT_NE(MessageOf([&] { schedule.Bind(loops[1], "threadIdx.x"); }).find("ScheduleError"),
            std::string::npos);
  EXPECT_EQ(schedule.At(first)->name, "first");
  EXPECT_TRUE(schedule.tree().FactsOf("first").complete);
  schedule.CheckState();
  schedule.ComputeAt(first, loops[1]);
  EXPECT_FALSE(schedule.tree().FactsOf("first").complete);
}

// The loops of the first part are those that were there.
TEST(References, HoldInTheFirstPartOfALoop) {
  Schedule schedule = Begin();
  BlockRef second = schedule.BlockNamed("second");
  LoopRefs loops = LoopsAround(schedule, second);
  auto [head, tail] = schedule.LoopPartition(loops[0], 5);
  EXPECT_TRUE(schedule.tree().IsInside(schedule.At(loops[1]), schedule.At(head)));
  EXPECT_FALSE(schedule.tree().IsInside(schedule.At(loops[1]), schedule.At(tail)));
  schedule.Vectorize(loops[1]);
  EXPECT_EQ(schedule.trace().steps.back().str(), "vectorize(second.j)");
}

TEST(References, ToABufferHoldWhateverItsLayout) {
  Schedule schedule = Begin();
  Buffer buffer = schedule.tree().AllocationsNamed("T")[0]->buffer;
  schedule.TransformLayout(buffer, IndexMap::Parse("(i, j) -> (j, i)"));
  schedule.SetDtype(buffer, DataType::Int(64));
  schedule.SetScope(buffer, StorageScope::kLocal);
  EXPECT_EQ(schedule.tree().AllocationsNamed("T")[0]->buffer->scope, StorageScope::kLocal);
  schedule.ComputeInline(schedule.BlockNamed("first"));
  EXPECT_NE(MessageOf([&] {
              schedule.SetScope(buffer, StorageScope::kShared);
            }).find("a reference to buffer T is used, which is gone"),
            std::string::npos);
}

}  // namespace
}  // namespace tern::schedule
