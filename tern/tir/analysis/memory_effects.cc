// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/memory_effects.h"

#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {

MemoryEffects::MemoryEffects(const PrimFunc& function) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const AllocateNode* node) override {
      allocated.insert(node->buffer->data.node());
      VisitChildren(node);
    }
    void VisitNode(const DeclBufferNode* node) override {
      if (distinct) addresses.insert(node->buffer->data.node());
      VisitChildren(node);
    }
    void VisitNode(const VarNode* node) override { used.insert(node); }
    // These look at addresses alone.
    void VisitNode(const ir::CallNode* node) override {
      if (node->name != intrinsic::kIsAligned && node->name != intrinsic::kPtrLessEqual)
        VisitChildren(node);
    }
    std::unordered_set<const VarNode*> addresses, allocated, used;
    bool distinct = false;
  } scan;
  scan.distinct = TensorsAreDistinct(function);
  for (const Param& param : function->params)
    if (param.is_tensor() && scan.distinct) scan.addresses.insert(param.var.node());
  scan.Visit(function->body);
  for (const VarNode* address : scan.addresses)
    if (!scan.used.count(address)) own_.insert(address);
  for (const VarNode* address : scan.allocated)
    if (!scan.used.count(address)) temporary_.insert(address);
  own_.insert(temporary_.begin(), temporary_.end());
}

const VarNode* MemoryEffects::PlaceOf(const Buffer& buffer) const {
  const VarNode* address = buffer->data.node();
  return own_.count(address) ? address : nullptr;
}

MemoryEffects::Writes MemoryEffects::WritesOf(const Stmt& stmt) const {
  struct Scan : StmtVisitor {
    explicit Scan(const MemoryEffects* memory) : memory(memory) {}
    using StmtVisitor::VisitNode;
    void VisitNode(const BufferStoreNode* node) override {
      writes.places.insert(memory->PlaceOf(node->buffer));
    }
    void VisitNode(const EvaluateNode*) override { writes.anything = true; }
    const MemoryEffects* memory;
    Writes writes;
  } scan(this);
  scan.Visit(stmt);
  return scan.writes;
}

}  // namespace tern::tir
