// SPDX-License-Identifier: Apache-2.0
//
// tern_fuzz_passes: makes random programs and checks everything that must hold for them. On the
// first failure it prints the seed, the program, and a small program that fails at the same stage.
#include <cstdio>

#include "tern/compile.h"
#include "tern/tir/text.h"
#include "test/fuzz/check_program.h"
#include "test/fuzz/fatal_signals.h"
#include "test/fuzz/reduce_program.h"
#include "test/fuzz/sampled_target.h"
#include "test/fuzz/seeds.h"

namespace tern::fuzz {
namespace {

struct Options {
  Seeds seeds{.count = 500};
  std::vector<std::string> targets;
};

void Report(uint64_t seed, const Failure& failure, const RandomProgram& program,
            const std::vector<target::Target>& targets) {
  std::fprintf(stderr, "seed %llu: failed, stage: %s\n%s\n\nthe program:\n%s\n",
               static_cast<unsigned long long>(seed), failure.stage.c_str(),
               failure.message.c_str(), CurrentProgress().text.c_str());
  for (const auto& [name, value] : program.arguments.dims)
    std::fprintf(stderr, "# %s = %lld\n", name.c_str(), static_cast<long long>(value));
  auto fails = [&](const tir::PrimFunc& candidate) {
    RandomProgram smaller = program;
    smaller.module = ir::IRModule::Make({candidate});
    std::optional<Failure> again = CheckProgram(smaller, targets, &CurrentProgress().stage);
    return again && again->stage == failure.stage;
  };
  tir::PrimFunc reduced =
      ReduceProgram(tir::AsPrimFunc(program.module->functions.begin()->second), fails);
  std::fprintf(stderr, "\na smaller one:\n%s", tir::Print(reduced).c_str());
}

int Run(const Options& options) {
  Initialize();
  std::vector<SampledTarget> sampled = ParseSampled(options.targets);
  auto holds = [&](uint64_t seed) {
    Progress& progress = CurrentProgress();
    progress.seed = seed;
    // A quarter of the programs can be compared on every device.
    RandomProgram program = MakeRandomProgram(seed, {.float_arithmetic = seed % 4 != 0});
    progress.text = tir::PrintModule(program.module);
    std::vector<target::Target> targets = TargetsFor(sampled, seed);
    auto failure = CheckProgram(program, targets, &progress.stage);
    if (failure) Report(seed, *failure, program, targets);
    return !failure;
  };
  return options.seeds.Try("programs", holds, [] { return ""; });
}

}  // namespace
}  // namespace tern::fuzz

int main(int argc, char** argv) {
  using namespace tern::fuzz;
  CatchFatalSignals();
  Options options;
  CLI::App app("random programs through every pass and target");
  options.seeds.AddOptions(&app, "programs");
  app.add_option("--targets", options.targets,
                 "what to compile for, as in llvm,c/25 (every 25th program for c)")
      ->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  try {
    return Run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern_fuzz_passes: error: %s\n", error.what());
    return 1;
  }
}
