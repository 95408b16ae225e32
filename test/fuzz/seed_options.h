// SPDX-License-Identifier: Apache-2.0
//
// A command line without a library that reads it: --seed S, --count N, files.
#ifndef TEST_FUZZ_SEED_OPTIONS_H_
#define TEST_FUZZ_SEED_OPTIONS_H_

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace tern::fuzz {

struct SeedOptions {
  uint64_t seed = 1, count = 1000;
  std::vector<std::string> files;
};

inline SeedOptions ParseSeedOptions(int argc, char** argv) {
  SeedOptions options;
  for (int i = 1; i < argc; ++i) {
    bool is_seed = std::strcmp(argv[i], "--seed") == 0;
    if ((is_seed || std::strcmp(argv[i], "--count") == 0) && i + 1 < argc)
      (is_seed ? options.seed : options.count) = std::strtoull(argv[++i], nullptr, 10);
    else
      options.files.emplace_back(argv[i]);
  }
  return options;
}

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_SEED_OPTIONS_H_
