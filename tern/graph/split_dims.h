// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_GRAPH_SPLIT_DIMS_H_
#define TERN_GRAPH_SPLIT_DIMS_H_

#include "tern/tir/function.h"

namespace tern::graph {

// Where a reduction reads at the quotient of an axis, as grouped convolutions do at the group of an
// output channel, the axis becomes two, and so do the dimensions that it indexes: the group is an
// axis of its own, which rules for convolutions and batches of matmuls look for. Tensors keep their
// memory; CollapseDims tells callers the shapes. For functions as the builder makes them; others,
// and those where some access does not allow it, stay as they are.
//
// Before:
//   func f(X: float32[96, 28, 28], W: float32[256, 48, 3, 3], Y: float32[256, 26, 26])
//     ... Y[o, h, w] = Y[o, h, w] + X[o // 128 * 48 + c, h + kh, w + kw] * W[o, c, kh, kw]
// After:
//   func f(X: float32[2, 48, 28, 28], W: float32[2, 128, 48, 3, 3], Y: float32[2, 128, 26, 26])
//     ... Y[g, o, h, w] = Y[g, o, h, w] + X[g, c, h + kh, w + kw] * W[g, o, c, kh, kw]
tir::PrimFunc SplitDims(const tir::PrimFunc& function);

}  // namespace tern::graph

#endif  // TERN_GRAPH_SPLIT_DIMS_H_
