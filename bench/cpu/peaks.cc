// SPDX-License-Identifier: Apache-2.0
//
// Compiled for the machine at hand, whatever the rest is compiled for.
#include "bench/cpu/peaks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "bench/cpu/case.h"
#include "bench/cpu/matrix_instructions.h"

namespace tern::bench {
namespace {

// Short tries, many of them: on a busy machine some are undisturbed.
constexpr int kTries = 100;

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64, kChains = 16;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32, kChains = 12;
#else
constexpr int kVectorBytes = 16, kChains = 16;
#endif
using Vector = float __attribute__((vector_size(kVectorBytes)));

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The shortest time in which all threads were done with `body(thread)`, of those that began at
// once.
double Together(int threads, int tries, const std::function<void(int)>& body) {
  std::atomic<int> arrived = 0;
  std::vector<double> starts(threads), ends(threads);
  double best = 1e30;
  auto run = [&](int thread) {
    for (int attempt = 0; attempt < tries; ++attempt) {
      arrived.fetch_add(1);
      while (arrived.load() < threads * (2 * attempt + 1)) std::this_thread::yield();
      starts[thread] = Now();
      body(thread);
      ends[thread] = Now();
      arrived.fetch_add(1);
      while (arrived.load() < threads * (2 * attempt + 2)) std::this_thread::yield();
      if (thread == 0)
        best = std::min(best, *std::max_element(ends.begin(), ends.end()) -
                                  *std::min_element(starts.begin(), starts.end()));
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& other : others) other.join();
  return best;
}

// Where results go, so that they are computed.
void Use(const void* result) { asm volatile("" : : "r"(result) : "memory"); }

constexpr double kOpsOfFma = 2.0 * kChains * kVectorBytes / 4;
void MultiplyAdd(int64_t times) {
  Vector sums[kChains] = {}, x = Vector{} + 0.999F, y = Vector{} + 0.001F;
  asm volatile("" : "+m"(x), "+m"(y));
  Vector a = x, b = y;
  for (int64_t i = 0; i < times; ++i) {
#pragma GCC unroll 32
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = sums[chain] * a + b;
  }
  Use(sums);
}

// Operations a second of `body(times)`, which does `ops` each time; a try takes about a
// millisecond.
double Rate(int threads, double ops, const std::function<void(int64_t)>& body) {
  int64_t times = 1000;
  while (Together(1, 2, [&](int) { body(times); }) < 5e-4) times *= 2;
  return ops * static_cast<double>(times) * threads /
         Together(threads, kTries, [&](int) { body(times); });
}

void Read(const Vector* from, int64_t vectors, int64_t passes) {
  constexpr int kUnroll = 8;
  Vector sums[kUnroll] = {};
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t i = 0; i + kUnroll <= vectors; i += kUnroll) {
#pragma GCC unroll 8
      for (int j = 0; j < kUnroll; ++j) sums[j] += from[i + j];
    }
    Use(sums);
  }
}

void Copy(const Vector* from, Vector* to, int64_t vectors, int64_t passes) {
  for (int64_t pass = 0; pass < passes; ++pass) {
    for (int64_t i = 0; i < vectors; ++i) to[i] = from[i];
    Use(to);
  }
}

}  // namespace

Peak ArithmeticPeak(const std::string& dtype, int threads) {
  if (dtype == "float32")
    return {Rate(threads, kOpsOfFma, MultiplyAdd),
            std::to_string(kVectorBytes) + "-byte multiply-add"};
  Peak best;
  for (const MatrixInstruction& instruction : MatrixInstructions(dtype)) {
    double rate = Rate(threads, instruction.ops, instruction.run);
    if (rate > best.per_second) best = {rate, instruction.name};
  }
  return best;
}

Peak MemoryPeak(int64_t bytes, int threads) {
  struct Free {
    void operator()(Vector* memory) const { std::free(memory); }
  };
  int64_t vectors = std::max<int64_t>(bytes / threads / kVectorBytes, 16) / 16 * 16;
  std::vector<std::unique_ptr<Vector, Free>> memory;
  for (int thread = 0; thread < threads; ++thread) {
    memory.emplace_back(static_cast<Vector*>(Allocate(vectors * kVectorBytes)));
    std::memset(static_cast<void*>(memory.back().get()), 0, vectors * kVectorBytes);
  }
  double moved = static_cast<double>(vectors * kVectorBytes);
  int64_t passes = std::max<int64_t>(1, static_cast<int64_t>(2e7 / moved));
  double total = moved * static_cast<double>(passes * threads);
  int tries = moved > 2e8 ? 10 : moved > 2e7 ? 40 : kTries;
  double read = Together(threads, tries, [&](int t) { Read(memory[t].get(), vectors, passes); });
  double copy = Together(threads, tries, [&](int t) {
    Copy(memory[t].get(), memory[t].get() + vectors / 2, vectors / 2, passes);
  });
  return {total / std::min(read, copy), read < copy ? "read" : "copied"};
}

}  // namespace tern::bench
