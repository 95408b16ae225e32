// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tern/codegen/temporary_directory.h"
#include "tern/ffi/json.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/artifact/npy.h"
#include "tools/tern/cts/batch.h"
#include "tools/tern/cts/executor.h"
#include "tools/tern/cts/worker.h"

namespace tern::tools {
namespace {

// Runs calls by a command, all of them at once.
class BatchExecutor : public Executor {
 public:
  BatchExecutor(std::string command, int timeout)
      : command_(std::move(command)), timeout_(timeout) {}

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
  std::string WriteBatch(size_t first, const std::vector<Call>& calls);

  std::string command_;
  int timeout_;
  codegen::TemporaryDirectory directory_;
  std::vector<std::string> files_;  // of the programs
};

size_t BatchExecutor::Add(const ffi::Module& compiled, const runtime::ArtifactMeta& meta) {
  std::string stem = directory_.File("program" + std::to_string(files_.size()));
  files_.push_back(WriteProgram(compiled, meta, stem));
  return files_.size() - 1;
}

std::vector<Outcome> BatchExecutor::Run(const std::vector<Call>& calls) {
  auto command = [&](size_t first) -> std::vector<std::string> {
    // What the person typed is meant for a shell.
    return {"/bin/sh", "-c", command_ + " --batch '" + WriteBatch(first, calls) + "'"};
  };
  std::vector<CallReport> reports = WithContext("running " + command_, [&] {
    return RunCalls({"the runner", command, timeout_}, calls.size());
  });
  std::vector<Outcome> outcomes(calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    outcomes[i].error = reports[i].error;
    if (!outcomes[i].error.empty()) continue;
    try {
      outcomes[i].args = ReadResults(i, calls[i]);
    } catch (const Error& error) {
      outcomes[i].error = std::string("the runner wrote no result: ") + error.what();
    }
  }
  return outcomes;
}

// The calls from `first` on; returns the file.
std::string BatchExecutor::WriteBatch(size_t first, const std::vector<Call>& calls) {
  std::string batch = directory_.File("batch"), lines;
  for (size_t i = first; i < calls.size(); ++i) lines += Line(i, calls[i]) + "\n";
  runtime::WriteFile(batch, lines);
  return batch;
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

std::unique_ptr<Executor> MakeCommandExecutor(const std::string& command, int timeout) {
  return std::make_unique<CommandExecutor>(command, timeout);
}
std::unique_ptr<Executor> MakeImageExecutor(const std::string& command, int timeout) {
  return std::make_unique<ImageExecutor>(command, timeout);
}

}  // namespace tern::tools
