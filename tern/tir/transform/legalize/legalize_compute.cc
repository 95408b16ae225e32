// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/legalize/legalize_compute.h"

#include <map>

#include "tern/ir/intrinsic.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/has_float64.h"
#include "tern/tir/bulk_intrinsics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/math/functions.h"
#include "tern/tir/math/narrow_float.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// The same value as a float32; exact.
Expr ToFloat32(const Expr& expr) {
  DataType wide = DataType::Float(32, expr.dtype().lanes());
  if (const auto* imm = expr.As<ir::FloatImmNode>())
    return ir::FloatImmNode::Make(wide, imm->value, expr.span());
  if (const auto* broadcast = expr.As<ir::BroadcastNode>())
    return ir::BroadcastNode::Make(ToFloat32(broadcast->value), broadcast->lanes, expr.span());
  return ir::CastNode::Make(wide, expr, expr.span());
}

class ComputeLegalizer : public StmtMutator {
 public:
  explicit ComputeLegalizer(target::Target target) : target_(std::move(target)) {}

 private:
  using StmtMutator::MutateNode;

  bool IsIllegal(DataType dtype) const {
    if (!dtype.is_narrow_float()) return false;
    if (!target_ || !target_->kind->computes) return true;
    auto [it, is_new] = legal_.try_emplace(dtype.code());
    if (is_new) it->second = target_->kind->computes(target_, dtype.element());
    return !it->second;
  }

#define TERN_LEGALIZE(name)                                                \
  Expr MutateNode(const ir::name##Node* node, const Expr& self) override { \
    return Binary<ir::name##Node>(node, self);                             \
  }
  TERN_ARITHMETIC_NODES(TERN_LEGALIZE)
  TERN_COMPARISON_NODES(TERN_LEGALIZE)
#undef TERN_LEGALIZE

  template <class T>
  Expr Binary(const T* node, const Expr& self) {
    DataType dtype = node->a.dtype();
    if (!IsIllegal(dtype)) return MutateChildren(node, self);
    Expr result = T::Make(ToFloat32(Mutate(node->a)), ToFloat32(Mutate(node->b)), node->span);
    return self.dtype().is_bool() ? result : ir::CastNode::Make(dtype, result, node->span);
  }

  Expr MutateNode(const ir::CastNode* node, const Expr& self) override {
    DataType from = node->value.dtype(), to = node->dtype;
    if (!IsIllegal(from) && !IsIllegal(to)) return MutateChildren(node, self);
    Expr value = Mutate(node->value);
    if (IsIllegal(from)) value = ToFloat32(value);
    // What float32 cannot hold goes through float64, and is rounded to the type once.
    from = value.dtype();
    bool is_wide_integer = from.is_integer() && from.bits() >= 32;
    if (IsIllegal(to) && is_wide_integer && !HasFloat64(target_))
      value = math::Float32ForNarrowingOfInteger(value);
    else if (IsIllegal(to) && from.bits() >= 32 && !(from.is_float() && from.bits() == 32))
      value = math::Float32ForNarrowing(
          ir::CastNode::Make(DataType::Float(64, from.lanes()), value, node->span));
    else if (IsIllegal(to))
      value = ir::CastNode::Make(DataType::Float(32, from.lanes()), value, node->span);
    return ir::CastNode::Make(to, value, node->span);
  }

  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    Expr call = MutateChildren(node, self);
    const ir::Intrinsic* intrinsic = ir::FindIntrinsic(node->name);
    if (intrinsic->lane_wise && intrinsic->one_type && IsIllegal(node->args[0].dtype()))
      return Mutate(math::OfNarrowFloats(call.As<ir::CallNode>()));
    bool moves = node->name == ir::kIfThenElse || node->name == intrinsic::kBulkCopy ||
                 IsWarpOperation(node);
    if (intrinsic->lane_wise || moves || node->name == intrinsic::kAddressOf) return call;
    // What leaves the function leaves as a float32.
    auto copy = ffi::Make<ir::CallNode>(*call.As<ir::CallNode>());
    return Widen(&copy->args) ? Expr(copy) : call;
  }
  Stmt MutateNode(const AssertNode* node, const Stmt& self) override {
    Stmt result = MutateChildren(node, self);
    auto copy = ffi::Make<AssertNode>(*result.As<AssertNode>());
    return Widen(&copy->message) ? Stmt(copy) : result;
  }
  bool Widen(std::vector<Expr>* exprs) const {
    bool changed = false;
    for (Expr& expr : *exprs)
      if (IsIllegal(expr.dtype())) {
        expr = ToFloat32(expr);
        changed = true;
      }
    return changed;
  }

  target::Target target_;
  mutable std::map<int, bool> legal_;  // the target's answers, by type code
};

}  // namespace

PrimFunc LegalizeCompute(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  bool known = it != function->attrs.end();
  return ComputeLegalizer(known ? it->second.As<target::Target>() : target::Target())
      .MutateFunction(function);
}

}  // namespace tern::tir
