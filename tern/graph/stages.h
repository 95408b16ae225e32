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
#include "tern/tir/visitor.h"

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

// The same with all of its memory in `global`: on a device, where blocks may be kernels of their
// own and `local` memory is one thread's.
tir::PrimFunc WithGlobalMemory(const tir::PrimFunc& function);

// Gives accesses other indices. Their buffers get other shapes when the function is built again, so
// that nothing is checked yet.
class IndexMutator : public tir::StmtMutator {
 protected:
  using StmtMutator::MutateNode;
  ir::Expr MutateNode(const ir::BufferLoadNode* node, const ir::Expr& self) override;
  tir::Stmt MutateNode(const tir::BufferStoreNode* node, const tir::Stmt& self) override;
  // The new ones of an access, with loads in them mutated.
  virtual std::vector<ir::Expr> NewIndices(const tir::Buffer& buffer,
                                           const std::vector<ir::Expr>& indices) = 0;
};

}  // namespace tern::graph

#endif  // TERN_GRAPH_STAGES_H_
