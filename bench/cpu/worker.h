// SPDX-License-Identifier: Apache-2.0
//
// A process that runs cases with one library, asked by the driver: a line in, a line out.
//
//   prepare CASE   "ok VARIANT", or "no REASON" where the library cannot
//   run SECONDS    calls for about so long; "ok BEST MEAN CALLS", times of a call in seconds
//   save FILE      writes what the last call computed; "ok"
//
// The first line that a worker writes is "ok VERSION" or "no REASON".
#ifndef BENCH_CPU_WORKER_H_
#define BENCH_CPU_WORKER_H_

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cpu/case.h"

namespace tern::bench {

struct Variant {
  std::string name;            // one word
  std::function<void()> call;  // may be repeated; writes the output
  // Where the library has memory of its own: copies the output from there.
  std::function<void()> finish = {};
};

// The ways in which a library can compute a case; the fastest is taken. Throws Unsupported.
using Prepare = std::function<std::vector<Variant>(const Case&, const Buffers&)>;

struct Unsupported : std::runtime_error {
  using runtime_error::runtime_error;
};

struct Times {
  double best = 0, mean = 0;  // seconds of a call
  int64_t calls = 0;
};
// After one call that does not count, at least three, until `seconds` have passed. Short calls are
// timed several at once.
Times Measure(const std::function<void()>& call, double seconds);

// `start` returns the version of the library, and throws Unsupported where it is not there.
int WorkerMain(const std::function<std::string()>& start, const Prepare& prepare);

// Answers lines until there are no more; what is thrown becomes "no REASON" or "error REASON".
void AnswerLines(
    const std::function<std::string(const std::string& verb, const std::string& rest)>& answer);

}  // namespace tern::bench

#endif  // BENCH_CPU_WORKER_H_
