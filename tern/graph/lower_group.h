// SPDX-License-Identifier: Apache-2.0
//
// A group of nodes as one loop function.
#ifndef TERN_GRAPH_LOWER_GROUP_H_
#define TERN_GRAPH_LOWER_GROUP_H_

#include <vector>

#include "tern/graph/lower.h"

namespace tern::graph {

// A group as a function, and what a call of it passes.
struct GroupFunction {
  tir::PrimFunc function;
  std::vector<Value> inputs, outputs;      // tensors, in the order of the parameters
  std::vector<Var> scalars;                // behind them
  std::vector<std::vector<Expr>> shapes;   // of inputs and outputs, as the function has them
  std::vector<ir::BaseFunc> kernels = {};  // tir::ExternKernel, which it launches
};

// Equal groups give equal functions. Dimensions that all tensors index together are collapsed.
GroupFunction LowerGroup(const std::vector<Node>& nodes, const LowerOptions& options);

}  // namespace tern::graph

#endif  // TERN_GRAPH_LOWER_GROUP_H_
