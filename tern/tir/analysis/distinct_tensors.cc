// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/distinct_tensors.h"

#include <unordered_set>

#include "tern/tir/visitor.h"

namespace tern::tir {

bool TensorsAreDistinct(const PrimFunc& function) {
  if (HasFlag(function, attr::kMayAlias)) return false;
  // Later, addresses are bound by passes, which have asked this before.
  if (CallingConventionOf(function) != CallingConvention::kAsWritten) return true;
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const AllocateNode* node) override {
      known.insert(node->buffer->data.node());
      VisitChildren(node);
    }
    void VisitNode(const DeclBufferNode* node) override {
      all_known &= known.count(node->buffer->data.node()) > 0;
      VisitChildren(node);
    }
    std::unordered_set<const VarNode*> known;
    bool all_known = true;
  } scan;
  for (const Param& param : function->params)
    if (param.is_tensor()) scan.known.insert(param.var.node());
  scan.Visit(function->body);
  return scan.all_known;
}

}  // namespace tern::tir
