// SPDX-License-Identifier: Apache-2.0
//
// fuzz_models [--seed S] [--count N]: 50 changes, of programs and of bytes, of each of N random
// programs of models. What comes of one is refused with an error, or is verified and runs: then
// memory that is used again changes no result. Under the address sanitizer nothing reads or writes
// where it must not.
#include <cinttypes>
#include <cstdio>

#include "tern/ffi/error.h"
#include "tern/runtime/vm/text.h"
#include "test/fuzz/check_model.h"
#include "test/fuzz/mutate_model.h"
#include "test/fuzz/random_model.h"
#include "test/fuzz/seed_options.h"

namespace tern::fuzz {
namespace {

using runtime::vm::Program;

constexpr int kSteps = 6;          // small programs: a change is more of them
constexpr int kChangesOfOne = 50;  // in a row, of one random program

struct Counts {
  uint64_t changes = 0, decoded = 0, verified = 0, ran = 0;
};

std::string Changed(Random* random, Program program) {
  for (int64_t i = random->OneIn(4) ? 3 : 1; i > 0; --i) MutateModel(random, &program);
  std::string bytes = EncodeProgram(program);
  if (random->OneIn(8))
    for (int64_t i = random->Below(4); i >= 0 && !bytes.empty(); --i) {
      size_t at = static_cast<size_t>(random->Below(static_cast<int64_t>(bytes.size())));
      if (random->OneIn(16))
        bytes.resize(at);
      else
        bytes[at] = static_cast<char>(random->OneIn(2) ? random->Below(256)
                                                       : bytes[at] ^ (1 << random->Below(8)));
    }
  return bytes;
}

// "" or what is wrong. What is verified may be what is changed next: after a while little of it is
// as a compiler writes it.
std::string Try(Random* random, Program* program, Counts* counts) {
  std::string bytes = Changed(random, *program);
  Program changed;
  ++counts->changes;
  try {
    changed = runtime::vm::DecodeProgram(bytes);
  } catch (const Error&) {
    return "";
  }
  ++counts->decoded;
  ModelCheck check = CheckModel(changed);
  if (!check.is_verified) return "";
  ++counts->verified;
  counts->ran += check.has_run;
  if (!check.mistake.empty()) return check.mistake + "\n" + PrintProgram(changed);
  if (EncodeProgram(changed) != bytes) return "the program is written in another way";
  if (random->OneIn(2)) *program = std::move(changed);  // whether or not it took too long
  return "";
}

int Main(int argc, char** argv) {
  SeedOptions options = ParseSeedOptions(argc, argv);
  Counts counts;
  for (uint64_t seed = options.seed; seed < options.seed + options.count; ++seed) {
    Random random(seed);
    Program program = runtime::vm::ParseProgram(RandomModel(seed, kSteps), "program");
    for (int i = 0; i < kChangesOfOne; ++i) {
      std::string mistake = Try(&random, &program, &counts);
      if (mistake.empty()) continue;
      std::printf("seed %" PRIu64 ", change %d: %s\n", seed, i, mistake.c_str());
      return 1;
    }
  }
  std::printf("%" PRIu64 " changed programs: %" PRIu64 " decoded, %" PRIu64 " verified, %" PRIu64
              " ran\n",
              counts.changes, counts.decoded, counts.verified, counts.ran);
  return 0;
}

}  // namespace
}  // namespace tern::fuzz

int main(int argc, char** argv) { return tern::fuzz::Main(argc, argv); }
