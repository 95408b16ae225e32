// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
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

#include "tern/ffi/environment.h"

namespace tern::runtime {
namespace {

constexpr int kMaxThreads = 1024;
constexpr size_t kCacheLine = 64;

// The CPUs of the process: those of its first thread, wherever the caller has been bound to.
std::optional<cpu_set_t> AllowedCpus() {
  cpu_set_t allowed;
  if (sched_getaffinity(getpid(), sizeof allowed, &allowed) != 0) return std::nullopt;
  return allowed;
}

int CountThreads() {
  if (int64_t number = environment::Number("TERN_NUM_THREADS", 1, kMaxThreads, 0))
    return static_cast<int>(number);
  std::optional<cpu_set_t> allowed = AllowedCpus();
  int count =
      allowed ? CPU_COUNT(&*allowed) : static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(count, 1, kMaxThreads);
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

struct Job {
  const std::function<void(int64_t, int64_t)>* body = nullptr;
  int64_t extent = 0, piece = 0;
  alignas(kCacheLine) std::atomic<int64_t> next{0};
  std::mutex error_mutex;
  std::exception_ptr error;

  void Run() {
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

thread_local bool in_loop = false;

// A loop is open while its caller works on it. A worker that comes in time joins; one that is late
// (asleep, or without a CPU) is not waited for.
class Pool {
 public:
  explicit Pool(int num_threads) {
    for (int i = 1; i < num_threads; ++i) std::thread([this] { Work(); }).detach();
  }

  std::mutex& mutex() { return mutex_; }

  // With the mutex held.
  void Run(Job* job) {
    job_ = job;
    state_.store(kOpen, std::memory_order_release);
    started_.Ring();
    in_loop = true;
    job->Run();
    in_loop = false;
    uint32_t rung = finished_.value();
    if (state_.fetch_and(~kOpen, std::memory_order_acq_rel) == kOpen) return;  // nobody joined
    auto all_left = [this] { return state_.load(std::memory_order_acquire) == 0; };
    if (SpinUntil(all_left)) return;
    for (; !all_left(); rung = finished_.value()) finished_.SleepWhile(rung);
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
    in_loop = true;
    // Not only on the CPUs of the thread that happened to make the pool.
    if (std::optional<cpu_set_t> allowed = AllowedCpus())
      sched_setaffinity(0, sizeof *allowed, &*allowed);
    for (uint32_t seen = 0;;) {
      if (!SpinUntil([&] { return started_.value() != seen; })) started_.SleepWhile(seen);
      seen = started_.value();
      if (!Join()) continue;
      job_->Run();
      // The last to leave a closed loop tells its caller, who may sleep.
      if (state_.fetch_sub(1, std::memory_order_acq_rel) == 1) finished_.Ring();
    }
  }

  std::mutex mutex_;
  Job* job_ = nullptr;
  alignas(kCacheLine) std::atomic<uint32_t> state_{0};
  Bell started_, finished_;
};

std::mutex& PoolMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::atomic<Pool*> pool{nullptr};  // never deleted: its threads may run until the process ends

Pool& GetPool() {
  if (Pool* made = pool.load(std::memory_order_acquire)) return *made;
  std::lock_guard lock(PoolMutex());
  if (!pool) {
    // Threads do not survive a fork: the child forgets the pool, and whoever held its mutex.
    static const int registered =
        pthread_atfork([] { PoolMutex().lock(); }, [] { PoolMutex().unlock(); },
                       [] {
                         pool = nullptr;
                         PoolMutex().unlock();
                       });
    TERN_ICHECK(registered == 0) << "pthread_atfork";
    pool = new Pool(NumThreads());
  }
  return *pool;
}

}  // namespace

int NumThreads() {
  static const int count = CountThreads();
  return count;
}

void ParallelFor(int64_t extent, const std::function<void(int64_t, int64_t)>& body) {
  if (extent <= 0) return;
  if (in_loop || extent == 1 || NumThreads() == 1) return body(0, extent);
  Pool& threads = GetPool();
  std::unique_lock lock(threads.mutex(), std::try_to_lock);
  if (!lock) return body(0, extent);
  Job job;
  job.body = &body;
  job.extent = extent;
  job.piece = std::max<int64_t>(1, extent / (NumThreads() * kPiecesPerThread));
  threads.Run(&job);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace tern::runtime
