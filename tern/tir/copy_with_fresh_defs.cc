// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/copy_with_fresh_defs.h"

#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class Copier : public StmtMutator {
 public:
  explicit Copier(ir::VarMap map) : map_(std::move(map)) {}

 private:
  using StmtMutator::MutateNode;

  Var MutateDef(const Var& var) override {
    Var fresh(var.name(), var.dtype(), var.span());
    map_[var.node()] = fresh;
    return fresh;
  }
  Buffer MutateDef(const BufferDef& buffer) override {
    Buffer fresh = StmtMutator::MutateDef(buffer);
    if (fresh.same(buffer)) fresh = Buffer(ffi::Make<BufferNode>(*buffer).get());
    return new_buffers_[buffer.get()] = fresh;
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    MutateDef(node->buffer->data);  // the address is defined here too
    return MutateChildren(node, self);
  }
  Expr MutateNode(const VarNode* node, const Expr& self) override {
    auto it = map_.find(node);
    return it == map_.end() ? self : it->second;
  }

  ir::VarMap map_;
};

}  // namespace

Stmt CopyWithFreshDefs(const Stmt& stmt, ir::VarMap map) {
  return Copier(std::move(map)).Mutate(stmt);
}

}  // namespace tern::tir
