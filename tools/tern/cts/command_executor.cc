// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <sys/wait.h>

#include <charconv>
#include <cstring>
#include <optional>

#include "tern/codegen/temporary_directory.h"
#include "tern/ffi/json.h"
#include "tern/runtime/file_bytes.h"
#include "tern/runtime/npy.h"
#include "tools/tern/cts/batch.h"
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

// Runs calls by a command, all of them at once.
class BatchExecutor : public Executor {
 public:
  explicit BatchExecutor(std::string command) : command_(std::move(command)) {}

  size_t Add(const ffi::Module& compiled, const runtime::ArtifactMeta& meta) override;
  std::vector<Outcome> Run(const std::vector<Call>& calls) override;

 protected:
  // What the command is told of a call, on one line.
  virtual std::string Line(size_t index, const Call& call) = 0;
  // What the command left; throws where it did not.
  virtual std::vector<runtime::Tensor> ReadResults(size_t index, const Call& call) = 0;

  const std::string& ProgramFile(const Call& call) const { return files_[call.program]; }
  std::string ResultFile(size_t call, size_t param, const char* ending) const;

 private:
  size_t RunFrom(size_t first, const std::vector<Call>& calls, std::vector<Outcome>* outcomes);

  std::string command_;
  codegen::TemporaryDirectory directory_;
  std::vector<std::string> files_;  // of the programs
};

size_t BatchExecutor::Add(const ffi::Module& compiled, const runtime::ArtifactMeta& meta) {
  std::string stem = directory_.File("program" + std::to_string(files_.size()));
  files_.push_back(WriteProgram(compiled, meta, stem));
  return files_.size() - 1;
}

std::vector<Outcome> BatchExecutor::Run(const std::vector<Call>& calls) {
  std::vector<Outcome> outcomes(calls.size());
  for (size_t first = 0; first < calls.size();) first = RunFrom(first, calls, &outcomes);
  for (size_t i = 0; i < calls.size(); ++i) {
    if (!outcomes[i].error.empty()) continue;
    try {
      outcomes[i].args = ReadResults(i, calls[i]);
    } catch (const Error& error) {
      outcomes[i].error = std::string("the runner wrote no result: ") + error.what();
    }
  }
  return outcomes;
}

// Starts the command with the calls from `first` on; returns the first that it has not come to.
size_t BatchExecutor::RunFrom(size_t first, const std::vector<Call>& calls,
                              std::vector<Outcome>* outcomes) {
  std::string batch = directory_.File("batch");
  std::string lines;
  for (size_t i = first; i < calls.size(); ++i) lines += Line(i, calls[i]) + "\n";
  runtime::WriteFile(batch, lines);

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

std::string BatchExecutor::ResultFile(size_t call, size_t param, const char* ending) const {
  return directory_.File("call" + std::to_string(call) + "_" + std::to_string(param) + ending);
}

// Calls as command lines of tern-run.
class CommandExecutor : public BatchExecutor {
 public:
  using BatchExecutor::BatchExecutor;

 private:
  std::string Line(size_t index, const Call& call) override {
    const runtime::FunctionInfo& function = *call.function;
    std::string line = CallLine(ProgramFile(call), function, *call.options);
    for (size_t i = 0; i < function.params.size(); ++i)
      if (function.params[i].is_output)
        line += "\t--output\t" + function.params[i].name + "=" + ResultFile(index, i, ".npy");
    return line;
  }

  std::vector<runtime::Tensor> ReadResults(size_t index, const Call& call) override {
    std::vector<runtime::Tensor> results(call.function->params.size());
    for (size_t i = 0; i < results.size(); ++i)
      if (call.function->params[i].is_output)
        results[i] = runtime::ReadNpy(ResultFile(index, i, ".npy"));
    return results;
  }
};

// Calls with their arguments as they lie in memory, for runners that are not Tern's.
class ImageExecutor : public BatchExecutor {
 public:
  using BatchExecutor::BatchExecutor;

 private:
  std::string Line(size_t index, const Call& call) override {
    std::vector<ffi::Any> args =
        runtime::MakeArguments(*call.function, *call.options, /*dims=*/nullptr);
    std::vector<ffi::Any> items;
    for (size_t i = 0; i < args.size(); ++i) {
      auto tensor = args[i].TryAs<runtime::Tensor>();
      items.push_back(tensor ? DescribeTensor(*tensor, ResultFile(index, i, ".bin"))
                             : DescribeScalar(call.function->params[i].dtype, args[i]));
    }
    return ffi::WriteJson(ffi::Any(ffi::MakeMap({{"module", ProgramFile(call)},
                                                 {"function", call.function->name},
                                                 {"args", ffi::MakeArray(std::move(items))}})));
  }

  // Integers as text: not every reader of JSON has 64 bits for them.
  static ffi::Any DescribeScalar(DataType dtype, const ffi::Any& value) {
    if (dtype.is_float()) return ffi::MakeMap({{"float", value.As<double>()}});
    return ffi::MakeMap({{"int", std::to_string(value.As<int64_t>())}});
  }

  static ffi::Any DescribeTensor(const runtime::Tensor& tensor, const std::string& file) {
    runtime::WriteFile(file, {tensor.as<char>(), tensor->storage_bytes()});
    const TernTensorView& view = tensor->view();
    auto numbers = [&](const int64_t* values) {
      return ffi::MakeArray(values ? std::vector<ffi::Any>(values, values + view.ndim)
                                   : std::vector<ffi::Any>());
    };
    ffi::Array dtype = ffi::MakeArray(
        {int64_t{view.dtype.code}, int64_t{view.dtype.bits}, int64_t{view.dtype.lanes}});
    return ffi::MakeMap({{"memory", file},
                         {"dtype", dtype},
                         {"shape", numbers(view.shape)},
                         {"strides", numbers(view.strides)},
                         {"byte_offset", static_cast<int64_t>(view.byte_offset)}});
  }

  std::vector<runtime::Tensor> ReadResults(size_t index, const Call& call) override {
    std::vector<ffi::Any> args =
        runtime::MakeArguments(*call.function, *call.options, /*dims=*/nullptr);
    std::vector<runtime::Tensor> results(args.size());
    for (size_t i = 0; i < args.size(); ++i) {
      if (!call.function->params[i].is_output) continue;
      results[i] = args[i].As<runtime::Tensor>();
      std::string bytes = runtime::ReadFile(ResultFile(index, i, ".bin"));
      TERN_CHECK(bytes.size() == results[i]->storage_bytes())
          << bytes.size() << " bytes of " << call.function->params[i].name << ", expected "
          << results[i]->storage_bytes();
      std::memcpy(results[i].as<char>(), bytes.data(), bytes.size());
    }
    return results;
  }
};

}  // namespace

std::unique_ptr<Executor> MakeCommandExecutor(const std::string& command) {
  return std::make_unique<CommandExecutor>(command);
}
std::unique_ptr<Executor> MakeImageExecutor(const std::string& command) {
  return std::make_unique<ImageExecutor>(command);
}

}  // namespace tern::tools
