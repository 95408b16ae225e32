// SPDX-License-Identifier: Apache-2.0
//
// The threads that parallel loops run on.
//
// One pool for the process, made at its first use, and others that are asked for: a session's own,
// or one of the caller's. Threads of the pools here spin for a moment after a loop, in which the
// next one starts at once, and sleep then.
#ifndef TERN_RUNTIME_HOST_THREAD_POOL_H_
#define TERN_RUNTIME_HOST_THREAD_POOL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace tern::runtime {

inline constexpr int kMaxThreads = 1024;

// How many threads a parallel loop uses, the caller's included: TERN_NUM_THREADS, or else the CPUs
// that this process may run on, but no more than the quota of its control groups. Throws where the
// variable is not a number from 1 to 1024.
int NumThreads();

class ThreadPool {
 public:
  virtual ~ThreadPool() = default;
  // At most so many threads take part in a loop, the caller's included.
  virtual int num_threads() const = 0;
  // Calls `task` on the calling thread and on others at the same time; when it returns, all calls
  // have returned. One call does all the work that is left, so none of the others is needed. False,
  // with no call made, where the pool works for another thread. The task does not throw.
  virtual bool Run(const std::function<void()>& task) = 0;
};

// Threads of its own, started by the first loop and ended with the pool. They run on `cpus`, or
// where the process may. `num_threads` is 0 for as many as can run there at once. A child of fork
// has none of them: its loops run on their caller.
std::shared_ptr<ThreadPool> MakeThreadPool(int num_threads, const std::vector<int>& cpus = {});

// While it lives, parallel loops of this thread run on that pool; null: on that of the process,
// which a child of fork makes anew, and of which nothing is joined at exit.
class UseThreadPool {
 public:
  explicit UseThreadPool(ThreadPool* pool);
  ~UseThreadPool();
  UseThreadPool(const UseThreadPool&) = delete;

 private:
  ThreadPool* before_;
};

// Calls `body(begin, end)` on pieces that make up 0..extent, on the pool's threads and the
// caller's, and returns when all are done. Each thread has a share, side by side in the order of
// the threads, the caller's first, and then helps with those of others. The first exception that a
// piece throws is thrown here; pieces not yet begun are then left out. In a piece, and while
// another thread runs a loop, the caller runs all pieces itself: loops nest and meet without more
// threads than there are. Every piece treats denormals as the caller does (denormals.h).
void ParallelFor(int64_t extent, const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_HOST_THREAD_POOL_H_
