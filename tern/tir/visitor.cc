// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/visitor.h"

namespace tern::tir {

void StmtVisitor::Visit(const Stmt& stmt) {
  DispatchStmt(stmt.get(), [this](auto* node) { VisitNode(node); });
}

#define TERN_VISIT(name)                                                                 \
  void StmtVisitor::VisitNode(const name##Node* node) { VisitChildren(node); }           \
  void StmtVisitor::VisitChildren(const name##Node* node) {                              \
    std::apply([&](const auto&... field) { (VisitField(field), ...); }, node->fields()); \
  }
TERN_STMT_NODES(TERN_VISIT)
#undef TERN_VISIT

void StmtVisitor::VisitFunction(const PrimFunc& function) {
  for (const Param& param : function->params) {
    VisitField(param.var);
    if (param.is_tensor()) VisitField(param.buffer);
  }
  Visit(function->body);
}

Stmt StmtMutator::Mutate(const Stmt& stmt) {
  return DispatchStmt(stmt.get(), [&](auto* node) { return MutateNode(node, stmt); });
}

#define TERN_MUTATE(name)                                                      \
  Stmt StmtMutator::MutateNode(const name##Node* node, const Stmt& self) {     \
    return MutateChildren(node, self);                                         \
  }                                                                            \
  Stmt StmtMutator::MutateChildren(const name##Node* node, const Stmt& self) { \
    ffi::Ref<name##Node> changed = ir::RewriteFields(                          \
        *node, [&] { return ffi::Make<name##Node>(*node); },                   \
        [&](const auto& field) { return MutateField(field); });                \
    return changed ? Stmt(changed) : self;                                     \
  }
TERN_STMT_NODES(TERN_MUTATE)
#undef TERN_MUTATE

PrimFunc StmtMutator::MutateFunction(const PrimFunc& function) {
  std::optional<std::vector<Param>> params =
      ir::RewriteItems(function->params, [&](const Param& param) -> std::optional<Param> {
        std::optional<Var> var = MutateField(param.var);
        std::optional<BufferDef> buffer;
        if (param.is_tensor()) buffer = MutateField(BufferDef(param.buffer));
        if (!var && !buffer) return {};
        Param changed = param;
        if (var) changed.var = *var;
        if (buffer) changed.buffer = *buffer;
        return changed;
      });
  std::optional<Stmt> body = MutateField(function->body);
  if (!params && !body) return function;
  auto copy = ffi::Make<PrimFuncNode>(*function);
  if (params) copy->params = std::move(*params);
  if (body) copy->body = std::move(*body);
  return PrimFunc(copy);
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
