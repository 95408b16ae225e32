// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tern/ffi/error.h"
#include "tern/runtime/host/cpus.h"
#include "tern/runtime/host/denormals.h"

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

// Pieces that wait for one another: only where that many threads take part does it end.
TEST(ThreadPool, AllThreadsTakePart) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("TERN_NUM_THREADS", "4", 1);
        for (int round = 0; round < 20; ++round) {
          std::atomic<int> there{0};
          ParallelFor(4, [&](int64_t begin, int64_t end) {
            there += static_cast<int>(end - begin);
            while (there < 4) std::this_thread::yield();
          });
        }
        _exit(NumThreads() == 4 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// How many threads of this process run or want to.
int RunnableThreads() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    size_t state = text.rfind(") ");
    count += state != std::string::npos && text[state + 2] == 'R';
  }
  return count;
}

TEST(ThreadPool, AnIdlePoolSleeps) {
  ParallelFor(64, [](int64_t, int64_t) {});
  while (RunnableThreads() > 1) std::this_thread::yield();  // or the test never ends
}

// The thread that makes the pool is bound to one CPU; those of the pool are not.
TEST(ThreadPool, ThreadsRunWhereTheProcessMay) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("TERN_NUM_THREADS", "2", 1);
        cpu_set_t process;
        sched_getaffinity(getpid(), sizeof process, &process);
        bool same = false;
        std::thread([&] {
          int first = 0;
          while (!CPU_ISSET(first, &process)) ++first;
          cpu_set_t one;
          CPU_ZERO(&one);
          CPU_SET(first, &one);
          sched_setaffinity(0, sizeof one, &one);
          auto caller = std::this_thread::get_id();
          std::atomic<int> there{0};
          ParallelFor(2, [&](int64_t, int64_t) {
            ++there;
            while (there < 2) std::this_thread::yield();
            cpu_set_t mine;
            sched_getaffinity(0, sizeof mine, &mine);
            if (std::this_thread::get_id() != caller) same = CPU_EQUAL(&mine, &process);
          });
        }).join();
        _exit(same ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
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

// How many threads run pieces at once: each waits for that many others.
void ExpectThreads(int expected) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::atomic<int> there{0};
  ParallelFor(expected, [&](int64_t begin, int64_t end) {
    there += static_cast<int>(end - begin);
    while (there < expected) std::this_thread::yield();
    std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads.size(), expected);
}

TEST(ThreadPool, PoolsOfTheirOwn) {
  auto three = MakeThreadPool(3), one = MakeThreadPool(1);
  {
    UseThreadPool use_three(three.get());
    ExpectThreads(3);
    {
      UseThreadPool use_one(one.get());
      auto caller = std::this_thread::get_id();
      ParallelFor(100, [&](int64_t, int64_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
    }
    ExpectThreads(3);
  }
  // Two callers, each with a pool, do not wait for each other.
  std::vector<std::thread> callers;
  for (int i = 0; i < 2; ++i)
    callers.emplace_back([] {
      auto own = MakeThreadPool(2);
      UseThreadPool use(own.get());
      for (int round = 0; round < 50; ++round) ExpectThreads(2);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_THROW(MakeThreadPool(-1), Error);
  EXPECT_THROW(MakeThreadPool(kMaxThreads + 1), Error);
}

// What a thread wrote in one loop it reads in the next: shares lie side by side, the caller's
// first.
TEST(ThreadPool, ThreadsHaveTheSameShareOfEveryLoop) {
  for (int num_threads : {2, 3}) {
    auto pool = MakeThreadPool(num_threads);
    UseThreadPool use(pool.get());
    std::vector<std::thread::id> owners(num_threads);
    for (int round = 0; round < 20; ++round) {
      int64_t extent = 60 * (round + 1);
      std::mutex mutex;
      std::map<std::thread::id, int64_t> first;
      ParallelFor(extent, [&](int64_t begin, int64_t) {
        {
          std::lock_guard lock(mutex);
          first.try_emplace(std::this_thread::get_id(), begin);
        }
        // Until all have begun: nobody's share is left to others.
        auto all_there = [&] {
          std::lock_guard lock(mutex);
          return first.size() == static_cast<size_t>(num_threads);
        };
        while (!all_there()) std::this_thread::yield();
      });
      EXPECT_EQ(first.at(std::this_thread::get_id()), 0);
      for (const auto& [thread, begin] : first) {
        ASSERT_EQ(begin % (extent / num_threads), 0);
        std::thread::id& owner = owners[begin / (extent / num_threads)];
        if (round == 0) owner = thread;
        EXPECT_EQ(owner, thread);
      }
    }
  }
}

TEST(ThreadPool, AThreadThatIsDoneHelpsOthers) {
  auto pool = MakeThreadPool(2);
  UseThreadPool use(pool.get());
  std::atomic<int64_t> done{0};
  ParallelFor(64, [&](int64_t begin, int64_t end) {
    if (begin == 0)
      while (done < 64 - end) std::this_thread::yield();
    done += end - begin;
  });
  EXPECT_EQ(done, 64);
}

TEST(ThreadPool, ThreadsOfAPoolRunOnItsCpus) {
  std::vector<int> last = {ProcessCpus().back()};
  auto pool = MakeThreadPool(2, last);
  UseThreadPool use(pool.get());
  auto caller = std::this_thread::get_id();
  std::atomic<int> there{0};
  ParallelFor(2, [&](int64_t begin, int64_t end) {
    there += static_cast<int>(end - begin);
    while (there < 2) std::this_thread::yield();
    cpu_set_t mine;
    sched_getaffinity(0, sizeof mine, &mine);
    if (std::this_thread::get_id() == caller) return;
    EXPECT_EQ(CPU_COUNT(&mine), 1);
    EXPECT_TRUE(CPU_ISSET(last[0], &mine));
  });
  EXPECT_EQ(MakeThreadPool(0, last)->num_threads(), 1);
}

TEST(ThreadPool, AForkedChildRunsLoopsOfAPoolOnTheirCaller) {
  auto pool = MakeThreadPool(3);
  UseThreadPool use(pool.get());
  ExpectThreads(3);
  pid_t child = fork();
  if (child == 0) {
    int64_t sum = 0;
    ParallelFor(1000, [&](int64_t begin, int64_t end) { sum += end - begin; });
    pool.reset();
    _exit(sum == 1000 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Every piece as the caller; threads as they were for the next one.
TEST(ThreadPool, DenormalsAreTreatedAsTheCallerDoes) {
  auto pool = MakeThreadPool(3);
  UseThreadPool use(pool.get());
  uint64_t before = DenormalBits();
  for (uint64_t bits : {kFlushBits, uint64_t{0}, kFlushBits}) {
    ScopedDenormals scope(bits);
    std::atomic<int> there{0};
    ParallelFor(3, [&](int64_t begin, int64_t end) {
      there += static_cast<int>(end - begin);
      while (there < 3) std::this_thread::yield();
      EXPECT_EQ(DenormalBits(), bits);
      volatile float tiny = 1e-39F;
      volatile float half = tiny * 0.5F;
      EXPECT_EQ(half == 0, bits != 0);
    });
  }
  EXPECT_EQ(DenormalBits(), before);
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
