// SPDX-License-Identifier: Apache-2.0
//
// tern quantize: an .onnx file with weights of few bits, or with quantized activations, whose
// ranges come from running the model.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>

#include "tern/compile_model.h"
#include "tern/ffi/text.h"
#include "tern/frontend/onnx/import.h"
#include "tern/frontend/onnx/quantize_model.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/runtime/file_bytes.h"
#include "tern/runtime/npy.h"
#include "tern/runtime/vm/session.h"
#include "tools/run_model.h"
#include "tools/run_report.h"
#include "tools/tern/commands.h"
#include "tools/tern/read_proto.h"
#include "tools/tern/source.h"

namespace tern::tools {
namespace {

namespace onnx = frontend::onnx;
namespace fs = std::filesystem;
using runtime::Tensor;

Tensor ReadSample(const std::string& path) {
  return path.ends_with(".pb") ? ReadProto(path) : runtime::ReadNpy(path);
}

// Files of each input, in the order given; a folder stands for its .npy and .pb files, by name.
std::map<std::string, std::vector<std::string>> SampleFiles(const std::vector<std::string>& given) {
  std::map<std::string, std::vector<std::string>> files;
  for (const std::string& text : given) {
    auto [name, path] = SplitAssignment("--calibrate", text);
    std::vector<std::string>& list = files[name];
    if (!fs::is_directory(path)) {
      list.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (entry.path().extension() == ".npy" || entry.path().extension() == ".pb")
        inside.push_back(entry.path().string());
    TERN_CHECK(!inside.empty()) << "--calibrate " << text << ": the folder has no .npy or .pb file";
    std::sort(inside.begin(), inside.end());
    list.insert(list.end(), inside.begin(), inside.end());
  }
  return files;
}

void AddRange(const Tensor& tensor, const std::string& name, onnx::ValueRanges* ranges) {
  if (tensor->dtype() != DataType::Float(32)) return;
  Tensor host = tensor.CopyTo({kTernDeviceCpu, 0});
  const auto* elements = static_cast<const float*>(host->data());
  auto [it, added] = ranges->try_emplace(name);
  onnx::ValueRange& range = it->second;
  for (int64_t i = 0; i < host->num_elements(); ++i) {
    TERN_CHECK(std::isfinite(elements[i]))
        << "tensor " << name << " has the element " << elements[i]
        << " for the calibration data: it has no range";
    range.low = added && i == 0 ? elements[i] : std::min(range.low, elements[i]);
    range.high = added && i == 0 ? elements[i] : std::max(range.high, elements[i]);
  }
}

// Runs the model for each sample, with the tensors as outputs.
onnx::ValueRanges Calibrated(const onnx::Model& model, const std::vector<std::string>& names,
                             const QuantizeOptions& options) {
  onnx::ModelEdits edits;
  for (const std::string& name : names) edits.outputs.push_back(name);
  // Those that are outputs already.
  for (const onnx::ValueInfo& output : model.graph.outputs)
    std::erase(edits.outputs, std::string(output.name));
  std::string bytes = onnx::WithEdits(model, edits);
  std::map<std::string, std::vector<std::string>> files = SampleFiles(options.calibrate);
  std::vector<std::string> first;
  for (const auto& [name, list] : files)
    if (list[0].ends_with(".npy")) first.push_back(name + "=" + list[0]);
  onnx::ImportOptions import = ImportOptionsFor(options.input_shapes, options.dims, first);
  auto compiled = LoadModel(CompileModel(onnx::Import(onnx::ParseModel(bytes, model.path), import),
                                         target::Target::DefaultHost(), ModelOptions()),
                            0);
  const runtime::vm::Program& program = compiled->program();
  size_t samples = options.random;
  for (const auto& [name, list] : files) {
    bool is_input = std::any_of(program.inputs.begin(), program.inputs.end(),
                                [&](const runtime::vm::Port& port) { return port.name == name; });
    TERN_CHECK(is_input) << "--calibrate: " << model.path << " has no input " << name;
    TERN_CHECK(samples == options.random || samples == list.size() || options.random)
        << "--calibrate: input " << name << " has " << list.size() << " samples, another one "
        << samples;
    samples = list.size();
  }
  runtime::vm::Session session(compiled);
  onnx::ValueRanges ranges;
  for (size_t sample = 0; sample < samples; ++sample) {
    runtime::RunOptions run;
    run.seed = options.seed + sample;
    for (const std::string& text : options.dims) {
      auto [name, value] = SplitAssignment("--dim", text);
      const std::vector<std::string>& left = program.dims;
      if (std::find(left.begin(), left.end(), name) != left.end())
        run.dims[name] = ParseInteger("--dim", value);
    }
    std::vector<Tensor> inputs = MakeModelInputs(*compiled, run);
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto given = files.find(program.inputs[i].name);
      TERN_CHECK(files.empty() || given != files.end() || compiled->input_default(i))
          << "--calibrate: input " << program.inputs[i].name << " has no samples";
      if (given != files.end()) inputs[i] = ReadSample(given->second[sample]);
      if (inputs[i]) AddRange(inputs[i], program.inputs[i].name, &ranges);
    }
    std::vector<Tensor> outputs = WithContext("running sample " + std::to_string(sample),
                                              [&] { return session.Run(inputs); });
    for (size_t i = 0; i < outputs.size(); ++i)
      AddRange(outputs[i], program.outputs[i].name, &ranges);
  }
  return ranges;
}

}  // namespace

void Quantize(const QuantizeOptions& options) {
  TERN_CHECK(options.output.ends_with(".onnx"))
      << "--output " << options.output << ": expected a name that ends with .onnx";
  std::error_code ignored;
  TERN_CHECK(!fs::equivalent(options.input, options.output, ignored))
      << "--output " << options.output << " is the model itself, which is read while it is written";
  onnx::QuantizeOptions quantize;
  using Mode = onnx::QuantizeOptions::Mode;
  quantize.mode = options.mode == "int4"  ? Mode::kInt4
                  : options.mode == "qdq" ? Mode::kQdq
                                          : Mode::kInt8;
  quantize.block_size = options.block_size;
  quantize.per_channel = !options.per_tensor;
  quantize.exclude = {options.exclude.begin(), options.exclude.end()};
  bool is_qdq = quantize.mode == Mode::kQdq;
  TERN_CHECK(is_qdq || (options.calibrate.empty() && options.random == 0))
      << "--calibrate and --random are for --mode qdq";
  TERN_CHECK(!is_qdq || options.calibrate.empty() != (options.random == 0))
      << "--mode qdq needs data: --calibrate NAME=file.npy for each input, or --random 8 for "
         "random ones, whose ranges may be far from real ones";
  onnx::Model model = onnx::ReadModel(options.input);
  onnx::ValueRanges ranges;
  if (is_qdq) ranges = Calibrated(model, onnx::ActivationsOf(model, quantize), options);
  onnx::QuantizeReport report;
  std::string bytes = onnx::QuantizedModel(model, quantize, ranges, &report);
  runtime::WriteFile(options.output, bytes);
  std::vector<std::string> counts;
  for (const auto& [op, count] : report.quantized)
    counts.push_back(std::to_string(count) + " " + op);
  std::printf("%s: %s; weights %lld -> %lld bytes, errors up to %.2g of the largest\n",
              options.output.c_str(), ffi::Join(counts).c_str(),
              static_cast<long long>(report.weight_bytes_before),
              static_cast<long long>(report.weight_bytes_after), report.largest_error);
  for (const std::string& node : report.skipped) std::printf("not quantized: %s\n", node.c_str());
}

}  // namespace tern::tools
