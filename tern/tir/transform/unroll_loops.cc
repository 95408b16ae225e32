// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/unroll_loops.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/text.h"
#include "tern/tir/transform/initialize_empty_reductions.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class Unroller : public StmtMutator {
 public:
  explicit Unroller(int64_t max_copies) : max_copies_(max_copies) {}

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kUnrolled) return MutateChildren(node, self);
    int64_t extent = ConstantExtent(node);
    if (extent <= 0 && ContainsInit(node->body))
      return ForNode::Make(node->var, node->min, node->extent, ForKind::kSerial, node->body, "",
                           node->span);
    int64_t outer_copies = copies_;
    if (extent > max_copies_ / outer_copies)
      TERN_THROW(ValueError) << ir::At(node->span) << "unrolling loop " << node->var.name()
                             << " of extent " << extent << " makes more than " << max_copies_
                             << " copies of its body; split the loop and unroll the inner part";
    copies_ *= std::max<int64_t>(extent, 1);
    std::vector<Stmt> copies;
    for (int64_t i = 0; i < extent; ++i) {
      Expr value = node->min + ir::IntImmNode::Make(node->var.dtype(), i, node->span);
      // Loops inside may have extents that are constant only now.
      copies.push_back(Mutate(
          CopyWithFreshDefs(node->body, {{node->var.node(), arith::Analyzer().Simplify(value)}})));
    }
    copies_ = outer_copies;
    return SeqNode::Make(std::move(copies), node->span);
  }

  static int64_t ConstantExtent(const ForNode* node) {
    Expr extent = arith::Analyzer().Simplify(node->extent);
    std::optional<int64_t> constant = ir::AsConstInt(extent);
    if (!constant)
      TERN_THROW(ValueError) << ir::At(node->span) << "loop " << node->var.name()
                             << " cannot be unrolled: its extent " << Print(extent)
                             << " is not constant";
    return *constant;
  }

  const int64_t max_copies_;
  int64_t copies_ = 1;  // of the statement at hand, by the loops around it
};

}  // namespace

PrimFunc UnrollLoops(const PrimFunc& function, int64_t max_copies) {
  return Unroller(max_copies).MutateFunction(function);
}

}  // namespace tern::tir
