// SPDX-License-Identifier: Apache-2.0
//
// tern cts: the conformance suite. Every case is a .tir program (test/cts), compiled for the
// target, run, and compared with the interpreter. Comments in the program say for which types and
// sizes:
//
//   # cts: dtypes float32 int32           one variant each, with the type in place of $T
//   # cts: dims n=1 k=1 | n=7 k=3         one run each
//   # cts: dims n=1000 (full)             a run of the full suite only
#include <chrono>
#include <cstdio>
#include <sstream>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/tir/text.h"
#include "tools/tern/commands.h"
#include "tools/tern/cts/executor.h"
#include "tools/tern/reference.h"
#include "tools/tern/suite.h"

namespace tern::tools {
namespace {

struct Program {
  std::string name, text;
  std::vector<std::string> dtypes{""};
  std::vector<std::map<std::string, int64_t>> dims;
};

std::map<std::string, int64_t> ReadDims(const std::string& name, const std::string& text) {
  std::map<std::string, int64_t> dims;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    size_t equal = word.find('=');
    TERN_CHECK(equal != std::string::npos)
        << "cts program " << name << ": bad dims '" << text << "'";
    dims[word.substr(0, equal)] = std::stoll(word.substr(equal + 1));
  }
  return dims;
}

Program ReadProgram(const SuiteFile& file, bool full) {
  Program program{std::string(file.name), std::string(file.text), {""}, {}};
  std::istringstream lines(program.text);
  constexpr std::string_view kDtypes = "# cts: dtypes ", kDims = "# cts: dims ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kDtypes)) {
      std::istringstream words(line.substr(kDtypes.size()));
      program.dtypes.clear();
      for (std::string dtype; words >> dtype;) program.dtypes.push_back(dtype);
    } else if (line.starts_with(kDims)) {
      std::string rest = line.substr(kDims.size());
      if (size_t mark = rest.find("(full)"); mark != std::string::npos) {
        if (!full) continue;
        rest.resize(mark);
      }
      std::istringstream groups(rest);
      for (std::string group; std::getline(groups, group, '|');)
        program.dims.push_back(ReadDims(program.name, group));
    }
  }
  if (program.dims.empty()) program.dims.emplace_back();
  return program;
}

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string CaseName(const Program& program, const std::string& dtype,
                     const std::map<std::string, int64_t>& dims) {
  std::string name = program.name + (dtype.empty() ? "" : "/" + dtype);
  for (const auto& [dim, value] : dims) name += "/" + dim + "=" + std::to_string(value);
  return name;
}

class Suite {
 public:
  explicit Suite(const CtsOptions& options)
      : options_(options), target_(target::Target::Parse(options.target, options.host)) {}

  int Run() {
    auto start = std::chrono::steady_clock::now();
    for (const SuiteFile& file : SuiteFiles()) {
      Program program = ReadProgram(file, options_.full);
      for (const std::string& dtype : program.dtypes) RunVariant(program, dtype);
    }
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (options_.list) return 0;
    TERN_CHECK(passed_ + failed_ > 0) << "cts: no case matches '" << options_.filter << "'";
    std::printf("conformance of %s, %s suite, %.1f s\n%d passed, %d failed\n",
                target_->str().c_str(), options_.full ? "full" : "smoke", seconds, passed_,
                failed_);
    return failed_ ? 1 : 0;
  }

 private:
  // Compiles once, runs for every size.
  void RunVariant(const Program& program, const std::string& dtype) {
    if (target::HasPlainApi(target_) && !options_.list) return RunPlainVariant(program, dtype);
    ir::IRModule module;
    runtime::ArtifactMeta meta;
    ffi::Module compiled;
    for (const auto& dims : program.dims) {
      std::string name = CaseName(program, dtype, dims);
      if (name.find(options_.filter) == std::string::npos) continue;
      if (options_.list) {
        std::printf("%s\n", name.c_str());
        continue;
      }
      try {
        if (!compiled) {
          module = tir::ParseModule(program.name + ".tir", Replace(program.text, "$T", dtype));
          meta = DescribeModule(module, target_);
          compiled = codegen::LoadLinkable(tern::Compile(module, target_));
        }
        RunCase(name, module, meta, compiled, dims);
      } catch (const Error& error) {
        Fail(name, error.what());
      }
    }
  }

  // All sizes in one program.
  void RunPlainVariant(const Program& program, const std::string& dtype) {
    std::vector<std::pair<std::string, runtime::RunOptions>> cases;
    for (const auto& dims : program.dims) {
      std::string name = CaseName(program, dtype, dims);
      if (name.find(options_.filter) == std::string::npos) continue;
      cases.emplace_back(name, runtime::RunOptions());
      cases.back().second.dims = dims;
    }
    if (cases.empty()) return;
    try {
      ir::IRModule module =
          tir::ParseModule(program.name + ".tir", Replace(program.text, "$T", dtype));
      runtime::ArtifactMeta meta = DescribeModule(module, target_);
      auto executor = MakePlainExecutor(target_->GetString("cc", ""), options_.runner);
      size_t number = executor->Add(tern::Compile(module, target_), meta);
      std::vector<Call> calls;
      for (const auto& [name, run] : cases)
        for (const runtime::FunctionInfo& info : meta.functions)
          calls.push_back({number, &info, &run});
      std::vector<Outcome> outcomes = executor->Run(calls);
      for (size_t i = 0; i < calls.size(); ++i)
        Judge(cases[i / meta.functions.size()].first, module, calls[i], outcomes[i]);
    } catch (const Error& error) {
      for (const auto& [name, run] : cases) Fail(name, error.what());
    }
  }

  void Judge(const std::string& name, const ir::IRModule& module, const Call& call,
             const Outcome& outcome) {
    if (!outcome.error.empty()) return Fail(name, outcome.error);
    runtime::RunResult actual, expected = RunReference(module, *call.function, *call.options);
    actual.args = outcome.args;
    for (const Comparison& output : CompareResults(*call.function, actual, expected))
      if (!output.within())
        return Fail(name, ErrorLine(output.name, output.error, output.tolerance));
    ++passed_;
    if (options_.verbose) std::printf("ok    %s\n", name.c_str());
  }

  void RunCase(const std::string& name, const ir::IRModule& module,
               const runtime::ArtifactMeta& meta, const ffi::Module& compiled,
               const std::map<std::string, int64_t>& dims) {
    for (const runtime::FunctionInfo& info : meta.functions) {
      runtime::RunOptions run;
      run.dims = dims;
      runtime::RunResult actual =
          runtime::RunFunction(compiled->GetFunction(info.name), info, meta.device, run);
      runtime::RunResult expected = RunReference(module, info, run);
      for (const Comparison& output : CompareResults(info, actual, expected))
        if (!output.within())
          return Fail(name, ErrorLine(output.name, output.error, output.tolerance));
    }
    ++passed_;
    if (options_.verbose) std::printf("ok    %s\n", name.c_str());
  }

  void Fail(const std::string& name, const std::string& why) {
    ++failed_;
    std::printf("FAIL  %s: %s\n", name.c_str(), why.c_str());
  }

  CtsOptions options_;
  target::Target target_;
  int passed_ = 0, failed_ = 0;
};

}  // namespace

int Cts(const CtsOptions& options) { return Suite(options).Run(); }

}  // namespace tern::tools
