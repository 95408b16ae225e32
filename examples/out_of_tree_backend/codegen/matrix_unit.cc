// SPDX-License-Identifier: Apache-2.0
//
// Matmuls of models by the matrix unit of emu (`--offload emu_matrix`): an operator that launches a
// kernel given as a program of the unit's own format, and a claim that puts it into graphs. Files
// keep the program beside the others of the device.
#include "codegen/codegen_emu.h"
#include "tern/graph/offload.h"
#include "tern/graph/op.h"

namespace emu {
namespace {

using tern::DataType;
using tern::graph::Builder;
using tern::graph::Node;
using tern::graph::Value;

constexpr const char* kMatmul =
    R"(kernel emu_matrix(a: float32[m, k], b: float32[k, n], y: float32[m, n], m: int64, n: int64, k: int64)
    launch(blockIdx.x) writes(y) from "emu" format "emu_matrix" {
  """emu_matrix 1
tile 8
"""
}

func emu_matmul(a: float32[m, k], b: float32[k, n], y: float32[m, n]) {
  launch_kernel("emu_matrix", a, b, y, m, n, k, 1)
})";

bool IsMatrix(const Value& value) {
  return value->type.dtype == DataType::Float(32) && value->type.rank() == 2;
}

std::vector<Value> Claim(Builder& builder, const Node& node, const std::vector<Value>& inputs) {
  if (node->op->name != "matmul" || !node->attrs.empty()) return {};
  if (!IsMatrix(inputs[0]) || !IsMatrix(inputs[1])) return {};
  return builder.Add(tern::graph::GetOp("emu_matmul"), inputs, {},
                     {node->label, {node->outputs[0]->name}, node->span, {}, {}});
}

}  // namespace

void RegisterMatrixUnit() {
  tern::graph::RegisterOp({.name = "emu_matmul",
                           .summary = "a matmul of float32 matrices, by the matrix unit of emu",
                           .inputs = {"a", "b"},
                           .program = kMatmul});
  tern::graph::RegisterOffload({"emu_matrix", "matmuls by the matrix unit of emu", Claim});
}

}  // namespace emu
