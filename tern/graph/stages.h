// SPDX-License-Identifier: Apache-2.0
//
// Functions as the builder makes them, taken apart so that tensors can get other shapes: tensors
// are compact, so whoever calls such a function passes the same memory under the new shape.
#ifndef TERN_GRAPH_STAGES_H_
#define TERN_GRAPH_STAGES_H_

#include <optional>
#include <unordered_map>
#include <vector>

#include "tern/tir/function.h"
#include "tern/tir/stmt.h"

namespace tern::graph {

// One block with the loops around it, one for each of its axes.
struct Stage {
  const tir::BlockNode* block = nullptr;  // of the function that was read
  std::vector<tir::BlockIter> iters;
  tir::Stmt init, body;
};

// Allocations around a row of stages.
class StagedFunction {
 public:
  // Nothing where the function is of another form, or a parameter has strides.
  static std::optional<StagedFunction> Read(const tir::PrimFunc& function);
  // Of the stages and the shapes as they are now.
  tir::PrimFunc Rebuild() const;

  tir::PrimFunc function;
  std::vector<Stage> stages;
  std::vector<tir::Buffer> buffers;  // parameters, then what is allocated
  std::unordered_map<const tir::BufferNode*, std::vector<ir::Expr>> shapes;

 private:
  bool ReadBody(const tir::Stmt& stmt);
  bool ReadStage(tir::Stmt stmt);
  void AddBuffer(const tir::Buffer& buffer);
};

// The same access elsewhere. Its buffer gets another shape when the function is built again, so
// nothing is checked yet.
template <class T>
ffi::Ref<T> WithIndices(const T* access, std::vector<ir::Expr> indices) {
  auto copy = ffi::Make<T>(*access);
  copy->indices = std::move(indices);
  return copy;
}

}  // namespace tern::graph

#endif  // TERN_GRAPH_STAGES_H_
