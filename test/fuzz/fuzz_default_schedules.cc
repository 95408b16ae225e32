// SPDX-License-Identifier: Apache-2.0
//
// tern_fuzz_default_schedules: random kernels, scheduled by the rules of several targets, compared
// with the interpreter. On the first failure it prints the seed, the kernel, and a smaller one that
// fails at the same stage.
#include <algorithm>
#include <cstdio>

#include "tern/compile.h"
#include "tern/runtime/c_api.h"
#include "tern/tir/text.h"
#include "test/fuzz/check_kernel.h"
#include "test/fuzz/fatal_signals.h"
#include "test/fuzz/reduce_program.h"
#include "test/fuzz/sampled_target.h"
#include "test/fuzz/seeds.h"

namespace tern::fuzz {
namespace {

struct Options {
  Seeds seeds{.count = 300};
  std::vector<std::string> compiled, run;
  uint64_t kinds = 1, thin = 1;
  int tries = 300;
  bool verbose = false, print = false;
};

// Without those that this build has no code generator for; and with `run`, those whose device is
// not here.
std::vector<SampledTarget> Possible(std::vector<SampledTarget> sampled, bool run) {
  std::erase_if(sampled, [&](const SampledTarget& one) {
    const target::TargetKind& kind = *one.target->kind;
    std::string why = kind.unavailable;
    int32_t count = 0;
    if (why.empty() && run && (tern_device_count(kind.device.c_str(), &count) != 0 || count == 0))
      why = "there is no device";
    if (!why.empty()) std::printf("not for %s: %s\n", one.target->str().c_str(), why.c_str());
    return !why.empty();
  });
  return sampled;
}

// All kinds that are lowered take turns.
std::vector<target::Target> KindsFor(uint64_t seed, uint64_t count) {
  std::vector<target::Target> all, some;
  for (const target::TargetKind* kind : target::TargetKinds())
    if (kind->lowered && kind->unavailable.empty())
      all.push_back(target::Target::Parse(kind->name));
  count = std::min<uint64_t>(count, all.size());
  for (uint64_t i = 0; i < count; ++i) some.push_back(all[(seed * count + i) % all.size()]);
  return some;
}

void Report(const Failure& failure, const RandomKernel& kernel, const ir::IRModule& module,
            const KernelTargets& targets, int tries) {
  Progress& progress = CurrentProgress();
  std::fprintf(stderr, "seed %llu: failed, stage: %s\n%s\n\nthe kernel:\n%s",
               static_cast<unsigned long long>(progress.seed), failure.stage.c_str(),
               failure.message.c_str(), kernel.text.c_str());
  for (const auto& [name, value] : kernel.arguments.dims)
    std::fprintf(stderr, "# %s = %lld\n", name.c_str(), static_cast<long long>(value));
  auto fails = [&](const tir::PrimFunc& candidate) {
    Refusals refusals;
    std::optional<Failure> again =
        CheckKernel(kernel, ir::IRModule::Make({candidate}), targets, &refusals, &progress.stage);
    return again && again->stage == failure.stage;
  };
  tir::PrimFunc reduced =
      ReduceProgram(tir::AsPrimFunc(module->functions.begin()->second), fails, tries);
  std::fprintf(stderr, "\na smaller one:\n%s", tir::Print(reduced).c_str());
}

int Run(const Options& options) {
  Initialize();
  std::vector<SampledTarget> compiled = Possible(ParseSampled(options.compiled), false),
                             run = Possible(ParseSampled(options.run), true);
  for (auto* sampled : {&compiled, &run})
    for (SampledTarget& target : *sampled) target.every *= options.thin;
  Refusals refusals;
  auto holds = [&](uint64_t seed) {
    Progress& progress = CurrentProgress();
    RandomKernel kernel = MakeRandomKernel(seed);
    progress = {seed, "parse", kernel.text};
    if (options.print)
      std::printf("# seed %llu\n%s", static_cast<unsigned long long>(seed), kernel.text.c_str());
    ir::IRModule module = tir::ParseModule("fuzz.tir", kernel.text);
    KernelTargets targets{KindsFor(seed, options.kinds), TargetsFor(compiled, seed),
                          TargetsFor(run, seed)};
    // Kinds take turns too: a run of seeds is compiled, the next ones are not.
    if (seed / 16 % options.thin == 0)
      targets.compiled.insert(targets.compiled.end(), targets.interpreted.begin(),
                              targets.interpreted.end());
    auto failure = CheckKernel(kernel, module, targets, &refusals, &progress.stage);
    if (failure) Report(*failure, kernel, module, targets, options.tries);
    return !failure;
  };
  auto more = [&] {
    if (options.verbose)
      for (const auto& [message, count] : refusals)
        std::printf("%6d refused: %s\n", count, message.c_str());
    return "";
  };
  return options.seeds.Try("default schedules", holds, more);
}

}  // namespace
}  // namespace tern::fuzz

int main(int argc, char** argv) {
  using namespace tern::fuzz;
  CatchFatalSignals();
  Options options;
  CLI::App app("random kernels, scheduled by the rules of targets");
  options.seeds.AddOptions(&app, "kernels");
  auto add = [&](const char* name, std::vector<std::string>* targets, const std::string& what) {
    app.add_option(name, *targets, what + ", as in llvm,c/25 (every 25th kernel for c)")
        ->delimiter(',');
  };
  add("--targets", &options.run, "what to compile for, and run");
  add("--compile-only", &options.compiled, "what else to compile for");
  app.add_option("--kinds", options.kinds,
                 "for how many kinds of targets each kernel is compiled, and its schedule "
                 "interpreted; they take turns");
  app.add_option("--thin", options.thin,
                 "compile so many times fewer; every schedule is interpreted");
  app.add_option("--tries", options.tries, "how many smaller kernels are tried where one fails");
  app.add_flag("--verbose", options.verbose, "say what devices refused");
  app.add_flag("--print", options.print, "print every kernel");
  CLI11_PARSE(app, argc, argv);
  try {
    return Run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern_fuzz_default_schedules: seed %llu: error: %s\n",
                 static_cast<unsigned long long>(CurrentProgress().seed), error.what());
    return 1;
  }
}
