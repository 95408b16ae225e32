// SPDX-License-Identifier: Apache-2.0
//
// Reads ONNX files: protobuf's wire format into the structs of model.h.
//
// Files are not trusted. Every length is checked, messages lie at most 100 deep in each other as in
// protobuf, and the heap taken is at most 64 MB and 16 times the file; beyond that is an error.
// Errors are ValueErrors that begin with the file, and say at which byte, in which message (and
// node or tensor, where it has a name) and field.
#ifndef TERN_FRONTEND_ONNX_READER_H_
#define TERN_FRONTEND_ONNX_READER_H_

#include <optional>

#include "tern/frontend/onnx/model.h"

namespace tern::frontend::onnx {

// The model, and the files with its external data, which must lie in the model's folder: they are
// mapped, and must not be cut short while anything refers to them.
Model ReadModel(const std::string& path);
// A model in memory, which outlives it; `name` is for messages. It has no folder, so that external
// data are an error.
Model ParseModel(std::string_view bytes, const std::string& name = "model");

// A file with one TensorProto, as those of recorded inputs and outputs are (input_0.pb).
Tensor ReadTensor(const std::string& path);
Tensor ParseTensor(std::string_view bytes, const std::string& name = "tensor");
// The same of a value of this type: the tensors of a sequence (SequenceProto), or that of an
// optional (OptionalProto); nothing for an optional without an element.
std::optional<std::vector<Tensor>> ReadTensors(const std::string& path, const Type& type);

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_READER_H_
