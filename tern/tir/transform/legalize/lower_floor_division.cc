// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/legalize/lower_floor_division.h"

#include "tern/tir/analyzed_mutator.h"

namespace tern::tir {
namespace {

class FloorDivisionLowerer : public AnalyzedMutator {
  using AnalyzedMutator::MutateNode;

  Expr MutateNode(const ir::FloorDivNode* node, const Expr& self) override {
    return Lower<ir::TruncDivNode>(node, self);
  }
  Expr MutateNode(const ir::FloorModNode* node, const Expr& self) override {
    return Lower<ir::TruncModNode>(node, self);
  }

  template <class Trunc, class Floor>
  Expr Lower(const Floor* node, const Expr& self) {
    bool not_negative = self.dtype().is_scalar() && analyzer_.Bounds(node->a).lo >= 0 &&
                        analyzer_.Bounds(node->b).lo >= 0;
    if (!not_negative) return MutateChildren(node, self);
    return Trunc::Make(Mutate(node->a), Mutate(node->b), node->span);
  }
};

}  // namespace

PrimFunc LowerFloorDivision(const PrimFunc& function) {
  return FloorDivisionLowerer().MutateFunction(function);
}

}  // namespace tern::tir
