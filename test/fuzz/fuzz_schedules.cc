// SPDX-License-Identifier: Apache-2.0
//
// tern_fuzz_schedules: random steps of schedules on random functions. What is refused leaves the
// function as it was; what is not keeps what it computes; the trace does the same again. What the
// schedule knows of the function is derived again after every step, and must be the same. So do the
// rules that choose a schedule. On the first failure it prints the seed, the trace, and the
// function before and after.
#include <algorithm>
#include <cstdio>
#include <map>

#include "tern/compile.h"
#include "tern/ir/pass.h"
#include "tern/runtime/tensor.h"
#include "tern/schedule/rules/canonical_axes.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/schedule.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/interpreter/interpreter.h"
#include "tern/tir/text.h"
#include "test/fuzz/random_schedule.h"
#include "test/fuzz/seeds.h"

namespace tern::fuzz {
namespace {

using runtime::Tensor;
using schedule::Schedule;

// All outputs of the function on fixed inputs, where symbolic extents are n.
std::vector<int32_t> ResultOf(const ir::IRModule& module, int64_t n) {
  tir::Verify(module);
  tir::PrimFunc function = tir::AsPrimFunc(module->functions.begin()->second);
  std::vector<ffi::Any> args;
  for (const tir::Param& param : function->params) {
    std::vector<int64_t> shape;
    for (const ir::Expr& extent : param.buffer->shape) {
      std::optional<int64_t> constant = ir::AsConstInt(extent);
      shape.push_back(constant ? *constant : n);
    }
    Tensor tensor = Tensor::Empty(shape, param.buffer->dtype);
    for (int64_t i = 0; i < tensor->num_elements(); ++i)
      tensor.as<int32_t>()[i] = static_cast<int32_t>(i * 7 % 5 - 2);
    args.emplace_back(tensor);
  }
  tir::Interpret(module, function->name, args);
  auto last = args.back().As<Tensor>();
  return {last.as<int32_t>(), last.as<int32_t>() + last->num_elements()};
}

ir::IRModule ModuleOf(const tir::PrimFunc& function) { return ir::IRModule::Make({function}); }

struct Options {
  Seeds seeds;
  uint64_t lower = 20;  // every how many functions are lowered too
  uint64_t rules = 1;   // every how many functions are scheduled by the rules of all targets, too
  bool verbose = false;
};

struct Tally {
  std::map<std::string, std::pair<uint64_t, uint64_t>> steps;  // name: done, refused
};

// The rules of hosts with and without vectors, and steps that say the same.
void CheckDefault(const tir::PrimFunc& original, int64_t n, const std::vector<int32_t>& expected,
                  std::string* trying) {
  for (const char* name : {"c", "c -vector_bytes=16", "c -vector_bytes=8 -threads=1"}) {
    *trying = std::string("the rules of ") + name;
    tir::PrimFunc function = original.WithAttr(tir::attr::kTarget, target::Target::Parse(name));
    schedule::Explanation explanation;
    tir::PrimFunc scheduled = schedule::ApplyDefaultSchedule(function, &explanation);
    *trying += "\n" + explanation.str("f") + tir::Print(scheduled) + "\n";
    TERN_CHECK(ResultOf(ModuleOf(scheduled), n) == expected) << "the result changed";
    *trying += "the steps of the rules";
    schedule::CanonicalAxes axes = schedule::CanonicalizeAxes(function);
    Schedule steps(axes.function);
    for (const schedule::RuleResult& result : explanation.results)
      for (const schedule::Step& step : result.steps.steps) {
        steps.Apply(step);
        steps.CheckState();
      }
    tir::PrimFunc again = function.WithBody(axes.Around(steps.function()->body));
    TERN_CHECK(ResultOf(ModuleOf(again), n) == expected) << "the result changed";
  }
}

// The rules of devices, and what makes threads of it.
void CheckDevices(const tir::PrimFunc& original, int64_t n, const std::vector<int32_t>& expected,
                  std::string* trying) {
  for (const target::TargetKind* kind : target::TargetKinds()) {
    if (kind->role != target::Role::kDevice) continue;
    *trying = "the rules of " + kind->name;
    tir::PrimFunc function =
        original.WithAttr(tir::attr::kTarget, target::Target::Parse(kind->name));
    ir::IRModule threads = ir::RunPasses(
        ModuleOf(function),
        {"default_schedules", "bind_threads", "pipeline_loops", "lower_thread_reductions",
         "hoist_thread_loops", "lower_warp_memory", "lower_warp_operations", "insert_barriers"});
    *trying += "\n" + tir::Print(tir::AsPrimFunc(threads->functions.at("f"))) + "\n";
    TERN_CHECK(ResultOf(threads, n) == expected) << "the result changed";
  }
}

// One function with a few steps. Throws what went wrong.
void Check(uint64_t seed, const Options& options, Schedule* schedule, std::string* trying,
           Tally* tally) {
  Random random(seed);
  tir::PrimFunc original = MakeBlockProgram(&random);
  *schedule = Schedule(original);
  int64_t n = random.Below(7);  // also nothing
  std::vector<int32_t> expected;
  try {
    expected = ResultOf(ModuleOf(original), n);
  } catch (const Error&) {
    return;  // products of products of products may overflow
  }
  if (seed % options.rules == 0) {
    CheckDefault(original, n, expected, trying);
    CheckDevices(original, n, expected, trying);
  }
  auto count = random.Between(1, 12);
  for (int64_t i = 0; i < count; ++i) {
    tir::PrimFunc before = schedule->function();
    *trying = MakeStep(before, &random);
    auto& [done, refused] = tally->steps[trying->substr(0, trying->find('('))];
    try {
      schedule->Apply(*trying);
      ++done;
    } catch (const Error& error) {
      if (error.kind() != "ScheduleError") throw;
      TERN_CHECK(schedule->function().same(before)) << "a refused step changed the function";
      schedule->CheckState();
      ++refused;
      continue;
    }
    schedule->CheckState();
    TERN_CHECK(ResultOf(ModuleOf(schedule->function()), n) == expected) << "the result changed";
  }
  *trying = "replaying";
  Schedule again(original);
  for (const schedule::Step& step : schedule::Trace::Parse(schedule->trace().ToJson()).steps)
    again.Apply(step);
  TERN_CHECK(StructuralEqual(again.function(), schedule->function())) << "the trace does not";
  if (seed % options.lower != 0) return;
  *trying = "lowering";
  target::Target target = target::Target::Parse("c");
  std::vector<std::string> passes = LoweringPasses(target);
  passes.resize(std::find(passes.begin(), passes.end(), "make_packed_api") - passes.begin());
  tir::PrimFunc for_target = schedule->function().WithAttr(tir::attr::kTarget, target);
  ir::IRModule lowered = ir::RunPasses(ModuleOf(for_target), passes);
  TERN_CHECK(ResultOf(lowered, n) == expected) << "the result changed";
  // Any vectors, also masked ones.
  *trying = "lowering to vectors";
  passes.resize(std::find(passes.begin(), passes.end(), "rewrite_unsafe_selects") - passes.begin());
  ir::IRModule vectors = ir::RunPasses(ModuleOf(schedule->function()), passes);
  TERN_CHECK(ResultOf(vectors, n) == expected) << "the result changed";
}

void Report(uint64_t seed, const Schedule& schedule, const std::string& trying, const char* what) {
  Random random(seed);
  std::fprintf(stderr, "seed %llu: failed, at %s: %s\n%s\n%s\n%s",
               static_cast<unsigned long long>(seed), trying.c_str(), what,
               tir::Print(MakeBlockProgram(&random)).c_str(), schedule.trace().str().c_str(),
               tir::Print(schedule.function()).c_str());
}

int Run(const Options& options) {
  Initialize();
  Tally tally;
  auto holds = [&](uint64_t seed) {
    Random random(seed);
    Schedule schedule(MakeBlockProgram(&random));
    std::string trying;
    try {
      Check(seed, options, &schedule, &trying, &tally);
      return true;
    } catch (const std::exception& error) {
      Report(seed, schedule, trying, error.what());
      return false;
    }
  };
  auto more = [&] {
    if (options.verbose)
      for (const auto& [name, counts] : tally.steps)
        std::printf("%-20s %8llu done %8llu refused\n", name.c_str(),
                    static_cast<unsigned long long>(counts.first),
                    static_cast<unsigned long long>(counts.second));
    return "";
  };
  return options.seeds.Try("schedules", holds, more);
}

}  // namespace
}  // namespace tern::fuzz

int main(int argc, char** argv) {
  using namespace tern::fuzz;
  Options options;
  CLI::App app("random steps of schedules on random functions");
  options.seeds.AddOptions(&app, "functions");
  app.add_option("--lower", options.lower, "lower every so many of them, too")
      ->check(CLI::PositiveNumber);
  app.add_option("--rules", options.rules, "try the rules of every target on every so many of them")
      ->check(CLI::PositiveNumber);
  app.add_flag("--verbose", options.verbose, "say how often each step was done");
  CLI11_PARSE(app, argc, argv);
  try {
    return Run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern_fuzz_schedules: error: %s\n", error.what());
    return 1;
  }
}
