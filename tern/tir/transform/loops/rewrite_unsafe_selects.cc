// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/loops/rewrite_unsafe_selects.h"

#include "tern/ir/intrinsic.h"
#include "tern/tir/analysis/fault_analysis.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class Rewriter : public StmtMutator {
 public:
  explicit Rewriter(const PrimFunc& function) : faults_(function) {}

 private:
  using StmtMutator::MutateNode;

  Expr MutateNode(const ir::SelectNode* node, const Expr& self) override {
    Expr result = MutateChildren(node, self);
    const auto* select = result.As<ir::SelectNode>();
    if (!select->condition.dtype().is_scalar() ||
        !MayFault(select->condition, select->true_value, select->false_value))
      return result;
    return ir::CallNode::Make(ir::kIfThenElse,
                              {select->condition, select->true_value, select->false_value},
                              DataType::Void(), node->span);
  }
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    Expr result = MutateChildren(node, self);
    const ir::CallNode* choice = ir::AsIfThenElse(result);
    if (!choice || MayFault(choice->args[0], choice->args[1], choice->args[2])) return result;
    return ir::SelectNode::Make(choice->args[0], choice->args[1], choice->args[2], node->span);
  }
  bool MayFault(const Expr& condition, const Expr& yes, const Expr& no) const {
    return faults_.MayFault(yes, condition) || faults_.MayFault(no, condition);
  }

  Expr MutateNode(const ir::LetNode* node, const Expr& self) override {
    faults_.BindLet(node->var, node->value);
    return MutateChildren(node, self);
  }
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    faults_.BindLet(node->var, node->value);
    return MutateChildren(node, self);
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    faults_.BindLoop(node);
    return MutateChildren(node, self);
  }

  FaultAnalysis faults_;
};

}  // namespace

PrimFunc RewriteUnsafeSelects(const PrimFunc& function) {
  return Rewriter(function).MutateFunction(function);
}

}  // namespace tern::tir
