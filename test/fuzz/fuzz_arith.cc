// SPDX-License-Identifier: Apache-2.0
//
// tern_fuzz_arith: random expressions, iteration maps and sets of integers, and whether what
// tern/arith says of them holds. On the first failure it prints the seed and what is wrong.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "test/fuzz/check_arith.h"

namespace tern::fuzz {
namespace {

struct Options {
  uint64_t seed = 1, count = 10000;
  double seconds = 0;  // not 0: as many as this time allows
};

int Run(const Options& options) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  auto goes_on = [&](uint64_t done) {
    return options.seconds > 0 ? done % 100 != 0 || elapsed() < options.seconds
                               : done < options.count;
  };
  uint64_t done = 0;
  for (; goes_on(done); ++done) {
    uint64_t seed = options.seed + done;
    std::string wrong = CheckSimplify(seed);
    // They take longer, and there are fewer kinds of them.
    if (wrong.empty() && seed % 10 == 0) wrong = CheckIterMap(seed);
    if (wrong.empty() && seed % 10 == 1) wrong = CheckIntSet(seed);
    if (wrong.empty()) continue;
    std::fprintf(stderr, "seed %llu:\n%s\n", static_cast<unsigned long long>(seed), wrong.c_str());
    return 1;
  }
  const ArithCounts& counts = arith_counts();
  std::printf(
      "%llu expressions from seed %llu hold (%llu values, %llu maps, %llu ranges), %.1f s\n",
      static_cast<unsigned long long>(done), static_cast<unsigned long long>(options.seed),
      static_cast<unsigned long long>(counts.values), static_cast<unsigned long long>(counts.maps),
      static_cast<unsigned long long>(counts.ranges), elapsed());
  return 0;
}

}  // namespace
}  // namespace tern::fuzz

int main(int argc, char** argv) {
  using namespace tern::fuzz;
  Options options;
  CLI::App app("random expressions through the simplifier and the analyses of tern/arith");
  app.add_option("--seed", options.seed, "the first expression's seed; the others follow");
  app.add_option("--count", options.count, "how many expressions");
  app.add_option("--seconds", options.seconds, "as many expressions as this time allows");
  CLI11_PARSE(app, argc, argv);
  try {
    return Run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern_fuzz_arith: error: %s\n", error.what());
    return 1;
  }
}
