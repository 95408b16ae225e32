// SPDX-License-Identifier: Apache-2.0
//
// A model with weights, or weights and activations, of 8 or 4 bits. What comes out is an ONNX file
// that other runtimes read too.
#ifndef TERN_FRONTEND_ONNX_QUANTIZE_MODEL_H_
#define TERN_FRONTEND_ONNX_QUANTIZE_MODEL_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tern/frontend/onnx/edit_model.h"

namespace tern::frontend::onnx {

struct QuantizeOptions {
  // Weights of products in blocks (MatMulNBits of com.microsoft) of 8 or 4 bits, those of
  // convolutions by channels, of 8 bits; or QuantizeLinear and DequantizeLinear around the inputs
  // and outputs of products and convolutions.
  enum class Mode { kInt8, kInt4, kQdq };
  Mode mode = Mode::kInt8;
  int64_t block_size = 32;        // along K; a power of two, at least 16
  bool per_channel = true;        // of convolutions, and of QDQ: a scale for each channel
  std::set<std::string> exclude;  // names of nodes that stay as they are
};

// Least and largest element that a tensor had.
struct ValueRange {
  float low = 0, high = 0;
};
using ValueRanges = std::map<std::string, ValueRange>;

struct QuantizeReport {
  std::map<std::string, int64_t> quantized;  // by operator: nodes
  std::vector<std::string> skipped;          // nodes, and why
  int64_t weight_bytes_before = 0, weight_bytes_after = 0;
  double largest_error = 0;  // of a weight, as a part of the largest of its tensor
};

// The tensors whose ranges QDQ needs, in the order of the file.
std::vector<std::string> ActivationsOf(const Model& model, const QuantizeOptions& options);

// The bytes of the new file. `ranges` is for QDQ: a tensor without one stays a float. Throws where
// there is nothing to quantize, or the model's opset lacks what is needed.
std::string QuantizedModel(const Model& model, const QuantizeOptions& options,
                           const ValueRanges& ranges, QuantizeReport* report);

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_QUANTIZE_MODEL_H_
