// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/place_returns.h"

#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

const BufferStoreNode* AsReturn(const Stmt& stmt, const Buffer& result) {
  const auto* store = stmt.As<BufferStoreNode>();
  return store && store->buffer.same(result) ? store : nullptr;
}

class FindReturn : public StmtVisitor {
 public:
  explicit FindReturn(const Buffer& result) : result_(result) {}
  const StmtNode* found = nullptr;

 protected:
  using StmtVisitor::VisitNode;
  void VisitNode(const BufferStoreNode* node) override {
    if (node->buffer.same(result_)) found = node;
  }

 private:
  const Buffer& result_;
};

class ReturnPlacer {
 public:
  ReturnPlacer(const Buffer& result, ExprParser* parser) : result_(result), parser_(parser) {}

  // `stmt`, then `rest` (which may be null) on the paths that do not return in it.
  Stmt Place(const Stmt& stmt, const Stmt& rest) {
    if (const auto* seq = stmt.As<SeqNode>()) return PlaceAll(seq, rest);
    if (AsReturn(stmt, result_)) {
      if (rest) parser_->Fail(rest.span(), "this is not reached: the function returns before it");
      return stmt;
    }
    if (const auto* let = stmt.As<LetStmtNode>())
      return LetStmtNode::Make(let->var, let->value, Place(let->body, rest), let->span);
    if (const auto* alloc = stmt.As<AllocateNode>())
      return AllocateNode::Make(alloc->buffer, Place(alloc->body, rest), alloc->span);
    if (const auto* view = stmt.As<DeclBufferNode>())
      return DeclBufferNode::Make(view->buffer, Place(view->body, rest), view->span);
    if (!Returns(stmt)) return Continue(stmt, rest);
    if (const auto* branch = stmt.As<IfThenElseNode>()) return PlaceInBranches(branch, rest);
    parser_->Fail(Find(stmt)->span, "a return cannot stand in a loop or block");
  }

 private:
  const StmtNode* Find(const Stmt& stmt) const {
    FindReturn find(result_);
    find.Visit(stmt);
    return find.found;
  }
  bool Returns(const Stmt& stmt) const { return stmt && Find(stmt); }

  Stmt Continue(const Stmt& stmt, const Stmt& rest) {
    if (!rest) parser_->Fail(stmt.span(), "the function does not return a value behind this");
    return SeqNode::Make({stmt, rest}, stmt.span());
  }
  Stmt PlaceAll(const SeqNode* seq, const Stmt& rest) {
    Stmt placed = rest;
    for (size_t i = seq->stmts.size(); i-- > 0;) placed = Place(seq->stmts[i], placed);
    if (!placed) parser_->Fail(seq->span, "the function does not return a value");
    return placed;
  }
  // What follows goes to the one branch that does not return.
  Stmt PlaceInBranches(const IfThenElseNode* branch, const Stmt& rest) {
    Stmt then_case = branch->then_case, else_case = branch->else_case;
    if (!else_case) else_case = SeqNode::Make({}, branch->span);
    Stmt empty;
    then_case = Place(then_case, Returns(then_case) ? empty : rest);
    else_case = Place(else_case, Returns(else_case) ? empty : rest);
    return IfThenElseNode::Make(branch->condition, then_case, else_case, branch->span);
  }

  const Buffer& result_;
  ExprParser* parser_;
};

}  // namespace

Stmt PlaceReturns(const Stmt& body, const Buffer& result, ExprParser* parser) {
  return ReturnPlacer(result, parser).Place(body, {});
}

std::optional<Expr> AsExpression(const Stmt& body, const Buffer& result) {
  if (const BufferStoreNode* value = AsReturn(body, result)) return value->value;
  if (const auto* let = body.As<LetStmtNode>()) {
    std::optional<Expr> inner = AsExpression(let->body, result);
    if (!inner) return {};
    return ir::LetNode::Make(let->var, let->value, *inner, let->span);
  }
  if (const auto* branch = body.As<IfThenElseNode>()) {
    std::optional<Expr> then_value = AsExpression(branch->then_case, result);
    std::optional<Expr> else_value = AsExpression(branch->else_case, result);
    if (!then_value || !else_value) return {};
    return ir::SelectNode::Make(branch->condition, *then_value, *else_value, branch->span);
  }
  return {};
}

}  // namespace tern::tir
