// SPDX-License-Identifier: Apache-2.0
#ifndef TOOLS_TERN_READ_PROTO_H_
#define TOOLS_TERN_READ_PROTO_H_

#include <string>

#include "tern/frontend/onnx/model.h"
#include "tern/runtime/tensor.h"

namespace tern::tools {

// A tensor of ONNX as one of the runtime. Throws where its elements have no type of ours; `name` is
// for that message.
runtime::Tensor TensorOf(const frontend::onnx::Tensor& proto, const std::string& name);
// Of a file with one TensorProto.
runtime::Tensor ReadProto(const std::string& path);

}  // namespace tern::tools

#endif  // TOOLS_TERN_READ_PROTO_H_
