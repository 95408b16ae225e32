// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/bind_threads.h"

#include <algorithm>
#include <set>

#include "tern/arith/linear.h"
#include "tern/ir/structural.h"
#include "tern/schedule/nest.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/packed_elements.h"
#include "tern/tir/module_calls.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {
namespace {

using namespace tern::tir;

// Any access to memory, and any thread loop.
struct Scan : StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitUse(const Buffer&) override { touches_memory = true; }
  // An address that the host passes on.
  void VisitNode(const ir::CallNode* node) override {
    if (!IsTensorArgument(node)) VisitChildren(node);
  }
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

// What a statement does to memory, by axes of its blocks and loops around them.
class Uses {
 public:
  explicit Uses(const Stmt& stmt) : accesses_(AccessesOf(stmt)) {
    struct Finder : StmtVisitor {
      using StmtVisitor::VisitNode;
      void VisitNode(const BlockNode* node) override {
        for (const BlockIter& iter : node->iters) bindings[iter.var.node()] = iter.binding;
        VisitChildren(node);
      }
      void VisitNode(const AllocateNode* node) override {
        own.insert(node->buffer->data.node());
        VisitChildren(node);
      }
      void VisitNode(const EvaluateNode*) override { has_effects = true; }
      ir::VarMap bindings;
      std::set<const VarNode*> own;
      bool has_effects = false;
    } finder;
    finder.Visit(stmt);
    has_effects_ = finder.has_effects;
    for (Access& access : accesses_)
      for (Expr& index : access.indices) index = ir::Substitute(index, finder.bindings);
    std::erase_if(accesses_, [&](const Access& access) {
      return finder.own.count(access.buffer->data.node()) > 0;
    });
  }

  // Whether every iteration of a loop has elements of its own of all that is written: one index of
  // them is the loop's variable.
  bool AreApart(const VarNode* loop) const {
    if (has_effects_) return false;
    return std::all_of(accesses_.begin(), accesses_.end(), [&](const Access& access) {
      return !access.store || IsApart(access.buffer, loop);
    });
  }

  // Whether neighbours along a loop are neighbours in what is written first.
  bool IsContiguous(const VarNode* loop) const {
    for (const Access& access : accesses_)
      if (access.store) return !access.indices.empty() && access.indices.back().get() == loop;
    return false;
  }

 private:
  bool IsApart(const Buffer& buffer, const VarNode* loop) const {
    for (size_t d = 0; d < buffer->shape.size(); ++d)
      if (std::all_of(accesses_.begin(), accesses_.end(), [&](const Access& access) {
            if (!access.buffer->data.same(buffer->data)) return true;
            return access.buffer.same(buffer) && access.indices[d].get() == loop;
          }))
        return true;
    return false;
  }

  std::vector<Access> accesses_;  // to what is not allocated inside
  bool has_effects_ = false;
};

// A nest of loops, one right in the other, and those of them whose iterations are independent.
struct Nested {
  std::vector<const ForNode*> spread, others;
  Stmt body;

  // Iterations of the first; 0 where that is not known.
  int64_t Count() const {
    int64_t count = 1;
    for (const ForNode* loop : spread) count *= ir::AsConstInt(loop->extent).value_or(0);
    return count;
  }
};

// Independent are the outermost loops along spatial axes of one block, those whose iterations write
// elements of their own, and those that are parallel. The one along contiguous elements comes last.
Nested FindNested(const Stmt& stmt, bool distinct) {
  Nested result;
  std::vector<const ForNode*> chain;
  result.body = stmt;
  for (const auto* loop = stmt.As<ForNode>(); loop; loop = result.body.As<ForNode>()) {
    chain.push_back(loop);
    result.body = loop->body;
  }
  if (chain.empty()) return result;
  const auto* block = result.body.As<BlockNode>();
  Uses uses(stmt);
  bool outermost = true, together = true;
  for (const ForNode* loop : chain) {
    bool fixed = std::none_of(chain.begin(), chain.end(), [&](const ForNode* outer) {
      return ir::UsesVar(loop->extent, outer->var.node()) ||
             ir::UsesVar(loop->min, outer->var.node());
    });
    // Of one iteration of the loops around it, a parallel loop's are independent.
    bool parallel = loop->for_kind == ForKind::kParallel && together;
    bool takes = (loop->for_kind == ForKind::kSerial || parallel) && fixed &&
                 loop->var.dtype() == DataType::Int(64);
    outermost &= takes && block && IsSpatial(block, loop->var.node());
    bool apart = takes && !outermost && (parallel || (distinct && uses.AreApart(loop->var.node())));
    together &= outermost || apart;
    (outermost || apart ? result.spread : result.others).push_back(loop);
  }
  std::stable_partition(result.spread.begin(), result.spread.end(),
                        [&](const ForNode* loop) { return !uses.IsContiguous(loop->var.node()); });
  return result;
}

// The nest of a scatter along a serial axis, with one more loop around it: part p writes the
// elements whose index is p modulo `parts`, in the order written. Null where it is none.
//
//   for i, j { Y[index[i], j] = Y[index[i], j] + X[i, j] }
//   ->
//   for p, i, j { if index[i] % parts == p { Y[index[i], j] = Y[index[i], j] + X[i, j] } }
class ScatterOwners {
 public:
  explicit ScatterOwners(const Nested& nest) : nest_(nest), block_(nest.body.As<BlockNode>()) {}

  Stmt Make(const Stmt& stmt) const {
    if (!block_ || block_->init || nest_.others.empty()) return {};
    int64_t extent = 0;
    Expr owner = OwnerIndex(&extent);
    int64_t parts = owner ? Parts(extent) : 1;
    if (parts == 1) return {};
    DataType dtype = owner.dtype();
    Var part("part"), axis("vpart");
    Expr own = ir::FloorMod(owner, ir::MakeConst(dtype, parts));
    if (dtype != axis.dtype()) own = ir::CastNode::Make(axis.dtype(), own);
    auto copy = CopyBlock(block_);
    copy->iters.push_back({ir::MakeConst(axis.dtype(), parts), part, axis, IterKind::kSpatial});
    copy->body = IfThenElseNode::Make(own == Expr(axis), block_->body, {}, block_->span);
    Stmt body = ReplaceAt(PathTo(stmt, block_), Stmt(copy));
    return ForNode::Make(part, 0, ir::MakeConst(part.dtype(), parts), ForKind::kSerial, body, "",
                         stmt.span());
  }

 private:
  // Threads that keep a device busy. Each part reads all indices, so that many of them are more
  // work than they spare. Fewer steps are done before more threads have begun.
  static constexpr int64_t kThreads = 1 << 14, kMostParts = 32, kLeastSteps = 256;

  int64_t Parts(int64_t extent) const {
    int64_t steps = 1, count = nest_.Count(), parts = 1;
    for (const ForNode* loop : nest_.others) steps *= ir::AsConstInt(loop->extent).value_or(0);
    if (steps > 0 && steps < kLeastSteps) return 1;
    while (parts < kMostParts && (extent == 0 || parts < extent) && parts * 2 * count <= kThreads)
      parts *= 2;
    return parts;
  }

  // An index of all that is written that is read from other memory: steps where it differs touch
  // different elements. Sets how many it can be; 0: not known.
  Expr OwnerIndex(int64_t* extent) const {
    std::vector<Access> accesses = AccessesOf(AsStmt(block_)), stores = accesses;
    std::erase_if(stores, [](const Access& access) { return !access.store; });
    if (stores.empty()) return {};
    for (size_t d = 0; d < stores[0].indices.size(); ++d) {
      const Expr& index = stores[0].indices[d];
      bool owns = arith::IsIndexType(index.dtype()) && IsGathered(index, stores);
      for (const Access& access : accesses) {
        bool written = std::any_of(stores.begin(), stores.end(), [&](const Access& store) {
          return store.buffer->data.same(access.buffer->data);
        });
        owns &= !written ||
                (access.indices.size() > d && ir::StructuralEqual(access.indices[d], index));
      }
      *extent = ir::AsConstInt(stores[0].buffer->shape[d]).value_or(0);
      if (owns) return index;
    }
    return {};
  }
  // Of loops, axes and memory that the block does not write.
  bool IsGathered(const Expr& index, const std::vector<Access>& stores) const {
    bool reads = false, known = true;
    ir::ForEachExpr(index, [&](const Expr& e) {
      if (const auto* var = e.As<VarNode>())
        known &= std::any_of(block_->iters.begin(), block_->iters.end(),
                             [&](const BlockIter& iter) { return iter.var.get() == var; });
      const auto* load = e.As<ir::BufferLoadNode>();
      if (!load) return;
      reads = true;
      for (const Access& store : stores) known &= !store.buffer->data.same(load->buffer->data);
    });
    return reads && known;
  }

  const Nested& nest_;
  const BlockNode* block_;
};

Stmt OneThread(const Stmt& stmt) {
  return ForNode::Make(Var("thread"), 0, 1, ForKind::kThread, stmt, "threadIdx.x", stmt.span());
}

// Of a block: enough to hide latencies; fewer where that leaves blocks for the whole device, and
// where each has loops, for which a few may be all threads that there are.
int64_t ThreadsFor(const Nested& nest, int64_t most) {
  constexpr int64_t kThreads = 256, kThreadsWithLoops = 64, kBusyBlocks = 128;
  bool loops = !nest.others.empty() || !LoopsIn(nest.body).empty();
  int64_t count = nest.Count(), least = loops ? kThreadsWithLoops / 2 : kThreadsWithLoops;
  int64_t threads = std::min(loops && count == 0 ? kThreadsWithLoops : kThreads, most);
  while (count > 0 && threads / 2 >= least && count < threads * kBusyBlocks) threads /= 2;
  return threads;
}

// for i in 0..n, j in 0..m { body }  ->  over groups and threads: index = group * T + thread; if
// index < n * m: i = index // m, j = index % m.
Stmt Spread(const Nested& nest, int64_t most_threads) {
  const std::vector<const ForNode*>& loops = nest.spread;
  int64_t num_threads = ThreadsFor(nest, most_threads);
  const Span& span = loops[0]->span;
  Var group("group"), thread("thread"), index("index");
  Expr total = loops[0]->extent;
  for (size_t i = 1; i < loops.size(); ++i) total = total * loops[i]->extent;

  Stmt body = WrapLoops(nest.others, nest.body);
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
class Binder {
 public:
  Binder(int64_t num_threads, const PrimFunc& function)
      : num_threads_(num_threads), distinct_(TensorsAreDistinct(function)), packed_(function) {}

  Stmt Bind(const Stmt& stmt) const {
    if (const auto* let = stmt.As<LetStmtNode>(); let && !ScanOf(let->value).touches_memory)
      return LetStmtNode::Make(let->var, let->value, Bind(let->body), let->span);
    if (const auto* decl = stmt.As<DeclBufferNode>())
      return DeclBufferNode::Make(decl->buffer, Bind(decl->body), decl->span);
    // What several launches share stays outside of them.
    if (const auto* allocation = stmt.As<AllocateNode>();
        allocation && allocation->buffer->scope == StorageScope::kGlobal)
      return AllocateNode::Make(allocation->buffer, Bind(allocation->body), allocation->span);
    if (const auto* seq = stmt.As<SeqNode>()) {
      std::vector<Stmt> stmts;
      for (const Stmt& item : seq->stmts) stmts.push_back(Bind(item));
      return SeqNode::Make(std::move(stmts), seq->span);
    }
    Scan scan = ScanOf(stmt);
    if (!scan.touches_memory || scan.binds_threads) return stmt;
    Nested nest = FindNested(stmt, distinct_);
    if (Stmt owned = distinct_ ? ScatterOwners(nest).Make(stmt) : Stmt())
      return SpreadOver(FindNested(owned, distinct_), stmt);
    if (!nest.spread.empty()) return SpreadOver(nest, stmt);
    // In order, one launch after the other, where each has work for threads.
    if (const auto* loop = stmt.As<ForNode>(); loop && HasThreads(loop->body))
      return loop->With(loop->min, loop->extent, Bind(loop->body));
    return OneThread(stmt);
  }

 private:
  // Fewer iterations are done before another kernel starts.
  static constexpr int64_t kLeastIterations = 256;

  // Over threads, where none of them stores into a byte of another's.
  Stmt SpreadOver(const Nested& nest, const Stmt& stmt) const {
    Stmt spread = Spread(nest, num_threads_);
    return SharesBytes(spread) ? OneThread(stmt) : spread;
  }
  bool SharesBytes(const Stmt& spread) const {
    std::vector<const ForNode*> loops = LoopsIn(spread);
    return std::any_of(loops.begin(), loops.end(), [&](const ForNode* loop) {
      return loop->for_kind == ForKind::kThread && packed_.FindSharedByte(loop, loops);
    });
  }

  // Whether most of it would be spread over threads.
  bool HasThreads(const Stmt& stmt) const {
    if (const auto* allocation = stmt.As<AllocateNode>())
      return allocation->buffer->scope == StorageScope::kGlobal && HasThreads(allocation->body);
    if (const auto* seq = stmt.As<SeqNode>())
      return std::all_of(seq->stmts.begin(), seq->stmts.end(),
                         [&](const Stmt& item) { return HasThreads(item); });
    const auto* loop = stmt.As<ForNode>();
    bool plain =
        loop && (loop->for_kind == ForKind::kSerial || loop->for_kind == ForKind::kParallel);
    if (!plain || ScanOf(loop->extent).touches_memory || ScanOf(loop->min).touches_memory)
      return false;
    Nested nest = FindNested(stmt, distinct_);
    if (nest.spread.empty()) return HasThreads(loop->body);
    if (SharesBytes(Spread(nest, num_threads_))) return false;
    int64_t count = nest.Count();
    return count == 0 || count >= kLeastIterations;
  }

  int64_t num_threads_;
  bool distinct_;
  PackedElements packed_;
};

}  // namespace

PrimFunc BindThreads(const PrimFunc& function) {
  return ScanOf(function->body).binds_threads ? function : BindOtherThreads(function);
}

PrimFunc BindOtherThreads(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  if (it == function->attrs.end()) return function;
  target::Target target = it->second.As<target::Target>();
  if (!target->is_device()) return function;
  Binder binder(target->GetInt("max_threads"), function);
  return function.WithBody(binder.Bind(function->body));
}

}  // namespace tern::schedule
