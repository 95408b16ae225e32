// SPDX-License-Identifier: Apache-2.0
//
// What the programs share that try one thing after another: which seeds, and for how long.
#ifndef TEST_FUZZ_SEEDS_H_
#define TEST_FUZZ_SEEDS_H_

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>

namespace tern::fuzz {

struct Seeds {
  uint64_t first = 1, count = 1000;
  double seconds = 0;  // not 0: as many as this time allows

  // `things`: "programs".
  void AddOptions(CLI::App* app, const std::string& things) {
    app->add_option("--seed", first,
                    "the seed of the first of the " + things + "; the others follow");
    app->add_option("--count", count, "how many " + things);
    app->add_option("--seconds", seconds, "as many " + things + " as this time allows");
  }

  // Tries them until one fails (`holds` returns false): then the result is 1. At the end it says
  // how many `things` hold; `more()` is text for behind that.
  template <class F, class G>
  int Try(const char* things, const F& holds, const G& more) const {
    using Clock = std::chrono::steady_clock;
    Clock::time_point start = Clock::now();
    auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    uint64_t done = 0;
    for (; seconds > 0 ? elapsed() < seconds : done < count; ++done)
      if (!holds(first + done)) return 1;
    std::printf("%llu %s from seed %llu hold%s, %.1f s\n", static_cast<unsigned long long>(done),
                things, static_cast<unsigned long long>(first), std::string(more()).c_str(),
                elapsed());
    return 0;
  }
};

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_SEEDS_H_
