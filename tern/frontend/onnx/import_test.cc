// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/import.h"

#include <gtest/gtest.h>

#include "tern/compile.h"
#include "tern/ffi/error.h"
#include "tern/frontend/onnx/converters.h"
#include "tern/tir/text.h"

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

// The text of the graph that a call of a function becomes.
std::string TextOfCall(Function function) {
  Model model = ModelOf("F", 17, {"x"}, "local");
  model.functions.push_back(std::move(function));
  return tir::PrintModule(Import(model));
}

TEST(OnnxImport, FunctionsHaveOpsetsOfTheirOwn) {
  Initialize();
  Function function{.name = "F", .domain = "local", .inputs = {"a"}, .outputs = {"b"}};
  function.nodes.push_back({"inner", "Softmax", "", "", {"a"}, {"b"}, {}});
  function.opsets.push_back({"", 12});
  // Before opset 13 all axes from 1 on are one.
  EXPECT_NE(TextOfCall(function).find("flatten"), std::string::npos);
  function.opsets[0].version = 17;
  EXPECT_EQ(TextOfCall(function).find("flatten"), std::string::npos);
}

TEST(OnnxImport, AFunctionThatCallsItself) {
  Initialize();
  Function function{.name = "F", .domain = "local", .inputs = {"a"}, .outputs = {"b"}};
  function.nodes.push_back({"inner", "F", "local", "", {"a"}, {"b"}, {}});
  try {
    TextOfCall(function);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("function F calls itself"), std::string::npos)
        << error.what();
  }
}

// What of sequences has to be known, and is not.
TEST(OnnxImport, LengthsOfSequences) {
  Initialize();
  Model model = ModelOf("ConcatFromSequence", 17, {"s"});
  model.graph.nodes[0].attributes.push_back(
      {.name = "axis", .kind = Attribute::Kind::kInt, .i = 0});
  ValueInfo sequence{"s", {Type::Kind::kSequence, ElemType::kUndefined, std::nullopt}};
  sequence.type.element = std::make_shared<Type>(
      Type{Type::Kind::kTensor, ElemType::kFloat, std::vector<Dim>{{3}, {4}}});
  model.graph.inputs.push_back(sequence);
  auto message = [&](const ImportOptions& options) -> std::string {
    try {
      return tir::PrintModule(Import(model, options));
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_NE(message({}).find("as with --dim s=3"), std::string::npos) << message({});
  ImportOptions two;
  two.dims["s"] = 2;
  EXPECT_NE(message(two).find("= concat("), std::string::npos) << message(two);
  ImportOptions none;
  none.dims["s"] = 0;
  EXPECT_NE(message(none).find("the sequence is empty"), std::string::npos) << message(none);
  model.graph.nodes[0].op_type = "Relu";
  model.graph.nodes[0].attributes.clear();
  EXPECT_NE(message(two).find("input 0 is a sequence of 2; a tensor is expected"),
            std::string::npos)
      << message(two);
}

}  // namespace
}  // namespace tern::frontend::onnx
