// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/packed_elements.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "tern/arith/analyzer.h"
#include "tern/arith/linear.h"
#include "tern/tir/transform/memory/flatten_buffers.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

struct PackedStore {
  const BufferStoreNode* node;
  Expr element;  // its number in the memory, by variables of loops and from outside
};

// The stores of a loop's body into buffers that are packed.
class StoreScan : public StmtVisitor {
 public:
  StoreScan(const PackedElements& packed, const ForNode* loop,
            const std::vector<const ForNode*>& around)
      : packed_(packed) {
    for (const ForNode* outer : around) ranges.BindRange(outer->var, outer->min, outer->extent);
    ranges.BindRange(loop->var, loop->min, loop->extent);
    Visit(loop->body);
  }

  std::map<const VarNode*, std::vector<PackedStore>> stores;  // by memory
  arith::Analyzer ranges;                                     // of variables of loops
  ir::VarMap starts;                                          // of those inside

 private:
  using StmtVisitor::Visit;
  using StmtVisitor::VisitNode;

  void VisitNode(const BufferStoreNode* node) override {
    if (!packed_.InOneByte(node->buffer)) return;
    Expr element = ir::Substitute(FlatIndex(node->buffer, node->indices), values_);
    stores[node->buffer->data.node()].push_back({node, element});
  }
  void VisitNode(const LetStmtNode* node) override {
    values_[node->var.node()] = ir::Substitute(node->value, values_);
    VisitChildren(node);
  }
  void VisitNode(const BlockNode* node) override {
    for (const BlockIter& iter : node->iters)
      values_[iter.var.node()] = ir::Substitute(iter.binding, values_);
    VisitChildren(node);
  }
  void VisitNode(const ForNode* node) override {
    ranges.BindRange(node->var, node->min, node->extent);
    starts[node->var.node()] = ir::IntImmNode::Make(node->var.dtype(), 0);
    VisitChildren(node);
  }

  const PackedElements& packed_;
  ir::VarMap values_;  // of definitions inside
};

// Whether each iteration stores elements of one stripe alone, as wide as what an iteration is ahead
// of the one before, and each stripe begins in the low half of a byte.
bool InStripesOfBytes(const std::vector<PackedStore>& stores, const VarNode* loop,
                      const StoreScan& scan) {
  auto first = arith::AsLinear(scan.ranges.Simplify(stores[0].element), loop);
  if (!first || first->coefficient == 0 || first->coefficient % 2 != 0) return false;
  Expr base = ir::Substitute(first->rest, scan.starts);
  if (!arith::IsFixed(base) || !ir::IsConst(scan.ranges.Simplify(FloorMod(base, Expr(2))), 0))
    return false;
  return std::all_of(stores.begin(), stores.end(), [&](const PackedStore& store) {
    auto element = arith::AsLinear(scan.ranges.Simplify(store.element), loop);
    if (!element || element->coefficient != first->coefficient) return false;
    arith::ConstBounds bounds = scan.ranges.Bounds(scan.ranges.Simplify(element->rest - base));
    return bounds.lo >= 0 && bounds.hi < std::abs(first->coefficient);
  });
}

}  // namespace

bool HasPackedElements(const PrimFunc& function) {
  struct Finder : StmtVisitor {
    using StmtVisitor::Visit;
    using StmtVisitor::VisitNode;
    void Visit(const Expr& expr) override {
      found |= expr.dtype().is_packed();
      StmtVisitor::Visit(expr);
    }
    void VisitNode(const BufferStoreNode* node) override {
      found |= node->buffer->dtype.is_packed();
      VisitChildren(node);
    }
    bool found = false;
  } finder;
  finder.Visit(function->body);
  return finder.found;
}

PackedElements::PackedElements(const PrimFunc& function) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const AllocateNode* node) override {
      allocated.insert(node->buffer->data.node());
      VisitChildren(node);
    }
    void VisitNode(const BufferStoreNode* node) override {
      if (node->buffer->dtype.is_packed()) stored.push_back(node->buffer);
      VisitChildren(node);
    }
    std::unordered_set<const VarNode*> allocated;
    std::vector<Buffer> stored;
  } finder;
  finder.Visit(function->body);
  allocated_ = std::move(finder.allocated);
  are_stored_ = std::any_of(finder.stored.begin(), finder.stored.end(),
                            [this](const Buffer& buffer) { return InOneByte(buffer); });
}

const BufferStoreNode* PackedElements::FindSharedByte(
    const ForNode* loop, const std::vector<const ForNode*>& around) const {
  if (!are_stored_ || ir::IsConst(loop->extent, 1)) return nullptr;
  StoreScan scan(*this, loop, around);
  for (const auto& [memory, stores] : scan.stores)
    if (!InStripesOfBytes(stores, loop->var.node(), scan)) return stores[0].node;
  return nullptr;
}

}  // namespace tern::tir
