// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "tern/ffi/environment.h"
#include "tern/runtime/cpus.h"
#include "tern/runtime/denormals.h"

namespace tern::runtime {
namespace {

constexpr size_t kCacheLine = 64;

int CountThreads() {
  if (int64_t number = environment::Number("TERN_NUM_THREADS", 1, kMaxThreads, 0))
    return static_cast<int>(number);
  size_t cpus = ProcessCpus().size();
  if (cpus == 0) cpus = std::thread::hardware_concurrency();
  return std::min(RunnableThreads(cpus, CpuQuota()), kMaxThreads);
}

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

// Whether `done` holds within a moment.
template <class F>
bool SpinUntil(F&& done) {
  auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      Pause();
    }
  } while (std::chrono::steady_clock::now() - start < std::chrono::microseconds(50));
  return done();
}

// A number that threads sleep on while it has a value, and that costs no system call to change
// while nobody sleeps. (std::atomic's own wait does not order the two on every machine.)
class Bell {
 public:
  uint32_t value() const { return value_.load(std::memory_order_acquire); }
  void Ring() {
    value_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) > 0) Futex(FUTEX_WAKE_PRIVATE, INT_MAX);
  }
  void SleepWhile(uint32_t seen) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    while (value_.load(std::memory_order_seq_cst) == seen) Futex(FUTEX_WAIT_PRIVATE, seen);
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  void Futex(int operation, uint32_t value) {
    static_assert(sizeof value_ == sizeof value);
    syscall(SYS_futex, &value_, operation, value, nullptr, nullptr, 0);
  }

  alignas(kCacheLine) std::atomic<uint32_t> value_{0};
  std::atomic<int> sleepers_{0};
};

// Pieces small enough that a slow thread leaves its share to the others.
constexpr int64_t kPiecesPerThread = 4;

thread_local bool in_loop = false;
thread_local ThreadPool* used_pool = nullptr;  // null: that of the process

struct Job {
  const std::function<void(int64_t, int64_t)>* body = nullptr;
  int64_t extent = 0, piece = 0;
  uint64_t denormals = DenormalBits();  // of the caller
  alignas(kCacheLine) std::atomic<int64_t> next{0};
  std::mutex error_mutex;
  std::exception_ptr error;

  // On any thread that takes part.
  void Run() {
    ScopedDenormals as_the_caller(denormals);
    bool was_in_loop =
        std::exchange(in_loop, true);  // a pool may give a thread that waits other work
    RunPieces();
    in_loop = was_in_loop;
  }

 private:
  void RunPieces() {
    for (;;) {
      int64_t begin = next.load(std::memory_order_relaxed);
      do {
        if (begin >= extent) return;
      } while (!next.compare_exchange_weak(begin, begin + std::min(piece, extent - begin),
                                           std::memory_order_relaxed));
      try {
        (*body)(begin, begin + std::min(piece, extent - begin));
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(extent, std::memory_order_relaxed);
      }
    }
  }
};

// Threads do not survive a fork.
std::atomic<uint32_t> num_forks{0};

// A loop is open while its caller works on it. A worker that comes in time joins; one that is late
// (asleep, or without a CPU) is not waited for.
class OwnThreads : public ThreadPool {
 public:
  OwnThreads(int num_threads, std::vector<int> cpus)
      : num_threads_(num_threads), cpus_(std::move(cpus)) {}

  ~OwnThreads() override {
    bool are_here = forks_before_ == num_forks.load(std::memory_order_relaxed);
    stops_.store(true, std::memory_order_relaxed);
    started_.Ring();
    for (std::thread& thread : threads_) are_here ? thread.join() : thread.detach();
  }

  int num_threads() const override { return num_threads_; }

  bool Run(const std::function<void()>& task) override {
    if (forks_before_ != num_forks.load(std::memory_order_relaxed)) return false;
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock) return false;
    while (threads_.size() + 1 < static_cast<size_t>(num_threads_))
      threads_.emplace_back([this] { Work(); });
    task_ = &task;
    state_.store(kOpen, std::memory_order_release);
    started_.Ring();
    task();
    uint32_t rung = finished_.value();
    // Nobody may have joined.
    if (state_.fetch_and(~kOpen, std::memory_order_acq_rel) == kOpen) return true;
    auto all_left = [this] { return state_.load(std::memory_order_acquire) == 0; };
    if (SpinUntil(all_left)) return true;
    for (; !all_left(); rung = finished_.value()) finished_.SleepWhile(rung);
    return true;
  }

 private:
  static constexpr uint32_t kOpen = uint32_t{1} << 31;  // the rest counts those who joined

  bool Join() {
    uint32_t state = state_.load(std::memory_order_relaxed);
    while (state & kOpen)
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire)) return true;
    return false;
  }

  void Work() {
    // Not only on the CPUs of the thread that happened to make the pool. Where they are not allowed
    // any more it runs where it can.
    try {
      if (std::vector<int> cpus = cpus_.empty() ? ProcessCpus() : cpus_; !cpus.empty())
        BindThread(cpus);
    } catch (const Error&) {
    }
    for (uint32_t seen = 0; !stops_.load(std::memory_order_relaxed);) {
      if (!SpinUntil([&] { return started_.value() != seen; })) started_.SleepWhile(seen);
      seen = started_.value();
      if (!Join()) continue;
      (*task_)();
      // The last to leave a closed loop tells its caller, who may sleep.
      if (state_.fetch_sub(1, std::memory_order_acq_rel) == 1) finished_.Ring();
    }
  }

  int num_threads_;
  std::vector<int> cpus_;
  uint32_t forks_before_ = num_forks.load(std::memory_order_relaxed);
  std::mutex mutex_;  // held during a loop
  std::vector<std::thread> threads_;
  const std::function<void()>* task_ = nullptr;
  alignas(kCacheLine) std::atomic<uint32_t> state_{0};
  Bell started_, finished_;
  std::atomic<bool> stops_{false};
};

std::mutex& PoolMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::atomic<ThreadPool*> pool{
    nullptr};  // never deleted: its threads may run until the process ends

void WatchForks() {
  // The child forgets the pool, and whoever held its mutex.
  static const int registered =
      pthread_atfork([] { PoolMutex().lock(); }, [] { PoolMutex().unlock(); },
                     [] {
                       pool = nullptr;
                       num_forks.fetch_add(1, std::memory_order_relaxed);
                       PoolMutex().unlock();
                     });
  TERN_ICHECK(registered == 0) << "pthread_atfork";
}

ThreadPool& ProcessPool() {
  if (ThreadPool* made = pool.load(std::memory_order_acquire)) return *made;
  std::lock_guard lock(PoolMutex());
  if (!pool) {
    WatchForks();
    pool = new OwnThreads(NumThreads(), {});
  }
  return *pool;
}

}  // namespace

int NumThreads() {
  static const int count = CountThreads();
  return count;
}

std::shared_ptr<ThreadPool> MakeThreadPool(int num_threads, const std::vector<int>& cpus) {
  TERN_CHECK(num_threads >= 0 && num_threads <= kMaxThreads)
      << "a thread pool of " << num_threads << " threads; expected 1 to " << kMaxThreads
      << ", or 0 for as many as can run at once";
  if (num_threads == 0)
    num_threads = cpus.empty() ? NumThreads() : RunnableThreads(cpus.size(), CpuQuota());
  WatchForks();
  return std::make_shared<OwnThreads>(num_threads, cpus);
}

UseThreadPool::UseThreadPool(ThreadPool* pool) : before_(used_pool) { used_pool = pool; }
UseThreadPool::~UseThreadPool() { used_pool = before_; }

void ParallelFor(int64_t extent, const std::function<void(int64_t, int64_t)>& body) {
  if (extent <= 0) return;
  int num_threads = used_pool ? used_pool->num_threads() : NumThreads();
  if (in_loop || extent == 1 || num_threads == 1) return body(0, extent);
  ThreadPool& threads = used_pool ? *used_pool : ProcessPool();
  Job job;
  job.body = &body;
  job.extent = extent;
  job.piece = std::max<int64_t>(1, extent / (num_threads * kPiecesPerThread));
  if (!threads.Run([&job] { job.Run(); })) return body(0, extent);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace tern::runtime
