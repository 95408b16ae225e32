// SPDX-License-Identifier: Apache-2.0
//
// tern_fuzz_passes: makes random programs and checks everything that must hold for them. On the
// first failure it prints the seed, the program, and a small program that fails at the same stage.
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "tern/compile.h"
#include "tern/tir/text.h"
#include "test/fuzz/check_program.h"
#include "test/fuzz/reduce_program.h"
#include "test/fuzz/seeds.h"

namespace tern::fuzz {
namespace {

// What is being checked, for the handler of fatal signals: compiled code may do anything.
uint64_t current_seed = 0;
std::string current_stage, current_text;

void Write(const std::string& text) {
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}
void OnFatalSignal(int) {
  char line[64];
  std::snprintf(line, sizeof line,
                "seed %llu: crashed, stage: ", static_cast<unsigned long long>(current_seed));
  Write(line);
  Write(current_stage);
  Write("\n");
  Write(current_text);
  _exit(1);
}

// A stack of its own, so that endless recursion is reported too.
void CatchFatalSignals() {
  static char stack[1 << 16];
  stack_t alternative{};
  alternative.ss_sp = stack;
  alternative.ss_size = sizeof stack;
  sigaltstack(&alternative, nullptr);
  struct sigaction action{};
  action.sa_handler = OnFatalSignal;
  action.sa_flags = SA_ONSTACK;
  for (int signal : {SIGSEGV, SIGFPE, SIGILL, SIGBUS, SIGABRT}) sigaction(signal, &action, nullptr);
}

// "c/25": every 25th program is compiled for c.
struct SampledTarget {
  target::Target target;
  uint64_t every = 1;
};
SampledTarget ParseSampled(const std::string& text) {
  size_t slash = text.rfind('/');
  if (slash == std::string::npos) return {target::Target::Parse(text)};
  return {target::Target::Parse(text.substr(0, slash)), std::stoull(text.substr(slash + 1))};
}

struct Options {
  Seeds seeds{.count = 500};
  std::vector<std::string> targets;
};

void Report(uint64_t seed, const Failure& failure, const RandomProgram& program,
            const std::vector<target::Target>& targets) {
  std::fprintf(stderr, "seed %llu: failed, stage: %s\n%s\n\nthe program:\n%s\n",
               static_cast<unsigned long long>(seed), failure.stage.c_str(),
               failure.message.c_str(), current_text.c_str());
  for (const auto& [name, value] : program.arguments.dims)
    std::fprintf(stderr, "# %s = %lld\n", name.c_str(), static_cast<long long>(value));
  auto fails = [&](const tir::PrimFunc& candidate) {
    RandomProgram smaller = program;
    smaller.module = ir::IRModule::Make({candidate});
    std::optional<Failure> again = CheckProgram(smaller, targets, &current_stage);
    return again && again->stage == failure.stage;
  };
  tir::PrimFunc reduced =
      ReduceProgram(tir::AsPrimFunc(program.module->functions.begin()->second), fails);
  std::fprintf(stderr, "\na smaller one:\n%s", tir::Print(reduced).c_str());
}

int Run(const Options& options) {
  Initialize();
  std::vector<SampledTarget> sampled;
  for (const std::string& text : options.targets) sampled.push_back(ParseSampled(text));
  auto holds = [&](uint64_t seed) {
    current_seed = seed;
    // A quarter of the programs can be compared on every device.
    RandomProgram program =
        MakeRandomProgram(current_seed, {.float_arithmetic = current_seed % 4 != 0});
    current_text = tir::PrintModule(program.module);
    std::vector<target::Target> targets;
    for (const SampledTarget& target : sampled)
      if (current_seed % target.every == 0) targets.push_back(target.target);
    auto failure = CheckProgram(program, targets, &current_stage);
    if (failure) Report(current_seed, *failure, program, targets);
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
