// SPDX-License-Identifier: Apache-2.0
//
// The command line of fuzzers that need nothing but the runtime.
#ifndef TEST_FUZZ_SEED_OPTIONS_H_
#define TEST_FUZZ_SEED_OPTIONS_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace tern::fuzz {

struct SeedOptions {
  uint64_t seed = 1, count = 1000;
};

inline SeedOptions ParseSeedOptions(int argc, char** argv) {
  SeedOptions options;
  for (int i = 1; i + 1 < argc; i += 2) {
    uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--seed") == 0) options.seed = value;
    if (std::strcmp(argv[i], "--count") == 0) options.count = value;
  }
  return options;
}

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_SEED_OPTIONS_H_
