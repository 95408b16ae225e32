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

// What threads took that began `body(thread)` at once, several times.
struct Tries {
  std::vector<std::vector<double>> each;  // by thread, then try
  double all = 1e30;                      // the shortest from the first start to the last end
};
Tries Together(int threads, int tries, const std::function<void(int)>& body) {
  std::atomic<int> arrived = 0;
  std::vector<double> starts(threads), ends(threads);
  Tries result;
  result.each.resize(threads);
  auto wait_for_all = [&](int times) {
    arrived.fetch_add(1);
    while (arrived.load() < threads * times) std::this_thread::yield();
  };
  auto run = [&](int thread) {
    for (int attempt = 0; attempt < tries; ++attempt) {
      wait_for_all(2 * attempt + 1);
      starts[thread] = Now();
      body(thread);
      ends[thread] = Now();
      result.each[thread].push_back(ends[thread] - starts[thread]);
      wait_for_all(2 * attempt + 2);
      if (thread == 0)
        result.all = std::min(result.all, *std::max_element(ends.begin(), ends.end()) -
                                              *std::min_element(starts.begin(), starts.end()));
    }
  };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(run, thread);
  run(0);
  for (std::thread& other : others) other.join();
  return result;
}

// Where results go, so that they are computed.
void Use(const void* result) { asm volatile("" : : "r"(result) : "memory"); }

constexpr double kOpsOfFma = 2.0 * kChains * kVectorBytes / 4;
void MultiplyAdd(int64_t times) {
  Vector starts[kChains] = {}, factors[2] = {Vector{} + 0.999F, Vector{} + 0.001F}, sums[kChains];
  asm volatile("" : "+m"(starts), "+m"(factors));  // for all the compiler knows they differ
  Vector a = factors[0], b = factors[1];
  for (int chain = 0; chain < kChains; ++chain) sums[chain] = starts[chain];
  for (int64_t i = 0; i < times; ++i) {
#pragma GCC unroll 32
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = sums[chain] * a + b;
  }
  Use(sums);
}

// The same on numbers that are loaded from the first cache and change all the time, as those of a
// product do: machines whose clock depends on the power that they take may be slower then.
void MultiplyAddLoaded(int64_t times) {
  constexpr int kRows = kChains / 2, kLength = 1024;
  alignas(kVectorBytes) float numbers[kLength + 2 * kVectorBytes];
  uint32_t state = 1;
  for (float& number : numbers) {
    state = state * 1664525 + 1013904223;
    number = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31F;
  }
  Vector sums[kChains] = {};
  for (int64_t i = 0; i < times; ++i) {
    const float* from = numbers + (i * 2 * kVectorBytes / 4) % kLength;
    Vector columns[2];
    std::memcpy(columns, from, sizeof(columns));
#pragma GCC unroll 32
    for (int row = 0; row < kRows; ++row) {
      Vector factor = from[row] - Vector{};  // in all lanes
      sums[2 * row] += factor * columns[0];
      sums[2 * row + 1] += factor * columns[1];
    }
  }
  Use(sums);
}

// Operations a second of `body(times)`, which does `ops` each time; a try takes about a
// millisecond. The sum of what each thread does in the tenth of the tries that disturbed it least:
// on a busy machine there may be no try that left all of them alone.
double Rate(int threads, double ops, const std::function<void(int64_t)>& body) {
  int64_t times = 1000;
  while (Together(1, 2, [&](int) { body(times); }).all < 5e-4) times *= 2;
  double rate = 0;
  for (std::vector<double>& seconds : Together(threads, kTries, [&](int) { body(times); }).each) {
    std::nth_element(seconds.begin(), seconds.begin() + kTries / 10, seconds.end());
    rate += ops * static_cast<double>(times) / seconds[kTries / 10];
  }
  return rate;
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
  if (dtype == "float32-loaded")
    return {Rate(threads, kOpsOfFma, MultiplyAddLoaded),
            std::to_string(kVectorBytes) + "-byte multiply-add of what is loaded"};
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
  double read =
      Together(threads, tries, [&](int t) { Read(memory[t].get(), vectors, passes); }).all;
  double copy = Together(threads, tries, [&](int t) {
                  Copy(memory[t].get(), memory[t].get() + vectors / 2, vectors / 2, passes);
                }).all;
  return {total / std::min(read, copy), read < copy ? "read" : "copied"};
}

}  // namespace tern::bench
