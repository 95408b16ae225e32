// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/remove_dead_code.h"

#include <unordered_set>

#include "tern/ir/intrinsic.h"
#include "tern/tir/analysis/memory_effects.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

bool IsEmpty(const Stmt& stmt) {
  const auto* seq = stmt.As<SeqNode>();
  return !stmt || (seq && seq->stmts.empty());
}
Stmt Nothing(const Span& span) { return SeqNode::Make({}, span); }

// Goes through a function from its end to its start: what is used later is known where something is
// defined or written.
class Remover : public StmtMutator {
 public:
  explicit Remover(const PrimFunc& function) : memory_(function) {}

  using StmtMutator::Mutate;

 private:
  using StmtMutator::MutateNode;

  // ---- what expressions use

  Expr MutateNode(const VarNode* node, const Expr& self) override {
    used_.insert(node);
    return self;
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    read_.insert(memory_.PlaceOf(node->buffer));
    return MutateChildren(node, self);
  }
  Expr MutateNode(const ir::LetNode* node, const Expr& self) override {
    Expr body = Mutate(node->body);
    if (!used_.erase(node->var.node())) return body;
    Expr value = Mutate(node->value);
    if (value.same(node->value) && body.same(node->body)) return self;
    return ir::LetNode::Make(node->var, value, body, node->span);
  }
  Buffer MutateUse(const Buffer& buffer) override {
    used_buffers_.insert(buffer.get());
    return buffer;
  }
  Buffer MutateDef(const BufferDef& buffer) override {
    for (const auto* exprs : {&buffer->shape, &buffer->strides})
      for (const Expr& expr : *exprs) Mutate(expr);
    return buffer;
  }

  // ---- statements

  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    const VarNode* place = memory_.PlaceOf(node->buffer);
    if (memory_.IsTemporary(place) && !read_.count(place)) return Nothing(node->span);
    return MutateChildren(node, self);
  }
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    Stmt body = Mutate(node->body);
    if (!used_.erase(node->var.node())) return body;
    Expr value = Mutate(node->value);
    if (value.same(node->value) && body.same(node->body)) return self;
    return LetStmtNode::Make(node->var, value, body, node->span);
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    Stmt body = Mutate(node->body);
    read_.erase(node->buffer->data.node());  // memory of the next time is another
    bool used = used_buffers_.erase(node->buffer.get()) > 0;
    used |= used_.erase(node->buffer->data.node()) > 0;
    if (!used) return body;
    MutateDef(node->buffer);
    return body.same(node->body) ? self : AllocateNode::Make(node->buffer, body, node->span);
  }
  Stmt MutateNode(const DeclBufferNode* node, const Stmt& self) override {
    Stmt body = Mutate(node->body);
    if (!used_buffers_.erase(node->buffer.get())) return body;
    MutateDef(node->buffer);
    used_.insert(node->buffer->data.node());
    return body.same(node->body) ? self : DeclBufferNode::Make(node->buffer, body, node->span);
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    bool is_thread = node->for_kind == ForKind::kThread;
    NoteReads(node->body);
    threads_ += is_thread;
    Stmt body = Mutate(node->body);
    threads_ -= is_thread;
    // A thread loop in a launch says how many threads run the rest of it too.
    if (IsEmpty(body) && !(is_thread && threads_ > 0)) return Nothing(node->span);
    Expr min = Mutate(node->min), extent = Mutate(node->extent);
    if (body.same(node->body) && min.same(node->min) && extent.same(node->extent)) return self;
    return node->With(min, extent, body);
  }
  Stmt MutateNode(const WhileNode* node, const Stmt& self) override {
    NoteReads(self);
    Stmt body = Mutate(node->body);
    if (IsEmpty(body)) return body;
    Expr condition = Mutate(node->condition);
    if (body.same(node->body) && condition.same(node->condition)) return self;
    return WhileNode::Make(condition, body, node->span);
  }
  Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
    // Both branches lead to what follows.
    std::unordered_set<const VarNode*> read = read_;
    Stmt then_case = Mutate(node->then_case);
    std::swap(read, read_);
    Stmt else_case = node->else_case ? Mutate(node->else_case) : Stmt();
    read_.insert(read.begin(), read.end());
    if (IsEmpty(else_case)) else_case = {};
    if (IsEmpty(then_case) && !else_case) return Nothing(node->span);
    Expr condition = Mutate(node->condition);
    if (IsEmpty(then_case))
      return IfThenElseNode::Make(ir::NotNode::Make(condition), else_case, {}, node->span);
    if (condition.same(node->condition) && then_case.same(node->then_case) &&
        else_case.same(node->else_case))
      return self;
    return IfThenElseNode::Make(condition, then_case, else_case, node->span);
  }
  Stmt MutateNode(const SeqNode* node, const Stmt& self) override {
    std::vector<Stmt> stmts = node->stmts;
    bool changed = false;
    for (size_t i = stmts.size(); i-- > 0;) {
      Stmt stmt = Mutate(stmts[i]);
      changed |= !stmt.same(stmts[i]);
      stmts[i] = std::move(stmt);
    }
    return changed ? SeqNode::Make(std::move(stmts), node->span) : self;
  }
  // Drops the regions of buffers that nothing touches any more; says whether there were any.
  bool KeepUsed(std::vector<BufferRegion>* regions) {
    size_t dropped = std::erase_if(*regions, [&](const BufferRegion& region) {
      return !used_buffers_.count(region.buffer.get());
    });
    for (BufferRegion& region : *regions)
      if (std::optional<BufferRegion> changed = MutateField(region)) region = std::move(*changed);
    return dropped > 0;
  }
  Stmt MutateNode(const EvaluateNode* node, const Stmt& self) override {
    const auto* call = node->value.As<ir::CallNode>();
    if (!call || ir::FindIntrinsic(call->name)->pure) return Nothing(node->span);
    return MutateChildren(node, self);
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    Stmt body = Mutate(node->body);
    Stmt init = node->init ? Mutate(node->init) : Stmt();
    if (IsEmpty(init)) init = {};
    if (IsEmpty(body) && !init) return Nothing(node->span);
    for (const BlockIter& iter : node->iters) {
      Mutate(iter.extent);
      Mutate(iter.binding);
    }
    if (node->predicate) Mutate(node->predicate);
    auto copy = ffi::Make<BlockNode>(*node);
    copy->init = init;
    copy->body = body;
    bool changed = !body.same(node->body) || !init.same(node->init);
    changed |= KeepUsed(&copy->reads) || KeepUsed(&copy->writes);
    return changed ? Stmt(copy) : self;
  }

  // An iteration reads what the one before has written, but not in memory that each has anew.
  void NoteReads(const Stmt& loop) {
    struct Scan : StmtVisitor {
      using StmtVisitor::VisitNode;
      void VisitNode(const ir::BufferLoadNode* node) override {
        loads.push_back(node->buffer);
        VisitChildren(node);
      }
      void VisitNode(const AllocateNode* node) override {
        if (!IsSharedScope(node->buffer->scope)) allocated.insert(node->buffer->data.node());
        VisitChildren(node);
      }
      std::vector<Buffer> loads;
      std::unordered_set<const VarNode*> allocated;
    } scan;
    scan.Visit(loop);
    for (const Buffer& buffer : scan.loads)
      if (!scan.allocated.count(buffer->data.node())) read_.insert(memory_.PlaceOf(buffer));
  }

  MemoryEffects memory_;
  std::unordered_set<const VarNode*> used_;
  std::unordered_set<const BufferNode*> used_buffers_;
  std::unordered_set<const VarNode*> read_;  // places that are read later
  int threads_ = 0;                          // thread loops around
};

}  // namespace

PrimFunc RemoveDeadCode(const PrimFunc& function) {
  // What only dead code of a loop reads is dead in the next round.
  for (PrimFunc before = function;;) {
    PrimFunc after = before.WithBody(Remover(before).Mutate(before->body));
    if (after.same(before)) return after;
    before = after;
  }
}

}  // namespace tern::tir
