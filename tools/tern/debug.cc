// SPDX-License-Identifier: Apache-2.0
//
// tern debug: where do the values of a model, compiled for a target, first differ from a reference?
// Every value that a kernel computes is made an output, and compared in the order of the program.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "tern/compile_model.h"
#include "tern/ffi/escape_text.h"
#include "tern/ffi/text.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/graph/function.h"
#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/vm/session.h"
#include "tools/run_model.h"
#include "tools/run_report.h"
#include "tools/tern/commands.h"
#include "tools/tern/read_proto.h"
#include "tools/tern/source.h"

namespace tern::tools {
namespace {

using runtime::Tensor;
using Tensors = std::map<std::string, Tensor>;

// "stage/conv:0" -> "stage_conv_0": values are named so in graphs, and files cannot have '/'.
std::string FileName(std::string name) {
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.') c = '_';
  return name;
}

// The same graph, with these values as further results.
graph::Function WithResults(const graph::Function& function, const std::set<std::string>& names) {
  std::vector<graph::Value> results = function->results;
  std::vector<ffi::Any> output_names;
  for (size_t i = 0; i < results.size(); ++i) output_names.emplace_back(function.OutputName(i));
  std::set<const graph::ValueNode*> known;
  for (const graph::Value& result : results) known.insert(result.get());
  for (const graph::Node& node : function->nodes)
    for (const graph::Value& output : node->outputs)
      if (names.contains(output->name) && known.insert(output.get()).second) {
        results.push_back(output);
        output_names.emplace_back(output->name);
      }
  ir::Attrs attrs = function->attrs;
  attrs[graph::attr::kOutputNames] = ffi::Any(ffi::MakeArray(std::move(output_names)));
  return graph::Function::Make(function->name, function->params, function->nodes,
                               std::move(results), std::move(attrs), function->span);
}

// What a run gives, by the names of the values in the graph.
Tensors RunGraph(const graph::Function& function,
                 const std::shared_ptr<const runtime::vm::Model>& model,
                 const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs = runtime::vm::Session(model).Run(inputs);
  Tensors values;
  for (size_t i = 0; i < outputs.size(); ++i)
    values[function->results[i]->name] = outputs[i].CopyTo({kTernDeviceCpu, 0});
  return values;
}

struct Special {
  int64_t nans = 0, infinities = 0;
};
Special CountSpecial(const Tensor& tensor) {
  Special count;
  if (!tensor->dtype().is_float()) return count;
  for (int64_t i = 0; i < tensor->num_elements(); ++i) {
    double value = runtime::GetElement(tensor, i);
    count.nans += std::isnan(value);
    count.infinities += std::isinf(value);
  }
  return count;
}

std::string SpecialText(const Special& special) {
  return std::to_string(special.nans) + " NaN, " + std::to_string(special.infinities) + " infinite";
}

class Debugger {
 public:
  explicit Debugger(const DebugOptions& options) : options_(options) {}

  int Run() {
    if (options_.against == "onnx-outputs") ReadRecorded();
    ir::IRModule module = ReadSource(
        options_.input, ImportOptionsFor(options_.input_shapes, options_.dims, options_.inputs));
    TERN_CHECK(IsModel(module)) << options_.input << ": no model; to compare functions of a .tir "
                                << "file with the interpreter, use tern run --check interp";
    target_ = ParseTarget(options_.target, options_.host);
    ModelOptions fast;
    graph_ = graph::AsGraph(OptimizeGraph(module, {target_}, fast)->functions.at("main"));
    Compare(fast);
    return PrintResult();
  }

 private:
  // Inputs and outputs in the folder test_data_set_0 beside the model, as ONNX's tests have them.
  void ReadRecorded() {
    namespace fs = std::filesystem;
    fs::path folder = fs::path(options_.input).parent_path() / "test_data_set_0";
    TERN_CHECK(fs::is_directory(folder)) << "--against onnx-outputs: there is no folder "
                                         << folder.string() << " with input_0.pb, output_0.pb, ...";
    frontend::onnx::Model model = frontend::onnx::ReadModel(options_.input);
    std::set<std::string> initialized;
    for (const auto& tensor : model.graph.initializers) initialized.emplace(tensor.name);
    size_t number = 0;
    for (const auto& input : model.graph.inputs) {
      std::string name(input.name);
      if (initialized.contains(name)) continue;
      fs::path file = folder / ("input_" + std::to_string(number++) + ".pb");
      if (fs::exists(file)) recorded_inputs_[name] = ReadProto(file.string());
    }
    for (size_t i = 0; i < model.graph.outputs.size(); ++i) {
      fs::path file = folder / ("output_" + std::to_string(i) + ".pb");
      if (fs::exists(file))
        expected_[FileName(std::string(model.graph.outputs[i].name))] = ReadProto(file.string());
    }
    TERN_CHECK(!expected_.empty())
        << "--against onnx-outputs: " << folder.string() << " has no output_0.pb";
    for (const auto& [name, tensor] : recorded_inputs_) {
      std::string shape;
      for (int64_t extent : tensor->shape())
        shape += (shape.empty() ? "" : ",") + std::to_string(extent);
      if (!shape.empty()) options_.input_shapes.push_back(name + "=" + shape);
    }
  }

  void Compare(const ModelOptions& fast) {
    graph::LoweredModel lowered = Lower(graph_, target_, fast);
    calls_ = lowered.calls;
    auto model = LoadModel(CompileLowered(lowered, target_, fast));
    std::vector<Tensor> inputs = Inputs(*model);
    Tensors plain = RunGraph(graph_, model, inputs);
    std::set<std::string> names;
    for (const graph::Kernel& call : calls_) names.insert(call.results.begin(), call.results.end());
    graph::Function open = WithResults(graph_, names);
    actual_ = RunGraph(open, Load(open, target_, fast), inputs);
    // Memory that is used again too early shows in the results of the model as it is alone.
    for (const auto& [name, tensor] : plain)
      if (CompareTensors(tensor, actual_.at(name)).absolute != 0) reused_.push_back(name);
    if (options_.against == "reference") {
      ModelOptions slow;
      slow.fuse = false;
      slow.strict_math = true;
      slow.default_schedules = false;
      target::Target host = target::Target::DefaultHost();
      expected_ = RunGraph(open, Load(open, host, slow), inputs);
    } else if (options_.against != "onnx-outputs") {
      ReadFolder();
    }
  }

  static graph::LoweredModel Lower(const graph::Function& function, const target::Target& target,
                                   const ModelOptions& options) {
    return graph::LowerGraph(function, {options.fuse, !options.strict_math, target});
  }

  static std::shared_ptr<const runtime::vm::Model> Load(const graph::Function& function,
                                                        const target::Target& target,
                                                        const ModelOptions& options) {
    return LoadModel(CompileLowered(Lower(function, target, options), target, options));
  }

  std::vector<Tensor> Inputs(const runtime::vm::Model& model) const {
    runtime::RunOptions run;
    run.seed = options_.seed;
    run.tensors = recorded_inputs_;
    for (const std::string& text : options_.inputs) {
      auto [name, value] = SplitAssignment("--input", text);
      run.inputs[name] = value;
      run.tensors.erase(name);
    }
    return MakeModelInputs(model, run);
  }

  // Values by the names of their files: those of the model, or of the graph.
  void ReadFolder() {
    namespace fs = std::filesystem;
    TERN_CHECK(fs::is_directory(options_.against))
        << "--against " << options_.against
        << ": expected reference, onnx-outputs, or a folder of NAME.npy and NAME.pb files";
    for (const fs::directory_entry& entry : fs::directory_iterator(options_.against)) {
      std::string name = entry.path().stem().string(), end = entry.path().extension().string();
      if (end == ".npy") expected_[name] = runtime::ReadNpy(entry.path().string());
      if (end == ".pb") expected_[name] = ReadProto(entry.path().string());
    }
    TERN_CHECK(!expected_.empty())
        << "--against " << options_.against << ": the folder has no .npy or .pb file";
  }

  // What the reference has for a value: under its name, or that of the output that it is.
  const Tensor* Expected(const std::string& name) const {
    if (auto it = expected_.find(name); it != expected_.end()) return &it->second;
    for (size_t i = 0; i < graph_->results.size(); ++i) {
      if (graph_->results[i]->name != name) continue;
      if (auto it = expected_.find(FileName(graph_.OutputName(i))); it != expected_.end())
        return &it->second;
    }
    return nullptr;
  }

  struct Found {
    size_t call;
    std::string value, what;
  };

  int PrintResult() {
    std::vector<Found> differs, special;
    size_t compared = 0;
    double worst = 0;
    for (size_t i = 0; i < calls_.size(); ++i)
      for (const std::string& name : calls_[i].results) {
        auto found = actual_.find(name);
        if (found == actual_.end()) continue;  // inside of a branch or a loop
        const Tensor& actual = found->second;
        const Tensor* expected = Expected(name);
        Dump(name, actual, expected);
        Special is = CountSpecial(actual), should = expected ? CountSpecial(*expected) : Special{};
        if (is.nans || is.infinities)
          special.push_back({i, name,
                             SpecialText(is) + (expected ? "; the reference: " + SpecialText(should)
                                                         : std::string())});
        if (!expected) continue;
        ++compared;
        std::string what = Difference(actual, *expected, &worst);
        if (!what.empty()) differs.push_back({i, name, what});
      }
    std::printf("%zu values of %zu calls compared with %s, tolerance %g\n", compared, calls_.size(),
                options_.against.c_str(), options_.tolerance);
    TERN_CHECK(compared > 0) << "--against " << options_.against
                             << ": none of its values is one that a kernel computes";
    for (const std::string& name : reused_)
      std::printf(
          "result %s changes when all values are kept: memory is used again too early; "
          "this is a bug in Tern\n",
          ffi::Escaped(name).c_str());
    if (!special.empty()) {
      std::printf("first value that is not finite:\n");
      Print(special[0]);
    }
    if (differs.empty()) {
      std::printf("all values agree; the largest error is %.2g\n", worst);
      return reused_.empty() ? 0 : 1;
    }
    std::printf("first value that differs:\n");
    Print(differs[0]);
    if (differs.size() > 1) {
      std::printf("%zu more differ, as of\n", differs.size() - 1);
      for (size_t i = 1; i < std::min<size_t>(differs.size(), 4); ++i) Print(differs[i]);
    }
    return 1;
  }

  // "" where it is within the tolerance.
  std::string Difference(const Tensor& actual, const Tensor& expected, double* worst) const {
    if (actual->shape() != expected->shape() || actual->dtype() != expected->dtype())
      return "its shape or type is not that of the reference";
    runtime::MaxError error = runtime::CompareTensors(actual, expected);
    *worst = std::max(*worst, error.scaled);
    if (IsWithin(error, options_.tolerance)) return "";
    char text[120];
    std::snprintf(text, sizeof(text), "largest error %.3g absolute, %.3g relative", error.absolute,
                  error.relative);
    return text;
  }

  void Print(const Found& found) const {
    const graph::Kernel& call = calls_[found.call];
    std::string nodes;
    for (size_t i = 0; i < call.ops.size(); ++i) {
      nodes += (i ? " + " : "") + call.ops[i];
      if (!call.labels[i].empty()) nodes += " '" + call.labels[i] + "'";
    }
    std::printf("  %s, call %zu, kernel %s\n    %s\n    %s\n", ffi::Escaped(found.value).c_str(),
                found.call, call.name.c_str(), ffi::Escaped(nodes).c_str(), found.what.c_str());
  }

  void Dump(const std::string& name, const Tensor& actual, const Tensor* expected) const {
    if (options_.dump.empty()) return;
    std::filesystem::path folder = options_.dump;
    std::filesystem::create_directories(folder);
    runtime::WriteNpy((folder / (FileName(name) + ".npy")).string(), actual);
    if (expected)
      runtime::WriteNpy((folder / (FileName(name) + ".reference.npy")).string(), *expected);
  }

  DebugOptions options_;
  target::Target target_;
  graph::Function graph_;
  std::vector<graph::Kernel> calls_;
  Tensors recorded_inputs_, expected_, actual_;
  std::vector<std::string> reused_;
};

}  // namespace

int Debug(const DebugOptions& options) { return Debugger(options).Run(); }

}  // namespace tern::tools
