// SPDX-License-Identifier: Apache-2.0
#include "tools/run_model.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "tern/ffi/escape_text.h"
#include "tern/ffi/json.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/device.h"
#include "tern/runtime/extent.h"
#include "tern/runtime/vm/load_model.h"
#include "tern/runtime/vm/session.h"
#include "tern/runtime/vm/text.h"
#include "tools/run_report.h"

namespace tern::tools {
namespace {

using runtime::Tensor;
using runtime::vm::CallRecord;
using runtime::vm::Program;

// The model as a function whose parameters are the inputs and the outputs: what the tools know how
// to fill and to show. Dims whose names are no symbols are d0, d1, ...
runtime::FunctionInfo Describe(const std::string& name, const Program& program) {
  Program renamed = program;
  for (size_t i = 0; i < renamed.dims.size(); ++i)
    if (!runtime::IsSymbol(renamed.dims[i])) renamed.dims[i] = "d" + std::to_string(i);
  runtime::FunctionInfo info{name, {}};
  auto add = [&](const runtime::vm::Port& port, bool is_output) {
    runtime::ParamInfo param{port.name, port.dtype, true, {}, is_output};
    for (const runtime::vm::IntExpr& extent : port.shape)
      param.shape.push_back(is_output ? "0" : PrintExtent(renamed, extent));
    info.params.push_back(std::move(param));
  };
  for (const runtime::vm::Port& port : program.inputs) add(port, false);
  for (const runtime::vm::Port& port : program.outputs) add(port, true);
  return info;
}

// Input and output of each state.
std::map<std::string, std::string> StatesOf(const SessionFlags& flags) {
  std::map<std::string, std::string> states;
  for (const std::string& text : flags.states) states.insert(SplitAssignment("--state", text));
  return states;
}

// One of what is counted by the first extents of inputs alone, as batches are: a model is large
// already.
std::map<std::string, int64_t> SmallBatches(const runtime::FunctionInfo& info) {
  std::map<std::string, int64_t> batches;
  std::set<std::string> others;
  for (const runtime::ParamInfo& param : info.params)
    for (size_t i = 0; i < param.shape.size(); ++i)
      if (i == 0 && param.shape.size() > 1)
        batches[param.shape[i]] = 1;
      else
        others.insert(param.shape[i]);
  std::erase_if(batches, [&](const auto& batch) { return others.contains(batch.first); });
  return batches;
}

// Null for inputs that have a default, or are states, and are not given.
std::vector<Tensor> MakeInputs(const runtime::FunctionInfo& info, const runtime::vm::Model& model,
                               const runtime::RunOptions& options,
                               std::map<std::string, int64_t>* dims,
                               const std::map<std::string, std::string>& states = {}) {
  std::vector<Tensor> inputs(model.program().inputs.size());
  runtime::FunctionInfo needed = info;
  needed.params.clear();
  std::vector<size_t> places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = info.params[i].name;
    if ((model.input_default(i) || states.contains(name)) && !options.inputs.contains(name))
      continue;
    needed.params.push_back(info.params[i]);
    places.push_back(i);
  }
  runtime::RunOptions with_batches = options;
  with_batches.default_dims = SmallBatches(needed);
  std::vector<ffi::Any> args = runtime::MakeArguments(needed, with_batches, dims);
  for (size_t i = 0; i < args.size(); ++i) inputs[places[i]] = args[i].As<Tensor>();
  return inputs;
}

void PrintProfile(const std::vector<CallRecord>& records, double seconds, int runs) {
  struct Row {
    int64_t calls = 0;
    double seconds = 0;
  };
  std::map<std::string, Row> by_kernel;
  Row sum;
  for (const CallRecord& record : records) {
    Row& row = by_kernel[record.callee()];
    ++row.calls, ++sum.calls;
    row.seconds += record.seconds, sum.seconds += record.seconds;
  }
  std::vector<std::pair<std::string, Row>> rows(by_kernel.begin(), by_kernel.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.second.seconds > b.second.seconds;
  });
  rows.emplace_back("(between calls)", Row{0, std::max(0.0, seconds - sum.seconds)});
  size_t width = 6;
  for (const auto& [name, row] : rows) width = std::max(width, name.size());
  std::printf("%-*s %8s %12s %7s\n", static_cast<int>(width), "kernel", "calls", "us a run", "%");
  for (const auto& [name, row] : rows)
    std::printf("%-*s %8lld %12.1f %6.1f%%\n", static_cast<int>(width), ffi::Escaped(name).c_str(),
                static_cast<long long>(row.calls / runs), row.seconds * 1e6 / runs,
                seconds > 0 ? row.seconds / seconds * 100 : 0.0);
}

// The JSON that Perfetto and chrome://tracing read.
void WriteTrace(const std::string& path, const std::vector<CallRecord>& records) {
  std::vector<ffi::Any> events;
  for (const CallRecord& record : records) {
    const runtime::vm::Instruction& call =
        record.program->functions[record.function].code[record.instruction];
    events.push_back(ffi::MakeMap(
        {{"name", record.callee()},
         {"ph", "X"},
         {"pid", 0},
         {"tid", 0},
         {"ts", record.start * 1e6},
         {"dur", record.seconds * 1e6},
         {"args", ffi::MakeMap({{"instruction", static_cast<int64_t>(record.instruction)},
                                {"text", PrintInstruction(*record.program, call)}})}}));
  }
  ffi::Any trace = ffi::MakeMap({{"traceEvents", ffi::MakeArray(std::move(events))}});
  runtime::WriteFile(path, ffi::WriteJson(trace));
}

// What is given for a state is where it begins.
void BindStates(const std::map<std::string, std::string>& states, std::vector<Tensor>* inputs,
                runtime::vm::Session* session) {
  const std::vector<runtime::vm::Port>& ports = session->model().program().inputs;
  for (const auto& [input, output] : states) {
    Tensor initial;
    for (size_t i = 0; i < ports.size(); ++i)
      if (ports[i].name == input) initial = std::exchange((*inputs)[i], Tensor());
    session->BindState(input, output, initial);
  }
}

void TakeTimes(runtime::vm::Session* session, const std::vector<Tensor>& inputs,
               const runtime::DeviceKind& kind, const ModelRunOptions& options,
               runtime::RunResult* result) {
  int repeat = options.run.repeat;
  using Clock = std::chrono::steady_clock;
  std::vector<double> times;
  double sum = 0;
  for (int i = 0; i < repeat; ++i) {
    Clock::time_point start = Clock::now();
    {
      std::vector<Tensor> outputs = session->Run(inputs, {}, MakeRunOptions(options.session));
      kind.Synchronize(session->model().device().id);
    }  // memory of results is given back before the next ones need some
    times.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    sum += times.back();
  }
  std::sort(times.begin(), times.end());
  result->best_seconds = times.front();
  result->median_seconds = times[times.size() / 2];
  result->mean_seconds = sum / repeat;
}

bool PrintChecks(const ModelRunOptions& options, const runtime::FunctionInfo& info,
                 const runtime::RunResult& result) {
  bool right = true;
  for (const auto& [name, path] : options.checks) {
    Tensor actual = FindTensor(info, result, "--check", name);
    runtime::MaxError error = WithContext("checking " + name + " against " + path, [&] {
      return runtime::CompareTensors(actual, runtime::ReadNpy(path));
    });
    std::puts(ErrorLine(name, error, options.tolerance).c_str());
    right = right && IsWithin(error, options.tolerance);
  }
  return right;
}

// The largest difference between two tensors of one shape as a part of what the second spans, and
// the median.
std::pair<double, double> RangeErrors(const Tensor& actual, const Tensor& expected) {
  TERN_CHECK(actual->shape() == expected->shape())
      << "a tensor of shape " << ffi::ShapeText(actual->shape())
      << " is compared with one of shape " << ffi::ShapeText(expected->shape());
  int64_t count = expected->num_elements();
  if (count == 0) return {0, 0};
  double low = 0, high = 0;  // 0 counts: what is constant has a range too
  std::vector<double> errors;
  for (int64_t i = 0; i < count; ++i) {
    double value = runtime::GetElement(expected, i);
    low = std::min(low, value), high = std::max(high, value);
    double error = std::abs(runtime::GetElement(actual, i) - value);
    errors.push_back(std::isnan(error) && !std::isnan(value) ? HUGE_VAL : error);
  }
  std::nth_element(errors.begin(), errors.begin() + count / 2, errors.end());
  double median = errors[static_cast<size_t>(count / 2)];
  double range = std::max(high - low, 1e-30);
  return {*std::max_element(errors.begin(), errors.end()) / range, median / range};
}

bool CheckAgainst(const runtime::vm::Model& reference, const ModelRunOptions& options,
                  const std::vector<Tensor>& inputs, const runtime::FunctionInfo& info,
                  const runtime::RunResult& result) {
  runtime::vm::Session session(options.reference);
  session.SelectOutputs(options.session.select);
  std::vector<Tensor> expected = session.Run(inputs);
  bool right = true;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i]) continue;
    const std::string& name = reference.program().outputs[i].name;
    Tensor actual = FindTensor(info, result, "--check", name);
    auto [largest, median] = RangeErrors(actual, expected[i]);
    bool is_within = largest <= options.range_tolerance;
    std::printf("%s: largest error %.2e of the range, median %.2e; %s %g\n",
                ffi::Escaped(name).c_str(), largest, median, is_within ? "within" : "beyond",
                options.range_tolerance);
    right = right && is_within;
  }
  return right;
}

// "24 calls a run in 1 graph, 0 one by one; 1 recorded"
std::string GraphsLine(const runtime::vm::GraphCounts& before,
                       const runtime::vm::GraphCounts& counts, int runs) {
  auto a_run = [&](uint64_t now, uint64_t then) {
    return std::to_string((now - then) / static_cast<uint64_t>(runs));
  };
  return "graphs: " + a_run(counts.calls, before.calls) + " launches a run in " +
         a_run(counts.launches, before.launches) + " graphs, " +
         a_run(counts.others, before.others) + " one by one; recorded " +
         std::to_string(counts.records) + " times";
}

// Of this process, in bytes: VmRSS, what it has, or VmHWM, the most so far. 0 where the system does
// not say.
int64_t ProcessMemory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field + ":")) return 1024 * std::stoll(line.substr(field.size() + 1));
  return 0;
}

std::string MemoryLine(int64_t before) {
  std::ostringstream line;
  line << std::fixed << std::setprecision(1)
       << "memory: " << static_cast<double>(ProcessMemory("VmHWM")) / 1e6 << " MB at most, "
       << static_cast<double>(before) / 1e6 << " MB before the model was loaded";
  return line.str();
}

}  // namespace

std::vector<Tensor> MakeModelInputs(const runtime::vm::Model& model,
                                    const runtime::RunOptions& options) {
  std::map<std::string, int64_t> dims;
  return MakeInputs(Describe("model", model.program()), model, options, &dims);
}

bool RunModel(const runtime::Artifact& artifact, const ModelRunOptions& options) {
  ModelRunOptions with_memory = options;
  with_memory.memory_before = ProcessMemory("VmRSS");
  return RunModel(std::filesystem::path(artifact.path()).stem().string(),
                  runtime::vm::LoadModel(artifact, options.session.device), with_memory);
}

bool RunModel(const std::string& name, const std::shared_ptr<const runtime::vm::Model>& model,
              const ModelRunOptions& options) {
  const Program& program = model->program();
  runtime::FunctionInfo info = Describe(name, program);
  runtime::RunResult result;
  std::map<std::string, std::string> states = StatesOf(options.session);
  std::vector<Tensor> inputs = MakeInputs(info, *model, options.run, &result.dims, states);
  runtime::vm::SessionOptions session_options = MakeSessionOptions(options.session);
  session_options.specializer = options.specializer;
  runtime::vm::Session session(model, session_options);
  BindStates(states, &inputs, &session);
  session.SelectOutputs(options.session.select);
  std::vector<CallRecord> records;
  const runtime::DeviceKind& kind = runtime::GetDeviceKind(model->device().type);
  std::erase_if(info.params, [&](const runtime::ParamInfo& param) {
    return !param.is_output && states.contains(param.name);
  });
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!states.contains(program.inputs[i].name))
      result.args.push_back(inputs[i] ? inputs[i] : model->input_default(i));
  size_t next = result.args.size();  // of what the report knows
  // Where runs that follow write to it again, and the report looks at it.
  bool copies = model->device().type != kTernDeviceCpu || !states.empty();
  for (const Tensor& tensor : session.Run(inputs, {}, MakeRunOptions(options.session))) {
    if (tensor) {
      result.args.push_back(copies ? tensor.CopyTo({kTernDeviceCpu, 0}) : tensor);
      ++next;
    } else {  // not selected
      info.params.erase(info.params.begin() + static_cast<std::ptrdiff_t>(next));
    }
  }
  // Times are those of the model: what it reads is where it runs.
  std::vector<Tensor> resident = inputs;
  for (Tensor& tensor : resident)
    if (tensor && model->device().type != kTernDeviceCpu) tensor = tensor.CopyTo(model->device());
  if (model->device().type != kTernDeviceCpu) {
    session.Run(resident);
    session.Run(resident);  // recorded by now
  }
  runtime::vm::GraphCounts before = session.graph_counts();
  TakeTimes(&session, resident, kind, options, &result);
  std::puts(SummaryLine(info, runtime::DeviceName(model->device()), result).c_str());
  if (options.run.repeat > 1) std::puts(TimesLine(options.run.repeat, result).c_str());
  runtime::vm::GraphCounts timed = session.graph_counts();
  if (options.profile || !options.trace.empty()) {
    session.SetProfile(&records);
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < options.run.repeat; ++i) {
      if (i > 0 && !options.profile) break;
      session.Run(inputs);
    }
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (options.profile) PrintProfile(records, seconds, options.run.repeat);
    if (options.profile && options.memory_before > 0)
      std::puts(MemoryLine(options.memory_before).c_str());
    if (options.profile && model->device().type != kTernDeviceCpu)
      std::puts(GraphsLine(before, timed, options.run.repeat).c_str());
    size_t one = records.size() / static_cast<size_t>(options.profile ? options.run.repeat : 1);
    records.resize(one);  // of the first run
    if (!options.trace.empty()) WriteTrace(options.trace, records);
  }
  if (options.specializer) {
    options.specializer->Wait();
    for (const runtime::vm::Specialization& one : options.specializer->All())
      std::printf("specialized: %s\n", ffi::Escaped(options.specializer->Describe(one)).c_str());
  }
  for (const auto& [name, path] : options.outputs)
    runtime::WriteNpy(path, FindTensor(info, result, "--output", name));
  bool right = PrintChecks(options, info, result);
  if (options.reference)
    right = CheckAgainst(*options.reference, options, inputs, info, result) && right;
  model->CheckAllWeights();
  return right;
}

}  // namespace tern::tools
