// SPDX-License-Identifier: Apache-2.0
//
// Operators that are no formula, but a loop function given as text (Op::program).
#ifndef TERN_GRAPH_PROGRAM_OP_H_
#define TERN_GRAPH_PROGRAM_OP_H_

#include <vector>

#include "tern/graph/op.h"

namespace tern::graph {

struct ProgramFunction {
  tir::PrimFunc function;                  // its extents are its own
  std::vector<TensorType> results;         // over the extents of the graph
  std::vector<ir::BaseFunc> kernels = {};  // tir::ExternKernel, which it launches
};

// The function of a node, of which the inputs and attributes are looked at. All inputs are given.
ProgramFunction MakeProgram(const Node& node);

// The results as tensors of their types.
std::vector<tir::Tensor> ProgramResults(const ProgramFunction& program);

}  // namespace tern::graph

#endif  // TERN_GRAPH_PROGRAM_OP_H_
