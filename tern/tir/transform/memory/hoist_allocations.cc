// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/memory/hoist_allocations.h"

#include <algorithm>
#include <unordered_set>

#include "tern/arith/linear.h"
#include "tern/arith/linear_sum.h"
#include "tern/tir/analyzed_mutator.h"

namespace tern::tir {
namespace {

// Memory of the environment, of a size that is known when the function runs.
bool IsDynamic(const Buffer& buffer) {
  return buffer->scope == StorageScope::kGlobal && buffer->strides.empty() &&
         std::any_of(buffer->shape.begin(), buffer->shape.end(),
                     [](const Expr& extent) { return !ir::AsConstInt(extent); });
}

bool Allocates(const Stmt& stmt) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const AllocateNode* node) override {
      found |= IsDynamic(node->buffer);
      if (!found) VisitChildren(node);
    }
    bool found = false;
  } finder;
  finder.Visit(stmt);
  return finder.found;
}

// The body of a loop without the allocations that may stand before it.
class Extractor {
 public:
  Extractor(const Var& loop, const arith::Analyzer& outside) : outside_(outside) {
    inside_.insert(loop.node());
  }

  Stmt Run(const Stmt& stmt) {
    if (const auto* node = stmt.As<AllocateNode>()) {
      Stmt body = Run(node->body);
      if (MayLeave(node->buffer))
        found.push_back(node);
      else
        return AllocateNode::Make(node->buffer, body, node->span);
      return body;
    }
    if (const auto* node = stmt.As<LetStmtNode>()) {
      inside_.insert(node->var.node());
      return LetStmtNode::Make(node->var, node->value, Run(node->body), node->span);
    }
    if (const auto* node = stmt.As<IfThenElseNode>()) {
      if (node->else_case) return stmt;
      return IfThenElseNode::Make(node->condition, Run(node->then_case), {}, node->span);
    }
    const auto* seq = stmt.As<SeqNode>();
    if (!seq || std::count_if(seq->stmts.begin(), seq->stmts.end(), Allocates) != 1) return stmt;
    std::vector<Stmt> stmts;
    for (const Stmt& one : seq->stmts) stmts.push_back(Run(one));
    return SeqNode::Make(stmts, seq->span);
  }

  std::vector<const AllocateNode*> found;  // the innermost first

 private:
  bool MayLeave(const Buffer& buffer) const {
    return IsDynamic(buffer) &&
           std::all_of(buffer->shape.begin(), buffer->shape.end(), [&](const Expr& extent) {
             bool same = arith::IsFixed(extent) && !ir::MayFault(extent);
             ir::ForEachExpr(extent, [&](const Expr& part) {
               if (const auto* var = part.As<VarNode>()) same &= !inside_.count(var);
             });
             return same && arith::ProveLessEqual(outside_, 0, extent);
           });
  }

  const arith::Analyzer& outside_;
  std::unordered_set<const VarNode*> inside_;
};

class Hoister : public AnalyzedMutator {
 private:
  using AnalyzedMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    arith::Analyzer outside = analyzer_;
    Stmt result = AnalyzedMutator::MutateNode(node, self);
    const auto* loop = result.As<ForNode>();
    if (!loop || loop->for_kind != ForKind::kSerial || !Allocates(loop->body)) return result;
    Extractor extractor(loop->var, outside);
    Stmt body = extractor.Run(loop->body);
    if (extractor.found.empty()) return result;
    Stmt hoisted = loop->With(loop->min, loop->extent, body);
    for (const AllocateNode* one : extractor.found)
      hoisted = AllocateNode::Make(one->buffer, hoisted, one->span);
    return hoisted;
  }
};

}  // namespace

PrimFunc HoistAllocations(const PrimFunc& function) {
  return Allocates(function->body) ? Hoister().MutateFunction(function) : function;
}

}  // namespace tern::tir
