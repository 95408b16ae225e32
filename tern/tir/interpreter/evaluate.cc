// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/evaluate.h"

#include "tern/arith/analyzer.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/mutator.h"
#include "tern/tir/computation.h"
#include "tern/tir/interpreter/intrinsic_reference.h"
#include "tern/tir/interpreter/value.h"

namespace tern::tir {
namespace {

// Thrown where an element is not known.
struct Unknown {};

bool IsConstant(const Expr& expr) {
  return expr.As<ir::IntImmNode>() || expr.As<ir::FloatImmNode>();
}

Lane LaneOf(const Expr& constant) {
  Lane lane{};
  if (const auto* number = constant.As<ir::FloatImmNode>())
    lane.f = number->value;
  else
    lane.i = constant.As<ir::IntImmNode>()->value;
  return lane;
}

Expr ConstantOf(DataType dtype, Lane lane) {
  if (dtype.is_float()) return ir::FloatImmNode::Make(dtype, lane.f);
  return ir::IntImmNode::Make(dtype, lane.i);
}

// Computes what is constant, from the leaves up. Symbolic integers are simplified at the end, all
// at once.
class Folder : public ir::ExprMutator {
 public:
  Expr Mutate(const Expr& expr) override {
    if (const auto* select = expr.As<ir::SelectNode>()) return MutateSelect(select, expr);
    if (const auto* conjunction = expr.As<ir::AndNode>()) return Logic(conjunction, expr, false);
    if (const auto* disjunction = expr.As<ir::OrNode>()) return Logic(disjunction, expr, true);
    Expr result = ir::ExprMutator::Mutate(expr);
    return Folded(result);
  }

 private:
  // Only the chosen value counts: the other may read what is not there.
  Expr MutateSelect(const ir::SelectNode* node, const Expr& self) {
    Expr condition = Simplified(Mutate(node->condition));
    if (std::optional<int64_t> known = ir::AsConstInt(condition))
      return Mutate(*known ? node->true_value : node->false_value);
    Expr a = Mutate(node->true_value), b = Mutate(node->false_value);
    return ir::SelectNode::Make(condition, a, b, self.span());
  }

  template <class T>
  Expr Logic(const T* node, const Expr& self, bool decided_by) {
    Expr a = Simplified(Mutate(node->a));
    if (std::optional<int64_t> known = ir::AsConstInt(a))
      return (*known != 0) == decided_by ? a : Mutate(node->b);
    return T::Make(a, Mutate(node->b), self.span());
  }

  static Expr Simplified(const Expr& expr) { return arith::Analyzer().Simplify(expr); }

  static Expr Folded(const Expr& expr) {
    try {
      return TryFold(expr);
    } catch (const Error&) {
      throw Unknown{};  // divided by zero, or does not fit the type
    }
  }

  static Expr TryFold(const Expr& expr) {
    if (!expr.dtype().is_scalar()) return expr;
#define TERN_FOLD(name)                                   \
  if (const auto* node = expr.As<ir::name##Node>();       \
      node && IsConstant(node->a) && IsConstant(node->b)) \
    return ConstantOf(expr.dtype(),                       \
                      BinaryLane(expr->kind, node->a.dtype(), LaneOf(node->a), LaneOf(node->b)));
    TERN_ARITHMETIC_NODES(TERN_FOLD)
    TERN_COMPARISON_NODES(TERN_FOLD)
#undef TERN_FOLD
    if (const auto* node = expr.As<ir::NotNode>(); node && IsConstant(node->a))
      return ir::IntImmNode::Make(DataType::Bool(), LaneOf(node->a).i == 0);
    if (const auto* node = expr.As<ir::CastNode>(); node && IsConstant(node->value))
      return ConstantOf(expr.dtype(),
                        CastLane(node->value.dtype(), expr.dtype(), LaneOf(node->value)));
    if (const auto* node = expr.As<ir::CallNode>()) return FoldCall(node, expr);
    return expr;
  }

  static Expr FoldCall(const ir::CallNode* node, const Expr& self) {
    std::vector<Lane> args;
    for (const Expr& arg : node->args) {
      if (!IsConstant(arg)) return self;
      args.push_back(LaneOf(arg));
    }
    const LaneFunction* reference = args.empty() ? nullptr : FindIntrinsicReference(node->name);
    if (!reference) return self;
    return ConstantOf(self.dtype(), (*reference)(node->args[0].dtype(), args.data()));
  }
};

class Evaluator : public Folder {
 public:
  explicit Evaluator(const InputElement& input) : input_(input) {}

  Expr ElementOf(const Tensor& tensor, const std::vector<int64_t>& indices) {
    if (++terms_ > kMaxEvaluatedTerms) throw Unknown{};
    for (size_t i = 0; i < indices.size(); ++i) CheckInside(indices[i], tensor.shape()[i]);
    const TensorNode* node = AsTensor(tensor.buffer());
    if (!node || !node->computation) {
      Expr element = input_(tensor, indices);
      if (!element) throw Unknown{};
      return element;
    }
    const Computation& computation = *node->computation;
    ir::VarMap at;
    for (size_t i = 0; i < indices.size(); ++i) at[computation.axes[i].node()] = Expr(indices[i]);
    if (computation.is_reduction()) return Reduced(computation, node->index, at);
    if (!computation.condition) return MutateAt(computation.values[node->index], at);
    Expr condition = MutateAt(computation.condition, at);
    std::optional<int64_t> holds = ir::AsConstInt(condition);
    if (!holds) throw Unknown{};
    return MutateAt(*holds ? computation.values[0] : computation.other, at);
  }

 private:
  // Out of a buffer nothing is known: a formula that reads there is wrong, or its result unused.
  void CheckInside(int64_t index, const Expr& extent) {
    std::optional<int64_t> constant = ir::AsConstInt(extent);
    if (index < 0 || !constant || index >= *constant) throw Unknown{};
  }

  Expr MutateAt(const Expr& expr, const ir::VarMap& at) { return Mutate(ir::Substitute(expr, at)); }

  Expr MutateNode(const ir::BufferLoadNode* node, const Expr&) override {
    std::vector<int64_t> indices;
    for (const Expr& index : node->indices) {
      Expr value = arith::Analyzer().Simplify(Mutate(index));
      std::optional<int64_t> constant = ir::AsConstInt(value);
      if (!constant) throw Unknown{};
      indices.push_back(*constant);
    }
    return ElementOf(Tensor(node->buffer), indices);
  }

  Expr Reduced(const Computation& computation, size_t result, ir::VarMap at) {
    std::vector<Expr> so_far;
    for (const Expr& identity : computation.identities) so_far.push_back(MutateAt(identity, at));
    std::vector<int64_t> extents, step(computation.reduce_axes.size(), 0);
    for (const ReduceAxis& axis : computation.reduce_axes) {
      std::optional<int64_t> extent = ir::AsConstInt(axis.extent());
      if (!extent) throw Unknown{};
      if (*extent <= 0) return so_far[result];
      extents.push_back(*extent);
    }
    do {
      for (size_t i = 0; i < step.size(); ++i)
        at[computation.reduce_axes[i].node()] = Expr(step[i]);
      Combine(computation, at, &so_far);
    } while (NextStep(extents, &step));
    return so_far[result];
  }

  static bool NextStep(const std::vector<int64_t>& extents, std::vector<int64_t>* step) {
    for (size_t i = step->size(); i-- > 0;) {
      if (++(*step)[i] < extents[i]) return true;
      (*step)[i] = 0;
    }
    return false;
  }

  void Combine(const Computation& computation, const ir::VarMap& at, std::vector<Expr>* so_far) {
    if (++terms_ > kMaxEvaluatedTerms) throw Unknown{};
    if (computation.condition) {
      std::optional<int64_t> holds = ir::AsConstInt(MutateAt(computation.condition, at));
      if (!holds) throw Unknown{};
      if (!*holds) return;
    }
    ir::VarMap map;
    for (size_t i = 0; i < so_far->size(); ++i) {
      map[computation.so_far[i].node()] = (*so_far)[i];
      map[computation.next[i].node()] = MutateAt(computation.values[i], at);
    }
    for (size_t i = 0; i < so_far->size(); ++i)
      (*so_far)[i] = Mutate(ir::Substitute(computation.combined[i], map));
  }

  const InputElement& input_;
  int64_t terms_ = 0;
};

}  // namespace

Expr Evaluate(const Tensor& tensor, const std::vector<int64_t>& indices,
              const InputElement& input) {
  try {
    return arith::Analyzer().Simplify(Evaluator(input).ElementOf(tensor, indices));
  } catch (const Unknown&) {
    return {};
  }
}

Expr FoldConstants(const Expr& expr) {
  try {
    return arith::Analyzer().Simplify(Folder().Mutate(expr));
  } catch (const Unknown&) {
    return expr;
  }
}

}  // namespace tern::tir
