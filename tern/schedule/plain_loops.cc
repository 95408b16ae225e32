// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/plain_loops.h"

#include <algorithm>
#include <set>

#include "tern/ir/structural.h"
#include "tern/schedule/nest.h"
#include "tern/tir/analysis/commuting_update.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/scan_update.h"
#include "tern/tir/attributes.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;

// Loops, and the statement in them, with the definitions and conditions that stand between.
struct PlainNest {
  std::vector<const ForNode*> loops;
  std::vector<Stmt> between;  // definitions and conditions, outermost first
  Stmt body;
};

// Of serial loops from 0 on that do not depend on one another. Nothing in it is null.
PlainNest FindPlainNest(const Stmt& stmt) {
  PlainNest nest;
  nest.body = stmt;
  for (;;) {
    if (const auto* loop = nest.body.As<ForNode>()) {
      bool plain = loop->for_kind == ForKind::kSerial && loop->annotations.empty() &&
                   ir::IsConst(loop->min, 0) && !UsesAnyOf(loop->extent, nest.loops);
      for (const Stmt& outer : nest.between)
        if (const auto* let = outer.As<LetStmtNode>())
          plain &= !ir::UsesVar(loop->extent, let->var.node());
      if (!plain) return {};
      nest.loops.push_back(loop);
      nest.body = loop->body;
    } else if (const auto* let = nest.body.As<LetStmtNode>(); let && !nest.loops.empty()) {
      nest.between.push_back(nest.body);
      nest.body = let->body;
    } else if (const auto* branch = nest.body.As<IfThenElseNode>();
               branch && !nest.loops.empty() && !branch->else_case) {
      nest.between.push_back(nest.body);
      nest.body = branch->then_case;
    } else {
      return nest;
    }
  }
}

Stmt WithBetween(const PlainNest& nest) {
  Stmt body = nest.body;
  for (size_t i = nest.between.size(); i-- > 0;) {
    const Stmt& stmt = nest.between[i];
    if (const auto* let = stmt.As<LetStmtNode>())
      body = LetStmtNode::Make(let->var, let->value, body, let->span);
    else if (const auto* branch = stmt.As<IfThenElseNode>())
      body = IfThenElseNode::Make(branch->condition, body, {}, branch->span);
  }
  return body;
}

class Namer {
 public:
  explicit Namer(const PrimFunc& function)
      : function_(function), reassociates_(HasFlag(function, attr::kReassociate)) {
    for (const BlockNode* block : BlocksIn(function->body)) names_.insert(block->name);
  }

  bool changed() const { return changed_; }

  Stmt Name(const Stmt& stmt) {
    if (const auto* let = stmt.As<LetStmtNode>())
      return LetStmtNode::Make(let->var, let->value, Name(let->body), let->span);
    if (const auto* decl = stmt.As<DeclBufferNode>())
      return DeclBufferNode::Make(decl->buffer, Name(decl->body), decl->span);
    if (const auto* allocation = stmt.As<AllocateNode>()) {
      Stmt body = Name(allocation->body);
      bool unused = dropped_.count(allocation->buffer->data.node()) > 0;
      return unused ? body : AllocateNode::Make(allocation->buffer, body, allocation->span);
    }
    if (const auto* seq = stmt.As<SeqNode>()) return NameRow(seq);
    if (const auto* loop = stmt.As<ForNode>(); loop && BlocksIn(stmt).empty()) {
      if (Stmt named = Update(stmt)) return named;
      if (Stmt named = Scan(FindPlainNest(stmt))) return named;
      if (Stmt named = ScanOfRows(stmt)) return named;
    }
    return stmt;
  }

 private:
  Stmt NameRow(const SeqNode* seq) {
    std::vector<Stmt> stmts;
    for (size_t i = 0; i < seq->stmts.size(); ++i) {
      Stmt pair = i + 1 < seq->stmts.size() && BlocksIn(seq->stmts[i + 1]).empty()
                      ? Pair(seq->stmts[i], seq->stmts[i + 1], {})
                      : Stmt();
      stmts.push_back(pair ? pair : Name(seq->stmts[i]));
      if (pair) ++i;
    }
    return SeqNode::Make(std::move(stmts), seq->span);
  }

  bool MayReorder(DataType dtype) const { return !dtype.is_float() || reassociates_; }

  std::string FreshName(const std::string& wish) {
    std::string name = wish;
    changed_ = true;
    for (int i = 1; !names_.insert(name).second; ++i) name = wish + "_" + std::to_string(i);
    return name;
  }

  // The body as a block in the loops, each an axis.
  Stmt Block(const std::string& name, const std::vector<const ForNode*>& loops,
             const std::vector<IterKind>& kinds, const Stmt& body, const Span& span) const {
    std::vector<BlockIter> iters;
    ir::VarMap axes;
    for (size_t i = 0; i < loops.size(); ++i) {
      Var axis("v" + loops[i]->var.name(), loops[i]->var.dtype());
      axes[loops[i]->var.node()] = axis;
      iters.push_back({loops[i]->extent, loops[i]->var, axis, kinds[i]});
    }
    return BlockNode::Make(name, iters, {}, Substitute(body, axes), span);
  }

  static bool IsIndex(const std::vector<Expr>& indices, const ForNode* loop) {
    return std::any_of(indices.begin(), indices.end(),
                       [&](const Expr& e) { return e.get() == loop->var.get(); });
  }

  // ---- Updates

  Stmt Update(const Stmt& stmt) {
    PlainNest nest = FindPlainNest(stmt);
    if (nest.loops.empty()) return {};
    Stmt body = WithBetween(nest);
    std::optional<CommutingUpdate> update = FindCommutingUpdate(body);
    if (!update || update->is_atomic() || update->buffer->scope != StorageScope::kGlobal) return {};
    bool meet = false;
    std::vector<IterKind> kinds;
    for (const ForNode* loop : nest.loops) {
      bool own = IsIndex(update->indices, loop);
      meet |= !own;
      kinds.push_back(own ? IterKind::kSpatial : IterKind::kReduce);
    }
    if (!meet) return {};
    std::string name = FreshName(update->buffer->name + "_update");
    return WrapLoops(nest.loops, Block(name, nest.loops, kinds, body, stmt.span()));
  }

  // ---- Scans

  // Y[i] = x op select(i > 0, Y[i - 1], s), in loops along the indices of Y.
  Stmt Scan(const PlainNest& nest) {
    const auto* store = nest.body.get() ? nest.body.As<BufferStoreNode>() : nullptr;
    if (!store || nest.loops.empty() || !MayReorder(store->buffer->dtype)) return {};
    for (const ForNode* loop : nest.loops)
      if (!IsIndex(store->indices, loop)) return {};
    Stmt body = WithBetween(nest);
    for (size_t axis = 0; axis < nest.loops.size(); ++axis) {
      std::vector<IterKind> kinds(nest.loops.size(), IterKind::kSpatial);
      kinds[axis] = IterKind::kScan;
      Stmt block = Block(store->buffer->name + "_scan", nest.loops, kinds, body, store->span);
      if (!FindScanUpdate(block.As<BlockNode>())) continue;
      auto named = ffi::Make<BlockNode>(*block.As<BlockNode>());
      named->name = FreshName(named->name);
      return WrapLoops(nest.loops, Stmt(named));
    }
    return {};
  }

  // for rows { alloc sum; sum[0] = s; for i { .. } }
  Stmt ScanOfRows(const Stmt& stmt) {
    PlainNest nest = FindPlainNest(stmt);
    Stmt body = nest.body;
    if (nest.loops.empty() || !nest.between.empty()) return {};
    if (const auto* allocation = body.As<AllocateNode>()) body = allocation->body;
    const auto* seq = body.As<SeqNode>();
    if (!seq || seq->stmts.size() != 2) return {};
    return Pair(seq->stmts[0], seq->stmts[1], nest.loops);
  }

  // A store, and the loop behind it, in loops along rows.
  Stmt Pair(const Stmt& first, const Stmt& second, const std::vector<const ForNode*>& rows) {
    const auto* store = first.As<BufferStoreNode>();
    const auto* loop = second.As<ForNode>();
    bool plain = store && loop && loop->for_kind == ForKind::kSerial && loop->annotations.empty() &&
                 !UsesAnyOf(loop->extent, rows) && store->value.dtype().is_scalar() &&
                 MayReorder(store->buffer->dtype);
    if (!plain) return {};
    bool is_sum = store->buffer->scope == StorageScope::kLocal;
    Stmt body = is_sum ? Summed(store, loop) : Continued(store, loop);
    if (!body) return {};
    PlainNest nest{rows, {}, body};
    Expr extent = arith::Analyzer().Simplify(loop->min + loop->extent);
    Stmt all = ForNode::Make(loop->var, ir::MakeConst(loop->var.dtype(), 0), extent,
                             ForKind::kSerial, body, "", loop->span);
    nest.loops.push_back(all.As<ForNode>());
    Stmt named = Scan(nest);
    if (named && is_sum) dropped_.insert(store->buffer->data.node());
    return named;
  }

  // select(i > 0, at, otherwise)
  static Expr Behind(const ForNode* loop, const Expr& at, const Expr& otherwise) {
    Expr later = ir::GTNode::Make(loop->var, ir::MakeConst(loop->var.dtype(), 0));
    return ir::SelectNode::Make(later, at, otherwise);
  }
  static Expr Previous(const ForNode* loop) {
    return Expr(loop->var) - ir::MakeConst(loop->var.dtype(), 1);
  }

  // sum[0] = s; for i in 0..n { sum[0] = sum[0] op x; Y[i] = sum[0] }, and the other way round.
  Stmt Summed(const BufferStoreNode* start, const ForNode* loop) const {
    const Buffer& sum = start->buffer;
    if (!ir::IsConst(loop->min, 0) || sum->shape.size() != 1 || !ir::IsConst(sum->shape[0], 1) ||
        ReadsMemory(start->value))
      return {};
    ir::VarMap values;
    Stmt body = loop->body;
    for (const auto* let = body.As<LetStmtNode>(); let; let = body.As<LetStmtNode>()) {
      values[let->var.node()] = ir::Substitute(let->value, values);
      body = let->body;
    }
    const auto* seq = body.As<SeqNode>();
    if (!seq || seq->stmts.size() != 2) return {};
    bool inclusive = Stores(seq->stmts[0], sum);
    const auto* add = seq->stmts[inclusive ? 0 : 1].As<BufferStoreNode>();
    const auto* out = seq->stmts[inclusive ? 1 : 0].As<BufferStoreNode>();
    const auto* kept = out ? out->value.As<ir::BufferLoadNode>() : nullptr;
    if (!add || !kept || !add->buffer.same(sum) || !kept->buffer.same(sum)) return {};
    std::optional<ReductionUpdate> update = FindReductionUpdate(AsStmt(add));
    size_t others = AccessesOf(function_->body, sum).size() - AccessesOf(AsStmt(loop), sum).size() -
                    AccessesOf(AsStmt(start), sum).size();
    if (!update || others > 0 || AccessesOf(AsStmt(loop), sum).size() != 3) return {};
    Expr value = ir::Substitute(update->value, values);
    if (!inclusive)
      value = Behind(loop, ir::Substitute(value, {{loop->var.node(), Previous(loop)}}),
                     IdentityOf(update->op, sum->dtype));
    std::vector<Expr> indices, previous;
    for (const Expr& index : out->indices) {
      indices.push_back(ir::Substitute(index, values));
      previous.push_back(ir::Substitute(indices.back(), {{loop->var.node(), Previous(loop)}}));
    }
    Expr before = Behind(loop, ir::BufferLoadNode::Make(out->buffer, previous), start->value);
    return BufferStoreNode::Make(out->buffer, indices, CombineValues(update->op, value, before),
                                 out->span);
  }

  // Y[0] = s; for i in 1..n { Y[i] = Y[i - 1] op x }
  Stmt Continued(const BufferStoreNode* start, const ForNode* loop) const {
    const auto* store = loop->body.As<BufferStoreNode>();
    if (!store || !store->buffer.same(start->buffer) || !ir::IsConst(loop->min, 1)) return {};
    // The element before, as an element of its own: then it is an update of that.
    std::vector<Expr> previous;
    for (size_t d = 0; d < store->indices.size(); ++d) {
      previous.push_back(ir::Substitute(store->indices[d], {{loop->var.node(), Previous(loop)}}));
      Expr first = ir::Substitute(store->indices[d],
                                  {{loop->var.node(), ir::MakeConst(loop->var.dtype(), 0)}});
      if (!ir::IsConst(arith::Analyzer().Simplify(first - start->indices[d]), 0)) return {};
    }
    Stmt shifted = BufferStoreNode::Make(store->buffer, previous, store->value, store->span);
    std::optional<ReductionUpdate> update = FindReductionUpdate(shifted);
    if (!update) return {};
    Expr before = ir::BufferLoadNode::Make(store->buffer, previous);
    Expr identity = IdentityOf(update->op, store->buffer->dtype);
    Expr value = CombineValues(update->op, Behind(loop, update->value, start->value),
                               Behind(loop, before, identity));
    return BufferStoreNode::Make(store->buffer, store->indices, value, store->span);
  }

  static bool Stores(const Stmt& stmt, const Buffer& buffer) {
    const auto* store = stmt.As<BufferStoreNode>();
    return store && store->buffer.same(buffer);
  }
  static bool ReadsMemory(const Expr& expr) {
    bool reads = false;
    ir::ForEachExpr(expr, [&](const Expr& e) { reads |= e.As<ir::BufferLoadNode>() != nullptr; });
    return reads;
  }

  const PrimFunc& function_;
  bool reassociates_, changed_ = false;
  std::set<std::string> names_;
  std::set<const VarNode*> dropped_;  // accumulators that scans have no need of
};

}  // namespace

PrimFunc NamePlainLoops(const PrimFunc& function) {
  if (!TensorsAreDistinct(function)) return function;
  Namer namer(function);
  Stmt body = namer.Name(function->body);
  return namer.changed() ? function.WithBody(body) : function;
}

}  // namespace tern::schedule
