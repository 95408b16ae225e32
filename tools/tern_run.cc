// SPDX-License-Identifier: Apache-2.0
//
// tern-run: runs a compiled file. Linked against the runtime alone.
#include <cstdio>
#include <map>

#include "tern/runtime/npy.h"
#include "tools/run_report.h"

namespace tern::tools {
namespace {

constexpr const char* kHelp = R"(usage: tern-run FILE [options]

Runs a function of FILE (.so or .tern, made by `tern compile`) and reports its time and results.

  --entry F           the function (needed where there are several)
  --dim n=64          the value of a symbolic extent or an integer parameter
  --input x=SOURCE    a .npy file, random (the default), ones or zeros; a number for a float parameter
  --output y=FILE     writes a tensor to a .npy file
  --check y=FILE      compares a tensor with a .npy file
  --tol T             largest error that --check lets pass, relative above 1 and absolute below (1e-5)
  --repeat N          takes the best time of N calls (1)
  --seed N            of the random inputs (0)
  --help              this text

Exit code: 0, 1 where a check fails, 2 on a mistake or an error.
)";

struct Options {
  std::string file, entry;
  runtime::RunOptions run;
  std::vector<std::pair<std::string, std::string>> outputs, checks;
  double tolerance = 1e-5;
  bool help = false;
};

using Setter = void (*)(const std::string& option, const std::string& value, Options* options);

// Every option but --help takes a value.
const std::map<std::string, Setter>& Setters() {
  static const std::map<std::string, Setter> setters = {
      {"--entry", [](const std::string&, const std::string& value,
                     Options* options) { options->entry = value; }},
      {"--dim",
       [](const std::string& option, const std::string& value, Options* options) {
         auto [name, number] = SplitAssignment(option, value);
         options->run.dims[name] = ParseInteger(option, number);
       }},
      {"--input",
       [](const std::string& option, const std::string& value, Options* options) {
         auto [name, source] = SplitAssignment(option, value);
         options->run.inputs[name] = source;
       }},
      {"--output",
       [](const std::string& option, const std::string& value, Options* options) {
         options->outputs.push_back(SplitAssignment(option, value));
       }},
      {"--check",
       [](const std::string& option, const std::string& value, Options* options) {
         options->checks.push_back(SplitAssignment(option, value));
       }},
      {"--tol", [](const std::string& option, const std::string& value,
                   Options* options) { options->tolerance = ParseNumber(option, value); }},
      {"--repeat",
       [](const std::string& option, const std::string& value, Options* options) {
         int64_t repeat = ParseInteger(option, value);
         TERN_CHECK(repeat >= 1 && repeat <= 1000000)
             << option << ": expected 1 to 1000000, got " << repeat;
         options->run.repeat = static_cast<int>(repeat);
       }},
      {"--seed",
       [](const std::string& option, const std::string& value, Options* options) {
         options->run.seed = static_cast<uint64_t>(ParseInteger(option, value));
       }},
  };
  return setters;
}

Options ParseCommandLine(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      options.help = true;
      return options;
    }
    if (!word.starts_with("-")) {
      TERN_CHECK(options.file.empty())
          << "two files are given: " << options.file << " and " << word;
      options.file = word;
      continue;
    }
    auto setter = Setters().find(word);
    TERN_CHECK(setter != Setters().end()) << "unknown option " << word << " (see --help)";
    TERN_CHECK(i + 1 < argc) << word << " needs a value";
    setter->second(word, argv[++i], &options);
  }
  TERN_CHECK(!options.file.empty()) << "no file is given (see --help)";
  return options;
}

int Run(const Options& options) {
  runtime::Artifact artifact = runtime::Artifact::Open(options.file);
  const runtime::FunctionInfo& entry = FindEntry(artifact.meta(), options.entry);
  ffi::Module module = artifact.Load();
  const std::string& device = artifact.meta().device;
  runtime::RunResult result =
      runtime::RunFunction(module->GetFunction(entry.name), entry, device, options.run);
  std::puts(SummaryLine(entry, device + ":0", result).c_str());
  for (const auto& [name, path] : options.outputs)
    runtime::WriteNpy(path, FindTensor(entry, result, "--output", name));
  bool passed = true;
  for (const auto& [name, path] : options.checks) {
    runtime::Tensor actual = FindTensor(entry, result, "--check", name);
    runtime::MaxError error = WithContext("checking " + name + " against " + path, [&] {
      return runtime::CompareTensors(actual, runtime::ReadNpy(path));
    });
    std::puts(ErrorLine(name, error, options.tolerance).c_str());
    passed = passed && IsWithin(error, options.tolerance);
  }
  return passed ? 0 : 1;
}

}  // namespace
}  // namespace tern::tools

int main(int argc, char** argv) {
  try {
    tern::tools::Options options = tern::tools::ParseCommandLine(argc, argv);
    if (options.help) {
      std::fputs(tern::tools::kHelp, stdout);
      return 0;
    }
    return tern::tools::Run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern-run: error: %s\n", error.what());
    return 2;
  }
}
