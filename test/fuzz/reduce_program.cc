// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/reduce_program.h"

#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"
#include "test/fuzz/random_program.h"

namespace tern::fuzz {
namespace {

using namespace tern::tir;  // the statement classes

std::vector<Expr> ChildrenOf(const Expr& expr) {
  struct Collector : ir::ExprVisitor {
    void Visit(const Expr& expr) override {
      if (inside)
        children.push_back(expr);
      else
        inside = true, ExprVisitor::Visit(expr);
    }
    std::vector<Expr> children;
    bool inside = false;
  } collector;
  collector.Visit(expr);
  return collector.children;
}

// Smaller programs that might do instead of the statement.
std::vector<Stmt> Alternatives(const Stmt& stmt) {
  if (const auto* seq = stmt.As<SeqNode>(); seq && seq->stmts.empty()) return {};
  std::vector<Stmt> result = {SeqNode::Make({})};
  if (const auto* loop = stmt.As<ForNode>())
    result.push_back(Substitute(loop->body, {{loop->var.node(), loop->min}}));
  if (const auto* branch = stmt.As<IfThenElseNode>()) {
    result.push_back(branch->then_case);
    if (branch->else_case) result.push_back(branch->else_case);
  }
  if (const auto* let = stmt.As<LetStmtNode>())
    result.push_back(Substitute(let->body, {{let->var.node(), let->value}}));
  if (const auto* allocate = stmt.As<AllocateNode>()) result.push_back(allocate->body);
  if (const auto* block = stmt.As<BlockNode>()) {
    ir::VarMap bindings;
    for (const BlockIter& iter : block->iters) bindings[iter.var.node()] = iter.binding;
    result.push_back(Substitute(block->body, bindings));
    if (block->init) {
      auto without_init = ffi::Make<BlockNode>(*block);
      without_init->init = {};
      result.push_back(without_init);
    }
  }
  return result;
}

std::vector<Expr> Alternatives(const Expr& expr) {
  DataType dtype = expr.dtype();
  bool constant = expr.As<ir::IntImmNode>() || expr.As<ir::FloatImmNode>();
  if (constant || !dtype.is_scalar() || dtype.is_handle()) return {};
  std::vector<Expr> result = {ir::MakeConst(dtype, 0), ir::MakeConst(dtype, 1)};
  for (const Expr& child : ChildrenOf(expr))
    if (child.dtype() == dtype) result.push_back(child);
  if (const auto* let = expr.As<ir::LetNode>())
    result.push_back(ir::Substitute(let->body, {{let->var.node(), let->value}}));
  return result;
}

// Puts the alternative of number `at`, over all of the program, in its place.
class Edit : public StmtMutator {
 public:
  explicit Edit(int at) : left_(at) {}
  bool applied() const { return left_ < 0; }

  Stmt Mutate(const Stmt& stmt) override {
    const auto* store = stmt.As<BufferStoreNode>();
    if (applied() || (store && store->buffer->name == kCounterName)) return stmt;
    for (const Stmt& alternative : Alternatives(stmt))
      if (left_-- == 0) return alternative;
    return StmtMutator::Mutate(stmt);
  }
  Expr Mutate(const Expr& expr) override {
    if (applied()) return expr;
    for (const Expr& alternative : Alternatives(expr))
      if (left_-- == 0) return alternative;
    return StmtMutator::Mutate(expr);
  }

 private:
  using StmtMutator::MutateNode;

  // An address is that of an element.
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    return node->name == intrinsic::kAddressOf ? self : MutateChildren(node, self);
  }
  // Joins sequences again.
  Stmt MutateNode(const SeqNode* node, const Stmt&) override {
    std::vector<Stmt> stmts;
    for (const Stmt& stmt : node->stmts) stmts.push_back(Mutate(stmt));
    return SeqNode::Make(std::move(stmts), node->span);
  }
  // The condition and the step of the counter at the end of the body stay, or the loop may not end.
  Stmt MutateNode(const WhileNode* node, const Stmt&) override {
    return WhileNode::Make(node->condition, StmtMutator::Mutate(node->body), node->span);
  }
  Buffer MutateDef(const BufferDef& buffer) override { return buffer; }

  int left_;
};

}  // namespace

PrimFunc ReduceProgram(PrimFunc function, const std::function<bool(const PrimFunc&)>& fails,
                       int max_tries) {
  int tries = 0;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (int at = 0;;) {
      Edit edit(at);
      PrimFunc candidate = function.WithBody(edit.Mutate(function->body));
      if (!edit.applied()) break;
      if (++tries > max_tries) return function;
      if (fails(candidate)) {
        function = candidate;
        smaller = true;
      } else {
        ++at;
      }
    }
  }
  return function;
}

}  // namespace tern::fuzz
