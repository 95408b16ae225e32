// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/loops/unroll_loops.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/ir/diagnostic.h"
#include "tern/target/target.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/text.h"
#include "tern/tir/transform/blocks/initialize_empty_reductions.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

std::optional<int64_t> KnownExtent(const ForNode* node) {
  return ir::AsConstInt(arith::Analyzer().Simplify(node->extent));
}

// How many statements, and whether loops inside have extents that depend on a variable.
class StatementCounter : public StmtVisitor {
 public:
  explicit StatementCounter(const Var& var) : var_(var) {}
  double count = 0;
  bool shapes_loops = false;

 private:
  using StmtVisitor::VisitNode;

  void VisitNode(const BufferStoreNode*) override { count += copies_; }
  void VisitNode(const EvaluateNode*) override { count += copies_; }
  void VisitNode(const AssertNode*) override { count += copies_; }
  void VisitNode(const ForNode* node) override {
    shapes_loops |= ir::UsesVar(node->extent, var_.node());
    double outer = copies_;
    if (node->for_kind == ForKind::kUnrolled)
      copies_ *= double(std::max<int64_t>(KnownExtent(node).value_or(1), 0));
    Visit(node->body);
    copies_ = outer;
  }

  const Var& var_;
  double copies_ = 1;
};

class Unroller : public StmtMutator {
 public:
  Unroller(int64_t max_copies, std::optional<int64_t> max_statements)
      : max_copies_(max_copies), max_statements_(max_statements) {}

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
    if (StaysLoop(node, extent)) {
      Stmt loop = MutateChildren(node, self);
      copies_ = outer_copies;
      return loop;
    }
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

  bool StaysLoop(const ForNode* node, int64_t extent) const {
    if (!max_statements_ || extent < 2) return false;
    StatementCounter counter(node->var);
    counter.Visit(node->body);
    return !counter.shapes_loops && counter.count * double(extent) > double(*max_statements_);
  }

  static int64_t ConstantExtent(const ForNode* node) {
    std::optional<int64_t> constant = KnownExtent(node);
    if (!constant)
      TERN_THROW(ValueError) << ir::At(node->span) << "loop " << node->var.name()
                             << " cannot be unrolled: its extent "
                             << Print(arith::Analyzer().Simplify(node->extent))
                             << " is not constant";
    return *constant;
  }

  const int64_t max_copies_;
  const std::optional<int64_t> max_statements_;  // that a loop may become; all where not given
  int64_t copies_ = 1;                           // of the statement at hand, by the loops around it
};

}  // namespace

PrimFunc UnrollLoops(const PrimFunc& function, int64_t max_copies) {
  std::optional<int64_t> max_statements;
  if (auto it = function->attrs.find(attr::kTarget); it != function->attrs.end()) {
    auto target = it->second.As<target::Target>();
    if (target->attrs.contains(attr::kUnrolledStatements))
      max_statements = target->GetInt(attr::kUnrolledStatements);
  }
  return Unroller(max_copies, max_statements).MutateFunction(function);
}

}  // namespace tern::tir
