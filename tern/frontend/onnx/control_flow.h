// SPDX-License-Identifier: Apache-2.0
//
// If, Loop and Scan: nodes with graphs inside.
#ifndef TERN_FRONTEND_ONNX_CONTROL_FLOW_H_
#define TERN_FRONTEND_ONNX_CONTROL_FLOW_H_

#include <functional>
#include <vector>

#include "tern/frontend/onnx/converters.h"
#include "tern/graph/control.h"

namespace tern::frontend::onnx {

// The outputs of a graph inside of the node, for these inputs: as a region, or in place of the node
// where that is null.
using ImportInner = std::function<std::vector<graph::Value>(
    const Graph& graph, graph::RegionBuilder* region, const std::vector<graph::Value>& inputs)>;

// The outputs of the node. An If whose condition is known is the branch that it chooses. Where one
// branch cannot run with these shapes and the other one can, an If is that one, and an error when
// the model runs and the condition wants the other.
std::vector<graph::Value> ImportControlFlow(NodeContext& n, const ImportInner& import);

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_CONTROL_FLOW_H_
