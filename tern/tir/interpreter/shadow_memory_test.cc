// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/shadow_memory.h"

#include <gtest/gtest.h>

namespace tern::tir {
namespace {

const ir::Span kPlace;

MemoryAccess Read(TaskId task, uint32_t epoch = 0) { return {{task, epoch}, &kPlace, false}; }
MemoryAccess Write(TaskId task, uint32_t epoch = 0) { return {{task, epoch}, &kPlace, true}; }

// Two blocks of three threads: a[0..2], b[0..2].
class ShadowMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    tasks.BeginTeam({"thread", {{"threadIdx.x", 0, 3}, {"blockIdx.x", 0, 2}}, 3}, TaskTree::kRoot);
    for (int i = 0; i < 3; ++i) a[i] = tasks.AddTask(i);
    for (int i = 0; i < 3; ++i) b[i] = tasks.AddTask(3 + i);
  }
  // Whether the last of some accesses to one element races with an earlier one, and no other does.
  bool LastRaces(const std::vector<MemoryAccess>& accesses) {
    ShadowMemory memory(4, ShadowMemory::Contents::kInitialised);
    const MemoryAccess* earlier = nullptr;
    for (const MemoryAccess& access : accesses) {
      EXPECT_FALSE(earlier);
      earlier = memory.Record(tasks, 0, 4, access);
    }
    return earlier != nullptr;
  }

  TaskTree tasks;
  TaskId a[3], b[3];
};

TEST_F(ShadowMemoryTest, AccessesWithoutABarrierBetweenRaceIfOneWrites) {
  EXPECT_TRUE(LastRaces({Write(a[0]), Write(a[1])}));
  EXPECT_TRUE(LastRaces({Write(a[0]), Read(a[1])}));
  EXPECT_TRUE(LastRaces({Read(a[0]), Write(a[1])}));
  EXPECT_FALSE(LastRaces({Read(a[0]), Read(a[1])}));
  EXPECT_FALSE(LastRaces({Write(a[0]), Read(a[0]), Write(a[0])}));
}

TEST_F(ShadowMemoryTest, ABarrierOrdersABlock) {
  EXPECT_FALSE(LastRaces({Write(a[0], 0), Write(a[1], 1), Read(a[1], 1), Write(a[2], 2)}));
  EXPECT_TRUE(LastRaces({Write(a[0], 0), Write(b[0], 1)}));
  EXPECT_TRUE(LastRaces({Read(a[0], 0), Write(b[0], 1)}));
}

TEST_F(ShadowMemoryTest, NoReaderIsForgotten) {
  // The last reader writes; another had read before it.
  EXPECT_TRUE(LastRaces({Read(a[0]), Read(a[1]), Write(a[1])}));
  EXPECT_TRUE(LastRaces({Read(a[0]), Read(a[1]), Read(a[0]), Write(a[0])}));
  EXPECT_TRUE(LastRaces({Read(a[0]), Read(a[1]), Read(a[2]), Write(a[2])}));
  // A reader of an earlier block, behind readers of this one and a barrier.
  EXPECT_TRUE(LastRaces({Read(a[0], 0), Read(b[0], 1), Read(b[1], 1), Write(b[1], 2)}));
  // Readers from before a barrier count no more.
  EXPECT_FALSE(LastRaces({Read(a[0], 0), Read(a[1], 0), Read(a[2], 1), Write(a[2], 1)}));
}

TEST_F(ShadowMemoryTest, WhatComesAfterALaunchWaitsForIt) {
  ShadowMemory memory(4, ShadowMemory::Contents::kInitialised);
  EXPECT_FALSE(memory.Record(tasks, 0, 4, Write(a[0])));
  tasks.EndTeam();
  tasks.BeginTeam({"thread", {{"threadIdx.x", 0, 1}}, 1}, TaskTree::kRoot);
  EXPECT_FALSE(memory.Record(tasks, 0, 4, Write(tasks.AddTask(0))));
}

TEST_F(ShadowMemoryTest, ElementsOfDifferentSizesShareBytes) {
  ShadowMemory memory(8, ShadowMemory::Contents::kInitialised);
  EXPECT_FALSE(memory.Record(tasks, 0, 4, Write(a[0])));
  EXPECT_FALSE(memory.Record(tasks, 4, 2, Write(a[1])));
  EXPECT_FALSE(memory.Record(tasks, 6, 2, Write(a[2])));
  EXPECT_TRUE(memory.Record(tasks, 2, 2, Write(a[1])));
  EXPECT_TRUE(memory.Record(tasks, 4, 4, Read(a[1])));
}

TEST(ShadowMemory, KnowsWhichBytesWereWritten) {
  ShadowMemory memory(8, ShadowMemory::Contents::kUninitialised);
  EXPECT_FALSE(memory.IsInitialised(0, 4));
  memory.MarkInitialised(0, 2);
  EXPECT_TRUE(memory.IsInitialised(0, 2));
  EXPECT_FALSE(memory.IsInitialised(0, 4));
  memory.MarkUninitialised();
  EXPECT_FALSE(memory.IsInitialised(0, 2));
  EXPECT_TRUE(ShadowMemory(8, ShadowMemory::Contents::kInitialised).IsInitialised(0, 8));
}

TEST(TaskTree, KnowsNestedTeams) {
  TaskTree tasks;
  tasks.BeginTeam({"iteration", {{"i", 5, 2}}, 1}, TaskTree::kRoot);
  TaskId first = tasks.AddTask(0);
  auto inner = [&](TaskId parent) {
    tasks.BeginTeam({"iteration", {{"j", 0, 2}}, 1}, parent);
    std::pair<TaskId, TaskId> result = {tasks.AddTask(0), tasks.AddTask(1)};
    tasks.EndTeam();
    return result;
  };
  auto [a, b] = inner(first);
  auto [c, d] = inner(first);
  TaskId second = tasks.AddTask(1);
  auto [e, f] = inner(second);
  EXPECT_TRUE(tasks.Concurrent({a}, {b}));
  EXPECT_FALSE(tasks.Concurrent({a}, {d})) << "one loop runs after the other";
  EXPECT_FALSE(tasks.Concurrent({first}, {c})) << "an iteration waits for its loops";
  EXPECT_TRUE(tasks.Concurrent({first}, {f}));
  EXPECT_TRUE(tasks.Concurrent({b}, {e}));
  EXPECT_EQ(tasks.Describe(f), "iteration i=6, j=1");
}

TEST(TaskTree, DescribesThreads) {
  TaskTree tasks;
  tasks.BeginTeam(
      {"thread", {{"threadIdx.x", 0, 4}, {"threadIdx.y", 0, 2}, {"blockIdx.x", 0, 3}}, 8},
      TaskTree::kRoot);
  TaskId task = tasks.AddTask(2 * 8 + 1 * 4 + 3), near = tasks.AddTask(2 * 8),
         far = tasks.AddTask(0);
  EXPECT_EQ(tasks.Describe(task), "thread blockIdx.x=2, threadIdx.y=1, threadIdx.x=3");
  EXPECT_EQ(tasks.DescribeBlock(task), "blockIdx.x=2");
  EXPECT_TRUE(tasks.InOneBlock(task, near));
  EXPECT_FALSE(tasks.InOneBlock(task, far));
}

}  // namespace
}  // namespace tern::tir
