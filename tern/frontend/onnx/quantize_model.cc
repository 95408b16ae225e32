// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/quantize_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "tern/ffi/error.h"
#include "tern/ffi/text.h"

namespace tern::frontend::onnx {
namespace {

using Mode = QuantizeOptions::Mode;

bool IsProduct(const Node& node) {
  return node.domain.empty() && (node.op_type == "MatMul" || node.op_type == "Gemm");
}
bool IsConv(const Node& node) {
  return node.domain.empty() && (node.op_type == "Conv" || node.op_type == "ConvTranspose");
}
bool IsTaken(const Node& node) { return IsProduct(node) || IsConv(node); }

std::string NodeName(const Node& node) {
  if (!node.name.empty()) return std::string(node.name);
  return node.outputs.empty() ? "?" : std::string(node.outputs[0]);
}

int64_t IntAttribute(const Node& node, std::string_view name, int64_t otherwise) {
  const Attribute* attribute = node.Find(name);
  return attribute ? attribute->i : otherwise;
}
float FloatAttribute(const Node& node, std::string_view name, float otherwise) {
  const Attribute* attribute = node.Find(name);
  return attribute ? attribute->f : otherwise;
}

template <class T>
std::string BytesOf(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}

class Quantizer {
 public:
  Quantizer(const Model& model, const QuantizeOptions& options, const ValueRanges& ranges,
            QuantizeReport* report)
      : model_(model), options_(options), ranges_(ranges), report_(*report) {
    for (const Tensor& tensor : model.graph.initializers) initializers_[tensor.name] = &tensor;
    CollectNames(model.graph);
    for (const Node& node : model.graph.nodes) CountReads(node, true);
    for (const ValueInfo& output : model.graph.outputs) ++reads_[output.name];
  }

  std::vector<std::string> Activations() const {
    std::vector<std::string> names;
    std::set<std::string_view> seen;
    auto add = [&](std::string_view name) {
      if (!name.empty() && !initializers_.contains(name) && seen.insert(name).second)
        names.emplace_back(name);
    };
    for (const Node& node : model_.graph.nodes) {
      if (!IsTaken(node) || IsExcluded(node) || node.inputs.size() < 2) continue;
      for (size_t i = 0; i < 2; ++i) add(node.inputs[i]);
      add(AfterActivation(node.outputs.at(0)));
    }
    return names;
  }

  std::string Run() {
    CheckOptions();
    if (options_.mode == Mode::kQdq) QuantizeActivations();
    for (size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      const Node& node = model_.graph.nodes[i];
      if (!IsTaken(node) || IsExcluded(node) || node.inputs.size() < 2) continue;
      if (options_.mode == Mode::kQdq)
        QuantizeNode(i);
      else
        QuantizeWeights(i);
    }
    DropUnread();
    if (report_.quantized.empty())
      TERN_THROW(ValueError) << model_.path << " has nothing to quantize: no MatMul, Gemm, Conv or "
                             << "ConvTranspose with weights of float"
                             << (report_.skipped.empty() ? "" : "; " + ffi::Join(report_.skipped));
    return WithEdits(model_, edits_);
  }

 private:
  // ---- Names

  void CollectNames(const Graph& graph) {
    for (const Tensor& tensor : graph.initializers) names_.emplace(tensor.name);
    for (const ValueInfo& input : graph.inputs) names_.emplace(input.name);
    for (const Node& node : graph.nodes) {
      names_.insert(node.outputs.begin(), node.outputs.end());
      for (const Attribute& attribute : node.attributes)
        for (const Graph& inner : attribute.graphs) CollectNames(inner);
    }
  }
  std::string Fresh(const std::string& wish) {
    std::string name = wish;
    for (int i = 2; !names_.insert(name).second; ++i) name = wish + "_" + std::to_string(i);
    return name;
  }

  void CountReads(const Node& node, bool is_outer) {
    for (std::string_view input : node.inputs) {
      ++reads_[input];
      if (is_outer) readers_[input].push_back(&node);
    }
    for (const Attribute& attribute : node.attributes)
      for (const Graph& inner : attribute.graphs) {
        for (const Node& one : inner.nodes) CountReads(one, false);
        for (const ValueInfo& output : inner.outputs) ++reads_[output.name];
      }
  }

  // Relu and Clip behind an operator are computed with it: what they give is quantized.
  std::string_view AfterActivation(std::string_view name) const {
    auto it = readers_.find(name);
    if (it == readers_.end() || it->second.size() != 1 || reads_.at(name) != 1) return name;
    const Node& reader = *it->second[0];
    bool is_one = reader.domain.empty() && (reader.op_type == "Relu" || reader.op_type == "Clip");
    return is_one ? reader.outputs.at(0) : name;
  }

  bool IsExcluded(const Node& node) const {
    return options_.exclude.contains(std::string(NodeName(node)));
  }

  void CheckOptions() const {
    int64_t block = options_.block_size;
    TERN_CHECK(block >= 16 && block <= 4096 && (block & (block - 1)) == 0)
        << "blocks are of 16, 32, ... 4096 elements, not " << block;
    std::vector<std::string> names;
    for (const Node& node : model_.graph.nodes) names.push_back(NodeName(node));
    for (const std::string& name : options_.exclude)
      if (std::find(names.begin(), names.end(), name) == names.end())
        TERN_THROW(ValueError) << model_.path << " has no node " << name
                               << ffi::DidYouMean(name, names);
    if (options_.mode == Mode::kQdq) CheckOpset();
  }

  // DequantizeLinear is there since opset 10, with scales of channels since 13.
  void CheckOpset() const {
    int64_t opset = model_.OpsetVersion(""), needed = options_.per_channel ? 13 : 10;
    if (opset < needed)
      TERN_THROW(ValueError) << model_.path << ": opset " << opset << " has no DequantizeLinear"
                             << (options_.per_channel ? " of channels" : "") << "; opset " << needed
                             << " has"
                             << (options_.per_channel && opset >= 10 ? " (or give --per-tensor)"
                                                                     : "");
  }

  // ---- Weights

  // The elements of an initializer of float; nothing otherwise.
  std::optional<std::vector<float>> Elements(std::string_view name) const {
    auto it = initializers_.find(name);
    if (it == initializers_.end() || it->second->type != ElemType::kFloat) return {};
    TensorData data = it->second->Data();
    std::vector<float> elements(static_cast<size_t>(it->second->NumElements()));
    std::memcpy(elements.data(), data.bytes.data(), data.bytes.size());
    return elements;
  }

  void Skip(const Node& node, const std::string& why) {
    report_.skipped.push_back(NodeName(node) + " (" + std::string(node.op_type) + "): " + why);
  }

  void Count(const Node& node, size_t elements, size_t bytes) {
    ++report_.quantized[std::string(node.op_type)];
    report_.weight_bytes_before += static_cast<int64_t>(elements * sizeof(float));
    report_.weight_bytes_after += static_cast<int64_t>(bytes);
  }

  void CountError(double error, double largest) {
    if (largest > 0) report_.largest_error = std::max(report_.largest_error, error / largest);
  }

  std::string AddTensor(const std::string& wish, ElemType type, const std::vector<int64_t>& dims,
                        const std::string& bytes) {
    std::string name = Fresh(wish);
    edits_.initializers.push_back(TensorMessage(name, type, dims, bytes));
    return name;
  }

  void Drop(std::string_view name) { --reads_[name]; }

  void DropUnread() {
    for (const Tensor& tensor : model_.graph.initializers)
      if (auto it = reads_.find(tensor.name); it != reads_.end() && it->second == 0)
        edits_.dropped.emplace(tensor.name);
  }

  void QuantizeWeights(size_t i) {
    const Node& node = model_.graph.nodes[i];
    std::optional<std::vector<float>> weights = Elements(node.inputs[1]);
    if (!weights || weights->empty()) return Skip(node, "its weights are no constant of float");
    const std::vector<int64_t>& dims = initializers_.at(node.inputs[1])->dims;
    if (IsConv(node)) {
      CheckOpset();
      std::vector<std::string> inputs(node.inputs.begin(), node.inputs.end());
      auto axis = static_cast<size_t>(node.op_type == "ConvTranspose" ? 1 : 0);
      inputs[1] = DequantizedWeights(i, *weights, dims, axis, nullptr);
      edits_.inputs[i] = inputs;
      return Count(node, weights->size(), weights->size());
    }
    if (dims.size() != 2) return Skip(node, "its weights are no matrix");
    bool is_gemm = node.op_type == "Gemm";
    bool rows_are_outputs = is_gemm && IntAttribute(node, "transB", 0);
    if (is_gemm && (IntAttribute(node, "transA", 0) || FloatAttribute(node, "alpha", 1) != 1 ||
                    FloatAttribute(node, "beta", 1) != 1))
      return Skip(node, "it has transA, alpha or beta");
    BlockProduct(i, *weights, dims[rows_are_outputs ? 1 : 0], dims[rows_are_outputs ? 0 : 1],
                 rows_are_outputs);
  }

  // MatMulNBits: rows of codes in blocks along K, and a scale of each. The code of 0 is the middle
  // one; the element of the largest magnitude is the lowest, which is one further off.
  void BlockProduct(size_t i, const std::vector<float>& weights, int64_t k, int64_t n,
                    bool rows_are_outputs) {
    const Node& node = model_.graph.nodes[i];
    int bits = options_.mode == Mode::kInt4 ? 4 : 8;
    int middle = 1 << (bits - 1), top = 2 * middle - 1;
    int64_t block = options_.block_size, blocks = (k + block - 1) / block;
    int64_t row_bytes = block * bits / 8;
    std::string codes(static_cast<size_t>(n * blocks * row_bytes), '\0');
    std::vector<float> scales;
    for (int64_t row = 0; row < n; ++row)
      for (int64_t b = 0; b < blocks; ++b) {
        auto at = [&](int64_t j) {
          int64_t column = b * block + j;
          if (column >= k) return 0.0F;
          return weights[static_cast<size_t>(rows_are_outputs ? row * k + column
                                                              : column * n + row)];
        };
        float most = 0;
        for (int64_t j = 0; j < block; ++j)
          if (std::abs(at(j)) > std::abs(most)) most = at(j);
        float scale = most / static_cast<float>(-middle);
        scales.push_back(scale);
        for (int64_t j = 0; j < block; ++j) {
          float code = scale == 0 ? 0 : std::nearbyint(at(j) / scale);
          int value = std::clamp(static_cast<int>(code) + middle, 0, top);
          CountError(std::abs(at(j) - static_cast<float>(value - middle) * scale), std::abs(most));
          auto place = static_cast<size_t>((row * blocks + b) * row_bytes + j * bits / 8);
          codes[place] =
              static_cast<char>(codes[place] | value << (bits == 4 && j % 2 == 1 ? 4 : 0));
        }
      }
    std::string wish(node.inputs[1]);
    NodeText product{"MatMulNBits", "com.microsoft", std::string(node.name), {}, {}, {}};
    product.inputs = {std::string(node.inputs[0]),
                      AddTensor(wish + "_codes", ElemType::kUInt8, {n, blocks, row_bytes}, codes),
                      AddTensor(wish + "_scales", ElemType::kFloat, {n * blocks}, BytesOf(scales))};
    product.attributes = {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", block}};
    bool has_bias = node.inputs.size() > 2 && !node.inputs[2].empty();
    std::string result(node.outputs.at(0));
    product.outputs = {has_bias ? Fresh(result + "_product") : result};
    std::vector<std::string>& nodes = edits_.replaced[i];
    nodes = {NodeMessage(product)};
    if (has_bias)
      nodes.push_back(NodeMessage({"Add",
                                   "",
                                   Fresh(NodeName(node) + "_bias"),
                                   {product.outputs[0], std::string(node.inputs[2])},
                                   {result},
                                   {}}));
    edits_.opsets["com.microsoft"] = 1;
    Drop(node.inputs[1]);
    Count(node, weights.size(), codes.size() + scales.size() * sizeof(float));
  }

  // The name of the weights as int8 behind a DequantizeLinear; their scales are put into `scales`.
  std::string DequantizedWeights(size_t i, const std::vector<float>& weights,
                                 const std::vector<int64_t>& dims, size_t axis,
                                 std::vector<float>* scales_out) {
    const Node& node = model_.graph.nodes[i];
    std::string name(node.inputs[1]);
    bool by_channel = options_.per_channel && dims.size() > axis;
    auto channels = static_cast<size_t>(by_channel ? dims[axis] : 1);
    size_t inner = 1;
    for (size_t d = axis + 1; d < dims.size(); ++d) inner *= static_cast<size_t>(dims[d]);
    auto channel_of = [&](size_t e) { return by_channel ? e / inner % channels : 0; };
    std::vector<float> most(channels, 0);
    for (size_t e = 0; e < weights.size(); ++e)
      most[channel_of(e)] = std::max(most[channel_of(e)], std::abs(weights[e]));
    std::vector<float> scales;
    for (float one : most) scales.push_back(one > 0 ? one / 127 : 1);
    std::vector<int8_t> codes;
    for (size_t e = 0; e < weights.size(); ++e) {
      float scale = scales[channel_of(e)];
      codes.push_back(
          static_cast<int8_t>(std::clamp(std::nearbyint(weights[e] / scale), -127.F, 127.F)));
      CountError(std::abs(weights[e] - static_cast<float>(codes.back()) * scale),
                 most[channel_of(e)]);
    }
    if (scales_out) *scales_out = scales;
    Drop(node.inputs[1]);
    std::vector<int64_t> of_channels;
    if (by_channel) of_channels = {static_cast<int64_t>(channels)};
    return AddDequantize(
        i, name, AddTensor(name + "_codes", ElemType::kInt8, dims, BytesOf(codes)),
        AddTensor(name + "_scale", ElemType::kFloat, of_channels, BytesOf(scales)),
        AddTensor(name + "_zero", ElemType::kInt8, of_channels, std::string(channels, '\0')),
        by_channel ? std::optional<int64_t>(axis) : std::nullopt);
  }

  std::string AddDequantize(size_t before, const std::string& of, const std::string& x,
                            const std::string& scale, const std::string& zero,
                            std::optional<int64_t> axis) {
    NodeText node{"DequantizeLinear", "", Fresh(of + "_dequantize"), {x, scale, zero}, {}, {}};
    node.outputs = {Fresh(of + "_dequantized")};
    if (axis) node.attributes = {{"axis", *axis}};
    edits_.before[before].push_back(NodeMessage(node));
    return node.outputs[0];
  }

  // ---- Activations

  struct Quantized {
    std::string dequantized;
    float scale = 1;
  };

  // All that reads the tensor in the graph reads it behind QuantizeLinear and DequantizeLinear.
  void QuantizeActivations() {
    for (const std::string& name : Activations()) {
      auto range = ranges_.find(name);
      auto readers = readers_.find(name);
      if (range == ranges_.end() || readers == readers_.end()) continue;
      float low = std::min(range->second.low, 0.0F), high = std::max(range->second.high, 0.0F);
      float scale = high > low ? (high - low) / 255 : 1;
      auto zero = static_cast<char>(static_cast<uint8_t>(std::nearbyint(-low / scale)));
      size_t first = 0;
      while (!Reads(model_.graph.nodes[first], name)) ++first;
      std::string scale_name = AddTensor(name + "_scale", ElemType::kFloat, {},
                                         BytesOf(std::vector<float>{scale})),
                  zero_name = AddTensor(name + "_zero", ElemType::kUInt8, {}, std::string(1, zero));
      NodeText quantize{"QuantizeLinear",
                        "",
                        Fresh(name + "_quantize"),
                        {name, scale_name, zero_name},
                        {Fresh(name + "_quantized")},
                        {}};
      edits_.before[first].push_back(NodeMessage(quantize));
      activations_[name] = {
          AddDequantize(first, name, quantize.outputs[0], scale_name, zero_name, {}), scale};
    }
    for (size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      std::vector<std::string> inputs;
      bool changed = false;
      for (std::string_view input : model_.graph.nodes[i].inputs) {
        auto it = activations_.find(input);
        changed = changed || it != activations_.end();
        inputs.push_back(it == activations_.end() ? std::string(input) : it->second.dequantized);
      }
      if (changed) edits_.inputs[i] = inputs;
    }
  }

  static bool Reads(const Node& node, std::string_view name) {
    return std::find(node.inputs.begin(), node.inputs.end(), name) != node.inputs.end();
  }

  void QuantizeNode(size_t i) {
    const Node& node = model_.graph.nodes[i];
    auto x = activations_.find(node.inputs[0]);
    if (x == activations_.end()) return Skip(node, "the range of its input is not known");
    std::optional<std::vector<float>> weights = Elements(node.inputs[1]);
    if (!weights || weights->empty()) {
      if (activations_.contains(node.inputs[1])) return Count(node, 0, 0);
      return Skip(node, "its weights are no constant of float");
    }
    const std::vector<int64_t>& dims = initializers_.at(node.inputs[1])->dims;
    size_t axis = dims.empty() ? 0 : dims.size() - 1;
    if (IsConv(node)) axis = node.op_type == "ConvTranspose" ? 1 : 0;
    if (node.op_type == "Gemm" && IntAttribute(node, "transB", 0)) axis = 0;
    std::vector<float> scales;
    std::vector<std::string> inputs = edits_.inputs.at(i);
    inputs[1] = DequantizedWeights(i, *weights, dims, axis, &scales);
    if (inputs.size() > 2) inputs[2] = DequantizedBias(i, x->second.scale, scales);
    edits_.inputs[i] = inputs;
    Count(node, weights->size(), weights->size());
  }

  // As int32, with the scale of the product, where it is a constant vector.
  std::string DequantizedBias(size_t i, float x_scale, const std::vector<float>& scales) {
    const Node& node = model_.graph.nodes[i];
    std::string name(node.inputs[2]);
    std::optional<std::vector<float>> bias = Elements(node.inputs[2]);
    bool fits = bias && initializers_.at(node.inputs[2])->dims.size() == 1 && !bias->empty() &&
                (scales.size() == 1 || scales.size() == bias->size()) &&
                FloatAttribute(node, "alpha", 1) == 1 && FloatAttribute(node, "beta", 1) == 1;
    if (!fits) return name;
    std::vector<float> of_bias;
    std::vector<int32_t> codes;
    for (size_t c = 0; c < bias->size(); ++c) {
      float scale = x_scale * scales[scales.size() == 1 ? 0 : c];
      if (c < scales.size()) of_bias.push_back(scale);
      double code = std::nearbyint((*bias)[c] / static_cast<double>(scale));
      if (std::abs(code) > INT32_MAX) return name;
      codes.push_back(static_cast<int32_t>(code));
    }
    bool by_channel = scales.size() > 1;
    auto count = static_cast<int64_t>(codes.size());
    std::vector<int64_t> of_channels;
    if (by_channel) of_channels = {count};
    std::vector<int32_t> zeros(of_bias.size(), 0);
    Drop(node.inputs[2]);
    return AddDequantize(
        i, name, AddTensor(name + "_codes", ElemType::kInt32, {count}, BytesOf(codes)),
        AddTensor(name + "_scale", ElemType::kFloat, of_channels, BytesOf(of_bias)),
        AddTensor(name + "_zero", ElemType::kInt32, of_channels, BytesOf(zeros)),
        by_channel ? std::optional<int64_t>(0) : std::nullopt);
  }

  const Model& model_;
  const QuantizeOptions& options_;
  const ValueRanges& ranges_;
  QuantizeReport& report_;
  ModelEdits edits_;
  std::map<std::string_view, const Tensor*> initializers_;
  std::set<std::string, std::less<>> names_;
  std::map<std::string_view, int64_t> reads_;                     // by anything
  std::map<std::string_view, std::vector<const Node*>> readers_;  // nodes of the graph
  std::map<std::string, Quantized, std::less<>> activations_;
};

}  // namespace

std::vector<std::string> ActivationsOf(const Model& model, const QuantizeOptions& options) {
  QuantizeReport report;
  ValueRanges none;
  return Quantizer(model, options, none, &report).Activations();
}

std::string QuantizedModel(const Model& model, const QuantizeOptions& options,
                           const ValueRanges& ranges, QuantizeReport* report) {
  return Quantizer(model, options, ranges, report).Run();
}

}  // namespace tern::frontend::onnx
