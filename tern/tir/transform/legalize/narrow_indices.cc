// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/legalize/narrow_indices.h"

#include "tern/ir/intrinsic.h"
#include "tern/tir/analyzed_mutator.h"

namespace tern::tir {
namespace {

constexpr DataType kWide = DataType::Int(64), kNarrow = DataType::Int(32);

class Narrower : public AnalyzedMutator {
  using AnalyzedMutator::Mutate;
  using AnalyzedMutator::MutateNode;

  // ---- values

  bool Fits(const Expr& expr) const {
    arith::ConstBounds bounds = analyzer_.Bounds(expr);
    return bounds.lo >= std::numeric_limits<int32_t>::min() &&
           bounds.hi <= std::numeric_limits<int32_t>::max();
  }

  // The same value computed in int32, or null where a part may not fit.
  Expr Narrow(const Expr& expr) {
    if (expr.dtype() != kWide || !Fits(expr)) return {};
    return ir::DispatchExpr(expr.get(), [&](auto* node) -> Expr {
      using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
      constexpr ExprKind kind = T::kKind;
      if constexpr (kind == ExprKind::kIntImm) {
        return ir::IntImmNode::Make(kNarrow, node->value, node->span);
      } else if constexpr (kind == ExprKind::kVar) {
        auto it = narrow_.find(node);
        return it == narrow_.end() ? ir::CastNode::Make(kNarrow, expr, node->span) : it->second;
      } else if constexpr (kind == ExprKind::kCast) {
        DataType from = node->value.dtype();
        if (!from.is_integer() || from.bits() > 32) return {};
        return ir::CastNode::Make(kNarrow, Mutate(node->value), node->span);
      } else if constexpr (requires { node->a, node->b; }) {
        Expr a = Narrow(node->a), b = a ? Narrow(node->b) : Expr();
        return b ? T::Make(a, b, node->span) : Expr();
      } else if constexpr (kind == ExprKind::kSelect) {
        Expr yes = Narrow(node->true_value), no = yes ? Narrow(node->false_value) : Expr();
        return no ? ir::SelectNode::Make(Mutate(node->condition), yes, no, node->span) : Expr();
      } else {
        return {};
      }
    });
  }

  Expr NarrowIndex(const Expr& index) {
    if (const auto* ramp = index.As<ir::RampNode>()) {
      if (ramp->base.dtype() != kWide) return Mutate(index);
      Expr last = ramp->base + ramp->stride * Expr(ramp->lanes - 1);
      Expr base = Narrow(ramp->base), stride = Narrow(ramp->stride);
      if (!base || !stride || !Fits(last)) return Mutate(index);
      return ir::RampNode::Make(base, stride, ramp->lanes, ramp->span);
    }
    Expr narrow = Narrow(index);
    return narrow ? narrow : Mutate(index);
  }
  std::vector<Expr> NarrowAll(const std::vector<Expr>& indices) {
    std::vector<Expr> result;
    for (const Expr& index : indices) result.push_back(NarrowIndex(index));
    return result;
  }

  // Elsewhere a variable that is narrow now is widened again.
  Expr MutateNode(const VarNode* node, const Expr& self) override {
    auto it = narrow_.find(node);
    return it == narrow_.end() ? self : ir::CastNode::Make(kWide, it->second, node->span);
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr&) override {
    return ir::BufferLoadNode::Make(MutateUse(node->buffer), NarrowAll(node->indices), node->span,
                                    MutateOptional(node->predicate));
  }

  // A quotient is narrow in a wide sum, too: a division of 64 bits takes many times as long.
  template <class T>
  Expr Divide(const T* node, const Expr& self) {
    Expr narrow = Narrow(self);
    return narrow ? ir::CastNode::Make(kWide, narrow, node->span) : MutateChildren(node, self);
  }
#define TERN_DIVIDE(name)                                                  \
  Expr MutateNode(const ir::name##Node* node, const Expr& self) override { \
    return Divide(node, self);                                             \
  }
  TERN_DIVIDE(TruncDiv)
  TERN_DIVIDE(TruncMod)
  TERN_DIVIDE(FloorDiv)
  TERN_DIVIDE(FloorMod)
#undef TERN_DIVIDE

  template <class T>
  Expr Compare(const T* node, const Expr& self) {
    if (node->a.dtype() == kWide)
      if (Expr a = Narrow(node->a))
        if (Expr b = Narrow(node->b)) return T::Make(a, b, node->span);
    return MutateChildren(node, self);
  }
#define TERN_COMPARE(name)                                                 \
  Expr MutateNode(const ir::name##Node* node, const Expr& self) override { \
    return Compare(node, self);                                            \
  }
  TERN_COMPARISON_NODES(TERN_COMPARE)
#undef TERN_COMPARE

  // ---- definitions

  // From here on `var` is the narrow variable that is returned.
  Var NarrowVar(const Var& var) {
    Var narrow(var.name(), kNarrow, var.span());
    narrow_[var.node()] = narrow;
    return narrow;
  }
  // What the narrow variables are in the analyzer follows from those they replace, whose bounds
  // stay known.
  template <class T, class Self>
  Self MutateLet(const T* node, const Self& self) {
    narrow_.erase(node->var.node());
    Expr narrow = Narrow(node->value), value = narrow ? narrow : Mutate(node->value);
    if (node->value.dtype().is_integer()) analyzer_.Bind(node->var, analyzer_.Bounds(node->value));
    Var var = node->var;
    if (narrow) {
      var = NarrowVar(node->var);
      analyzer_.Bind(var, analyzer_.Bounds(node->value));
    }
    auto body = Mutate(node->body);
    if (value.same(node->value) && body.same(node->body)) return self;
    return T::Make(var, value, body, node->span);
  }
  Expr MutateNode(const ir::LetNode* node, const Expr& self) override {
    return MutateLet(node, self);
  }
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    return MutateLet(node, self);
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    narrow_.erase(node->var.node());
    analyzer_.BindRange(node->var, node->min, node->extent);
    Expr min = Narrow(node->min), extent = min ? Narrow(node->extent) : Expr();
    // The variable stops one step beyond its last value.
    if (!extent || !Fits(node->min + node->extent)) return MutateChildren(node, self);
    Var var = NarrowVar(node->var);
    analyzer_.Bind(var, analyzer_.Bounds(node->var));
    return ForNode::Make(var, min, extent, node->for_kind, Mutate(node->body), node->thread,
                         node->span, node->annotations);
  }

  Stmt MutateNode(const BufferStoreNode* node, const Stmt&) override {
    return BufferStoreNode::Make(MutateUse(node->buffer), NarrowAll(node->indices),
                                 Mutate(node->value), node->span, MutateOptional(node->predicate));
  }

  ir::VarMap narrow_;
};

}  // namespace

PrimFunc NarrowIndices(const PrimFunc& function) { return Narrower().MutateFunction(function); }

}  // namespace tern::tir
