// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/usage.h"

#include "tern/ir/intrinsic.h"
#include "tern/tir/atomics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/module_calls.h"
#include "tern/tir/visitor.h"

namespace tern::codegen {
namespace {

class UsageFinder : public tir::StmtVisitor {
 public:
  Usage usage;

 protected:
  using StmtVisitor::VisitNode;
  void VisitNode(const ir::VarNode* node) override { usage.vars.insert(node); }
  // The value of a binding counts only if the binding does, so the body comes first.
  void VisitNode(const ir::LetNode* node) override {
    Visit(node->body);
    if (usage.vars.contains(node->var.node())) Visit(node->value);
  }
  void VisitNode(const tir::LetStmtNode* node) override {
    Visit(node->body);
    if (usage.vars.contains(node->var.node()) || HasEffect(node->value)) Visit(node->value);
    if (given_out_.contains(node->var.node())) NoteWritten(node->value);
  }
  void VisitNode(const ir::CallNode* node) override {
    if (node->name == tir::intrinsic::kTensorOut) NoteWritten(node->args[1]);
    if (tir::IsAtomic(node->name)) {
      tir::Atomic atomic = tir::AtomicOf(node);
      usage.written.insert(atomic.element->buffer->data.node());
      if (atomic.old) usage.written.insert(atomic.old->buffer->data.node());
    }
    VisitChildren(node);
  }
  void VisitNode(const tir::BufferStoreNode* node) override {
    usage.written.insert(node->buffer->data.node());
    VisitChildren(node);
  }
  void VisitNode(const tir::AssertNode* node) override {
    usage.asserts = true;
    VisitChildren(node);
  }
  // Shapes are not read: indices are computed by now.
  void VisitDef(const ir::BufferDef&) override {}
  void VisitUse(const ir::Buffer& buffer) override {
    usage.buffers.insert(buffer.get());
    usage.vars.insert(buffer->data.node());
  }

 private:
  // An address behind which a callee writes.
  void NoteWritten(const ir::Expr& address) {
    const auto* call = address.As<ir::CallNode>();
    if (const auto* var = address.As<ir::VarNode>()) given_out_.insert(var);
    if (call && call->name == tir::intrinsic::kAddressOf)
      usage.written.insert(call->args[0].As<ir::BufferLoadNode>()->buffer->data.node());
  }

  std::unordered_set<const ir::VarNode*> given_out_;
};

bool AnyExpr(const ir::Expr& expr, const std::function<bool(const ir::Expr&)>& holds) {
  bool found = false;
  ir::ForEachExpr(expr, [&](const ir::Expr& e) { found |= holds(e); });
  return found;
}

}  // namespace

Usage FindUsage(const tir::PrimFunc& function) {
  UsageFinder finder;
  finder.Visit(function->body);
  return std::move(finder.usage);
}

bool HasEffect(const ir::Expr& expr) {
  return AnyExpr(expr, [](const ir::Expr& e) {
    auto* call = e.As<ir::CallNode>();
    return call && !ir::FindIntrinsic(call->name)->pure;
  });
}

bool ReadsMemory(const ir::Expr& expr) {
  return AnyExpr(
      expr, [](const ir::Expr& e) { return e.As<ir::BufferLoadNode>() || e.As<ir::CallNode>(); });
}

bool HasLet(const ir::Expr& expr) {
  return AnyExpr(expr, [](const ir::Expr& e) { return e.As<ir::LetNode>() != nullptr; });
}

}  // namespace tern::codegen
