// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/memory_uses.h"

#include <algorithm>

#include "tern/tir/visitor.h"

namespace tern::tir {

struct MemoryUses::Walker : StmtVisitor {
  explicit Walker(MemoryUses* uses) : uses(uses) {}
  using StmtVisitor::Visit;
  using StmtVisitor::VisitNode;

  void Visit(const Stmt& stmt) override {
    size_t begin = ++now;
    StmtVisitor::Visit(stmt);
    // A statement that stands in several places uses what it uses in any of them.
    auto [it, added] = uses->spans_.try_emplace(stmt.get(), Span{begin, now + 1});
    if (!added) it->second.end = now + 1;
  }
  void Note(const VarNode* address) {
    std::vector<size_t>& places = uses->places_[address];
    if (places.empty() || places.back() != now) places.push_back(now);
  }
  void VisitUse(const Buffer& buffer) override { Note(buffer->data.node()); }
  void VisitDef(const BufferDef& buffer) override {
    StmtVisitor::VisitDef(buffer);
    Note(buffer->data.node());
  }
  void VisitNode(const VarNode* node) override {
    if (node->dtype.is_handle()) Note(node);
  }

  MemoryUses* uses;
  size_t now = 0;
};

MemoryUses::MemoryUses(const Stmt& program) { Walker(this).Visit(program); }

bool MemoryUses::Uses(const Stmt& stmt, const VarNode* address) const {
  auto places = places_.find(address);
  if (places == places_.end()) return false;
  const Span& span = spans_.at(stmt.get());
  auto first = std::lower_bound(places->second.begin(), places->second.end(), span.begin);
  return first != places->second.end() && *first < span.end;
}

}  // namespace tern::tir
