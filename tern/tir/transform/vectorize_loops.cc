// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/vectorize_loops.h"

#include "tern/arith/analyzer.h"
#include "tern/tir/analysis/independent_iterations.h"
#include "tern/tir/text.h"
#include "tern/tir/transform/lane_vectorizer.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

constexpr int64_t kMinLanes = 2, kMaxLanes = 64;

int Lanes(const ForNode* node) {
  Expr extent = arith::Analyzer().Simplify(node->extent);
  const int64_t* lanes = ir::AsConstInt(extent);
  if (!lanes)
    TERN_THROW(ValueError) << node->span.str() << ": loop " << node->var.name()
                           << " cannot be vectorized: its extent " << Print(extent)
                           << " is not constant; split the loop and vectorize the inner part";
  if (*lanes < kMinLanes || *lanes > kMaxLanes)
    TERN_THROW(ValueError) << node->span.str() << ": loop " << node->var.name()
                           << " cannot be vectorized: its extent is " << *lanes << "; expected "
                           << kMinLanes << " to " << kMaxLanes;
  return static_cast<int>(*lanes);
}

class Vectorizer : public StmtMutator {
 public:
  Vectorizer(const PrimFunc& function, const target::TargetKind* kind)
      : kind_(kind), faults_(function) {}

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    faults_.BindLoop(node);
    if (node->for_kind != ForKind::kVectorized) return MutateChildren(node, self);
    int lanes = Lanes(node);
    // The start is written out in several places: it must be the same in all of them.
    bool fixed = !ir::MayFault(node->min);
    Var start(node->var.name() + "_start", node->var.dtype(), node->span);
    Stmt serial = ForNode::Make(node->var, fixed ? node->min : start, node->extent,
                                ForKind::kSerial, Mutate(node->body), "", node->span);
    const auto* loop = serial.As<ForNode>();
    Stmt result;
    if ((!kind_ || kind_->vectors) && IterationsAreIndependent(loop)) {
      faults_.BindLoop(loop);
      result = LaneVectorizer(loop, lanes, kind_, faults_).Run();
    }
    if (!result) result = serial;
    return fixed ? result : LetStmtNode::Make(start, node->min, result, node->span);
  }

  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    faults_.BindLet(node->var, node->value);
    return MutateChildren(node, self);
  }

  const target::TargetKind* kind_;
  FaultAnalysis faults_;
};

}  // namespace

PrimFunc VectorizeLoops(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  bool known = it != function->attrs.end();
  return Vectorizer(function, known ? it->second.As<target::Target>()->kind : nullptr)
      .MutateFunction(function);
}

}  // namespace tern::tir
