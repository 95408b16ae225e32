// SPDX-License-Identifier: Apache-2.0
//
// lowering FILE [TARGET...] [--functions N]: how long the passes take, from a function as written
// to what a code generator receives; for one function, and for a module of N copies of it. The
// limits are what a person who waits for it accepts, on one core.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tern/compile.h"
#include "tern/tir/function.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

constexpr double kMaxSecondsPerFunction = 0.05;
constexpr double kMaxSecondsPerThousand = 30;
constexpr int kRepeats = 20;

using Timing = std::vector<std::pair<std::string, double>>;

template <class F>
double SecondsOf(F&& f) {
  auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Options {
  std::string file;
  std::vector<std::string> targets;
  int functions = 1000;
};

Options ReadOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--functions") == 0) {
      std::string_view text = ++i < argc ? argv[i] : "";
      std::from_chars(text.data(), text.data() + text.size(), options.functions);
      TERN_CHECK(std::to_string(options.functions) == text && options.functions > 0)
          << "--functions: expected a number of functions, got '" << text << "'";
    } else if (options.file.empty()) {
      options.file = argv[i];
    } else {
      options.targets.emplace_back(argv[i]);
    }
  }
  TERN_CHECK(!options.file.empty() && !options.targets.empty())
      << "usage: lowering FILE TARGET... [--functions N]";
  return options;
}

// A module of `count` functions that share nothing: each is parsed by itself.
ir::IRModule Copies(const ir::IRModule& module, int count) {
  std::string text = tir::PrintModule(module);
  std::vector<ir::BaseFunc> functions;
  for (int i = 0; i < count; ++i) {
    ir::IRModule parsed = tir::ParseModule("copy.tir", text);
    for (const auto& [name, function] : parsed->functions) {
      auto copy = ffi::Make<tir::PrimFuncNode>(*tir::AsPrimFunc(function));
      copy->name += "_" + std::to_string(i);
      functions.push_back(tir::PrimFunc(copy));
    }
  }
  return ir::IRModule::Make(functions);
}

void PrintPasses(const Timing& timing) {
  double total = 0;
  std::map<std::string, double> sums;
  for (const auto& [pass, seconds] : timing) {
    sums[pass] += seconds;
    total += seconds;
  }
  std::vector<std::pair<std::string, double>> sorted(sums.begin(), sums.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [pass, seconds] : sorted)
    std::printf("    %-24s %10.2f ms  %5.1f %%\n", pass.c_str(), 1e3 * seconds,
                100 * seconds / total);
}

bool Measure(const ir::IRModule& one, const ir::IRModule& many, int functions,
             const std::string& name) {
  target::Target target = target::Target::Parse(name);
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) best = std::min(best, SecondsOf([&] { Lower(one, target); }));
  Timing timing;
  CompileOptions options;
  options.timing = &timing;
  double all = SecondsOf([&] { Lower(many, target, options); });
  double limit = kMaxSecondsPerThousand * functions / 1000;
  bool within = best <= kMaxSecondsPerFunction && all <= limit;
  std::printf("%s\n  one function: %.3f ms (limit %.0f)\n  %d functions: %.3f s (limit %.0f)%s\n",
              name.c_str(), 1e3 * best, 1e3 * kMaxSecondsPerFunction, functions, all, limit,
              within ? "" : "  OVER THE LIMIT");
  PrintPasses(timing);
  return within;
}

int Run(int argc, char** argv) {
  Options options = ReadOptions(argc, argv);
  Initialize();
  ir::IRModule one = tir::ParseFile(options.file), many;
  double parsing = SecondsOf([&] { many = Copies(one, options.functions); });
  std::printf("parsing %d functions: %.3f s\n", options.functions, parsing);
  bool within = true;
  for (const std::string& target : options.targets)
    within = Measure(one, many, options.functions, target) && within;
  return within ? 0 : 1;
}

}  // namespace
}  // namespace tern

int main(int argc, char** argv) {
  try {
    return tern::Run(argc, argv);
  } catch (const tern::Error& error) {
    std::fprintf(stderr, "lowering: error: %s\n", error.what());
    return 2;
  }
}
