// SPDX-License-Identifier: Apache-2.0
//
// External code: libraries that claim nodes of a graph before anything is fused. What is claimed is
// computed by operators of the library, whose programs (Op::program) call functions of a plugin by
// `call_packed`: they are saved, loaded and verified as all others. Off unless asked for
// (`--offload blas`).
//
//   std::vector<Value> Claim(Builder& builder, const Node& node,
//                            const std::vector<Value>& inputs) {
//     if (node->op->name != "matmul") return {};
//     return {builder.Add("blas_gemm", ...)};
//   }
//   RegisterOffload({"blas", "matmuls by the machine's BLAS", Claim});
#ifndef TERN_GRAPH_OFFLOAD_H_
#define TERN_GRAPH_OFFLOAD_H_

#include <functional>
#include <string>
#include <vector>

#include "tern/graph/builder.h"

namespace tern::graph {

struct Offload {
  std::string name;     // "blas"
  std::string summary;  // one line
  // The results of the node in the new graph; none where the library does not take it.
  std::function<std::vector<Value>(Builder& builder, const Node& node,
                                   const std::vector<Value>& inputs)>
      claim;
};

// Throws where the name is taken. Lives as long as the process.
void RegisterOffload(Offload offload);
// Throws with the names that there are.
const Offload& GetOffload(const std::string& name);

// Nodes that the library takes are computed by it.
// Before:
//   y: float32[8, 16] = matmul(x, W)
// After, for "blas":
//   y: float32[8, 16] = blas_gemm(x, W, zeros)
Function OffloadNodes(const Function& function, const std::string& name);

}  // namespace tern::graph

#endif  // TERN_GRAPH_OFFLOAD_H_
