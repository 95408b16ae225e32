// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/memory/place_allocations.h"

#include <algorithm>

#include "tern/tir/analysis/access_regions.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/transform/threads/pipeline_loops.h"

namespace tern::tir {
namespace {

// Whether a part of a program names the memory of a buffer, under whatever name. What `uses` does
// not know was made since.
class UseFinder : public StmtVisitor {
 public:
  UseFinder(const MemoryUses& uses, const VarNode* address) : uses_(uses), address_(address) {}

  template <class T>
  static bool Uses(const MemoryUses& uses, const VarNode* address, const T& part) {
    if (!part.get()) return false;
    UseFinder finder(uses, address);
    finder.Visit(part);
    return finder.found_;
  }

 private:
  using StmtVisitor::Visit;
  using StmtVisitor::VisitNode;

  void Visit(const Stmt& stmt) override {
    if (found_) return;
    if (uses_.Knows(stmt))
      found_ = uses_.Uses(stmt, address_);
    else
      StmtVisitor::Visit(stmt);
  }

  void VisitUse(const Buffer& buffer) override { found_ |= buffer->data.node() == address_; }
  void VisitDef(const BufferDef& buffer) override {
    StmtVisitor::VisitDef(buffer);
    found_ |= buffer->data.node() == address_;
  }
  void VisitNode(const VarNode* node) override { found_ |= node == address_; }

  const MemoryUses& uses_;
  const VarNode* address_;
  bool found_ = false;
};

// Takes one allocation down into a statement that uses it.
class Sinker {
 public:
  Sinker(const AllocateNode* allocation, const MemoryUses& uses, arith::Analyzer analyzer,
         bool in_launch)
      : allocation_(allocation),
        uses_(uses),
        address_(allocation->buffer->data.node()),
        is_private_(OwnerOf(allocation->buffer->scope) == ScopeOwner::kThread),
        is_shared_(!is_private_ && allocation->buffer->scope != StorageScope::kGlobal),
        in_launch_(in_launch),
        analyzer_(std::move(analyzer)) {}

  Stmt Sink(const Stmt& stmt) {
    Stmt placed = DispatchStmt(stmt.get(), [&](auto* node) { return SinkInto(node); });
    return placed ? placed : AllocateNode::Make(allocation_->buffer, stmt, allocation_->span);
  }

 private:
  template <class T>
  bool Uses(const T& part) const {
    return UseFinder::Uses(uses_, address_, part);
  }

  // The statement with the allocation inside; null where it has to stand outside.
  Stmt SinkInto(const StmtNode*) { return {}; }
  Stmt SinkInto(const SeqNode* node) {
    const std::vector<Stmt>& stmts = node->stmts;
    auto uses = [&](const Stmt& stmt) { return Uses(stmt); };
    auto first = std::find_if(stmts.begin(), stmts.end(), uses);
    auto end = std::find_if(stmts.rbegin(), stmts.rend(), uses).base();
    if (first >= end || (first == stmts.begin() && end == stmts.end())) return {};
    std::vector<Stmt> result(stmts.begin(), first);
    result.push_back(Sink(SeqNode::Make(std::vector<Stmt>(first, end), node->span)));
    result.insert(result.end(), end, stmts.end());
    return SeqNode::Make(std::move(result), node->span);
  }
  Stmt SinkInto(const LetStmtNode* node) {
    if (Uses(node->value)) return {};
    return LetStmtNode::Make(node->var, node->value, Sink(node->body), node->span);
  }
  Stmt SinkInto(const AllocateNode* node) {
    if (NamesMemory(node->buffer)) return {};
    return AllocateNode::Make(node->buffer, Sink(node->body), node->span);
  }
  Stmt SinkInto(const DeclBufferNode* node) {
    if (NamesMemory(node->buffer)) return {};
    return DeclBufferNode::Make(node->buffer, Sink(node->body), node->span);
  }
  bool NamesMemory(const Buffer& buffer) const {
    bool names = buffer->data.node() == address_ || Uses(buffer->offset);
    for (const Expr& extent : buffer->shape) names = names || Uses(extent);
    for (const Expr& stride : buffer->strides) names = names || Uses(stride);
    return names;
  }
  Stmt SinkInto(const ForNode* node) {
    if (Uses(node->min) || Uses(node->extent)) return {};
    switch (node->for_kind) {
      case ForKind::kThread:
        // In a launch, a thread loop only names an index.
        if (!in_launch_) return {};
        break;
      case ForKind::kVectorized:
        return {};
      case ForKind::kParallel:
        if (!is_private_) return {};
        [[fallthrough]];
      default:
        if (!MayEnterLoop(node->body)) return {};
    }
    analyzer_.BindRange(node->var, node->min, node->extent);
    auto loop = ffi::Make<ForNode>(*node);
    // The statements of a pipelined loop are counted.
    loop->body = IsPipelined(node)
                     ? AllocateNode::Make(allocation_->buffer, node->body, allocation_->span)
                     : Sink(node->body);
    return Stmt(loop);
  }
  Stmt SinkInto(const WhileNode* node) {
    if (Uses(node->condition) || !MayEnterLoop(node->body)) return {};
    return WhileNode::Make(node->condition, Sink(node->body), node->span);
  }
  bool MayEnterLoop(const Stmt& body) const {
    return !is_shared_ && WritesBeforeReading(body, allocation_->buffer, analyzer_);
  }
  Stmt SinkInto(const IfThenElseNode* node) {
    bool in_then = Uses(node->then_case), in_else = Uses(node->else_case);
    if (is_shared_ || Uses(node->condition) || in_then == in_else) return {};
    return IfThenElseNode::Make(node->condition, in_then ? Sink(node->then_case) : node->then_case,
                                in_else ? Sink(node->else_case) : node->else_case, node->span);
  }
  Stmt SinkInto(const BlockNode* node) {
    auto without_body = ffi::Make<BlockNode>(*node);
    without_body->body = SeqNode::Make({});
    if (is_shared_ || Uses(Stmt(without_body))) return {};
    auto block = ffi::Make<BlockNode>(*node);
    block->body = Sink(node->body);
    return Stmt(block);
  }

  const AllocateNode* allocation_;
  const MemoryUses& uses_;
  const VarNode* address_;
  bool is_private_, is_shared_, in_launch_;
  arith::Analyzer analyzer_;
};

class Placer : public AnalyzedMutator {
 public:
  explicit Placer(const PrimFunc& function) : uses_(function->body) {}

 private:
  using AnalyzedMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    bool outer = std::exchange(in_launch_, in_launch_ || node->for_kind == ForKind::kThread);
    if (IsPipelined(node)) fixed_ = node->body.get();
    Stmt result = AnalyzedMutator::MutateNode(node, self);
    in_launch_ = outer;
    return result;
  }

  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    bool stays = node == fixed_;
    if (stays) fixed_ = node->body.get();
    Stmt changed = MutateChildren(node, self);
    if (stays) return changed;
    const auto* allocation = changed.As<AllocateNode>();
    bool fixed = std::none_of(allocation->buffer->shape.begin(), allocation->buffer->shape.end(),
                              ir::MayFault);
    // An extent that depends on memory may be another one further down.
    if (!fixed || !UseFinder::Uses(uses_, allocation->buffer->data.node(), allocation->body))
      return changed;
    Stmt placed = Sinker(allocation, uses_, analyzer_, in_launch_).Sink(allocation->body);
    const auto* top = placed.As<AllocateNode>();
    bool stayed = top && top->buffer.same(allocation->buffer) && top->body.same(allocation->body);
    return stayed ? changed : placed;
  }

  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    if (node == fixed_) fixed_ = node->body.get();
    return AnalyzedMutator::MutateNode(node, self);
  }

  MemoryUses uses_;
  bool in_launch_ = false;
  const StmtNode* fixed_ = nullptr;  // the start of a pipelined loop's body, whose allocations stay
};

}  // namespace

PrimFunc PlaceAllocations(const PrimFunc& function) {
  return Placer(function).MutateFunction(function);
}

}  // namespace tern::tir
