// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/operation_estimate.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "tern/arith/analyzer.h"
#include "tern/arith/linear_sum.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

constexpr int64_t kCallOperations = 16, kMemoryOperations = 4, kVectorBytes = 64;

class Estimator : public StmtVisitor {
 public:
  Estimator(int64_t most, const FaultAnalysis& faults) : most_(most), faults_(faults) {}

  Expr Estimate(const Stmt& stmt) {
    Visit(stmt);
    return is_known_ ? operations() : Expr();
  }

  using StmtVisitor::Visit;
  void Visit(const Expr& expr) override {
    // Constants, and what is the same for all lanes, are in registers.
    if (expr.As<VarNode>() || expr.As<ir::IntImmNode>() || expr.As<ir::FloatImmNode>() ||
        expr.As<ir::BroadcastNode>() || expr.As<ir::RampNode>())
      return;
    if (!expr.As<ir::BufferLoadNode>())
      fixed_ += VectorsOf(expr.dtype()) * (expr.As<ir::CallNode>() ? kCallOperations : 1);
    StmtVisitor::Visit(expr);
  }

 private:
  using StmtVisitor::VisitNode;

  Expr operations() const { return analyzer_.Simplify(dynamic_ + Expr(fixed_)); }

  static int64_t VectorsOf(DataType dtype) {
    if (dtype.is_scalable() || dtype.is_void()) return 1;
    return std::max<int64_t>((dtype.bytes() - 1) / kVectorBytes + 1, 1);
  }
  void AddAccess(const Buffer& buffer, DataType dtype) {
    bool in_registers = buffer->scope == StorageScope::kLocal;
    fixed_ += VectorsOf(dtype) * (in_registers ? 1 : kMemoryOperations);
  }

  // Addresses are computed beside.
  void VisitNode(const ir::BufferLoadNode* node) override { AddAccess(node->buffer, node->dtype); }
  void VisitNode(const BufferStoreNode* node) override {
    AddAccess(node->buffer, node->value.dtype());
    Visit(node->value);
  }
  void VisitNode(const LetStmtNode* node) override {
    Visit(node->value);
    if (node->value.dtype().is_integer()) {
      lets_[node->var.node()] = ir::Substitute(node->value, lets_);
      analyzer_.Bind(node->var, analyzer_.Bounds(node->value));
    }
    Visit(node->body);
  }
  void VisitNode(const ForNode* node) override {
    Expr before = std::exchange(dynamic_, Expr(0)),
         extent = Known(ir::Substitute(node->extent, lets_));
    int64_t fixed_before = std::exchange(fixed_, 1);
    is_known_ &= extent.get() != nullptr;
    inner_.insert(node->var.node());
    analyzer_.BindRange(node->var, node->min, node->extent);
    Visit(node->body);
    if (!is_known_) return;
    Expr all = analyzer_.Simplify(AtMost(ir::CastNode::Make(DataType::Int(64), extent)) *
                                  AtMost(operations()));
    std::optional<int64_t> constant = ir::AsConstInt(all);
    fixed_ = fixed_before + constant.value_or(0);
    dynamic_ = constant ? before : before + all;
  }
  void VisitNode(const WhileNode*) override { is_known_ = false; }
  void VisitNode(const EvaluateNode* node) override {
    const auto* call = node->value.As<ir::CallNode>();
    is_known_ &= call && call->name == intrinsic::kFreeWorkspace;
  }

  // The product of two of them cannot overflow.
  Expr AtMost(const Expr& factor) const {
    Expr positive = arith::ProveLessEqual(analyzer_, 0, factor)
                        ? factor
                        : Expr(ir::MaxNode::Make(factor, Expr(0)));
    return analyzer_.Simplify(ir::MinNode::Make(positive, Expr(most_)));
  }

  // An extent, or more than it, of what is known before the statement; null where there is none.
  Expr Known(const Expr& extent) const {
    if (ir::AsConstInt(extent)) return extent;
    bool is_known = true;
    ir::ForEachExpr(extent, [&](const Expr& part) {
      is_known &= !inner_.count(part.As<VarNode>()) && !part.As<ir::BufferLoadNode>() &&
                  !part.As<ir::CallNode>();
    });
    // It may be evaluated where the statement does not run.
    if (is_known) return faults_.MayFault(extent) ? Expr() : extent;
    if (const auto* lesser = extent.As<ir::MinNode>()) {
      Expr a = Known(lesser->a);
      return a ? a : Known(lesser->b);
    }
    int64_t bound = analyzer_.Bounds(extent).hi;
    return bound >= 0 && bound <= most_ ? ir::MakeConst(extent.dtype(), static_cast<double>(bound))
                                        : Expr();
  }

  int64_t most_;
  const FaultAnalysis& faults_;
  int64_t fixed_ = 0;
  Expr dynamic_ = 0;
  bool is_known_ = true;
  arith::Analyzer analyzer_;
  ir::VarMap lets_;                           // definitions inside, without these names
  std::unordered_set<const VarNode*> inner_;  // variables of loops inside
};

}  // namespace

Expr EstimateOperations(const Stmt& stmt, int64_t most, const FaultAnalysis& faults) {
  return Estimator(most, faults).Estimate(stmt);
}

}  // namespace tern::tir
