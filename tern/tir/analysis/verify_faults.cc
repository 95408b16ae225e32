// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/verify_faults.h"

#include <utility>

#include "tern/arith/analyzer.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/text.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

using arith::ConstBounds;

class FaultVerifier : public StmtVisitor {
 public:
  explicit FaultVerifier(ir::Diagnostics* diagnostics) : diagnostics_(diagnostics) {}

  void Check(const PrimFunc& function) { Visit(function->body); }

 private:
  using StmtVisitor::VisitNode;

  // ---- what goes wrong

  void CheckIndices(const Buffer& buffer, const std::vector<Expr>& indices, const Span& span) {
    for (size_t d = 0; d < indices.size() && d < buffer->shape.size(); ++d) {
      if (!IsOutside(indices[d], buffer->shape[d])) continue;
      std::string shape;
      for (const Expr& extent : buffer->shape) shape += (shape.empty() ? "" : ", ") + Print(extent);
      diagnostics_->Add(span, "index " + Print(indices[d]) + " is out of bounds in dimension " +
                                  std::to_string(d) + " of " + buffer->name + ", whose shape is (" +
                                  shape + ")");
    }
  }
  bool IsOutside(const Expr& index, const Expr& extent) const {
    if (const auto* ramp = index.As<ir::RampNode>()) return IsOutside(ramp->base, extent);
    if (const auto* splat = index.As<ir::BroadcastNode>()) return IsOutside(splat->value, extent);
    if (!index.dtype().is_scalar() || !index.dtype().is_integer()) return false;
    // Nothing can be accessed there: loops around it are meant to be empty.
    if (ir::IsConst(extent, 0) && !surely_runs_) return false;
    ConstBounds at = analyzer_.Bounds(index);
    if (at.hi < 0) return true;
    if (std::optional<int64_t> size = ir::AsConstInt(extent)) return at.lo >= *size;
    return index.dtype() == extent.dtype() && analyzer_.CanProve(ir::GENode::Make(index, extent));
  }

  template <class T>
  void VisitDivision(const T* node) {
    VisitChildren(node);
    const Expr& divisor = node->b;
    const auto* splat = divisor.template As<ir::BroadcastNode>();
    if (IsZero(splat ? splat->value : divisor)) diagnostics_->Add(node->span, "division by zero");
  }
  bool IsZero(const Expr& divisor) const {
    if (!divisor.dtype().is_scalar()) return false;
    ConstBounds bounds = analyzer_.Bounds(divisor);
    return bounds.lo == 0 && bounds.hi == 0;
  }
  void VisitNode(const ir::TruncDivNode* node) override { VisitDivision(node); }
  void VisitNode(const ir::TruncModNode* node) override { VisitDivision(node); }
  void VisitNode(const ir::FloorDivNode* node) override { VisitDivision(node); }
  void VisitNode(const ir::FloorModNode* node) override { VisitDivision(node); }

  // Lanes of an access with a predicate may be off.
  void VisitNode(const ir::BufferLoadNode* node) override {
    VisitChildren(node);
    if (!node->predicate) CheckIndices(node->buffer, node->indices, node->span);
  }
  void VisitNode(const BufferStoreNode* node) override {
    VisitChildren(node);
    if (!node->predicate) CheckIndices(node->buffer, node->indices, node->span);
  }

  // ---- what surely runs

  void VisitNode(const ir::AndNode* node) override { Visit(node->a); }
  void VisitNode(const ir::OrNode* node) override { Visit(node->a); }
  void VisitNode(const ir::SelectNode* node) override { Visit(node->condition); }
  void VisitNode(const ir::CallNode* node) override {
    if (node->name == ir::kIfThenElse) return Visit(node->args[0]);
    VisitChildren(node);
  }
  void VisitNode(const IfThenElseNode* node) override { Visit(node->condition); }
  void VisitNode(const WhileNode* node) override { Visit(node->condition); }
  void VisitNode(const BlockNode* node) override {
    for (const BlockIter& iter : node->iters) {
      Visit(iter.extent);
      Visit(iter.binding);
      analyzer_.Bind(iter.var, analyzer_.Bounds(iter.binding));
    }
    if (node->predicate) return Visit(node->predicate);
    if (node->init) Visit(node->init);
    Visit(node->body);
  }
  void VisitNode(const ForNode* node) override {
    Visit(node->min);
    Visit(node->extent);
    ConstBounds steps = analyzer_.Bounds(node->extent);
    if (steps.hi <= 0) return;
    analyzer_.BindRange(node->var, node->min, node->extent);
    bool outer = std::exchange(surely_runs_, surely_runs_ && steps.lo > 0);
    Visit(node->body);
    surely_runs_ = outer;
  }
  void VisitNode(const ir::LetNode* node) override { VisitLet(node); }
  void VisitNode(const LetStmtNode* node) override { VisitLet(node); }
  template <class T>
  void VisitLet(const T* node) {
    Visit(node->value);
    if (node->value.dtype().is_integer() && node->value.dtype().is_scalar())
      analyzer_.Bind(node->var, analyzer_.Bounds(node->value));
    Visit(node->body);
  }

  arith::Analyzer analyzer_;
  bool surely_runs_ = true;  // no loop around it may be empty
  ir::Diagnostics* diagnostics_;
};

}  // namespace

void VerifyFaults(const ir::IRModule& module) {
  ir::Diagnostics diagnostics;
  for (const auto& [name, base] : module->functions)
    if (PrimFunc function = IfPrimFunc(base)) FaultVerifier(&diagnostics).Check(function);
  diagnostics.ThrowIfAny("VerifyError");
}

}  // namespace tern::tir
