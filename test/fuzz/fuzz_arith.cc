// SPDX-License-Identifier: Apache-2.0
//
// tern_fuzz_arith: random expressions, iteration maps and sets of integers, and whether what
// tern/arith says of them holds. On the first failure it prints the seed and what is wrong.
#include <cstdio>

#include "test/fuzz/check_arith.h"
#include "test/fuzz/seeds.h"

namespace tern::fuzz {
namespace {

bool Holds(uint64_t seed) {
  std::string wrong = CheckSimplify(seed);
  // They take longer, and there are fewer kinds of them.
  if (wrong.empty() && seed % 10 == 0) wrong = CheckIterMap(seed);
  if (wrong.empty() && seed % 10 == 1) wrong = CheckIntSet(seed);
  if (!wrong.empty())
    std::fprintf(stderr, "seed %llu:\n%s\n", static_cast<unsigned long long>(seed), wrong.c_str());
  return wrong.empty();
}

// " (3 values, 1 maps, 1 ranges)"
std::string Counts() {
  const ArithCounts& counts = arith_counts();
  return " (" + std::to_string(counts.values) + " values, " + std::to_string(counts.maps) +
         " maps, " + std::to_string(counts.ranges) + " ranges)";
}

}  // namespace
}  // namespace tern::fuzz

int main(int argc, char** argv) {
  using namespace tern::fuzz;
  Seeds seeds{.count = 10000};
  CLI::App app("random expressions through the simplifier and the analyses of tern/arith");
  seeds.AddOptions(&app, "expressions");
  CLI11_PARSE(app, argc, argv);
  try {
    return seeds.Try("expressions", Holds, Counts);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern_fuzz_arith: error: %s\n", error.what());
    return 1;
  }
}
