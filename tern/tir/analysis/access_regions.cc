// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/access_regions.h"

#include <algorithm>

#include "tern/arith/linear.h"
#include "tern/arith/linear_sum.h"
#include "tern/arith/symbolic_bounds.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {

using arith::Contains;

namespace {

class RegionFinder : public StmtVisitor {
 public:
  RegionFinder(const arith::Analyzer& analyzer, const BufferNode* wanted,
               const MemoryUses* uses = nullptr)
      : outside_(analyzer), symbolic_(analyzer), wanted_(wanted), uses_(uses) {}

  using StmtVisitor::Visit;
  void Visit(const Stmt& stmt) override {
    if (uses_ && uses_->Knows(stmt) && !uses_->Uses(stmt, wanted_->data.node())) return;
    StmtVisitor::Visit(stmt);
  }
  AccessRegions regions;

 private:
  using StmtVisitor::VisitNode;

  // ---- accesses

  void Note(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& predicate,
            std::vector<AccessRegion>* regions) {
    if (wanted_ && buffer.get() != wanted_) {
      // Its memory under another name.
      if (buffer->data.same(wanted_->data)) this->regions.opaque.insert(buffer->data.node());
      return;
    }
    if (!wanted_ && inside_.count(buffer.get())) {
      if (!owned_.count(buffer->data.node())) this->regions.opaque.insert(buffer->data.node());
      return;
    }
    AccessRegion region{buffer, {}, !conditional_ && !predicate};
    if (predicate) {
      // Lanes that are off may be outside of the buffer, in any dimension where all of them are.
      for (const Expr& extent : buffer->shape)
        region.ranges.push_back({Expr(0), outside_.Simplify(ToInt64(extent))});
      return JoinRegion(region, outside_, regions);
    }
    std::vector<const VarNode*> vars;
    for (size_t d = 0; d < indices.size(); ++d)
      region.ranges.push_back(RangeOf(buffer, d, indices[d], &vars, &region.exact));
    std::sort(vars.begin(), vars.end());
    // A variable in two places makes a diagonal.
    region.exact = region.exact && std::adjacent_find(vars.begin(), vars.end()) == vars.end();
    for (const ForNode* loop : loops_) {
      // A loop that the element does not depend on may not run at all; a thread runs one iteration
      // of its loops.
      bool runs = std::binary_search(vars.begin(), vars.end(), loop->var.node()) ||
                  symbolic_.analyzer().Bounds(symbolic_.Resolve(loop->extent)).lo >= 1;
      region.exact = region.exact && runs && loop->for_kind != ForKind::kThread;
    }
    JoinRegion(region, outside_, regions);
  }

  Range RangeOf(const Buffer& buffer, size_t dimension, const Expr& index,
                std::vector<const VarNode*>* vars, bool* exact) {
    arith::SymbolicBounds bounds;
    Expr resolved = symbolic_.Resolve(index);
    if (index.dtype().is_scalar()) {
      bounds = symbolic_.Bounds(index);
      // One element, though its place may be no sum: i // n of a dynamic n, also where i // n % 8
      // is known to be 0 to 7.
      if (!symbolic_.UsesInner(resolved) && arith::IsFixed(resolved))
        bounds.lo = bounds.hi = ToInt64(resolved);
      else
        *exact = *exact && symbolic_.IsDense(resolved, vars);
    } else {
      const auto* ramp = index.As<ir::RampNode>();
      std::optional<int64_t> stride = ramp ? ir::AsConstInt(ramp->stride) : std::nullopt;
      if (stride && ramp->lanes > 0) {
        bounds = symbolic_.Bounds(ramp->base);
        int64_t reach = *stride * (ramp->lanes - 1);
        Expr& farthest = reach < 0 ? bounds.lo : bounds.hi;
        if (farthest.get()) farthest = farthest + Expr(reach);
      }
      bool steady = stride && std::abs(*stride) == 1 && !symbolic_.UsesInner(ramp->base);
      *exact = *exact && steady;
    }
    const Expr& extent = buffer->shape[dimension];
    *exact = *exact && bounds.known();
    if (!bounds.lo.get()) bounds.lo = Expr(0);
    if (!bounds.hi.get()) bounds.hi = ToInt64(extent) - 1;
    return {outside_.Simplify(bounds.lo),
            outside_.Simplify(arith::SubtractSums(outside_, bounds.hi + 1, bounds.lo))};
  }
  static Expr ToInt64(const Expr& expr) {
    return expr.dtype() == DataType::Int(64) ? expr : ir::CastNode::Make(DataType::Int(64), expr);
  }

  void VisitNode(const ir::BufferLoadNode* node) override {
    VisitChildren(node);
    Note(node->buffer, node->indices, node->predicate, &regions.reads);
  }
  void VisitNode(const BufferStoreNode* node) override {
    VisitChildren(node);
    Note(node->buffer, node->indices, node->predicate, &regions.writes);
  }
  // Who has an address may do anything with all of the memory, or with the tile that is named.
  void VisitNode(const ir::CallNode* node) override {
    if (node->name != intrinsic::kAddressOf) return VisitChildren(node);
    const auto* element = node->args[0].As<ir::BufferLoadNode>();
    std::vector<Expr> indices = element->indices;
    for (const Expr& index : indices) Visit(index);
    bool writes = node->args.back().As<ir::StringImmNode>();
    size_t extents = node->args.size() - (writes ? 2 : 1);
    if (extents == 0 || extents > indices.size()) {
      regions.opaque.insert(element->buffer->data.node());
      return;
    }
    for (size_t i = 0; i < extents; ++i) {
      Expr& index = indices[indices.size() - extents + i];
      if (ir::AsConstInt(node->args[i + 1]) == 1) continue;
      index = ir::RampNode::Make(index, ir::MakeConst(index.dtype(), 1),
                                 *ir::AsConstInt(node->args[i + 1]));
    }
    Maybe([&] {
      Note(element->buffer, indices, {}, &regions.reads);
      if (writes) Note(element->buffer, indices, {}, &regions.writes);
    });
  }
  // An address that is seen as such.
  void VisitNode(const VarNode* node) override {
    bool followed = wanted_ ? node != wanted_->data.node() : owned_.count(node) > 0;
    if (node->dtype.is_handle() && !followed) regions.opaque.insert(node);
  }

  // ---- what is known inside

  template <class F>
  void Within(F&& visit) {
    arith::SymbolicAnalyzer::Mark mark = symbolic_.Enter();
    visit();
    symbolic_.Leave(mark);
  }
  template <class F>
  void Maybe(F&& visit) {
    bool outer = std::exchange(conditional_, true);
    visit();
    conditional_ = outer;
  }

  template <ExprKind K>
  void VisitLogic(const ir::BinaryNode<K>* node) {
    Visit(node->a);
    Maybe([&] { Visit(node->b); });
  }
  void VisitNode(const ir::AndNode* node) override { VisitLogic(node); }
  void VisitNode(const ir::OrNode* node) override { VisitLogic(node); }
  void VisitNode(const ir::LetNode* node) override {
    Visit(node->value);
    Within([&] {
      symbolic_.EnterLet(node->var, node->value);
      Visit(node->body);
    });
  }
  void VisitNode(const LetStmtNode* node) override {
    Visit(node->value);
    Within([&] {
      symbolic_.EnterLet(node->var, node->value);
      Visit(node->body);
    });
  }
  void VisitNode(const ForNode* node) override {
    Visit(node->min);
    Visit(node->extent);
    loops_.push_back(node);
    Within([&] {
      symbolic_.EnterRange(node->var, node->min, node->extent);
      Visit(node->body);
    });
    loops_.pop_back();
  }
  void VisitNode(const WhileNode* node) override {
    Visit(node->condition);
    Maybe([&] { Visit(node->body); });
  }
  void VisitNode(const IfThenElseNode* node) override {
    Visit(node->condition);
    auto visit = [&](const Expr& condition, const Stmt& branch) {
      bool certain = symbolic_.analyzer().CanProve(symbolic_.Resolve(condition));
      bool outer = std::exchange(conditional_, conditional_ || !certain);
      Within([&] {
        symbolic_.Assume(condition);
        Visit(branch);
      });
      conditional_ = outer;
    };
    visit(node->condition, node->then_case);
    if (node->else_case) visit(Opposite(node->condition), node->else_case);
  }
  void VisitNode(const BlockNode* node) override {
    for (const BlockIter& iter : node->iters) {
      Visit(iter.extent);
      Visit(iter.binding);
    }
    Within([&] {
      for (const BlockIter& iter : node->iters) symbolic_.EnterLet(iter.var, iter.binding);
      bool outer = conditional_;
      if (node->predicate) {
        Visit(node->predicate);
        conditional_ =
            conditional_ || !symbolic_.analyzer().CanProve(symbolic_.Resolve(node->predicate));
        symbolic_.Assume(node->predicate);
      }
      for (const BlockIter& iter : node->iters) {
        symbolic_.Assume(iter.var < iter.extent);
        symbolic_.Assume(iter.var >= ir::MakeConst(iter.var.dtype(), 0));
      }
      if (node->init) Maybe([&] { Visit(node->init); });
      Visit(node->body);
      conditional_ = outer;
    });
  }
  void VisitNode(const AllocateNode* node) override {
    inside_.insert(node->buffer.get());
    owned_.insert(node->buffer->data.node());
    VisitChildren(node);
  }
  void VisitNode(const DeclBufferNode* node) override {
    inside_.insert(node->buffer.get());
    VisitChildren(node);
  }

  // What holds where a comparison does not; the condition's negation otherwise.
  static Expr Opposite(const Expr& condition) {
    if (const auto* less = condition.As<ir::LTNode>()) return ir::GENode::Make(less->a, less->b);
    if (const auto* at_most = condition.As<ir::LENode>())
      return ir::GTNode::Make(at_most->a, at_most->b);
    if (const auto* greater = condition.As<ir::GTNode>())
      return ir::LENode::Make(greater->a, greater->b);
    if (const auto* at_least = condition.As<ir::GENode>())
      return ir::LTNode::Make(at_least->a, at_least->b);
    return ir::NotNode::Make(condition);
  }

  const arith::Analyzer& outside_;
  arith::SymbolicAnalyzer symbolic_;
  const BufferNode* wanted_;
  const MemoryUses* uses_;
  std::vector<const ForNode*> loops_;  // around the access, in the statement
  bool conditional_ = false;           // whether the access may not happen
  std::unordered_set<const BufferNode*> inside_;
  std::unordered_set<const VarNode*> owned_;  // addresses of memory allocated inside
};

const AccessRegion* Find(const std::vector<AccessRegion>& regions, const Buffer& buffer) {
  auto it = std::find_if(regions.begin(), regions.end(),
                         [&](const AccessRegion& region) { return region.buffer.same(buffer); });
  return it == regions.end() ? nullptr : &*it;
}

}  // namespace

const AccessRegion* AccessRegions::Reads(const Buffer& buffer) const { return Find(reads, buffer); }
const AccessRegion* AccessRegions::Writes(const Buffer& buffer) const {
  return Find(writes, buffer);
}

void JoinRegion(const AccessRegion& region, const arith::Analyzer& analyzer,
                std::vector<AccessRegion>* regions) {
  auto known = std::find_if(regions->begin(), regions->end(), [&](const AccessRegion& other) {
    return other.buffer.same(region.buffer);
  });
  if (known == regions->end()) {
    regions->push_back(region);
    return;
  }
  if (Contains(known->ranges, region.ranges, analyzer)) {
    // The smaller box may be all that is surely touched.
    known->exact =
        known->exact || (region.exact && Contains(region.ranges, known->ranges, analyzer));
    return;
  }
  if (Contains(region.ranges, known->ranges, analyzer)) {
    *known = region;
    return;
  }
  known->exact =
      known->exact && region.exact && arith::FillHull(known->ranges, region.ranges, analyzer);
  known->ranges = arith::Hull(known->ranges, region.ranges, analyzer);
}

AccessRegions FindAccessRegions(const Stmt& stmt, const arith::Analyzer& analyzer) {
  RegionFinder finder(analyzer, nullptr);
  finder.Visit(stmt);
  return std::move(finder.regions);
}

AccessRegions FindAccessRegions(const Expr& expr, const arith::Analyzer& analyzer) {
  RegionFinder finder(analyzer, nullptr);
  finder.Visit(expr);
  return std::move(finder.regions);
}

AccessRegions FindAccessRegions(const Stmt& stmt, const Buffer& buffer,
                                const arith::Analyzer& analyzer, const MemoryUses* uses) {
  RegionFinder finder(analyzer, buffer.get(), uses);
  finder.Visit(stmt);
  return std::move(finder.regions);
}

AccessRegions FindAccessRegions(const Expr& expr, const Buffer& buffer,
                                const arith::Analyzer& analyzer) {
  RegionFinder finder(analyzer, buffer.get());
  finder.Visit(expr);
  return std::move(finder.regions);
}

// ---- Writes before reads.

namespace {

class CoverageCheck {
 public:
  CoverageCheck(const Buffer& buffer, const arith::Analyzer& analyzer)
      : buffer_(buffer), analyzer_(analyzer) {}

  // Whether what is read was written before, in the statement or as `written` says.
  bool Covered(const Stmt& stmt) {
    if (ReadIsCovered(FindAccessRegions(stmt, buffer_, analyzer_))) return true;
    size_t before = written_.size();
    bool covered = DispatchStmt(stmt.get(), [this](auto* node) { return CoveredNode(node); });
    written_.resize(before);
    return covered;
  }

 private:
  bool ReadIsCovered(const AccessRegions& regions) const {
    if (regions.opaque.count(buffer_->data.node())) return false;
    const AccessRegion* read = regions.Reads(buffer_);
    return !read || std::any_of(written_.begin(), written_.end(), [&](const auto& written) {
      return Contains(written, read->ranges, analyzer_);
    });
  }
  bool Covered(const Expr& expr) const {
    return ReadIsCovered(FindAccessRegions(expr, buffer_, analyzer_));
  }

  bool CoveredNode(const StmtNode*) { return false; }
  bool CoveredNode(const SeqNode* node) {
    std::vector<AccessRegion> joined;  // of the statements so far
    for (const Stmt& stmt : node->stmts) {
      if (!Covered(stmt)) return false;
      AccessRegions regions = FindAccessRegions(stmt, buffer_, analyzer_);
      const AccessRegion* write = regions.Writes(buffer_);
      if (!write || !write->exact) continue;
      written_.push_back(write->ranges);
      JoinRegion(*write, analyzer_, &joined);
      if (joined[0].exact)
        written_.push_back(joined[0].ranges);
      else
        joined = {*write};
    }
    return true;
  }
  // A chain of lets is asked about as a whole, and about what they are around.
  bool CoveredNode(const LetStmtNode* node) {
    while (Covered(node->value)) {
      const auto* next = node->body.As<LetStmtNode>();
      if (!next) return Covered(node->body);
      node = next;
    }
    return false;
  }
  bool CoveredNode(const AllocateNode* node) { return Covered(node->body); }
  bool CoveredNode(const DeclBufferNode* node) { return Covered(node->body); }
  bool CoveredNode(const ForNode* node) {
    if (!Covered(node->min) || !Covered(node->extent)) return false;
    analyzer_.BindRange(node->var, node->min, node->extent);
    return Covered(node->body);
  }
  bool CoveredNode(const WhileNode* node) {
    return Covered(node->condition) && Covered(node->body);
  }
  bool CoveredNode(const IfThenElseNode* node) {
    return Covered(node->condition) && Covered(node->then_case) &&
           (!node->else_case || Covered(node->else_case));
  }
  bool CoveredNode(const BlockNode* node) {
    for (const BlockIter& iter : node->iters)
      if (!Covered(iter.binding) || !Covered(iter.extent)) return false;
    if (node->predicate.get() && !Covered(node->predicate)) return false;
    return (!node->init || Covered(node->init)) && Covered(node->body);
  }

  const Buffer& buffer_;
  arith::Analyzer analyzer_;
  std::vector<std::vector<Range>> written_;  // boxes, each written in full
};

}  // namespace

bool WritesBeforeReading(const Stmt& stmt, const Buffer& buffer, const arith::Analyzer& analyzer) {
  return CoverageCheck(buffer, analyzer).Covered(stmt);
}

}  // namespace tern::tir
