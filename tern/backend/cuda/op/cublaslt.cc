// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cuda/op/cublaslt.h"

#include "tern/graph/offload.h"
#include "tern/graph/op.h"

namespace tern::backend::cuda {
namespace {

using graph::Builder;
using graph::Node;
using graph::Value;

// The kernel is a text that the runtime's plugin gives to the library (runtime/cublaslt.h).
constexpr const char* kGemm =
    R"(kernel cublaslt_gemm_$0(a: $0[m, k], b: $0[k, n], y: $0[m, n], m: int64, n: int64, k: int64)
    launch(blockIdx.x) writes(y) from "cuda" format "cublaslt" { """gemm $0""" }

func cublaslt_gemm(a: $0[m, k], b: $0[k, n], y: $0[m, n]) {
  launch_kernel("cublaslt_gemm_$0", a, b, y, m, n, k, 1)
})";

bool IsTaken(DataType dtype) {
  return dtype == DataType::Float(32) || dtype == DataType::Float(16) ||
         dtype == DataType::Bfloat16();
}

// Extents as numbers, with -1 for one that is not known; none where several are not.
std::optional<std::vector<int64_t>> NumbersOf(const std::vector<ir::Expr>& shape) {
  std::vector<int64_t> numbers;
  size_t unknown = 0;
  for (const ir::Expr& extent : shape) {
    std::optional<int64_t> number = ir::AsConstInt(extent);
    unknown += !number;
    numbers.push_back(number.value_or(-1));
  }
  if (unknown > 1) return std::nullopt;
  return numbers;
}

// Matmuls whose B is a matrix with a known K; the library refuses a K of 0. Of more dimensions of A
// all but the last are M.
std::vector<Value> Claim(Builder& builder, const Node& node, const std::vector<Value>& inputs) {
  if (node->op->name != "matmul" || node->attrs.contains("dtype")) return {};
  Value a = inputs[0];
  const Value& b = inputs[1];
  if (!IsTaken(a->type.dtype) || a->type.dtype != b->type.dtype || a->type.rank() < 2 ||
      b->type.rank() != 2)
    return {};
  std::optional<int64_t> k = ir::AsConstInt(b->type.shape[0]);
  if (k.value_or(0) == 0) return {};
  bool is_flat = a->type.rank() == 2;
  std::optional<std::vector<int64_t>> shape = NumbersOf(node->outputs[0]->type.shape);
  if (!is_flat && !shape) return {};
  if (!is_flat) a = builder.Add("reshape", {a, builder.Ints({-1, *k}, "shape")});
  Builder::Options options{node->label, {node->outputs[0]->name}, node->span, {}, {}};
  std::vector<Value> y = builder.Add(graph::GetOp("cublaslt_gemm"), {a, b}, {}, options);
  if (is_flat) return y;
  return {builder.Add("reshape", {y[0], builder.Ints(*shape, "shape")})};
}

}  // namespace

void RegisterCublasLt() {
  graph::RegisterOp({.name = "cublaslt_gemm",
                     .summary = "a matmul of matrices, by cuBLASLt",
                     .inputs = {"a", "b"},
                     .program = kGemm});
  graph::RegisterOffload({"cublaslt", "matmuls by cuBLASLt, on CUDA devices", Claim});
}

}  // namespace tern::backend::cuda
