// SPDX-License-Identifier: Apache-2.0
//
// fuzz_plans [--seed S] [--count N]: random programs of models, run with and without memory that is
// used again, and for some outputs alone. The results are the same bits.
#include <cstdio>

#include "tern/ffi/error.h"
#include "tern/runtime/vm/text.h"
#include "test/fuzz/check_model.h"
#include "test/fuzz/random_model.h"
#include "test/fuzz/seed_options.h"

namespace tern::fuzz {
namespace {

int Main(int argc, char** argv) {
  SeedOptions options = ParseSeedOptions(argc, argv);
  for (uint64_t i = 0; i < options.count; ++i) {
    std::string text = RandomModel(options.seed + i), mistake;
    try {
      ModelCheck check =
          CheckModel(runtime::vm::ParseProgram(text, "program"), std::chrono::seconds(10));
      mistake = check.mistake.empty() ? check.error : check.mistake;
    } catch (const Error& error) {
      mistake = error.what();
    }
    if (mistake.empty()) continue;
    std::printf("seed %s: %s\n%s", std::to_string(options.seed + i).c_str(), mistake.c_str(),
                text.c_str());
    return 1;
  }
  std::printf("%s programs\n", std::to_string(options.count).c_str());
  return 0;
}

}  // namespace
}  // namespace tern::fuzz

int main(int argc, char** argv) { return tern::fuzz::Main(argc, argv); }
