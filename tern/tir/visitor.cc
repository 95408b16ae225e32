// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/visitor.h"

namespace tern::tir {

void StmtVisitor::VisitFunction(const PrimFunc& function) {
  for (const Param& param : function->params) {
    VisitField(param.var);
    if (param.is_tensor()) VisitField(param.buffer);
  }
  Visit(function->body);
}

PrimFunc StmtMutator::MutateFunction(const PrimFunc& function) {
  auto copy = ffi::Make<PrimFuncNode>(*function);
  bool changed = false;
  for (Param& param : copy->params) {
    changed |= MutateField(param.var);
    if (param.is_tensor()) changed |= MutateField(param.buffer);
  }
  changed |= MutateField(copy->body);
  return changed ? PrimFunc(copy) : function;
}

Stmt Substitute(const Stmt& stmt, const ir::VarMap& map) {
  struct Substituter : StmtMutator {
    explicit Substituter(const ir::VarMap& map) : map(map) {}
    using StmtMutator::MutateNode;
    Expr MutateNode(const VarNode* var, const Expr& self) override {
      auto it = map.find(var);
      return it == map.end() ? self : it->second;
    }
    const ir::VarMap& map;
  };
  return Substituter(map).Mutate(stmt);
}

}  // namespace tern::tir
