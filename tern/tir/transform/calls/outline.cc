// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/calls/outline.h"

namespace tern::tir {

void CaptureScan::VisitDef(const BufferDef& buffer) {
  StmtVisitor::VisitDef(buffer);
  seen_.insert(buffer.get());
}

void CaptureScan::VisitUse(const Buffer& buffer) {
  if (!seen_.insert(buffer.get()).second) return;
  buffers.push_back(buffer);
  seen_.insert(buffer->data.get());
  StmtVisitor::VisitDef(BufferDef(buffer));
}

void CaptureScan::VisitNode(const AllocateNode* node) {
  seen_.insert(node->buffer->data.get());
  VisitChildren(node);
}

void CaptureScan::VisitNode(const DeclBufferNode* node) {
  VisitNode(node->buffer->data.node());
  VisitChildren(node);
}

void CaptureScan::VisitNode(const VarNode* node) {
  if (!seen_.insert(node).second) return;
  (node->dtype.is_handle() ? handles : scalars).emplace_back(node);
}

Var CaptureRenamer::Rename(const Var& var, const std::string& name) {
  return vars_[var.node()] = Var(name, var.dtype(), var.span());
}

Expr CaptureRenamer::MutateNode(const VarNode* node, const Expr& self) {
  auto it = vars_.find(node);
  return it == vars_.end() ? self : Expr(it->second);
}

ir::IRModule OutlineFunctions(
    const ir::IRModule& module,
    const std::function<PrimFunc(const PrimFunc&, std::vector<ir::BaseFunc>* outlined)>& outline) {
  std::vector<ir::BaseFunc> functions;
  for (const auto& [name, base] : module->functions) {
    PrimFunc function = IfPrimFunc(base);
    functions.push_back(function ? outline(function, &functions) : base);
  }
  return module.WithFunctions(functions);
}

}  // namespace tern::tir
