// SPDX-License-Identifier: Apache-2.0
//
// Changes to a model's file. What they do not name stays byte by byte as it is, but for external
// data, which are put into the file.
#ifndef TERN_FRONTEND_ONNX_EDIT_MODEL_H_
#define TERN_FRONTEND_ONNX_EDIT_MODEL_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tern/frontend/onnx/model.h"

namespace tern::frontend::onnx {

// Of the model's own graph, not of graphs inside of nodes.
struct ModelEdits {
  std::map<size_t, std::vector<std::string>> replaced;  // NodeProtos in place of a node
  std::map<size_t, std::vector<std::string>> before;    // ahead of a node
  std::map<size_t, std::vector<std::string>> inputs;    // names that a node reads now
  std::set<std::string, std::less<>> dropped;           // initializers
  std::vector<std::string> initializers;                // TensorProtos
  std::vector<std::string> outputs;                     // names of further outputs
  std::map<std::string, int64_t> opsets;                // of domains that are not imported
};

// The bytes of the file. Throws where they are too many for protobuf (2 GB).
std::string WithEdits(const Model& model, const ModelEdits& edits);

struct NodeText {
  std::string op, domain, name;
  std::vector<std::string> inputs, outputs;
  std::vector<std::pair<std::string, int64_t>> attributes;
};
std::string NodeMessage(const NodeText& node);
std::string TensorMessage(const std::string& name, ElemType type, const std::vector<int64_t>& dims,
                          std::string_view bytes);

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_EDIT_MODEL_H_
