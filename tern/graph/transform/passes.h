// SPDX-License-Identifier: Apache-2.0
//
// Passes over graphs. Each is one function from graph to graph, and a pass of its name for
// `tern opt`.
#ifndef TERN_GRAPH_TRANSFORM_PASSES_H_
#define TERN_GRAPH_TRANSFORM_PASSES_H_

#include <map>
#include <string>
#include <vector>

#include "tern/graph/function.h"

namespace tern::graph {

// What is known becomes a constant, what does nothing goes, and so does what nobody reads; what is
// computed twice is computed once.
// Before:
//   s: int64[4] = shape(x)               # x: float32[1, 3, 8, 8]
//   y: float32[1, 192] = reshape(x, t)
//   z: float32[1, 192] = identity(y)
// After:
//   z: float32[1, 192] = reshape(x, t)
Function SimplifyGraph(const Function& function);

// A batch normalization by recorded statistics is a factor and a summand for each channel, and
// behind a convolution a part of its weights and bias.
// Before:
//   c: float32[1, 8, 4, 4] = conv(x, W)
//   y: float32[1, 8, 4, 4] = batch_normalization(c, scale, bias, mean, variance)
// After:
//   y: float32[1, 8, 4, 4] = conv(x, W_folded, bias_folded)    # both computed from constants
Function FoldBatchNorm(const Function& function);

// Convolutions and matmuls of quantized tensors by constant weights, sums of two and means, up to
// where the result is quantized again, are computed on integers. Inputs and results of convolutions
// have channels last, and so has what is computed of these by elements. Weights are integers from
// -128 on: int8 with zero point 0, or uint8 with 128.
// Before:
//   a: float32[1, 8, 4, 4] = dequantize_linear(x, x_scale, x_zero)
//   w: float32[8, 8, 1, 1] = dequantize_linear(W, W_scale)
//   c: float32[1, 8, 4, 4] = conv(a, w)
//   y: uint8[1, 8, 4, 4] = quantize_linear(c, y_scale, y_zero)
// After:
//   x_last: uint8[1, 4, 4, 8] = transpose(x) {perm = [0, 2, 3, 1]}
//   y_last: uint8[1, 4, 4, 8] = quantized_conv(x_last, W_last, scale, offset, _, y_zero, x_zero)
//   y: uint8[1, 8, 4, 4] = transpose(y_last) {perm = [0, 3, 1, 2]}
Function IntegerArithmetic(const Function& function);

// Elementwise nodes that read a reshape of what a kernel computes, which none but such read, come
// before it, where their other operands have such a form: they can be the kernel's epilogue then.
// Reshapes cost nothing.
// Before:
//   g: float32[6, 8] = gemm(x, W, b)
//   r: float32[2, 3, 8] = reshape(g, [2, 3, 8])
//   y: float32[2, 3, 8] = add(r, z)
// After:
//   z_rows: float32[6, 8] = reshape(z, [6, 8])
//   s: float32[6, 8] = add(g, z_rows)
//   y: float32[2, 3, 8] = reshape(s, [2, 3, 8])
Function MoveReshapes(const Function& function);

// A transposition of a transposition is one, or none. A transposition of a concat comes before it
// where it undoes one there, and moves nothing but axes of extent 1 elsewhere: keys of a cache that
// are transposed for a matmul and back for the next call.
// Before:
//   t: float32[2, 8, n] = transpose(past) {perm = [0, 2, 1]}
//   c: float32[2, 8, n + 1] = concat(t, k) {axis = 2}                     # k: float32[2, 8, 1]
//   y: float32[2, n + 1, 8] = transpose(c) {perm = [0, 2, 1]}
// After:
//   k_row: float32[2, 1, 8] = transpose(k) {perm = [0, 2, 1]}
//   y: float32[2, n + 1, 8] = concat(past, k_row) {axis = 1}
Function CancelTransposes(const Function& function);

// Ranges (dim_ranges.h) of dynamic extents beyond which a node cannot be computed, so that what
// comes later knows them. The program would refuse other extents either way.
// Before:
//   graph main(x: float32[1, n + 1]) {
//     m: bool[1, min(n + 1, 8)] = slice(mask, ...)                        # mask: bool[1, 8]
//     y: float32[1, n + 1] = where(m, x, z)
// After:
//   graph main(x: float32[1, n + 1]) attrs {dim_ranges = [["n", 0, 7]], dim_reasons = ["..."]} {
Function InferDimRanges(const Function& function);

// Nodes that read constants alone are computed now, by compiled code: one module for all of them,
// for the baseline of the build machine's architecture, without reassociation or contraction, so
// that the bits are the same everywhere.
Function FoldConstantNodes(const Function& function);

// A float32 model in fewer bits, with inputs and outputs as they were.
enum class Precision {
  kFp16,   // float16 wherever its range and digits do: convolutions, matmuls, and what is linear
  kBf16,   // the same in bfloat16
  kMixed,  // float16 operands of convolutions and matmuls; all else, and their results, in float32
};
Precision ParsePrecision(const std::string& text);  // "fp16", "bf16", "mixed"

// Sums stay float32, and so do exponentials, powers, reductions and what is computed from their
// results, up to where it meets a narrow tensor of the whole shape; quantization; and operators
// beside constants that have no narrow value. Weights are casts of constants, to be folded.
// Before:
//   y: float32[8, 8] = matmul(x, W)
// After, for kFp16:
//   x_float16: float16[8, 4] = cast(x) {to = "float16"}
//   W_float16: float16[4, 8] = cast(W) {to = "float16"}
//   y_float16: float16[8, 8] = matmul(x_float16, W_float16)
//   y: float32[8, 8] = cast(y_float16) {to = "float32"}
Function LowerPrecision(const Function& function, Precision precision);

// The graph with known extents in place of dynamic ones of its parameters, by name. Types and known
// contents are inferred again. Throws where an extent is outside of its range.
// Before:
//   graph main(x: float32[n, 8], z: float32[n, m]) { y: float32[n * 8] = reshape(x, t) ... }
// After, for n = 3:
//   graph main(x: float32[3, 8], z: float32[3, m]) { y: float32[24] = reshape(x, t) ... }
Function FixDims(const Function& function, const std::map<std::string, int64_t>& dims);

// The nodes without which a result of the graph is computed too are gone.
Function RemoveDeadNodes(const Function& function);

// The order in which a compiler runs them.
struct GraphPassOptions {
  bool integer_arithmetic = false;
  std::string precision;             // of LowerPrecision, or ""
  std::vector<std::string> offload;  // libraries that claim nodes (offload.h), the first one first
};
std::vector<std::string> GraphPasses(const GraphPassOptions& options);
void RegisterGraphPasses();

}  // namespace tern::graph

#endif  // TERN_GRAPH_TRANSFORM_PASSES_H_
