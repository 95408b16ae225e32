// SPDX-License-Identifier: Apache-2.0
//
// tern-run: runs a compiled file. Linked against the runtime alone.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <optional>
#include <sstream>

#include "tern/ffi/text.h"
#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/vm/load_model.h"
#include "tools/finish_output.h"
#include "tools/run_model.h"
#include "tools/run_report.h"

namespace tern::tools {
namespace {

constexpr const char* kHelp = R"(usage: tern-run FILE [options]
       tern-run --batch CALLS

Runs the model or a function of FILE (.so or .tern, made by `tern compile`) and reports its time and results.

  --entry F           the function (needed where there are several, and the file is no model)
  --dim n=64          the value of a symbolic extent or an integer parameter
  --input x=SOURCE    a .npy file, random (the default), ones or zeros; a number for a float parameter
  --output y=FILE     writes a tensor to a .npy file
  --check y=FILE      compares a tensor with a .npy file
  --tol T             largest error that --check lets pass, relative above 1 and absolute below (1e-5)
  --repeat N          takes the times of N calls (1): the best, the median, and the median of the device's own
  --offset N          elements of memory before the first one of each tensor (0)
  --seed N            of the random inputs (0)
  --batch CALLS       makes the calls in the file CALLS: on each line the words of a command line as above, with tabs between
                      them. Says "call 1 begins", then "call 1 ok" or "call 1 failed: why", and so on
  --profile           of a model: prints the time of each kernel
  --trace FILE        of a model: writes a JSON file of one run's calls, for Perfetto
  --threads N         of a model: threads of its loops; by default as many as affinity and container let run at once
  --cpus 0-3,6        of a model: the CPUs that its threads run on
  --denormals flush   of a model: tiny floats are zero in kernels; or keep
  --timeout S         of a model: a run that takes longer, in seconds, fails
  --state past=present  of a model: this input is that output of the call before
  --select y          of a model: computes this output alone; may be given several times
  --prepare           prepares what the function needs of constant tensors before, once
  --help              this text

Exit code: 0, 1 where a check or a call of a batch fails or the output cannot be written, 2 on a mistake or an error.
)";

struct Options {
  std::string file, entry, batch;
  runtime::RunOptions run;
  std::vector<std::pair<std::string, std::string>> outputs, checks;
  double tolerance = 1e-5;
  bool help = false, prepare = false, profile = false;
  std::string trace;
  SessionFlags session;
};

using Setter = void (*)(const std::string& option, const std::string& value, Options* options);

// Every option but --help, --prepare and --profile takes a value.
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
      {"--offset", [](const std::string& option, const std::string& value,
                      Options* options) { options->run.offset = ParseInteger(option, value); }},
      {"--batch", [](const std::string&, const std::string& value,
                     Options* options) { options->batch = value; }},
      {"--threads",
       [](const std::string& option, const std::string& value, Options* options) {
         int64_t threads = ParseInteger(option, value);
         TERN_CHECK(threads >= 1 && threads <= runtime::kMaxThreads)
             << option << ": expected 1 to " << runtime::kMaxThreads << ", got " << threads;
         options->session.threads = static_cast<int>(threads);
       }},
      {"--cpus", [](const std::string&, const std::string& value,
                    Options* options) { options->session.cpus = value; }},
      {"--denormals", [](const std::string&, const std::string& value,
                         Options* options) { options->session.denormals = value; }},
      {"--timeout",
       [](const std::string& option, const std::string& value, Options* options) {
         options->session.timeout = ParseNumber(option, value);
       }},
      {"--device",
       [](const std::string& option, const std::string& value, Options* options) {
         options->session.device = static_cast<int>(ParseInteger(option, value));
       }},
      {"--graphs", [](const std::string&, const std::string& value,
                      Options* options) { options->session.graphs = value; }},
      {"--state", [](const std::string&, const std::string& value,
                     Options* options) { options->session.states.push_back(value); }},
      {"--select", [](const std::string&, const std::string& value,
                      Options* options) { options->session.select.push_back(value); }},
      {"--trace", [](const std::string&, const std::string& value,
                     Options* options) { options->trace = value; }},
      {"--seed",
       [](const std::string& option, const std::string& value, Options* options) {
         options->run.seed = static_cast<uint64_t>(ParseInteger(option, value));
       }},
  };
  return setters;
}

std::vector<std::string> OptionNames() {
  std::vector<std::string> names = {"--help", "--prepare", "--profile"};
  for (const auto& [name, setter] : Setters()) names.push_back(name);
  return names;
}

Options ParseWords(const std::vector<std::string>& words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--help" || word == "-h") {
      options.help = true;
      return options;
    }
    if (word == "--prepare" || word == "--profile") {
      (word == "--prepare" ? options.prepare : options.profile) = true;
      continue;
    }
    if (!word.starts_with("-")) {
      TERN_CHECK(options.file.empty())
          << "two files are given: " << options.file << " and " << word;
      options.file = word;
      continue;
    }
    auto setter = Setters().find(word);
    TERN_CHECK(setter != Setters().end())
        << "unknown option " << word << ffi::DidYouMean(word, OptionNames()) << "; see --help";
    TERN_CHECK(i + 1 < words.size()) << word << " needs a value";
    setter->second(word, words[++i], &options);
  }
  TERN_CHECK(options.file.empty() != options.batch.empty())
      << (options.file.empty() ? "no file is given (see --help)"
                               : "--batch: the lines of " + options.batch + " name their files");
  return options;
}

// The file that was loaded last: the calls of a batch often want it again.
class Loaded {
 public:
  void Open(const std::string& file) {
    if (artifact_ && artifact_->path() == file) return;
    artifact_ = runtime::Artifact::Open(file);
    module_ = {};
  }
  const runtime::Artifact& artifact() const { return *artifact_; }
  const runtime::ArtifactMeta& meta() const { return artifact_->meta(); }
  const ffi::Module& module() {
    if (!module_) module_ = artifact_->Load();
    return module_;
  }

 private:
  std::optional<runtime::Artifact> artifact_;
  ffi::Module module_;
};

// Returns whether the checks hold.
bool RunCall(const Options& options, Loaded* loaded) {
  loaded->Open(options.file);
  if (options.entry.empty() && runtime::vm::HasModel(loaded->artifact()))
    return RunModel(loaded->artifact(),
                    {options.run, options.outputs, options.checks, options.tolerance,
                     options.profile, options.trace, options.session});
  TERN_CHECK(!options.profile && options.trace.empty() && !options.session.any())
      << options.file << " is no model: " << kModelFlags << " are for models";
  const runtime::FunctionInfo& entry = FindEntry(loaded->meta(), options.entry);
  const std::string& device = loaded->meta().DeviceOf(entry);
  ffi::Function function = options.prepare
                               ? PreparingFunction(loaded->module(), loaded->meta(), entry)
                               : loaded->module()->GetFunction(entry.name);
  runtime::RunResult result = runtime::RunFunction(function, entry, device, options.run);
  std::puts(SummaryLine(entry, device + ":0", result).c_str());
  if (options.run.repeat > 1) std::puts(TimesLine(options.run.repeat, result).c_str());
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
  return passed;
}

std::vector<std::string> SplitAtTabs(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  for (std::string word; std::getline(stream, word, '\t');)
    if (!word.empty()) words.push_back(word);
  return words;
}

// What went wrong with the call on a line, as one line, or "".
std::string RunLine(const std::string& line, Loaded* loaded) {
  try {
    Options options = ParseWords(SplitAtTabs(line));
    TERN_CHECK(options.batch.empty()) << "--batch in a batch";
    return RunCall(options, loaded) ? "" : "a check does not hold";
  } catch (const std::exception& error) {
    std::string text = error.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }
}

// Who reads the output knows at any time which call is under way, also if it is the last one.
int RunBatch(const std::string& path) {
  // A folder can be opened too, and has no lines.
  std::error_code ignored;
  TERN_CHECK(!std::filesystem::is_directory(path, ignored))
      << path << ": is a folder; --batch expects a file with a call on each line";
  std::ifstream file(path);
  TERN_CHECK(file) << path << ": cannot be opened";
  Loaded loaded;
  bool passed = true;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    std::printf("call %d begins\n", ++number);
    std::fflush(stdout);
    std::string mistake = RunLine(line, &loaded);
    passed = passed && mistake.empty();
    std::printf(mistake.empty() ? "call %d ok\n" : "call %d failed: %s\n", number, mistake.c_str());
  }
  TERN_CHECK(!file.bad()) << path << ": cannot be read";
  return passed ? 0 : 1;
}

int Run(const Options& options) {
  if (!options.batch.empty()) return RunBatch(options.batch);
  Loaded loaded;
  return RunCall(options, &loaded) ? 0 : 1;
}

}  // namespace
}  // namespace tern::tools

int main(int argc, char** argv) {
  int status = 2;
  try {
    tern::tools::Options options = tern::tools::ParseWords({argv + 1, argv + argc});
    if (options.help) std::fputs(tern::tools::kHelp, stdout);
    status = options.help ? 0 : tern::tools::Run(options);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "tern-run: error: there is not enough memory\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern-run: error: %s\n", tern::tools::ErrorText(error).c_str());
  }
  return tern::tools::FinishOutput("tern-run", status);
}
