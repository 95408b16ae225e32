// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/annotate_pipelines.h"

#include "tern/tir/visitor.h"

namespace tern::fuzz {
namespace {

using namespace tern::tir;  // the statement classes

// A loop of several statements, which a pipeline can tell apart.
const SeqNode* Statements(const ForNode* loop) {
  Stmt body = loop->body;
  for (;;) {
    if (const auto* allocation = body.As<AllocateNode>())
      body = allocation->body;
    else if (const auto* let = body.As<LetStmtNode>())
      body = let->body;
    else
      return loop->for_kind == ForKind::kSerial ? body.As<SeqNode>() : nullptr;
  }
}

class LoopCounter : public StmtVisitor {
 public:
  int64_t count = 0;

 private:
  using StmtVisitor::VisitNode;
  void VisitNode(const ForNode* node) override {
    count += Statements(node) != nullptr;
    VisitChildren(node);
  }
};

class Annotator : public StmtMutator {
 public:
  Annotator(int64_t chosen, Random* random) : left_(chosen), random_(random) {}

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    const SeqNode* statements = Statements(node);
    if (!statements || left_-- != 0) return MutateChildren(node, self);
    std::vector<ffi::Any> stages, order;
    int64_t stage = 0;
    for (size_t i = 0; i < statements->stmts.size(); ++i) {
      // Mostly rising: others are refused.
      stage += random_->Below(2);
      stages.emplace_back(random_->OneIn(8) ? random_->Below(3) : stage);
      order.emplace_back(static_cast<int64_t>(i));
    }
    for (size_t i = order.size(); i > 1 && random_->OneIn(3); --i)
      std::swap(order[i - 1], order[random_->Below(static_cast<int64_t>(i))]);
    auto loop = ffi::Make<ForNode>(*node);
    loop->annotations["pipeline_stages"] = ffi::MakeArray(std::move(stages));
    loop->annotations["pipeline_order"] = ffi::MakeArray(std::move(order));
    return Stmt(loop);
  }

  int64_t left_;
  Random* random_;
};

}  // namespace

Stmt AnnotatePipelines(const Stmt& stmt, Random* random) {
  LoopCounter loops;
  loops.Visit(stmt);
  return loops.count == 0 ? stmt : Annotator(random->Below(loops.count), random).Mutate(stmt);
}

}  // namespace tern::fuzz
