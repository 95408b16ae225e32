// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/fault_analysis.h"

#include <algorithm>

#include "tern/arith/linear.h"
#include "tern/arith/overflow.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/structural.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// Extents of iterations that run are less: it does not overflow to round them up to tiles.
constexpr int64_t kMostExtent = int64_t{1} << 62;

}  // namespace

FaultAnalysis::FaultAnalysis(const PrimFunc& function) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const BufferStoreNode* node) override {
      written.insert(node->buffer->data.node());
    }
    std::unordered_set<const VarNode*> written;
  } scan;
  scan.Visit(function->body);
  for (const Param& param : function->params) {
    if (!param.is_tensor()) continue;
    if (!scan.written.count(param.var.node())) inputs_.insert(param.buffer.get());
    for (const Expr& extent : param.buffer->shape)
      if (const auto* var = extent.As<VarNode>())
        analyzer_.Bind(Var(var), {0, arith::ConstBounds::kPosInf});
  }
}

void FaultAnalysis::BindLoop(const ForNode* loop) {
  analyzer_.BindRange(loop->var, loop->min, loop->extent);
  if (ir::IsConst(loop->min, 0))
    extents_[loop->var.node()] = loop->extent;
  else
    extents_.erase(loop->var.node());
}

void FaultAnalysis::BindLet(const Var& var, const Expr& value) {
  analyzer_.Bind(var, analyzer_.Bounds(value));
  extents_.erase(var.node());
}

void FaultAnalysis::EnterIteration(const Expr& extent) {
  if (const auto* product = extent.As<ir::MulNode>()) {
    EnterIteration(product->a);
    EnterIteration(product->b);
  } else if (const auto* tiles = extent.As<ir::FloorDivNode>()) {
    // (n + 31) // 32 of them are none where n is 0.
    const auto* sum = tiles->a.As<ir::AddNode>();
    int64_t rest = sum ? ir::AsConstInt(sum->b).value_or(-1) : 0;
    if (rest >= 0 && rest < ir::AsConstInt(tiles->b).value_or(0))
      EnterIteration(sum ? sum->a : tiles->a);
  } else if (const auto* var = extent.As<VarNode>()) {
    arith::ConstBounds bounds = analyzer_.Bounds(extent);
    if (bounds.lo == 0) analyzer_.Bind(Var(var), {1, std::min(bounds.hi, kMostExtent)});
  }
}

bool FaultAnalysis::IsInside(const Expr& index, const Expr& extent) const {
  arith::ConstBounds place = analyzer_.Bounds(index);
  if (!index.dtype().is_scalar() || place.lo < 0) return false;
  if (place.hi < analyzer_.Bounds(extent).lo) return true;
  auto it = extents_.find(index.As<VarNode>());
  return it != extents_.end() && ir::StructuralEqual(it->second, extent);
}

bool FaultAnalysis::IsSafeLoad(const ir::BufferLoadNode* load) const {
  if (!inputs_.count(load->buffer.get())) return false;
  for (size_t d = 0; d < load->indices.size(); ++d)
    if (!IsInside(load->indices[d], load->buffer->shape[d])) return false;
  return true;
}

bool FaultAnalysis::MayFault(const Expr& expr, const Expr& evaluated) const {
  if (!ir::MayFault(expr)) return false;
  bool known = false;
  auto note = [&](const Expr& e) { known |= ir::StructuralEqual(e, expr); };
  if (evaluated.get()) arith::ForEachEvaluated(evaluated, note);
  if (known) return false;
  struct Parts : ir::ExprVisitor {
    Parts(const FaultAnalysis* faults, const Expr& evaluated)
        : faults(faults), evaluated(evaluated) {}
    void Visit(const Expr& part) override { may_fault |= faults->MayFault(part, evaluated); }
    void VisitParts(const Expr& expr) { ir::ExprVisitor::Visit(expr); }
    const FaultAnalysis* faults;
    const Expr& evaluated;
    bool may_fault = false;
  } parts(this, evaluated);
  parts.VisitParts(expr);
  if (parts.may_fault) return true;
  return ir::DispatchExpr(expr.get(), [&](auto* node) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
    if constexpr (T::kKind == ExprKind::kBufferLoad)
      return !IsSafeLoad(node);
    else if constexpr (T::kKind == ExprKind::kCall)
      return !ir::AsIfThenElse(expr) && ir::FindIntrinsic(node->name)->may_fault;
    else if constexpr (T::kKind >= ExprKind::kTruncDiv && T::kKind <= ExprKind::kFloorMod)
      return !DividesSafely(node->a, node->b);
    else
      return false;
  });
}

bool FaultAnalysis::DividesSafely(const Expr& dividend, const Expr& divisor) const {
  if (!dividend.dtype().is_scalar()) return false;
  if (analyzer_.Bounds(divisor).lo > 0) return true;
  // The least number divided by -1 overflows.
  std::optional<int64_t> constant = ir::AsConstInt(divisor);
  return constant && *constant != 0 && *constant != -1;
}

bool FaultAnalysis::MayOverflow(const Expr& expr) const {
  bool may_overflow = false;
  ir::ForEachExpr(expr, [&](const Expr& e) {
    may_overflow |= ir::DispatchExpr(e.get(), [&](auto* node) {
      using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
      constexpr ExprKind kind = T::kKind;
      DataType dtype = e.dtype();
      if constexpr (kind == ExprKind::kCast) {
        return dtype.is_integer() && node->value.dtype().is_float();
      } else if constexpr (kind == ExprKind::kAdd || kind == ExprKind::kSub ||
                           kind == ExprKind::kMul) {
        if (!dtype.is_int() || dtype.bits() < 32) return false;
        if (!dtype.is_scalar()) return true;
        arith::ConstBounds a = analyzer_.Bounds(node->a), b = analyzer_.Bounds(node->b);
        return !arith::FitsType(kind, a, b, dtype);
      } else {
        return kind == ExprKind::kRamp && dtype.is_int() && dtype.bits() >= 32;
      }
    });
  });
  return may_overflow;
}

}  // namespace tern::tir
