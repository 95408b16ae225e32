// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/bind_threads.h"

#include <algorithm>

#include "tern/target/target.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;

// Any access to memory, and any thread loop.
struct Scan : StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitUse(const Buffer&) override { touches_memory = true; }
  void VisitNode(const ForNode* node) override {
    binds_threads |= node->for_kind == ForKind::kThread;
    VisitChildren(node);
  }
  bool touches_memory = false, binds_threads = false;
};

// Of a statement or an expression.
template <class T>
Scan ScanOf(const T& what) {
  Scan scan;
  scan.Visit(what);
  return scan;
}

// Instances that differ in `var` are independent: it is the binding of a spatial axis and occurs in
// no other.
bool IsSpatial(const BlockNode* block, const VarNode* var) {
  int spatial = 0, others = 0;
  for (const BlockIter& iter : block->iters) {
    if (!ir::UsesVar(iter.binding, var)) continue;
    bool direct = iter.kind == IterKind::kSpatial && iter.binding.get() == var;
    (direct ? spatial : others)++;
  }
  return spatial == 1 && others == 0;
}

// The outermost serial loops along spatial axes, with constant or outer-defined ranges, of a nest
// that ends in one block.
std::vector<const ForNode*> SpatialLoops(const Stmt& stmt) {
  std::vector<const ForNode*> chain;
  Stmt at = stmt;
  for (const ForNode* loop = at.As<ForNode>(); loop; loop = at.As<ForNode>()) {
    chain.push_back(loop);
    at = loop->body;
  }
  const auto* block = at.As<BlockNode>();
  if (!block) return {};
  std::vector<const ForNode*> spatial;
  for (const ForNode* loop : chain) {
    bool fixed = std::none_of(spatial.begin(), spatial.end(), [&](const ForNode* outer) {
      return ir::UsesVar(loop->extent, outer->var.node()) ||
             ir::UsesVar(loop->min, outer->var.node());
    });
    bool index = loop->var.dtype() == DataType::Int(64);
    if (loop->for_kind != ForKind::kSerial || !fixed || !index ||
        !IsSpatial(block, loop->var.node()))
      break;
    spatial.push_back(loop);
  }
  return spatial;
}

Stmt OneThread(const Stmt& stmt) {
  return ForNode::Make(Var("thread"), 0, 1, ForKind::kThread, stmt, "threadIdx.x", stmt.span());
}

// for i in 0..n, j in 0..m { body }  ->  over groups and threads: index = group * T + thread; if
// index < n * m: i = index // m, j = index % m.
Stmt Spread(const std::vector<const ForNode*>& loops, int64_t num_threads) {
  const Span& span = loops[0]->span;
  Var group("group"), thread("thread"), index("index");
  Expr total = loops[0]->extent;
  for (size_t i = 1; i < loops.size(); ++i) total = total * loops[i]->extent;

  Stmt body = loops.back()->body;
  // The last loop is the fastest: neighbouring threads get neighbouring values of it. Outer
  // definitions come first.
  Expr rest = index;
  std::vector<Expr> values(loops.size());
  for (size_t i = loops.size(); i-- > 0;) {
    Expr offset = i == 0 ? rest : ir::FloorMod(rest, loops[i]->extent);
    values[i] = ir::IsConst(loops[i]->min, 0) ? offset : loops[i]->min + offset;
    rest = ir::FloorDiv(rest, loops[i]->extent);
  }
  for (size_t i = loops.size(); i-- > 0;)
    body = LetStmtNode::Make(loops[i]->var, values[i], body, loops[i]->span);
  body = IfThenElseNode::Make(index < total, body, {}, span);
  body = LetStmtNode::Make(index, group * Expr(num_threads) + thread, body, span);
  body = ForNode::Make(thread, 0, num_threads, ForKind::kThread, body, "threadIdx.x", span);
  return ForNode::Make(group, 0, ir::CeilDiv(total, num_threads), ForKind::kThread, body,
                       "blockIdx.x", span);
}

// Walks the definitions and sequences around the top-level statements. A definition that reads
// memory is the device's, with all that it reaches.
Stmt BindStmt(const Stmt& stmt, int64_t num_threads) {
  if (const auto* let = stmt.As<LetStmtNode>(); let && !ScanOf(let->value).touches_memory)
    return LetStmtNode::Make(let->var, let->value, BindStmt(let->body, num_threads), let->span);
  if (const auto* decl = stmt.As<DeclBufferNode>())
    return DeclBufferNode::Make(decl->buffer, BindStmt(decl->body, num_threads), decl->span);
  // What several launches share stays outside of them.
  if (const auto* allocation = stmt.As<AllocateNode>();
      allocation && allocation->buffer->scope == StorageScope::kGlobal)
    return AllocateNode::Make(allocation->buffer, BindStmt(allocation->body, num_threads),
                              allocation->span);
  if (const auto* seq = stmt.As<SeqNode>()) {
    std::vector<Stmt> stmts;
    for (const Stmt& item : seq->stmts) stmts.push_back(BindStmt(item, num_threads));
    return SeqNode::Make(std::move(stmts), seq->span);
  }
  Scan scan = ScanOf(stmt);
  if (!scan.touches_memory || scan.binds_threads) return stmt;
  std::vector<const ForNode*> loops = SpatialLoops(stmt);
  return loops.empty() ? OneThread(stmt) : Spread(loops, num_threads);
}

}  // namespace

PrimFunc BindThreads(const PrimFunc& function) {
  return ScanOf(function->body).binds_threads ? function : BindOtherThreads(function);
}

PrimFunc BindOtherThreads(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  if (it == function->attrs.end()) return function;
  target::Target target = it->second.As<target::Target>();
  if (!target->is_device()) return function;
  return function.WithBody(BindStmt(function->body, target->GetInt("max_threads")));
}

}  // namespace tern::schedule
