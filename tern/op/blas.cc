// SPDX-License-Identifier: Apache-2.0
//
// Matmuls by the machine's BLAS (`--offload blas`), which the runtime's plugin `extra` finds.
#include "tern/graph/offload.h"
#include "tern/op/register.h"

namespace tern::op {
namespace {

using graph::Builder;
using graph::Node;
using graph::Value;

constexpr const char* kGemm =
    R"(func blas_gemm(a: float32[m, k], b: float32[k, n], bias: float32[n], y: float32[m, n]) {
  for i in 0..m, j in 0..n {
    y[i, j] = bias[j]
  }
  call_packed("extra.gemm_add_float32", a, b, y, m, n, k)
})";

bool IsMatrix(const Value& value) {
  return value->type.dtype == DataType::Float(32) && value->type.rank() == 2;
}

double Number(const Node& node, const char* attr, double otherwise) {
  auto it = node->attrs.find(attr);
  return it == node->attrs.end() ? otherwise : it->second.As<double>();
}
bool Flag(const Node& node, const char* attr) {
  auto it = node->attrs.find(attr);
  return it != node->attrs.end() && it->second.As<int64_t>() != 0;
}

// Matmuls of float32 matrices. An operand that is transposed, or has a row for each batch, is left
// alone; weights are transposed when compiling.
std::vector<Value> Claim(Builder& builder, const Node& node, const std::vector<Value>& inputs) {
  bool is_gemm = node->op->name == "gemm";
  if (!is_gemm && node->op->name != "matmul") return {};
  if (!IsMatrix(inputs[0]) || !IsMatrix(inputs[1]) || node->attrs.contains("dtype")) return {};
  Value b = inputs[1], bias = inputs.size() > 2 ? inputs[2] : Value();
  std::optional<int64_t> columns = ir::AsConstInt(node->outputs[0]->type.shape[1]);
  if (!columns || Flag(node, "transA") || Number(node, "alpha", 1) != 1) return {};
  if (bias && (Number(node, "beta", 1) != 1 || bias->type.rank() != 1 ||
               ir::AsConstInt(bias->type.shape[0]) != columns))
    return {};
  if (Flag(node, "transB")) {
    if (!b->constant) return {};
    b = builder.Add("transpose", {b},
                    {{"perm", ffi::Any(ffi::MakeArray({ffi::Any(1), ffi::Any(0)}))}});
  }
  if (!bias) {
    DataType type = DataType::Float(32);
    bias = builder.Constant(
        ir::Constant::Splat(builder.UnusedName("zeros"), type, {*columns}, ir::MakeConst(type, 0)));
  }
  return builder.Add(graph::GetOp("blas_gemm"), {inputs[0], b, bias}, {},
                     {node->label, {node->outputs[0]->name}, node->span});
}

}  // namespace

void RegisterBlas() {
  graph::RegisterOp({.name = "blas_gemm",
                     .summary = "a matmul plus a bias, by the machine's BLAS",
                     .inputs = {"a", "b", "bias"},
                     .program = kGemm});
  graph::RegisterOffload({"blas", "matmuls of float32 matrices by the machine's BLAS", Claim});
}

}  // namespace tern::op
