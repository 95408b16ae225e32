// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/import.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/ffi/error.h"
#include "tern/frontend/onnx/converters.h"

namespace tern::frontend::onnx {
namespace {

// One node, whose inputs are some of x: float[2, 3, 4, 5], or not given.
Model ModelOf(std::string_view op_type, int64_t opset, std::vector<std::string_view> inputs,
              std::string_view domain = "") {
  Model model;
  model.path = "node.onnx";
  model.ir_version = 8;
  model.opsets.push_back({"", opset});
  ValueInfo x{"x", {Type::Kind::kTensor, ElemType::kFloat, std::vector<Dim>()}};
  for (int64_t extent : {2, 3, 4, 5}) x.type.shape->push_back({extent});
  model.graph.inputs.push_back(std::move(x));
  model.graph.outputs.push_back({"y", {Type::Kind::kTensor, ElemType::kFloat, std::nullopt}});
  model.graph.nodes.push_back({"node", op_type, domain, "", std::move(inputs), {"y"}, {}});
  return model;
}

// Whatever a file leaves out, the node gets an error of its own, which names it.
TEST(OnnxImport, InputsThatAreMissing) {
  Initialize();
  int made = 0, refused = 0;
  auto import = [&](std::string_view domain, std::string_view op_type) {
    for (int64_t opset : {7, 9, 10, 12, 13, 18, 23})
      for (const std::vector<std::string_view>& inputs :
           {std::vector<std::string_view>{}, {""}, {"x"}, {"", "x"}, {"x", ""}, {"", "", "x"}}) {
        try {
          Import(ModelOf(op_type, opset, inputs, domain));
          ++made;
        } catch (const Error& error) {
          ++refused;
          EXPECT_NE(error.kind(), "InternalError") << op_type << ": " << error.what();
        }
      }
  };
  for (std::string_view domain : SupportedDomains())
    for (std::string_view op_type : SupportedOperators(domain)) import(domain, op_type);
  EXPECT_GT(made, 500);
  EXPECT_GT(refused, 1000);
}

TEST(OnnxImport, SaysWhichInputIsMissing) {
  Initialize();
  try {
    Import(ModelOf("LogSoftmax", 13, {}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("input 0 is missing"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace tern::frontend::onnx
