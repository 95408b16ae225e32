// SPDX-License-Identifier: Apache-2.0
//
// What the passes that make a function of a statement share.
#ifndef TERN_TIR_TRANSFORM_CALLS_OUTLINE_H_
#define TERN_TIR_TRANSFORM_CALLS_OUTLINE_H_

#include <functional>
#include <unordered_set>
#include <vector>

#include "tern/tir/function.h"
#include "tern/tir/visitor.h"

namespace tern::tir {

// What a statement uses but does not define, in the order of first use.
class CaptureScan : public StmtVisitor {
 public:
  std::vector<Buffer> buffers;
  std::vector<Var> scalars;  // what the shapes of the buffers use too
  std::vector<Var> handles;  // those that are not the addresses of the buffers

 protected:
  using StmtVisitor::VisitNode;
  void VisitDef(const Var& var) override { seen_.insert(var.get()); }
  void VisitDef(const BufferDef& buffer) override;
  void VisitUse(const Buffer& buffer) override;
  void VisitNode(const VarNode* node) override;
  void VisitNode(const AllocateNode* node) override;
  void VisitNode(const DeclBufferNode* node) override;

 private:
  std::unordered_set<const void*> seen_;  // buffers and variables, defined here or noted as used
};

// Gives a function variables of its own.
class CaptureRenamer : public StmtMutator {
 public:
  // A new variable in place of `var`, from here on.
  Var Rename(const Var& var, const std::string& name);
  // A new buffer in place of `buffer`, at the new address and of the new extents.
  Buffer Rename(const Buffer& buffer) { return MutateDef(BufferDef(buffer)); }

 private:
  using StmtMutator::MutateNode;
  Expr MutateNode(const VarNode* node, const Expr& self) override;

  std::unordered_map<const VarNode*, Var> vars_;
};

// The module with its functions as `outline` leaves them, and what it took out of them, which it
// adds to `outlined`. External kernels stay as they are.
ir::IRModule OutlineFunctions(
    const ir::IRModule& module,
    const std::function<PrimFunc(const PrimFunc&, std::vector<ir::BaseFunc>* outlined)>& outline);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_CALLS_OUTLINE_H_
