// SPDX-License-Identifier: Apache-2.0
//
// tern quantize: an .onnx file with weights of few bits, or with quantized activations, whose
// ranges come from running the model.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>

#include "tern/compile_model.h"
#include "tern/ffi/text.h"
#include "tern/frontend/onnx/import.h"
#include "tern/frontend/onnx/quantize_model.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/artifact/npy.h"
#include "tern/runtime/vm/session.h"
#include "tools/run_model.h"
#include "tools/run_report.h"
#include "tools/tern/commands.h"
#include "tools/tern/read_npz.h"
#include "tools/tern/read_proto.h"
#include "tools/tern/source.h"

namespace tern::tools {
namespace {

namespace onnx = frontend::onnx;
namespace fs = std::filesystem;
using runtime::Tensor;

// Samples of each input: files, each with one of them, or arrays that were read.
struct Sample {
  std::string path;
  Tensor array;  // null: the file has one
  Tensor Read() const {
    if (array) return array;
    return path.ends_with(".pb") ? ReadProto(path) : runtime::ReadNpy(path);
  }
};
using Samples = std::map<std::string, std::vector<Sample>>;

bool IsOneSample(const fs::path& path) {
  return path.extension() == ".npy" || path.extension() == ".pb";
}

// In the order given; a folder stands for its .npy and .pb files, by name. Of an .npz file the
// arrays are samples of one input, or where none is named, samples of the inputs that they are
// named after.
Samples FindSamples(const std::vector<std::string>& given) {
  Samples samples;
  for (const std::string& text : given) {
    if (text.find('=') == std::string::npos && text.ends_with(".npz")) {
      for (const auto& [name, array] : ReadNpz(text)) samples[name].push_back({text, array});
      continue;
    }
    auto [name, path] = SplitAssignment("--calibrate", text);
    std::vector<Sample>& list = samples[name];
    if (path.ends_with(".npz")) {
      for (const auto& [ignored, array] : ReadNpz(path)) list.push_back({path, array});
      TERN_CHECK(!list.empty()) << "--calibrate " << text << ": the file has no array";
      continue;
    }
    if (!fs::is_directory(path)) {
      list.push_back({path, {}});
      continue;
    }
    std::vector<std::string> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(path))
      if (IsOneSample(entry.path())) inside.push_back(entry.path().string());
    TERN_CHECK(!inside.empty()) << "--calibrate " << text << ": the folder has no .npy or .pb file";
    std::sort(inside.begin(), inside.end());
    for (const std::string& file : inside) list.push_back({file, {}});
  }
  return samples;
}

// As --input-shape takes it.
std::string ShapeText(const Tensor& tensor) {
  std::string text;
  for (int64_t extent : tensor->shape()) text += (text.empty() ? "" : ",") + std::to_string(extent);
  return text;
}

// The elements that tensors have for the samples.
using SeenElements = std::function<void(const std::string& name, const float* elements, int64_t)>;

// Runs the model for each sample, with the tensors as outputs.
class Calibration {
 public:
  Calibration(const onnx::Model& model, const std::vector<std::string>& names,
              const QuantizeOptions& options)
      : options_(options), samples_(FindSamples(options.calibrate)), count_(options.random) {
    onnx::ModelEdits edits;
    for (const std::string& name : names) edits.outputs.push_back(name);
    // Those that are outputs already.
    for (const onnx::ValueInfo& output : model.graph.outputs)
      std::erase(edits.outputs, std::string(output.name));
    std::string bytes = onnx::WithEdits(model, edits);
    std::vector<std::string> shapes = options.input_shapes, files;
    for (const auto& [name, list] : samples_) {
      bool is_given = std::any_of(shapes.begin(), shapes.end(), [&, &name = name](auto& text) {
        return text.starts_with(name + "=");
      });
      if (list[0].array && !is_given)
        shapes.push_back(name + "=" + ShapeText(list[0].array));
      else if (list[0].path.ends_with(".npy"))
        files.push_back(name + "=" + list[0].path);
    }
    onnx::ImportOptions import = ImportOptionsFor(shapes, options.dims, files);
    compiled_ = LoadModel(CompileModel(onnx::Import(onnx::ParseModel(bytes, model.path), import),
                                       target::Target::DefaultHost(), ModelOptions()),
                          0);
    const runtime::vm::Program& program = compiled_->program();
    for (const auto& [name, list] : samples_) {
      bool is_input = std::any_of(program.inputs.begin(), program.inputs.end(),
                                  [&, &name = name](auto& port) { return port.name == name; });
      TERN_CHECK(is_input) << "--calibrate: " << model.path << " has no input " << name;
      TERN_CHECK(count_ == 0 || count_ == list.size())
          << "--calibrate: input " << name << " has " << list.size() << " samples, another one "
          << count_;
      count_ = list.size();
    }
  }

  void Run(const SeenElements& seen) const {
    const runtime::vm::Program& program = compiled_->program();
    runtime::vm::Session session(compiled_);
    for (size_t sample = 0; sample < count_; ++sample) {
      std::vector<Tensor> inputs = InputsOf(sample);
      for (size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i]) See(inputs[i], program.inputs[i].name, seen);
      std::vector<Tensor> outputs = WithContext("running sample " + std::to_string(sample),
                                                [&] { return session.Run(inputs); });
      for (size_t i = 0; i < outputs.size(); ++i) See(outputs[i], program.outputs[i].name, seen);
    }
  }

 private:
  static void See(const Tensor& tensor, const std::string& name, const SeenElements& seen) {
    if (tensor->dtype() != DataType::Float(32)) return;
    Tensor host = tensor.CopyTo({kTernDeviceCpu, 0});
    seen(name, static_cast<const float*>(host->data()), host->num_elements());
  }

  std::vector<Tensor> InputsOf(size_t sample) const {
    const runtime::vm::Program& program = compiled_->program();
    runtime::RunOptions run;
    run.seed = options_.seed + sample;
    for (const std::string& text : options_.dims) {
      auto [name, value] = SplitAssignment("--dim", text);
      const std::vector<std::string>& left = program.dims;
      if (std::find(left.begin(), left.end(), name) != left.end())
        run.dims[name] = ParseInteger("--dim", value);
    }
    std::vector<Tensor> inputs = MakeModelInputs(*compiled_, run);
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto given = samples_.find(program.inputs[i].name);
      TERN_CHECK(samples_.empty() || given != samples_.end() || compiled_->input_default(i))
          << "--calibrate: input " << program.inputs[i].name << " has no samples";
      if (given != samples_.end()) inputs[i] = given->second[sample].Read();
    }
    return inputs;
  }

  const QuantizeOptions& options_;
  Samples samples_;
  size_t count_;
  std::shared_ptr<const runtime::vm::Model> compiled_;
};

onnx::ValueRanges RangesOf(const Calibration& calibration) {
  onnx::ValueRanges ranges;
  calibration.Run([&](const std::string& name, const float* elements, int64_t count) {
    auto [it, added] = ranges.try_emplace(name);
    onnx::ValueRange& range = it->second;
    for (int64_t i = 0; i < count; ++i) {
      TERN_CHECK(std::isfinite(elements[i]))
          << "tensor " << name << " has the element " << elements[i]
          << " for the calibration data: it has no range";
      range.low = added && i == 0 ? elements[i] : std::min(range.low, elements[i]);
      range.high = added && i == 0 ? elements[i] : std::max(range.high, elements[i]);
    }
  });
  return ranges;
}

// Ranges without the smallest and the largest elements: `percentile` of them are inside, and as
// many are below as above. They end where one of so many parts of the whole range does.
constexpr size_t kParts = 4096;
void CutRanges(const Calibration& calibration, double percentile, onnx::ValueRanges* ranges) {
  std::map<std::string, std::vector<int64_t>> counts;
  calibration.Run([&](const std::string& name, const float* elements, int64_t count) {
    const onnx::ValueRange& range = ranges->at(name);
    std::vector<int64_t>& parts = counts[name];
    parts.resize(kParts);
    double scale = kParts / std::max(double{range.high} - double{range.low}, 1e-30);
    for (int64_t i = 0; i < count; ++i) {
      double part = (double{elements[i]} - double{range.low}) * scale;
      ++parts[std::min(static_cast<size_t>(part), kParts - 1)];
    }
  });
  for (const auto& [name, parts] : counts) {
    onnx::ValueRange& range = ranges->at(name);
    double all = static_cast<double>(std::accumulate(parts.begin(), parts.end(), int64_t{0}));
    auto most = static_cast<int64_t>(all * (1 - percentile / 100) / 2);
    size_t first = 0, last = kParts;
    for (int64_t left = most; first + 1 < last && (left -= parts[first]) >= 0;) ++first;
    for (int64_t left = most; last > first + 1 && (left -= parts[last - 1]) >= 0;) --last;
    double low = range.low, width = (double{range.high} - low) / kParts;
    range.low = static_cast<float>(low + width * static_cast<double>(first));
    range.high = static_cast<float>(low + width * static_cast<double>(last));
  }
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
  TERN_CHECK(is_qdq || options.percentile == 100) << "--percentile is for --mode qdq";
  TERN_CHECK(!is_qdq || options.calibrate.empty() != (options.random == 0))
      << "--mode qdq needs data: --calibrate NAME=file.npy for each input, or --random 8 for "
         "random ones, whose ranges may be far from real ones";
  onnx::Model model = onnx::ReadModel(options.input);
  onnx::ValueRanges ranges;
  if (is_qdq) {
    Calibration calibration(model, onnx::ActivationsOf(model, quantize), options);
    ranges = RangesOf(calibration);
    if (options.percentile < 100) CutRanges(calibration, options.percentile, &ranges);
  }
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
