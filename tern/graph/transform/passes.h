// SPDX-License-Identifier: Apache-2.0
//
// Passes over graphs. Each is one function from graph to graph, and a pass of its name for
// `tern opt`.
#ifndef TERN_GRAPH_TRANSFORM_PASSES_H_
#define TERN_GRAPH_TRANSFORM_PASSES_H_

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

// Nodes that read constants alone are computed now, by compiled code: one module for all of them,
// for the baseline of the build machine's architecture, without reassociation or contraction, so
// that the bits are the same everywhere.
Function FoldConstantNodes(const Function& function);

// The nodes without which a result of the graph is computed too are gone.
Function RemoveDeadNodes(const Function& function);

// The order in which a compiler runs them.
std::vector<std::string> GraphPasses();
void RegisterGraphPasses();

}  // namespace tern::graph

#endif  // TERN_GRAPH_TRANSFORM_PASSES_H_
