// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/independent_iterations.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <unordered_set>

#include "tern/arith/inline_limit.h"
#include "tern/arith/linear.h"
#include "tern/arith/linear_sum.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/structural.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// So many indices are joined in every order, more of them in their own.
constexpr size_t kMostPermuted = 3;

struct Access {
  const BufferNode* buffer;
  std::vector<Expr> indices;  // in terms of variables from outside, the loop's and `varying` ones
};

// What the body of a loop touches.
class BodyScan : public StmtVisitor {
 public:
  BodyScan(const ForNode* loop, const arith::Analyzer& known) : loop_(loop), ranges_(known) {
    Visit(loop->body);
    ranges_.BindRange(loop->var, loop->min, loop->extent);
  }

  bool independent(bool distinct) const {
    if (has_other_effects_) return false;
    auto is_foreign = [this](const auto& item) { return !owned_.count(item.first); };
    auto is_foreign_write = [this](auto* data) { return !owned_.count(data); };
    if (!distinct && std::any_of(written_.begin(), written_.end(), is_foreign_write) &&
        std::count_if(accesses_.begin(), accesses_.end(), is_foreign) > 1)
      return false;
    return std::all_of(written_.begin(), written_.end(), [this](auto* data) {
      return owned_.count(data) || AccessedApart(accesses_.at(data));
    });
  }

 private:
  using StmtVisitor::Visit;
  using StmtVisitor::VisitNode;

  // Indices may say more of the element together than each for itself: i // n and i % n, in any
  // order.
  bool AccessedApart(const std::vector<Access>& accesses) const {
    const Access& first = accesses[0];
    for (const Access& access : accesses)
      if (access.buffer != first.buffer) return false;
    if (ApartInOneDimension(accesses)) return true;
    std::vector<size_t> dims;
    for (size_t d = 0; d < first.indices.size(); ++d)
      if (ir::UsesVar(ranges_.Simplify(first.indices[d]), loop_->var.node())) dims.push_back(d);
    if (dims.size() < 2) return false;
    do {
      std::vector<Access> joined;
      for (const Access& access : accesses) joined.push_back(Join(access, dims));
      if (ApartInOneDimension(joined)) return true;
    } while (dims.size() <= kMostPermuted && std::next_permutation(dims.begin(), dims.end()));
    return false;
  }

  // An access by one number whose digits are the indices of some dimensions.
  Access Join(const Access& access, const std::vector<size_t>& dims) const {
    Expr number = Expr(0);
    for (size_t d : dims)
      number = number * arith::AsInt64(access.buffer->shape[d]) + arith::AsInt64(access.indices[d]);
    return {access.buffer, {ranges_.Simplify(number)}};
  }

  // In one dimension all accesses have one index, which differs from iteration to iteration. Then
  // what two iterations touch differs in that dimension.
  bool ApartInOneDimension(const std::vector<Access>& accesses) const {
    const Access& first = accesses[0];
    for (size_t d = 0; d < first.indices.size(); ++d) {
      auto expected = arith::AsLinear(first.indices[d], loop_->var.node());
      if (!expected || expected->coefficient == 0) continue;
      if (InStripes(accesses, d)) return true;
      if (Varies(expected->rest)) continue;
      bool same = std::all_of(accesses.begin(), accesses.end(), [&](const Access& access) {
        auto index = arith::AsLinear(access.indices[d], loop_->var.node());
        return index && index->coefficient == expected->coefficient &&
               ir::StructuralEqual(index->rest, expected->rest);
      });
      if (same) return true;
    }
    return false;
  }

  // Whether the index of that dimension is the loop's variable times a constant plus something less
  // than that: iterations touch one stripe each.
  bool InStripes(const std::vector<Access>& accesses, size_t d) const {
    auto first = arith::AsLinear(accesses[0].indices[d], loop_->var.node());
    Expr base = ir::Substitute(first->rest, starts_);
    if (!base.dtype().is_scalar() || Varies(base)) return false;
    arith::ConstBounds all{arith::ConstBounds::kPosInf, arith::ConstBounds::kNegInf};
    for (const Access& access : accesses) {
      auto index = arith::AsLinear(access.indices[d], loop_->var.node());
      if (!index || index->coefficient != first->coefficient || index->rest.dtype() != base.dtype())
        return false;
      arith::ConstBounds bounds = ranges_.Bounds(ranges_.Simplify(index->rest - base));
      all = {std::min(all.lo, bounds.lo), std::max(all.hi, bounds.hi)};
    }
    bool known = all.lo != arith::ConstBounds::kNegInf && all.hi != arith::ConstBounds::kPosInf;
    int64_t width = 0;
    return known && !__builtin_sub_overflow(all.hi, all.lo, &width) &&
           first->coefficient != std::numeric_limits<int64_t>::min() &&
           width < std::abs(first->coefficient);
  }

  // Whether it can have several values in one iteration, or differ between iterations in a way not
  // known.
  bool Varies(const Expr& expr) const {
    bool varies = false;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      const auto* load = e.As<ir::BufferLoadNode>();
      varies |= varying_.count(e.get()) > 0 || (load && owned_.count(load->buffer->data.node()));
    });
    return varies;
  }

  void Note(const Buffer& buffer, const std::vector<Expr>& indices) {
    Access access{buffer.get(), {}};
    for (const Expr& index : indices) access.indices.push_back(ir::Substitute(index, lets_));
    accesses_[buffer->data.node()].push_back(std::move(access));
  }

  void Define(const Var& var, const Expr& value) {
    has_other_effects_ |= var.dtype().is_handle();  // an address that nothing is known of
    Expr resolved = ir::Substitute(value, lets_);
    if (arith::MayInline(resolved) && arith::AsLinear(resolved, loop_->var.node()))
      lets_[var.node()] = resolved;
    else if (ir::UsesVar(resolved, loop_->var.node()) || Varies(resolved))
      varying_.insert(var.get());
  }

  void VisitNode(const ir::BufferLoadNode* node) override {
    Note(node->buffer, node->indices);
    VisitChildren(node);
  }
  void VisitNode(const ir::CallNode* node) override {
    has_other_effects_ |= !ir::FindIntrinsic(node->name)->pure;
    VisitChildren(node);
  }
  void VisitNode(const BufferStoreNode* node) override {
    Note(node->buffer, node->indices);
    written_.insert(node->buffer->data.node());
    VisitChildren(node);
  }
  void VisitNode(const ir::LetNode* node) override {
    Define(node->var, node->value);
    VisitChildren(node);
  }
  void VisitNode(const LetStmtNode* node) override {
    Define(node->var, node->value);
    VisitChildren(node);
  }
  void VisitNode(const ForNode* node) override {
    varying_.insert(node->var.get());
    ranges_.BindRange(node->var, node->min, node->extent);
    starts_[node->var.node()] = ir::IntImmNode::Make(node->var.dtype(), 0);
    has_other_effects_ |= node->for_kind == ForKind::kThread;
    VisitChildren(node);
  }
  void VisitNode(const AllocateNode* node) override {
    owned_.insert(node->buffer->data.node());
    VisitChildren(node);
  }
  void VisitNode(const AssertNode*) override { has_other_effects_ = true; }
  void VisitNode(const EvaluateNode*) override { has_other_effects_ = true; }
  void VisitNode(const BlockNode*) override { has_other_effects_ = true; }

  const ForNode* loop_;
  bool has_other_effects_ = false;
  ir::VarMap lets_;  // definitions that are linear in the loop's variable
  std::unordered_set<const ir::Node*> varying_;
  arith::Analyzer ranges_;                                  // of variables, also of loops inside
  ir::VarMap starts_;                                       // 0 for each of them
  std::map<const VarNode*, std::vector<Access>> accesses_;  // by address
  std::unordered_set<const VarNode*> written_;              // addresses
  std::unordered_set<const VarNode*> owned_;  // of memory that each iteration has anew
};

}  // namespace

bool IterationsAreIndependent(const ForNode* loop, bool distinct, const arith::Analyzer& known) {
  return BodyScan(loop, known).independent(distinct);
}

}  // namespace tern::tir
