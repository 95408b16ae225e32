// SPDX-License-Identifier: Apache-2.0
//
// If, Loop and Scan: nodes with graphs inside.
#ifndef TERN_FRONTEND_ONNX_CONTROL_FLOW_H_
#define TERN_FRONTEND_ONNX_CONTROL_FLOW_H_

#include "tern/frontend/onnx/converters.h"

namespace tern::frontend::onnx {

// The outputs of the node. An If whose condition is known is the branch that it chooses. Where one
// branch cannot run with these shapes and the other one can, an If is that one, and an error when
// the model runs and the condition wants the other.
// A Loop that carries sequences of changing length is straight code, as its trips are known.
Items ImportControlFlow(NodeContext& n);

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_CONTROL_FLOW_H_
