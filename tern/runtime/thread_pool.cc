// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>

#include "tern/ffi/error.h"

namespace tern::runtime {
namespace {

constexpr int kMaxThreads = 1024;
constexpr size_t kCacheLine = 64;

int CountThreads() {
  if (const char* text = std::getenv("TERN_NUM_THREADS"); text && *text) {
    char* end = nullptr;
    int64_t number = std::strtol(text, &end, 10);
    TERN_CHECK(*end == 0 && number >= 1 && number <= kMaxThreads)
        << "TERN_NUM_THREADS is '" << text << "'; expected a number from 1 to " << kMaxThreads;
    return static_cast<int>(number);
  }
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    return std::clamp(CPU_COUNT(&allowed), 1, kMaxThreads);
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
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

// Pieces small enough that a slow thread leaves its share to the others.
constexpr int64_t kPiecesPerThread = 4;

struct Job {
  const std::function<void(int64_t, int64_t)>* body = nullptr;
  int64_t extent = 0, piece = 0;
  std::atomic<int64_t> next{0};
  std::mutex error_mutex;
  std::exception_ptr error;

  void Run() {
    for (;;) {
      int64_t begin = next.fetch_add(piece, std::memory_order_relaxed);
      if (begin >= extent) return;
      try {
        (*body)(begin, std::min(begin + piece, extent));
      } catch (...) {
        std::lock_guard lock(error_mutex);
        if (!error) error = std::current_exception();
        next.store(extent, std::memory_order_relaxed);
      }
    }
  }
};

thread_local bool in_loop = false;

class Pool {
 public:
  explicit Pool(int num_threads) : num_workers_(num_threads - 1) {
    for (int i = 0; i < num_workers_; ++i) std::thread([this] { Work(); }).detach();
  }

  std::mutex& mutex() { return mutex_; }

  // With the mutex held.
  void Run(Job* job) {
    job_ = job;
    busy_.store(num_workers_, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    in_loop = true;
    job->Run();
    in_loop = false;
    auto idle = [this] { return busy_.load(std::memory_order_acquire) == 0; };
    if (SpinUntil(idle)) return;
    for (int busy = busy_.load(std::memory_order_acquire); busy != 0;
         busy = busy_.load(std::memory_order_acquire))
      busy_.wait(busy, std::memory_order_acquire);
  }

 private:
  void Work() {
    in_loop = true;
    for (uint32_t seen = 0;; ++seen) {
      auto has_work = [&] { return round_.load(std::memory_order_acquire) != seen; };
      if (!SpinUntil(has_work)) round_.wait(seen, std::memory_order_acquire);
      job_->Run();
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

  const int num_workers_;
  std::mutex mutex_;
  Job* job_ = nullptr;
  alignas(kCacheLine) std::atomic<uint32_t> round_{0};
  alignas(kCacheLine) std::atomic<int> busy_{0};
};

std::mutex& PoolMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
Pool* pool = nullptr;  // never deleted: its threads may run until the process ends

Pool& GetPool() {
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
