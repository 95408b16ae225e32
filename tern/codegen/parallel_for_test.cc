// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/parallel_for.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tern/compile.h"
#include "tern/target/target.h"

namespace tern::codegen {
namespace {

TEST(ParallelFor, CallsEveryIndexOnce) {
  for (size_t count : {0, 1, 2, 7, 1000}) {
    std::vector<std::atomic<int>> calls(count);
    ParallelFor(count, [&](size_t i) { ++calls[i]; });
    for (const auto& number : calls) EXPECT_EQ(number, 1);
  }
}

TEST(ParallelFor, ThrowsTheErrorOfTheLowestIndex) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> calls = 0;
    try {
      ParallelFor(50, [&](size_t i) {
        ++calls;
        if (i % 10 == 7) throw std::runtime_error(std::to_string(i));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "7");
    }
    EXPECT_EQ(calls, 50);
  }
}

TEST(ParallelFor, InsideOfAnotherItStaysOnTheThread) {
  ParallelFor(8, [](size_t) {
    std::thread::id outer = std::this_thread::get_id();
    ParallelFor(8, [&](size_t) { EXPECT_EQ(std::this_thread::get_id(), outer); });
  });
}

TEST(ParallelFor, TheCurrentTargetIsTheCallers) {
  Initialize();
  target::Target target = target::Target::Parse("c");
  target::TargetScope scope(target);
  ParallelFor(16, [&](size_t) { EXPECT_EQ(target::CurrentTarget()->str(), target->str()); });
}

TEST(ParallelFor, ObserversSeeOutermostLoops) {
  std::vector<size_t> seen;
  {
    ProgressObserver observer([&](size_t done, size_t count) {
      EXPECT_EQ(count, 9u);
      seen.push_back(done);
    });
    ParallelFor(9, [](size_t) { ParallelFor(3, [](size_t) {}); });
  }
  ParallelFor(2, [](size_t) {});
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<size_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

}  // namespace
}  // namespace tern::codegen
