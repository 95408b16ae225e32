// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_GRAPH_COLLAPSE_DIMS_H_
#define TERN_GRAPH_COLLAPSE_DIMS_H_

#include "tern/tir/function.h"

namespace tern::graph {

// Neighbouring dimensions that every block indexes together become one, and those of extent 1 go:
// tensors are compact, so that whoever calls the function passes the same memory under another
// shape. A 1 x 1 convolution becomes the matmul that it is, and a chain of elementwise blocks one
// loop. For functions as the builder makes them; others stay as they are.
//
// Before:
//   func f(X: float32[1, 64, 56, 56], W: float32[256, 64, 1, 1], Y: float32[1, 256, 56, 56])
//     ... Y[n, o, h, w] = Y[n, o, h, w] + X[n, c, h, w] * W[o, c, 0, 0]
// After:
//   func f(X: float32[64, 3136], W: float32[256, 64], Y: float32[256, 3136])
//     ... Y[o, h] = Y[o, h] + X[c, h] * W[o, c]
struct Collapsed {
  tir::PrimFunc function;
  // Of the parameters, in terms of the old function's variables; none for scalars.
  std::vector<std::vector<ir::Expr>> shapes;
};
Collapsed CollapseDims(const tir::PrimFunc& function);

}  // namespace tern::graph

#endif  // TERN_GRAPH_COLLAPSE_DIMS_H_
