// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/host/thread_pool.h"

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
#include <optional>
#include <thread>
#include <utility>

#include "tern/ffi/environment.h"
#include "tern/runtime/host/cpus.h"
#include "tern/runtime/host/denormals.h"

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

// Pieces small enough that a slow thread leaves some of its share to the others.
constexpr int64_t kPiecesPerThread = 8;

thread_local bool in_loop = false;
thread_local ThreadPool* used_pool = nullptr;  // null: that of the process
// Of threads that belong to a pool; the caller's share is the first.
thread_local std::optional<size_t> own_share;

// Pieces that are not taken yet. Their owner takes the first, others the last.
class alignas(kCacheLine) Share {
 public:
  void Set(uint64_t begin, uint64_t end) {
    range_.store(begin << 32 | end, std::memory_order_relaxed);
  }
  std::optional<uint64_t> Take(bool first) {
    uint64_t range = range_.load(std::memory_order_relaxed);
    for (;;) {
      uint64_t begin = range >> 32, end = range & 0xffffffff;
      if (begin >= end) return {};
      if (range_.compare_exchange_weak(range, first ? range + (uint64_t{1} << 32) : range - 1,
                                       std::memory_order_relaxed))
        return first ? begin : end - 1;
    }
  }

 private:
  std::atomic<uint64_t> range_{0};
};

// One loop after the other gives a thread the same share of its iterations: what it has written is
// in its cache when the next loop reads it.
class Job {
 public:
  Job(int64_t extent, int num_threads, const std::function<void(int64_t, int64_t)>& body)
      : body_(body),
        extent_(extent),
        num_pieces_(std::min(extent, num_threads * kPiecesPerThread)),
        shares_(static_cast<size_t>(num_threads)) {
    auto first_of = [&](int64_t share) {
      return static_cast<uint64_t>((num_pieces_ * share + num_threads - 1) / num_threads);
    };
    for (int i = 0; i < num_threads; ++i) shares_[i].Set(first_of(i), first_of(i + 1));
  }

  // On any thread that takes part.
  void Run() {
    ScopedDenormals as_the_caller(denormals_);
    bool was_in_loop =
        std::exchange(in_loop, true);  // a pool may give a thread that waits other work
    size_t own = own_share ? *own_share : num_strangers_.fetch_add(1, std::memory_order_relaxed);
    for (size_t i = 0; i < shares_.size(); ++i) {
      Share& share = shares_[(own + i) % shares_.size()];
      while (std::optional<uint64_t> piece = share.Take(i == 0))
        RunPiece(static_cast<int64_t>(*piece));
    }
    in_loop = was_in_loop;
  }

  void RethrowError() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  // Pieces whose sizes differ by one at most, the longer ones among the others.
  int64_t BeginOf(int64_t piece) const {
    return extent_ / num_pieces_ * piece +
           (extent_ % num_pieces_ * piece + num_pieces_ - 1) / num_pieces_;
  }
  void RunPiece(int64_t piece) {
    try {
      body_(BeginOf(piece), BeginOf(piece + 1));
    } catch (...) {
      std::lock_guard lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
      for (Share& share : shares_) share.Set(0, 0);
    }
  }

  const std::function<void(int64_t, int64_t)>& body_;
  int64_t extent_, num_pieces_;
  uint64_t denormals_ = DenormalBits();  // of the caller
  std::vector<Share> shares_;
  std::atomic<size_t> num_strangers_{0};
  std::mutex error_mutex_;
  std::exception_ptr error_;
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
      threads_.emplace_back([this, share = threads_.size() + 1] { Work(share); });
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

  void Work(size_t share) {
    own_share = share;
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
  Job job(extent, num_threads, body);
  if (!threads.Run([&job] { job.Run(); })) return body(0, extent);
  job.RethrowError();
}

}  // namespace tern::runtime
