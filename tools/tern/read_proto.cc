// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/read_proto.h"

#include <algorithm>

#include "tern/ffi/error.h"
#include "tern/frontend/onnx/reader.h"

namespace tern::tools {

runtime::Tensor TensorOf(const frontend::onnx::Tensor& proto, const std::string& name) {
  if (std::optional<DataType> decoded = frontend::onnx::DecodedTypeOf(proto.type)) {
    runtime::Tensor tensor = runtime::Tensor::Empty(proto.dims, *decoded);
    std::string bytes = proto.Decoded();
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(tensor->data()));
    return tensor;
  }
  std::optional<DataType> dtype = frontend::onnx::DataTypeOf(proto.type);
  TERN_CHECK(dtype) << name << ": elements of type " << NameOf(proto.type) << " are not supported";
  runtime::Tensor tensor = runtime::Tensor::Empty(proto.dims, *dtype);
  frontend::onnx::TensorData data = proto.Data();
  std::copy(data.bytes.begin(), data.bytes.end(), static_cast<char*>(tensor->data()));
  return tensor;
}

runtime::Tensor ReadProto(const std::string& path) {
  return TensorOf(frontend::onnx::ReadTensor(path), path);
}

}  // namespace tern::tools
