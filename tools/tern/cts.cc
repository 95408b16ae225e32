// SPDX-License-Identifier: Apache-2.0
//
// tern cts: the conformance suite (docs/conformance.md). Every case is compiled for the target, run
// by an executor, and compared with what the interpreter makes of the program as it was written.
#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <span>
#include <utility>

#include "tern/compile.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/device.h"
#include "tern/runtime/plugin/plugin.h"
#include "tern/tir/text.h"
#include "tools/tern/commands.h"
#include "tools/tern/cts/cases.h"
#include "tools/tern/cts/executor.h"
#include "tools/tern/cts/export_suite.h"
#include "tools/tern/cts/worker.h"
#include "tools/tern/reference.h"

namespace tern::tools {
namespace {

// A variant of which cases are run: compiled, or why it could not be.
struct Selected {
  std::vector<Case> cases;
  ir::IRModule module;
  runtime::ArtifactMeta meta;
  size_t program = 0;
  std::string error;
};

std::string Count(int count, const char* one, const char* several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

// Null where the cases run on this machine, by the runtime.
std::unique_ptr<Executor> MakeExecutor(const target::Target& target, const CtsOptions& options) {
  const std::string &runner = options.runner, &image_runner = options.image_runner;
  TERN_CHECK(runner.empty() || image_runner.empty())
      << "cts: --runner and --image-runner are two ways to run the same calls; give one";
  if (options.compile_only) return nullptr;
  if (!image_runner.empty()) return MakeImageExecutor(image_runner, options.timeout);
  if (target::HasPlainApi(target))
    return MakePlainExecutor(target->GetString("cc", ""), runner, options.timeout);
  if (!runner.empty()) return MakeCommandExecutor(runner, options.timeout);
  return nullptr;
}

class Suite {
 public:
  explicit Suite(const CtsOptions& options)
      : options_(options),
        target_(target::Target::Parse(options.target, options.host)),
        gaps_(target_->kind->known_gaps) {
    TERN_CHECK(options.export_folder.empty() ||
               (options.runner.empty() && options.image_runner.empty()))
        << "cts: --export runs nothing, so there is no --runner";
    for (const std::string& text : options.known_gaps) {
      size_t colon = text.find(": ");
      TERN_CHECK(colon != std::string::npos && colon > 0)
          << "--known-gap: expected \"PATTERN: REASON\", got \"" << text << "\"";
      gaps_.push_back({text.substr(0, colon), text.substr(colon + 2)});
    }
  }

  int Run() {
    auto start = std::chrono::steady_clock::now();
    Select();
    if (options_.list) return 0;
    if (!options_.export_folder.empty()) return Export();
    if (options_.worker) {
      Work(*options_.worker);
      return 0;
    }
    executor_ = MakeExecutor(target_, options_);
    if (executor_)
      RunByExecutor();
    else
      RunByWorker();
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("conformance of %s, %s suite, %.1f s\n%d passed, %d failed, %s\n",
                target_->str().c_str(), options_.full ? "full" : "smoke", seconds, passed_, failed_,
                Count(gaps_met_, "known gap", "known gaps").c_str());
    return failed_ ? 1 : 0;
  }

 private:
  void Select() {
    std::vector<Variant> variants;
    for (const std::string& path : options_.programs)
      Append(std::filesystem::path(path).stem().string(),
             runtime::ReadFile(path, runtime::kMostTextBytes), &variants);
    size_t given = variants.size();
    for (const SuiteFile& file : SuiteFiles()) Append(file.name, file.text, &variants);
    CheckGaps(variants);
    if (given) variants.resize(given);
    for (Variant& variant : variants) Select(&variant);
    TERN_CHECK(!selected_.empty()) << "cts: no case of the " << (options_.full ? "full" : "smoke")
                                   << " suite matches '" << options_.filter << "'";
  }

  static void Append(std::string_view name, std::string_view text, std::vector<Variant>* variants) {
    for (Variant& variant : ReadVariants({name, text})) variants->push_back(std::move(variant));
  }

  void Select(Variant* variant) {
    Selected selected;
    for (Case& suite_case : variant->cases) {
      if (!options_.full && !suite_case.smoke) continue;
      if (suite_case.name.find(options_.filter) == std::string::npos) continue;
      if (options_.list) std::printf("%s\n", suite_case.name.c_str());
      selected.cases.push_back(std::move(suite_case));
    }
    if (selected.cases.empty()) return;
    if (!options_.list) selected.module = tir::ParseModule(variant->name + ".tir", variant->text);
    selected_.push_back(std::move(selected));
  }

  // A gap that no case can show is stale.
  void CheckGaps(const std::vector<Variant>& variants) const {
    for (const target::KnownGap& gap : gaps_) {
      bool matches = false;
      for (const Variant& variant : variants)
        for (const Case& suite_case : variant.cases)
          matches = matches || Matches(gap, suite_case.name);
      TERN_CHECK(matches) << "the known gap '" << gap.cases << "' (" << gap.reason
                          << ") is the name of no case";
    }
  }

  static bool Matches(const target::KnownGap& gap, const std::string& name) {
    return fnmatch(gap.cases.c_str(), name.c_str(), 0) == 0;
  }

  using Taker = std::function<size_t(const ffi::Module&, const runtime::ArtifactMeta&)>;
  void Compile(Selected* variant, const Taker& take) {
    try {
      PrepackedModule prepacked = Prepack(variant->module, target_);
      variant->meta = prepacked.meta;
      variant->program = take(tern::Compile(prepacked), variant->meta);
    } catch (const Error& error) {
      variant->error = error.what();
    }
  }

  // Known gaps stay behind. Programs that cannot be compiled have failed.
  int Export() {
    SuiteFolder folder(options_.export_folder);
    auto take = [&](const ffi::Module& compiled, const runtime::ArtifactMeta& meta) {
      return folder.Add(compiled, meta);
    };
    int written = 0;
    for (Selected& variant : selected_) {
      Compile(&variant, take);
      for (const Case& suite_case : variant.cases) {
        if (FindGap(suite_case.name) || !variant.error.empty()) {
          Judge(suite_case.name, {variant.error.empty() ? "not exported" : variant.error});
          continue;
        }
        for (const runtime::FunctionInfo& function : variant.meta.functions)
          folder.AddCall(suite_case.name, variant.program, variant.module, function,
                         suite_case.run);
        ++written;
      }
    }
    folder.Finish();
    std::printf("%s: %s for %s, %d failed, %s\nrun %s/run.sh TERN_RUN where it is to run\n",
                options_.export_folder.c_str(), Count(written, "case", "cases").c_str(),
                target_->str().c_str(), failed_,
                Count(gaps_met_, "known gap", "known gaps").c_str(),
                options_.export_folder.c_str());
    return failed_ ? 1 : 0;
  }

  // What is run can end the process that runs it: that is another one, of this program.
  void RunByWorker() {
    // Nothing is known of gaps: most of them show when a case runs.
    if (options_.compile_only) gaps_.clear();
    std::vector<const Case*> cases;
    for (const Selected& variant : selected_)
      for (const Case& suite_case : variant.cases) cases.push_back(&suite_case);
    auto command = [&](size_t first) {
      std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe").string()};
      words.insert(words.end(), options_.words.begin(), options_.words.end());
      words.push_back("--worker=" + std::to_string(first));
      return words;
    };
    std::vector<CallReport> reports =
        RunCalls({"the process", command, options_.timeout}, cases.size());
    for (size_t i = 0; i < cases.size(); ++i) Judge(cases[i]->name, reports[i]);
  }

  // In that process: the cases from `first` on.
  void Work(size_t first) {
    CallReporter reporter;
    const std::string& device = target_->kind->device;
    if (!options_.compile_only && target_->is_device() && !runtime::FindDeviceKind(device)) {
      reporter.Refuse("cts: " + runtime::WhyPluginAbsent(device) +
                      "; --runner and --image-runner run the cases elsewhere, --compile-only "
                      "compiles them");
      return;
    }
    executor_ = MakeLocalExecutor();
    for (Selected& variant : selected_) {
      bool is_compiled = false;
      for (const Case& suite_case : variant.cases) {
        if (first > 0) {
          --first;
          continue;
        }
        reporter.Begin();
        if (!std::exchange(is_compiled, true)) CompileForExecutor(&variant);
        reporter.End(
            variant.error.empty() && !options_.compile_only
                ? ReportOf(variant, suite_case, executor_->Run(CallsOf(variant, suite_case)))
                : CallReport{.error = variant.error});
      }
    }
  }

  void RunByExecutor() {
    std::vector<Call> calls;
    for (Selected& variant : selected_) {
      CompileForExecutor(&variant);
      for (const Case& suite_case : variant.cases)
        for (const Call& call : CallsOf(variant, suite_case)) calls.push_back(call);
    }
    std::vector<Outcome> outcomes = executor_->Run(calls);
    TERN_ICHECK(outcomes.size() == calls.size());
    std::span<const Outcome> rest = outcomes;
    for (const Selected& variant : selected_) {
      for (const Case& suite_case : variant.cases) {
        size_t count = CallsOf(variant, suite_case).size();
        Judge(suite_case.name, variant.error.empty()
                                   ? ReportOf(variant, suite_case, rest.first(count))
                                   : CallReport{.error = variant.error});
        rest = rest.subspan(count);
      }
    }
  }

  void CompileForExecutor(Selected* variant) {
    Compile(variant, [&](const ffi::Module& compiled, const runtime::ArtifactMeta& meta) {
      return options_.compile_only ? 0 : executor_->Add(compiled, meta);
    });
  }

  // None where the variant could not be compiled.
  static std::vector<Call> CallsOf(const Selected& variant, const Case& suite_case) {
    std::vector<Call> calls;
    if (variant.error.empty())
      for (const runtime::FunctionInfo& function : variant.meta.functions)
        calls.push_back({variant.program, &function, &suite_case.run});
    return calls;
  }

  static CallReport ReportOf(const Selected& variant, const Case& suite_case,
                             std::span<const Outcome> outcomes) {
    double largest = 0;
    for (size_t i = 0; i < outcomes.size(); ++i) {
      std::string mistake =
          Compare(variant, suite_case, variant.meta.functions[i], outcomes[i], &largest);
      if (!mistake.empty()) return {.error = mistake};
    }
    char text[48];
    std::snprintf(text, sizeof text, "largest error %.3g", largest);
    return {.note = text};
  }

  // What is wrong with the outcome of a call, or ""; and the largest of the errors before and its.
  static std::string Compare(const Selected& variant, const Case& suite_case,
                             const runtime::FunctionInfo& function, const Outcome& outcome,
                             double* largest) {
    if (!outcome.error.empty()) return outcome.error;
    try {
      runtime::RunResult actual;
      actual.args = outcome.args;
      runtime::RunResult expected = RunReference(variant.module, function, suite_case.run);
      for (const Comparison& output : CompareResults(function, actual, expected)) {
        *largest = std::max(*largest, output.error.absolute);
        if (!output.within()) return ErrorLine(output.name, output.error, output.tolerance);
      }
      return "";
    } catch (const Error& error) {
      return std::string("the interpreter: ") + error.what();
    }
  }

  const target::KnownGap* FindGap(const std::string& name) const {
    const target::KnownGap* known = nullptr;
    for (const target::KnownGap& gap : gaps_)
      if (Matches(gap, name)) known = &gap;
    return known;
  }

  // A case on the list of known gaps must be wrong, all others right.
  void Judge(const std::string& name, const CallReport& report) {
    const target::KnownGap* known = FindGap(name);
    const std::string& mistake = report.error;
    if (!known && mistake.empty()) {
      ++passed_;
      if (options_.verbose)
        std::printf("ok    %s: %s\n", name.c_str(),
                    report.note.empty() ? "compiled" : report.note.c_str());
    } else if (known && !mistake.empty()) {
      ++gaps_met_;
      if (options_.verbose)
        std::printf("gap   %s: %s (%s)\n", name.c_str(), known->reason.c_str(), mistake.c_str());
    } else {
      ++failed_;
      if (known)
        std::printf("FAIL  %s: passes, but is a known gap (%s: %s): take it off the list\n",
                    name.c_str(), known->cases.c_str(), known->reason.c_str());
      else
        std::printf("FAIL  %s: %s\n", name.c_str(), mistake.c_str());
    }
  }

  CtsOptions options_;
  target::Target target_;
  std::unique_ptr<Executor> executor_;
  std::vector<target::KnownGap> gaps_;
  std::vector<Selected> selected_;
  int passed_ = 0, failed_ = 0, gaps_met_ = 0;
};

}  // namespace

int Cts(const CtsOptions& options) { return Suite(options).Run(); }

}  // namespace tern::tools
