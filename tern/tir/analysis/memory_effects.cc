// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/memory_effects.h"

#include "tern/tir/visitor.h"

namespace tern::tir {

MemoryEffects::MemoryEffects(const PrimFunc& function) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const AllocateNode* node) override {
      allocated.insert(node->buffer->data.node());
      VisitChildren(node);
    }
    void VisitNode(const VarNode* node) override { used.insert(node); }
    std::unordered_set<const VarNode*> allocated, used;
  } scan;
  scan.Visit(function->body);
  for (const VarNode* address : scan.allocated)
    if (!scan.used.count(address)) own_.insert(address);
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
