// SPDX-License-Identifier: Apache-2.0
//
// compile FILE TARGET...: how long it takes from the text of a program to machine code, and where
// the time goes. The best of several times: what else the machine does is not the compiler's.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tern/codegen/linkable_module.h"
#include "tern/compile.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/tir/text.h"

namespace tern {
namespace {

constexpr double kMaxSeconds = 0.15;
constexpr int kRepeats = 20;

struct Step {
  const char* name;
  double seconds;
};

// The steps of one compilation.
std::vector<Step> CompileOnce(const std::string& file, const std::string& text,
                              const target::Target& target) {
  std::vector<Step> steps;
  auto last = std::chrono::steady_clock::now();
  auto lap = [&](const char* name) {
    auto now = std::chrono::steady_clock::now();
    steps.push_back({name, std::chrono::duration<double>(now - last).count()});
    last = now;
  };
  ir::IRModule module = tir::ParseModule(file, text);
  lap("parse");
  Lower(module, target);
  lap("lower");
  ffi::Module compiled = Compile(module, target);
  lap("lower again, and write the code generator's form");
  if (auto* linkable = dynamic_cast<const codegen::LinkableModule*>(compiled.get())) {
    linkable->MakeFile(".o");
    lap("optimise, make machine code");
    linkable->LinkSharedObject("");
    lap("link");
  }
  return steps;
}

// Prints a table; returns whether machine code was there in time.
bool Measure(const std::string& file, const std::string& name) {
  std::string text = runtime::ReadFile(file);
  target::Target target = target::Target::Parse(name);
  std::vector<Step> best = CompileOnce(file, text, target);
  for (int i = 1; i < kRepeats; ++i) {
    std::vector<Step> again = CompileOnce(file, text, target);
    for (size_t k = 0; k < best.size(); ++k)
      best[k].seconds = std::min(best[k].seconds, again[k].seconds);
  }
  // Compile lowers too: once is enough.
  best[2] = {"write the code generator's form", std::max(0.0, best[2].seconds - best[1].seconds)};
  double machine_code = 0;
  std::printf("%s for %s\n", file.c_str(), target->str().c_str());
  for (const Step& step : best) {
    std::printf("  %8.2f ms  %s\n", step.seconds * 1e3, step.name);
    if (&step != &best.back()) machine_code += step.seconds;
  }
  std::printf("  %8.2f ms  to machine code; the limit is %.0f\n", machine_code * 1e3,
              kMaxSeconds * 1e3);
  return machine_code <= kMaxSeconds;
}

int Main(int argc, char** argv) {
  TERN_CHECK(argc >= 3) << "usage: compile FILE TARGET...";
  Initialize();
  bool in_time = true;
  for (int i = 2; i < argc; ++i) in_time = Measure(argv[1], argv[i]) && in_time;
  return in_time ? 0 : 1;
}

}  // namespace
}  // namespace tern

int main(int argc, char** argv) {
  try {
    return tern::Main(argc, argv);
  } catch (const tern::Error& error) {
    std::fprintf(stderr, "compile: error: %s\n", error.what());
    return 2;
  }
}
