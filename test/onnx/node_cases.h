// SPDX-License-Identifier: Apache-2.0
//
// ONNX's own tests of operators: folders with a model of a node or a few, inputs and outputs.
//
//   test_abs/model.onnx
//   test_abs/test_data_set_0/input_0.pb, output_0.pb
#ifndef TEST_ONNX_NODE_CASES_H_
#define TEST_ONNX_NODE_CASES_H_

#include <string>
#include <vector>

#include "tern/frontend/onnx/model.h"
#include "tern/graph/lower.h"
#include "tern/runtime/tensor.h"

namespace tern::test {

struct NodeCase {
  std::string name;  // "test_abs"
  std::string op;    // "Abs"; of a function's body: the function
  // Nobody can say what it gives: shapes and types of outputs are compared.
  bool is_random = false;
  double relative = 1e-3, absolute = 1e-7;  // tolerances, those of ONNX's own runner

  // ---- Filled as it goes on
  graph::LoweredModel lowered;
  std::vector<std::string> kernels;              // of `lowered`, as the batch calls them
  std::vector<runtime::Tensor> inputs, outputs;  // those that the model has, in its order
  bool bound = false;                            // inputs were made constants

  enum class Status { kPassed, kRefused, kWrong };
  Status status = Status::kRefused;
  std::string reason;  // why it did not pass
};

// The cases of a folder, by name. Throws where it has none.
std::vector<NodeCase> FindNodeCases(const std::string& folder);

// Reads the case, imports its model and lowers it. An input whose elements have to be known when
// compiling (shapes, axes) becomes a constant: integers first, then all that are not data.
// Throws where the model is refused.
// `bind`: some are constants from the start.
void PrepareNodeCase(const std::string& folder, const target::Target& target, bool bind,
                     NodeCase* one);

// Compares what a run gave with what it should. Integers have to be equal.
void CompareOutputs(const std::vector<runtime::Tensor>& actual, NodeCase* one);

}  // namespace tern::test

#endif  // TEST_ONNX_NODE_CASES_H_
