// SPDX-License-Identifier: Apache-2.0
//
// tern bench: the median of many calls with its spread, what is computed and moved in that time,
// and which share of the target's own roofline that is.
#include "tools/tern/bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/extent.h"
#include "tern/runtime/runner.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/work.h"
#include "tern/tir/schedule_steps.h"
#include "tern/tir/text.h"
#include "tools/run_report.h"
#include "tools/tern/source.h"

namespace tern::tools {
namespace {

struct Program {
  ir::IRModule source;  // null: a compiled file
  ffi::Module module;
  runtime::ArtifactMeta meta;
  std::string where;
};

Program CompileFor(const ir::IRModule& source, const target::Target& target,
                   bool default_schedules) {
  CompileOptions options;
  options.default_schedules = default_schedules;
  Program program;
  program.source = source;
  PrepackedModule prepacked = Prepack(source, target, options);
  program.meta = prepacked.meta;
  program.module = codegen::LoadLinkable(Compile(prepacked, options));
  program.where = target->str();
  return program;
}

bool IsCompiled(const std::string& file) {
  return file.ends_with(".so") || file.ends_with(".tern");
}

Program Open(const std::string& file) {
  Program program;
  runtime::Artifact artifact = runtime::Artifact::Open(file);
  program.meta = artifact.meta();
  program.module = artifact.Load();
  program.where = std::filesystem::path(file).filename().string();
  return program;
}

// Medians of the rounds.
struct Times {
  double median, least, greatest;
  std::map<std::string, int64_t> dims;
};
Times Measure(const Program& program, const runtime::FunctionInfo& info, runtime::RunOptions run,
              int rounds) {
  ffi::Function function = program.module->GetFunction(info.name);
  std::vector<double> medians;
  Times times{};
  for (int round = 0; round < rounds; ++round) {
    runtime::RunResult result =
        runtime::RunFunction(function, info, program.meta.DeviceOf(info), run);
    medians.push_back(result.device_seconds.value_or(result.median_seconds));
    times.dims = result.dims;
  }
  std::sort(medians.begin(), medians.end());
  times.median = medians[medians.size() / 2];
  times.least = medians.front();
  times.greatest = medians.back();
  return times;
}

struct Amounts {
  double flops = 0, bytes = 0;
};
std::optional<Amounts> AmountsOf(const ir::IRModule& source, const std::string& name,
                                 const std::map<std::string, int64_t>& dims) {
  if (!source) return {};
  auto found = source->functions.find(name);
  tir::PrimFunc function =
      found == source->functions.end() ? tir::PrimFunc() : tir::IfPrimFunc(found->second);
  if (!function) return {};
  try {
    tir::Work work = tir::WorkOf(function);
    auto value = [&](const ir::Expr& amount) {
      return static_cast<double>(runtime::EvaluateExtent(tir::Print(amount), dims));
    };
    return Amounts{value(work.flops), value(work.bytes)};
  } catch (const Error&) {
    return {};  // it depends on what is in memory
  }
}

// What a target reaches by the default rules: a matrix product or a polynomial, and copies of as
// many bytes as a function moves, which caches may hold.
class Roofline {
 public:
  explicit Roofline(const target::Target& target) : target_(target) {
    for (const char* text : {kMatmul, kPolynomial}) {
      double operations = text == kMatmul ? 2 : 64, power = text == kMatmul ? 3 : 2;
      flops_ = std::max(flops_, operations * Rate(text, {32, 128, 1024, 4096}, power));
    }
  }
  double flops() const { return flops_; }  // a second
  double bytes(double moved) const {       // a second, where a call moves so many
    auto n = static_cast<int64_t>(std::min(moved / 8, double{1 << 24}));
    return 8 * Rate(kCopy, {256, std::max<int64_t>(n, 256)}, 1);
  }

 private:
  static constexpr const char* kMatmul =
      "func f(A: float32[N, N], B: float32[N, N], C: float32[N, N]) attrs {reassociate = true} {\n"
      "  for i in 0..N, j in 0..N, k in 0..N {\n"
      "    block b(vi: spatial(N) = i, vj: spatial(N) = j, vk: reduce(N) = k) {\n"
      "      init { C[vi, vj] = 0 }\n"
      "      C[vi, vj] += A[vi, vk] * B[vk, vj]\n"
      "    }\n"
      "  }\n"
      "}\n";
  // 32 multiplications and additions an element.
  static constexpr const char* kPolynomial =
      "func f(A: float32[N, N], B: float32[N, N]) attrs {reassociate = true} {\n"
      "  for i in 0..N, j in 0..N {\n"
      "    block b(vi: spatial(N) = i, vj: spatial(N) = j) {\n"
      "      alloc y: float32[1] in local\n"
      "      y[0] = 1\n"
      "      for k in 0..32 unrolled { y[0] = y[0] * A[vi, vj] + 0.5 }\n"
      "      B[vi, vj] = y[0]\n"
      "    }\n"
      "  }\n"
      "}\n";
  static constexpr const char* kCopy =
      "func f(A: float32[N], B: float32[N]) {\n"
      "  for i in 0..N { block b(v: spatial(N) = i) { B[v] = A[v] } }\n"
      "}\n";

  // How many of the N^power parts of the program are done in a second, at the size of which most
  // are; one that would take seconds is left out.
  double Rate(const char* text, const std::vector<int64_t>& sizes, double power) const {
    constexpr double kMostSeconds = 0.5;
    double most = 0;
    for (int64_t size : sizes) {
      double parts = std::pow(static_cast<double>(size), power);
      if (most > 0 && parts / most > kMostSeconds) break;
      std::string constant = "constant N = " + std::to_string(size) + "\n";
      Program program = CompileFor(tir::ParseModule("<roofline>", constant + text), target_, true);
      runtime::RunOptions run;
      run.repeat = 5;
      const runtime::FunctionInfo& info = FindEntry(program.meta, "f");
      double seconds = Measure(program, info, run, 1).least;
      // Other work on the machine makes single rounds slow, short ones most of all.
      seconds = std::min(seconds, Measure(program, info, run, seconds < 1e-3 ? 30 : 2).least);
      most = text == kCopy ? parts / seconds : std::max(most, parts / seconds);
    }
    return most;
  }

  target::Target target_;
  double flops_ = 0;
};

std::string Seconds(double seconds) {
  char text[64];
  if (seconds < 1e-3)
    std::snprintf(text, sizeof text, "%.3g us", seconds * 1e6);
  else
    std::snprintf(text, sizeof text, "%.4g ms", seconds * 1e3);
  return text;
}

void Report(const Program& program, const runtime::FunctionInfo& info, const Times& times,
            const std::optional<Roofline>& roofline, std::optional<double>* first) {
  std::string line = info.name + "  " + program.where;
  for (const auto& [name, value] : times.dims) line += "  " + name + "=" + std::to_string(value);
  line += "  median " + Seconds(times.median) + " (" + Seconds(times.least) + " to " +
          Seconds(times.greatest) + ")";
  char text[128];
  if (std::optional<Amounts> amounts = AmountsOf(program.source, info.name, times.dims)) {
    std::snprintf(text, sizeof text, "  %.4g GFLOP/s  %.4g GB/s",
                  amounts->flops / times.median * 1e-9, amounts->bytes / times.median * 1e-9);
    line += text;
    if (roofline) {
      double needed = std::max(amounts->flops / roofline->flops(),
                               amounts->bytes / roofline->bytes(amounts->bytes));
      std::snprintf(text, sizeof text, "  %.0f%% of the roofline", needed / times.median * 100);
      line += text;
    }
  }
  if (*first) {
    std::snprintf(text, sizeof text, "  %.2fx the first", times.median / **first);
    line += text;
  } else {
    *first = times.median;
  }
  std::printf("%s\n", line.c_str());
}

// One line of a table of steps: the least of the rounds, since steps are not timed in turn. Not all
// steps of a schedule leave a function that can be compiled.
void ReportStep(const ir::IRModule& source, const tir::PrimFunc& function,
                const target::Target& target, const BenchOptions& options,
                const runtime::RunOptions& run, const std::string& number, const std::string& text,
                double* before, double* first) {
  std::string line;
  char part[128];
  try {
    ir::IRModule module = tir::MapFunctions(source, [&](const tir::PrimFunc& other) {
      return other->name == function->name ? function : other;
    });
    Program program = CompileFor(module, target, options.default_schedules);
    Times times = Measure(program, FindEntry(program.meta, function->name), run, options.rounds);
    if (*first == 0) *first = *before = times.least;
    std::snprintf(part, sizeof part, "%10s %6.2fx %7.2fx", Seconds(times.least).c_str(),
                  *before / times.least, *first / times.least);
    line = part;
    std::optional<Amounts> amounts = AmountsOf(module, function->name, times.dims);
    std::snprintf(part, sizeof part, " %8.4g", amounts ? amounts->flops / times.least * 1e-9 : 0);
    line += amounts ? part : "        -";
    *before = times.least;
  } catch (const Error& error) {
    line = "does not compile: " + error.message();
  }
  std::printf("%5s %s  %s\n", number.c_str(), line.c_str(), text.c_str());
}

// A table for each function that has a schedule for the target.
void BenchSteps(const ir::IRModule& source, const target::Target& target,
                const BenchOptions& options, const runtime::RunOptions& run) {
  int scheduled = 0;
  tir::MapFunctions(source, [&](const tir::PrimFunc& written) {
    tir::PrimFunc function = written->attrs.count(tir::attr::kTarget)
                                 ? written
                                 : written.WithAttr(tir::attr::kTarget, target);
    if (!schedule::HasSchedule(function)) return written;
    if (!options.entry.empty() && written->name != options.entry) return written;
    ++scheduled;
    std::printf("%s  %s\n%5s %10s %7s %8s %8s\n", written->name.c_str(), target->str().c_str(),
                "step", "least", "gain", "total", "GFLOP/s");
    double before = 0, first = 0;
    const std::vector<tir::ScheduleStep>& steps = tir::ChosenSchedule(function)->steps;
    for (size_t count = 0; count <= steps.size(); ++count)
      ReportStep(source, schedule::WithFirstSteps(function, static_cast<int64_t>(count)), target,
                 options, run, std::to_string(count), count ? steps[count - 1].text : "as written",
                 &before, &first);
    auto bare = ffi::Make<tir::PrimFuncNode>(*function);
    bare->attrs.erase(tir::attr::kSchedule);
    bare->attrs.erase(tir::attr::kScheduleFor);
    ReportStep(source, tir::PrimFunc(bare), target, options, run, "rules",
               "what the rules make of it", &before, &first);
    return written;
  });
  TERN_CHECK(scheduled > 0) << "--steps: no function has a schedule for " << target->str();
}

}  // namespace

void Bench(const BenchOptions& options) {
  runtime::RunOptions run;
  run.repeat = options.repeat;
  for (const std::string& text : options.inputs)
    run.inputs.insert(SplitAssignment("--input", text));
  for (const std::string& text : options.dims) {
    auto [name, value] = SplitAssignment("--dim", text);
    run.dims[name] = ParseInteger("--dim", value);
  }
  std::map<std::string, std::optional<double>> first;  // by function
  auto bench = [&](const Program& program, const std::optional<Roofline>& roofline) {
    std::vector<runtime::FunctionInfo> chosen = program.meta.functions;
    std::erase_if(chosen, [parts = program.meta.PartNames()](const auto& function) {
      return parts.contains(function.name);
    });
    if (!options.entry.empty()) chosen = {FindEntry(program.meta, options.entry)};
    for (const runtime::FunctionInfo& info : chosen) {
      runtime::RunOptions own = run;
      AddDefaultArguments(program.source, info.name, &own);
      Report(program, info, Measure(program, info, own, options.rounds), roofline,
             &first[info.name]);
    }
  };
  for (const std::string& file : options.files) {
    if (IsCompiled(file)) {
      TERN_CHECK(!options.steps) << "--steps: " << file << " is compiled, and has no schedules";
      bench(Open(file), {});
      continue;
    }
    std::vector<std::string> targets = options.targets;
    if (targets.empty()) targets.emplace_back();
    for (const std::string& text : targets) {
      target::Target target = ParseTarget(text, options.host);
      if (options.steps) {
        BenchSteps(ReadSource(file), target, options, run);
        continue;
      }
      std::optional<Roofline> roofline;
      if (options.roofline) {
        roofline.emplace(target);
        constexpr double kMuch = 1 << 27;
        std::printf("roofline of %s: %.4g GFLOP/s, %.4g GB/s\n", target->str().c_str(),
                    roofline->flops() * 1e-9, roofline->bytes(kMuch) * 1e-9);
      }
      bench(CompileFor(ReadSource(file), target, options.default_schedules), roofline);
    }
  }
}

}  // namespace tern::tools
