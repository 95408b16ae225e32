// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "tern/ffi/error.h"

namespace tern::runtime {
namespace {

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (int64_t extent : {0, 1, 2, 3, 7, 64, 1000, 12345}) {
    std::vector<std::atomic<int>> counts(extent);
    ParallelFor(extent, [&](int64_t begin, int64_t end) {
      ASSERT_LT(begin, end);
      for (int64_t i = begin; i < end; ++i) ++counts[i];
    });
    for (const auto& count : counts) ASSERT_EQ(count, 1);
  }
}

TEST(ThreadPool, NestedLoopsRunWhereTheyAre) {
  std::atomic<int64_t> sum{0};
  ParallelFor(8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      auto caller = std::this_thread::get_id();
      ParallelFor(10, [&](int64_t inner_begin, int64_t inner_end) {
        EXPECT_EQ(std::this_thread::get_id(), caller);
        sum += inner_end - inner_begin;
      });
    }
  });
  EXPECT_EQ(sum, 80);
}

TEST(ThreadPool, ThrowsWhatAPieceThrows) {
  std::atomic<int64_t> done{0};
  try {
    ParallelFor(1000, [&](int64_t begin, int64_t) {
      if (begin == 0) TERN_THROW(ValueError) << "piece " << begin;
      ++done;
    });
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "piece 0");
  }
  // The pool is as good as before.
  std::atomic<int64_t> count{0};
  ParallelFor(100, [&](int64_t begin, int64_t end) { count += end - begin; });
  EXPECT_EQ(count, 100);
}

TEST(ThreadPool, SeveralCallersAtOnce) {
  std::atomic<int64_t> sum{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round)
        ParallelFor(50, [&](int64_t begin, int64_t end) { sum += end - begin; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 200 * 50);
}

TEST(ThreadPool, ThreadsOfAnIdlePoolAreWokenUp) {
  std::atomic<int64_t> sum{0};
  for (int round = 0; round < 3; ++round) {
    ParallelFor(64, [&](int64_t begin, int64_t end) { sum += end - begin; });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(sum, 3 * 64);
}

TEST(ThreadPool, AForkedChildHasAPoolOfItsOwn) {
  ParallelFor(64, [](int64_t, int64_t) {});
  pid_t child = fork();
  if (child == 0) {
    std::atomic<int64_t> sum{0};
    ParallelFor(1000, [&](int64_t begin, int64_t end) { sum += end - begin; });
    _exit(sum == 1000 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ThreadPool, TheEnvironmentIsChecked) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process that has not looked yet
  EXPECT_EXIT(
      {
        setenv("TERN_NUM_THREADS", "many", 1);
        try {
          NumThreads();
        } catch (const Error& error) {
          std::fprintf(stderr, "%s\n", error.what());
          _exit(3);
        }
      },
      ::testing::ExitedWithCode(3), "TERN_NUM_THREADS is 'many'; expected a number from 1 to 1024");
}

}  // namespace
}  // namespace tern::runtime
