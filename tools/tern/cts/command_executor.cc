// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <sys/wait.h>

#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

#include "tern/codegen/export.h"
#include "tern/codegen/temporary_directory.h"
#include "tern/runtime/npy.h"
#include "tools/tern/cts/executor.h"

namespace tern::tools {
namespace {

// "signal 11 (Segmentation fault)"; a shell says 128 + 11.
std::string EndText(int status) {
  int signal = WIFSIGNALED(status)                              ? WTERMSIG(status)
               : WIFEXITED(status) && WEXITSTATUS(status) > 128 ? WEXITSTATUS(status) - 128
                                                                : 0;
  if (signal) return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

// Lines of text that a command prints.
class CommandOutput {
 public:
  explicit CommandOutput(const std::string& command) {
    std::fflush(nullptr);
    // What the person typed is meant for a shell.
    pipe_ = popen(command.c_str(), "r");  // NOLINT(bugprone-command-processor)
    TERN_CHECK(pipe_) << "cannot start " << command << ": " << std::strerror(errno);
  }
  ~CommandOutput() {
    if (pipe_) pclose(pipe_);
    std::free(line_);
  }
  CommandOutput(const CommandOutput&) = delete;

  std::optional<std::string> NextLine() {
    ssize_t length = getline(&line_, &size_, pipe_);
    if (length < 0) return std::nullopt;
    if (length > 0 && line_[length - 1] == '\n') --length;
    return std::string(line_, static_cast<size_t>(length));
  }
  // Waits for its end; the status is wait's.
  int Close() { return pclose(std::exchange(pipe_, nullptr)); }

 private:
  FILE* pipe_ = nullptr;
  char* line_ = nullptr;
  size_t size_ = 0;
};

// "call 3 begins", "call 3 ok" or "call 3 failed: why".
struct Report {
  size_t call = 0;  // from 1
  bool ended = true;
  std::string error;
};

// Nothing where the line is no report.
std::optional<Report> ReadReport(std::string_view line) {
  constexpr std::string_view kCall = "call ", kFailed = " failed: ";
  if (!line.starts_with(kCall)) return std::nullopt;
  line.remove_prefix(kCall.size());
  Report report;
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), report.call);
  if (error != std::errc()) return std::nullopt;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  if (line.starts_with(kFailed))
    report.error = line.substr(kFailed.size());
  else if (line == " begins")
    report.ended = false;
  else if (line != " ok")
    return std::nullopt;
  return report;
}

class CommandExecutor : public Executor {
 public:
  explicit CommandExecutor(const std::string& command) : command_(command) {}

  size_t Add(const ffi::Module& compiled, const runtime::ArtifactMeta& meta) override {
    files_.push_back(directory_.File("program" + std::to_string(files_.size()) + ".so"));
    codegen::Export(compiled, meta, files_.back());
    return files_.size() - 1;
  }

  std::vector<Outcome> Run(const std::vector<Call>& calls) override {
    std::vector<Outcome> outcomes(calls.size());
    for (size_t first = 0; first < calls.size();) first = RunFrom(first, calls, &outcomes);
    for (size_t i = 0; i < calls.size(); ++i)
      if (outcomes[i].error.empty()) ReadOutputs(i, calls[i], &outcomes[i]);
    return outcomes;
  }

 private:
  std::string OutputFile(size_t call, size_t param) const {
    return directory_.File("call" + std::to_string(call) + "_" + std::to_string(param) + ".npy");
  }

  std::string Line(size_t index, const Call& call) const {
    const runtime::FunctionInfo& function = *call.function;
    std::string line = files_[call.program] + "\t--entry\t" + function.name;
    for (const auto& [name, value] : call.options->dims)
      line += "\t--dim\t" + name + "=" + std::to_string(value);
    for (const auto& [name, value] : call.options->inputs)
      line += "\t--input\t" + name + "=" + value;
    line += "\t--offset\t" + std::to_string(call.options->offset);
    line += "\t--seed\t" + std::to_string(call.options->seed);
    for (size_t i = 0; i < function.params.size(); ++i)
      if (function.params[i].is_output)
        line += "\t--output\t" + function.params[i].name + "=" + OutputFile(index, i);
    return line;
  }

  // Starts the command with the calls from `first` on; returns the first that it has not come to.
  size_t RunFrom(size_t first, const std::vector<Call>& calls, std::vector<Outcome>* outcomes) {
    std::string batch = directory_.File("batch");
    std::ofstream file(batch);
    for (size_t i = first; i < calls.size(); ++i) file << Line(i, calls[i]) << "\n";
    file.close();
    TERN_CHECK(file) << "cannot write " << batch;

    CommandOutput output(command_ + " --batch '" + batch + "'");
    size_t begun = first, done = first;  // behind the last call that was begun, and that ended
    while (std::optional<std::string> line = output.NextLine()) {
      std::optional<Report> report = ReadReport(*line);
      if (!report || report->call == 0 || report->call > calls.size() - first) continue;
      begun = first + report->call;
      if (report->ended) done = begun;
      (*outcomes)[begun - 1].error = report->error;
    }
    int status = output.Close();
    TERN_CHECK(begun > first) << "the runner '" << command_ << "' ended with " << EndText(status)
                              << " before its first call";
    if (begun > done)
      (*outcomes)[begun - 1].error = "the runner ended in this call with " + EndText(status);
    return begun;
  }

  void ReadOutputs(size_t index, const Call& call, Outcome* outcome) const {
    outcome->args.resize(call.function->params.size());
    try {
      for (size_t i = 0; i < outcome->args.size(); ++i)
        if (call.function->params[i].is_output)
          outcome->args[i] = runtime::ReadNpy(OutputFile(index, i));
    } catch (const Error& error) {
      outcome->error = std::string("the runner wrote no result: ") + error.what();
    }
  }

  std::string command_;
  codegen::TemporaryDirectory directory_;
  std::vector<std::string> files_;  // of the programs
};

}  // namespace

std::unique_ptr<Executor> MakeCommandExecutor(const std::string& command) {
  return std::make_unique<CommandExecutor>(command);
}

}  // namespace tern::tools
