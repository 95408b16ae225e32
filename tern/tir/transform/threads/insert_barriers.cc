// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/insert_barriers.h"
#include "tern/tir/atomics.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/arith/inline_limit.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/structural.h"
#include "tern/tir/analysis/thread_access.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

using Accesses = std::vector<ThreadAccess>;

// The memory that a statement stores to; nullopt where it computes addresses or passes them on.
std::optional<std::unordered_set<const VarNode*>> WrittenMemory(const Stmt& stmt) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const BufferStoreNode* node) override {
      written.insert(node->buffer->data.node());
      VisitChildren(node);
    }
    void VisitNode(const VarNode* node) override { passes_on |= node->dtype.is_handle(); }
    std::unordered_set<const VarNode*> written;
    bool passes_on = false;
  } scan;
  scan.Visit(stmt);
  if (scan.passes_on) return {};
  return scan.written;
}

bool ContainsBarrier(const Stmt& stmt) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const EvaluateNode* node) override { found |= IsBarrier(node->value); }
    bool found = false;
  } scan;
  scan.Visit(stmt);
  return scan.found;
}

// What a statement does to memory of one kind.
struct Effects {
  AccessSet exposed;     // those that no barrier of the statement comes before
  AccessSet pending;     // those that none comes after
  bool ordered = false;  // a barrier is on every path through it

  void Add(const ThreadAccess& access) {
    if (!ordered) exposed.Add(access);
    pending.Add(access);
  }
  void AddBarrier() {
    pending.Clear();
    ordered = true;
  }
  // `next` runs after this.
  void Append(const Effects& next) {
    if (!ordered) exposed.Add(next.exposed);
    if (next.ordered) pending.Clear();
    pending.Add(next.pending);
    ordered |= next.ordered;
  }
  // One of the two runs.
  void Join(const Effects& other) {
    exposed.Add(other.exposed);
    pending.Add(other.pending);
    ordered &= other.ordered;
  }
};

struct BlockEffects {
  Effects shared, global;

  Effects& Of(const ThreadAccess& access) { return access.is_shared ? shared : global; }
  void Append(const BlockEffects& next) {
    shared.Append(next.shared);
    global.Append(next.global);
  }
  void Join(const BlockEffects& other) {
    shared.Join(other.shared);
    global.Join(other.global);
  }
};

// Two accesses that need a barrier between them.
struct Conflict {
  ThreadAccess earlier, later;
};

// A barrier("global") orders shared memory too.
struct Needs {
  std::optional<Conflict> shared, global;
  bool any() const { return shared || global; }
};

// What was read, and not written since: the last of it, as variables.
class KnownLoads {
 public:
  // Null where the load is not known.
  Expr Find(const Expr& load) const {
    uint64_t hash = ir::StructuralHash(load);
    for (const Entry& entry : entries_)
      if (entry.hash == hash && ir::StructuralEqual(entry.load, load)) return entry.var;
    return {};
  }
  // `memory` is all that the load reads, for its indices too.
  void Add(const Expr& load, const Var& var, std::vector<const VarNode*> memory) {
    if (entries_.size() == kMaxEntries) entries_.erase(entries_.begin());
    entries_.push_back({ir::StructuralHash(load), load, var, std::move(memory)});
  }
  void Forget(const VarNode* memory) {
    std::erase_if(entries_, [&](const Entry& entry) {
      return std::find(entry.memory.begin(), entry.memory.end(), memory) != entry.memory.end();
    });
  }
  // What both know as the same variable.
  static KnownLoads Both(const KnownLoads& a, const KnownLoads& b) {
    KnownLoads both;
    for (const Entry& entry : a.entries_)
      if (std::any_of(b.entries_.begin(), b.entries_.end(),
                      [&](const Entry& other) { return other.var.same(entry.var); }))
        both.entries_.push_back(entry);
    return both;
  }

 private:
  // A bound for the time that finding one takes.
  static constexpr size_t kMaxEntries = 128;
  struct Entry {
    uint64_t hash;
    Expr load;
    Var var;
    std::vector<const VarNode*> memory;
  };
  std::vector<Entry> entries_;
};

class KernelWalker : public StmtMutator {
 public:
  KernelWalker(const ForNode* kernel, std::unordered_set<const VarNode*> private_memory,
               bool reports, bool is_race_free)
      : terms_(FindKernelShape(kernel)),
        written_(WrittenMemory(kernel->body)),
        private_memory_(std::move(private_memory)),
        reports_(reports),
        is_race_free_(is_race_free) {}

  using StmtMutator::Mutate;
  // Local memory whose contents may differ between threads.
  const std::unordered_set<const VarNode*>& private_memory() const { return private_memory_; }

 private:
  using StmtMutator::MutateNode;

  // ---- expressions, in terms of what threads have in common and what is their own

  struct Evaluated {
    Expr value;
    Accesses reads;
  };
  Evaluated Evaluate(const Expr& expr) {
    Accesses outer = std::exchange(reads_, {});
    Expr value = Mutate(expr);
    return {value, std::exchange(reads_, std::move(outer))};
  }

  Expr MutateNode(const VarNode* node, const Expr& self) override {
    if (node->dtype.is_handle()) {
      // An address that goes to a call: anything may happen there.
      for (bool is_write : {false, true}) Note(RootOf(node), is_write, {}, &reads_);
      return self;
    }
    auto it = values_.find(node);
    return it == values_.end() ? self : it->second;
  }
  // What stands for a variable that is defined so.
  Expr ValueOf(const Var& var, const Expr& value) {
    return arith::MayInline(value)
               ? value
               : terms_.NewVar(var.name(), var.dtype(), terms_.IsPrivate(value));
  }
  Expr MutateNode(const ir::LetNode* node, const Expr&) override {
    values_[node->var.node()] = ValueOf(node->var, Mutate(node->value));
    return Mutate(node->body);
  }
  // The element of an atomic operation is a write, and a value that nothing is known of; the old
  // value is a write too.
  Expr MutateAtomic(const ir::CallNode* node, const Expr& self) {
    Atomic atomic = AtomicOf(node);
    for (const Expr& operand : atomic.operands) Mutate(operand);
    for (const ir::BufferLoadNode* element : {atomic.element, atomic.old}) {
      if (!element) continue;
      std::vector<Expr> indices;
      for (const Expr& index : element->indices) indices.push_back(Mutate(index));
      size_t count = reads_.size();
      NoteElement(element->buffer, indices, true, element->span, &reads_);
      if (reads_.size() > count) reads_.back().is_atomic = element == atomic.element;
      const VarNode* memory = RootOf(element->buffer->data.node());
      private_memory_.insert(memory);
      loads_.Forget(memory);
    }
    return self;
  }
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    if (IsAtomic(node->name)) return MutateAtomic(node, self);
    Expr call = MutateChildren(node, self);
    const ir::Intrinsic* intrinsic = ir::FindIntrinsic(node->name);
    if (intrinsic && intrinsic->pure) return call;
    return node->dtype.is_void() ? call : terms_.NewVar(node->name, node->dtype, true);
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr&) override {
    std::vector<Expr> indices;
    for (const Expr& index : node->indices) indices.push_back(Mutate(index));
    NoteElement(node->buffer, indices, false, node->span, &reads_);
    Expr load =
        ir::BufferLoadNode::Make(node->buffer, indices, {}, MutateOptional(node->predicate));
    if (Expr known = loads_.Find(load)) return known;
    const VarNode* memory = RootOf(node->buffer->data.node());
    if (written_ && !written_->count(memory)) return load;  // the same at any time
    bool is_private =
        terms_.IsPrivate(load) || (IsOwned(memory) && private_memory_.count(memory) > 0);
    Var var = terms_.NewVar(node->buffer->name, node->dtype, is_private);
    std::vector<const VarNode*> read;
    ir::ForEachExpr(load, [&](const Expr& expr) {
      if (const auto* part = expr.As<ir::BufferLoadNode>())
        read.push_back(RootOf(part->buffer->data.node()));
    });
    loads_.Add(load, var, std::move(read));
    return var;
  }

  // ---- memory

  const VarNode* RootOf(const VarNode* address) const {
    auto it = roots_.find(address);
    return it == roots_.end() ? address : it->second;
  }
  // Whether each thread has its own.
  bool IsOwned(const VarNode* memory) const {
    auto it = scopes_.find(memory);
    return it != scopes_.end() && !IsSharedScope(it->second);
  }

  void Note(const VarNode* memory, bool is_write, const Span& place, Accesses* to) {
    if (IsOwned(memory) || (written_ && !written_->count(memory))) return;
    ThreadAccess access;
    access.memory = memory;
    access.guards = guards_;
    access.is_write = is_write;
    access.is_shared = scopes_.count(memory) > 0;
    access.reduction = reduction_;
    access.place = place;
    access.diverges = divergent_;
    to->push_back(std::move(access));
  }

  // A lane of a vector index.
  Expr LaneOf(const Expr& index) {
    if (index.dtype().is_scalar()) return index;
    if (const auto* ramp = index.As<ir::RampNode>()) {
      std::optional<arith::IntegerSystem::Range> range;
      if (ramp->lanes > 0) range = {Expr(0), Expr(ramp->lanes)};
      Expr lane = terms_.NewVar("lane", DataType::Int(64), true, range);
      if (ramp->base.dtype() != lane.dtype()) lane = ir::CastNode::Make(ramp->base.dtype(), lane);
      return ramp->base + ramp->stride * lane;
    }
    if (const auto* broadcast = index.As<ir::BroadcastNode>()) return broadcast->value;
    return terms_.NewVar("lane", index.dtype().element(), true);
  }

  void NoteElement(const Buffer& buffer, const std::vector<Expr>& indices, bool is_write,
                   const Span& place, Accesses* to) {
    size_t count = to->size();
    Note(RootOf(buffer->data.node()), is_write, place, to);
    if (to->size() == count) return;
    ThreadAccess& access = to->back();
    bool is_view = views_.count(buffer.get()) > 0;
    const Buffer& shaped = is_view ? views_.at(buffer.get()) : buffer;
    Expr offset = shaped->offset ? shaped->offset : Expr(0);
    for (size_t d = 0; d < indices.size(); ++d) {
      access.indices.push_back(LaneOf(indices[d]));
      Expr index = access.indices.back();
      if (index.dtype() != DataType::Int(64)) index = ir::CastNode::Make(DataType::Int(64), index);
      // Row major: the extents of the dimensions behind.
      Expr step = 1;
      if (!shaped->strides.empty())
        step = shaped->strides[d];
      else
        for (size_t i = d + 1; i < indices.size(); ++i) step = step * shaped->shape[i];
      offset = offset + index * step;
    }
    // Memory of the block has a byte for each element at least.
    access.bytes = std::max(buffer->dtype.bytes(), 1);
    access.first_byte = arith::Analyzer().Simplify(offset * Expr(access.bytes));
    if (!is_view) access.buffer = buffer.get();
  }

  // ---- barriers

  Needs NeedsBetween(BlockEffects& earlier, const Accesses& later) {
    Needs needs;
    for (const ThreadAccess& access : later)
      NoteConflicts(earlier.Of(access).pending, access, &needs);
    return needs;
  }
  Needs NeedsBetween(BlockEffects& earlier, const BlockEffects& later) {
    Needs needs;
    for (const AccessSet* exposed : {&later.shared.exposed, &later.global.exposed})
      for (const ThreadAccess& access : exposed->all())
        NoteConflicts(earlier.Of(access).pending, access, &needs);
    return needs;
  }
  void NoteConflicts(const AccessSet& earlier, const ThreadAccess& later, Needs* needs) {
    constexpr size_t kFew = 4;
    for (const AccessSet::Group& group : earlier.GroupsOf(later.memory)) {
      if (!CanConflict(earlier[group.members[0]], later, *needs)) continue;
      if (group.members.size() > kFew && group.has_bounds &&
          !MayMeet(terms_.HullOf(earlier, group), later))
        continue;
      for (size_t member : group.members) NoteConflict(earlier[member], later, needs);
    }
  }
  // Whether there is a reason to ask where they are.
  bool CanConflict(const ThreadAccess& earlier, const ThreadAccess& later,
                   const Needs& needs) const {
    if (earlier.is_atomic && later.is_atomic) return false;
    bool both_write = earlier.is_write && later.is_write;
    if (is_race_free_ && (later.diverges || both_write)) return false;
    return !(later.is_shared ? needs.shared : needs.global) &&
           (earlier.is_write || later.is_write) && (!both_write || later.is_shared);
  }
  void NoteConflict(const ThreadAccess& earlier, const ThreadAccess& later, Needs* needs) {
    if (!CanConflict(earlier, later, *needs) || !MayMeet(earlier, later)) return;
    (later.is_shared ? needs->shared : needs->global) = Conflict{earlier, later};
  }
  // Proofs of a kernel are limited in number; what is not proven meets.
  bool MayMeet(const ThreadAccess& a, const ThreadAccess& b) {
    constexpr int64_t kMaxProofs = 50'000;
    return ++proofs_ > kMaxProofs || terms_.MayMeet(a, b);
  }

  // The barrier that is needed, or null where none can stand; it orders `effects`.
  Stmt Barrier(const Needs& needs, const Span& span, BlockEffects* effects) {
    if (needs.shared && barred_ && reports_) Refuse(*needs.shared);
    if (barred_ || !needs.any()) return {};
    effects->shared.AddBarrier();
    if (needs.global) effects->global.AddBarrier();
    BarrierKind kind = needs.global ? BarrierKind::kGlobal : BarrierKind::kShared;
    return EvaluateNode::Make(MakeBarrier(kind, span), span);
  }
  Stmt WithBarrier(const Needs& needs, const Stmt& stmt) {
    Stmt barrier = Barrier(needs, stmt.span(), effects_);
    return barrier ? SeqNode::Make({barrier, stmt}, stmt.span()) : stmt;
  }

  [[noreturn]] void Refuse(const Conflict& conflict) {
    const std::string& name = conflict.later.memory->name;
    TERN_THROW(ValueError) << ir::At(conflict.later.place) << "a thread may "
                           << (conflict.later.is_write ? "write" : "read") << " an element of "
                           << name << " here that another one "
                           << (conflict.earlier.is_write ? "wrote" : "read") << " at "
                           << conflict.earlier.place.str()
                           << "; that takes a barrier between the two, but none can stand there: "
                           << *barred_
                           << (conflict.later.diverges
                                   ? ". Where threads never meet there, attrs {race_free = true} "
                                     "of the function says so"
                                   : "");
  }

  // Runs `walk` with effects of its own; a barrier that its beginning needs comes before it.
  template <class F>
  Stmt Enclosed(F&& walk) {
    BlockEffects own, *outer = std::exchange(effects_, &own);
    Stmt stmt = walk();
    effects_ = outer;
    Stmt result = WithBarrier(NeedsBetween(*effects_, own), stmt);
    effects_->Append(own);
    return result;
  }

  // Notes reads of a statement's expressions; returns the barrier before them, or null.
  Stmt ReadBefore(const Accesses& reads, const Span& span) {
    Stmt barrier = Barrier(NeedsBetween(*effects_, reads), span, effects_);
    for (const ThreadAccess& read : reads) effects_->Of(read).Add(read);
    return barrier;
  }
  Stmt ReadBefore(const std::vector<Expr>& exprs, const Span& span) {
    Accesses reads;
    for (const Expr& expr : exprs) {
      Evaluated evaluated = Evaluate(expr);
      for (ThreadAccess& read : evaluated.reads) reads.push_back(std::move(read));
    }
    for (ThreadAccess& read : reads)
      if (!read.first_byte) read.place = span;
    return ReadBefore(reads, span);
  }
  static Stmt After(const Stmt& barrier, const Stmt& stmt) {
    return barrier ? SeqNode::Make({barrier, stmt}, stmt.span()) : stmt;
  }

  // While `walk` runs, no barrier can be put anywhere, for this reason.
  template <class F>
  auto Barred(std::string why, F&& walk) {
    std::optional<std::string> outer = barred_;
    if (!barred_) barred_ = std::move(why);
    auto result = walk();
    barred_ = outer;
    return result;
  }

  // ---- statements

  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    Evaluated value = Evaluate(node->value);
    Accesses reads = value.reads, writes;
    std::vector<Expr> indices;
    bool is_private = divergent_ || terms_.IsPrivate(value.value);
    auto evaluate = [&](const Expr& part) {
      Evaluated evaluated = Evaluate(part);
      is_private |= terms_.IsPrivate(evaluated.value);
      for (ThreadAccess& read : evaluated.reads) reads.push_back(std::move(read));
      return evaluated.value;
    };
    for (const Expr& index : node->indices) indices.push_back(evaluate(index));
    if (node->predicate) evaluate(node->predicate);
    NoteElement(node->buffer, indices, true, node->span, &writes);

    Accesses all = reads;
    all.insert(all.end(), writes.begin(), writes.end());
    Stmt before = Barrier(NeedsBetween(*effects_, all), node->span, effects_);
    for (const ThreadAccess& read : reads) effects_->Of(read).Add(read);
    Stmt store = self;
    Needs between;
    for (const ThreadAccess& write : writes)
      for (const ThreadAccess& read : reads) NoteConflict(read, write, &between);
    if (Stmt barrier = Barrier(between, node->span, effects_)) store = SplitStore(node, barrier);
    for (const ThreadAccess& write : writes) effects_->Of(write).Add(write);

    const VarNode* memory = RootOf(node->buffer->data.node());
    loads_.Forget(memory);
    if (is_private && IsOwned(memory)) private_memory_.insert(memory);
    return After(before, store);
  }

  // Everything is read before the barrier, and written behind it.
  static Stmt SplitStore(const BufferStoreNode* node, const Stmt& barrier) {
    std::vector<std::pair<Var, Expr>> lets;
    auto bind = [&](const char* name, const Expr& expr) -> Expr {
      if (AsConstant(expr)) return expr;
      lets.emplace_back(Var(name, expr.dtype(), expr.span()), expr);
      return lets.back().first;
    };
    Expr value = bind("value", node->value);
    std::vector<Expr> indices;
    for (const Expr& index : node->indices) indices.push_back(bind("index", index));
    Expr predicate = node->predicate ? bind("predicate", node->predicate) : Expr();
    Stmt stmt = SeqNode::Make(
        {barrier, BufferStoreNode::Make(node->buffer, indices, value, node->span, predicate)},
        node->span);
    for (size_t i = lets.size(); i-- > 0;)
      stmt = LetStmtNode::Make(lets[i].first, lets[i].second, stmt, node->span);
    return stmt;
  }
  static bool AsConstant(const Expr& expr) { return ir::AsConstInt(expr) || expr.As<VarNode>(); }

  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    if (node->var.dtype().is_handle()) {
      const VarNode* root = node->var.node();
      ir::ForEachExpr(node->value, [&](const Expr& expr) {
        const auto* var = expr.As<VarNode>();
        if (var && var->dtype.is_handle()) root = RootOf(var);
      });
      roots_[node->var.node()] = root;
      return WithBody(node, self);
    }
    Evaluated value = Evaluate(node->value);
    Stmt before = ReadBefore(value.reads, node->span);
    values_[node->var.node()] = ValueOf(node->var, value.value);
    NoteThreadVar(node->var, node->value);
    return After(before, WithBody(node, self));
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    scopes_[node->buffer->data.node()] = node->buffer->scope;
    Stmt before = DefineView(node->buffer);
    views_.erase(node->buffer.get());
    return After(before, WithBody(node, self));
  }
  Stmt MutateNode(const DeclBufferNode* node, const Stmt& self) override {
    Stmt before = DefineView(node->buffer);
    return After(before, WithBody(node, self));
  }
  Stmt DefineView(const Buffer& buffer) {
    auto view = ffi::Make<BufferNode>(*buffer);
    Accesses reads;
    auto evaluate = [&](Expr& expr) {
      if (!expr) return;
      Evaluated evaluated = Evaluate(expr);
      expr = evaluated.value;
      for (ThreadAccess& read : evaluated.reads) reads.push_back(std::move(read));
    };
    for (Expr& extent : view->shape) evaluate(extent);
    for (Expr& stride : view->strides) evaluate(stride);
    evaluate(view->offset);
    views_[buffer.get()] = Buffer(view.get());
    return ReadBefore(reads, buffer->span);
  }
  template <class T>
  Stmt WithBody(const T* node, const Stmt& self) {
    Stmt body = Mutate(node->body);
    if (body.same(node->body)) return self;
    auto copy = ffi::Make<T>(*node);
    copy->body = body;
    return copy;
  }

  Stmt MutateNode(const SeqNode* node, const Stmt& self) override {
    std::vector<Stmt> stmts;
    bool changed = false;
    for (const Stmt& stmt : node->stmts) {
      stmts.push_back(Mutate(stmt));
      changed |= !stmts.back().same(stmt);
    }
    return changed ? SeqNode::Make(std::move(stmts), node->span) : self;
  }
  Stmt MutateNode(const AssertNode* node, const Stmt& self) override {
    std::vector<Expr> exprs = node->message;
    exprs.push_back(node->condition);
    return After(ReadBefore(exprs, node->span), self);
  }
  Stmt MutateNode(const EvaluateNode* node, const Stmt& self) override {
    if (IsBarrier(node->value)) {
      effects_->shared.AddBarrier();
      if (BarrierKindOf(node->value.As<ir::CallNode>()) == BarrierKind::kGlobal)
        effects_->global.AddBarrier();
      return self;
    }
    return After(ReadBefore({node->value}, node->span), self);
  }

  // ---- divergence

  // A variable whose value follows from the index of the thread.
  void NoteThreadVar(const Var& var, const Expr& value) {
    if (!ir::MayFault(value) && FindThreadVar(value)) thread_vars_.insert(var.node());
  }
  const VarNode* FindThreadVar(const Expr& expr) const {
    const VarNode* found = nullptr;
    ir::ForEachExpr(expr, [&](const Expr& e) {
      if (const auto* var = e.As<VarNode>(); thread_vars_.count(var)) found = var;
    });
    return found;
  }

  // Runs `walk`, which the threads may not all run, or not equally often, if `differs`: unless it
  // has a barrier, which says that they do. What they read from memory may well be the same, but
  // not what follows from their index.
  template <class F>
  auto Controlled(bool differs, const std::vector<Expr>& decides, const Stmt& stmt,
                  const char* what, F&& walk) {
    if (!differs) return walk();
    if (ContainsBarrier(stmt)) {
      for (const Expr& expr : decides)
        if (const VarNode* var = FindThreadVar(expr))
          TERN_THROW(ValueError) << stmt.span().str() << ": the " << what
                                 << " depends on the thread (" << var->name
                                 << "), but a barrier stands in it, which all threads of a block "
                                    "must come to";
      return walk();
    }
    bool outer = std::exchange(divergent_, true);
    auto result = Barred(std::string("the ") + what + " at " + stmt.span().str() +
                             " depends on the thread, so not all threads of a block come to it",
                         walk);
    divergent_ = outer;
    return result;
  }

  Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
    Evaluated condition = Evaluate(node->condition);
    Stmt before = ReadBefore(condition.reads, node->span);
    auto branch = [&](const Stmt& stmt, const Expr& guard, BlockEffects* own) {
      BlockEffects* outer = std::exchange(effects_, own);
      guards_.push_back(guard);
      Stmt result = Mutate(stmt);
      guards_.pop_back();
      effects_ = outer;
      return result;
    };
    Stmt then_case, else_case;
    BlockEffects both, otherwise;
    Controlled(terms_.IsPrivate(condition.value), {node->condition}, self, "condition", [&] {
      auto known = loads_;
      then_case = branch(node->then_case, condition.value, &both);
      auto after_then = std::exchange(loads_, known);
      if (node->else_case)
        else_case = branch(node->else_case, ir::NotNode::Make(condition.value), &otherwise);
      loads_ = KnownLoads::Both(KnownLoads::Both(known, after_then), loads_);
      return 0;
    });
    both.Join(otherwise);
    bool same = then_case.same(node->then_case) && else_case.same(node->else_case);
    Stmt stmt =
        same ? self : IfThenElseNode::Make(node->condition, then_case, else_case, node->span);
    Stmt result = WithBarrier(NeedsBetween(*effects_, both), stmt);
    effects_->Append(both);
    return After(before, result);
  }

  // What an iteration leaves behind, as a later one sees it.
  BlockEffects Carried(const BlockEffects& body, size_t mark, const Var& var,
                       const std::optional<arith::IntegerSystem::Range>& range) {
    BlockEffects carried;
    auto carry = [&](const Effects& from, Effects* to) {
      ir::VarMap renamed;
      Expr guard;
      if (var.get() && from.ordered) {
        renamed[var.node()] = var - ir::MakeConst(var.dtype(), 1);
      } else if (var) {
        Var earlier = terms_.NewVar(var.name(), var.dtype(), terms_.IsPrivate(var), range);
        renamed[var.node()] = earlier;
        guard = earlier < var;
      }
      to->pending = terms_.RenameSince(mark, from.pending, renamed, guard);
    };
    carry(body.shared, &carried.shared);
    carry(body.global, &carried.global);
    return carried;
  }

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    bool is_virtual = node->for_kind == ForKind::kThread && IsVirtualThread(node);
    if (node->for_kind == ForKind::kThread && !is_virtual) {
      values_[node->var.node()] = AxisValue(node);
      bool of_block = ThreadAxisNumber(node->thread) < kNumThreadAxesOfBlock;
      if (of_block && !ir::IsConst(node->extent, 1)) thread_vars_.insert(node->var.node());
      return WithBody(node, self);
    }
    Evaluated min = Evaluate(node->min), extent = Evaluate(node->extent);
    Accesses reads = min.reads;
    reads.insert(reads.end(), extent.reads.begin(), extent.reads.end());
    Stmt before = ReadBefore(reads, node->span);
    auto walk = [&] { return MutateLoop(node, self, min.value, extent.value); };
    bool differs = terms_.IsPrivate(min.value) || terms_.IsPrivate(extent.value);
    bool in_order =
        is_virtual || node->for_kind == ForKind::kSerial || node->for_kind == ForKind::kUnrolled;
    Stmt result = Enclosed([&] {
      return Controlled(
          differs, {node->min, node->extent}, self, "number of iterations of the loop", [&] {
            if (in_order) return walk();
            return Barred(std::string("it would be in the ") + ForKindName(node->for_kind) +
                              " loop at " + node->span.str(),
                          walk);
          });
    });
    return After(before, result);
  }
  Expr AxisValue(const ForNode* node) const {
    Expr axis = terms_.Axis(node->thread);
    DataType dtype = node->var.dtype();
    return axis.dtype() == dtype ? axis : ir::CastNode::Make(dtype, axis);
  }
  Stmt MutateLoop(const ForNode* node, const Stmt& self, const Expr& min, const Expr& extent) {
    loads_ = {};
    size_t mark = terms_.Mark();
    arith::IntegerSystem::Range range{min, extent};
    Var var = terms_.NewVar(node->var.name(), node->var.dtype(), divergent_, range);
    values_[node->var.node()] = var;
    Stmt body = Mutate(node->body);
    loads_ = {};
    BlockEffects carried = Carried(*effects_, mark, var, range);
    BlockEffects start;
    if (Stmt barrier = Barrier(NeedsBetween(carried, *effects_), node->span, &start)) {
      body = SeqNode::Make({barrier, body}, node->body.span());
      start.Append(*effects_);
      *effects_ = std::move(start);
    }
    if (!arith::Analyzer().CanProve(ir::MakeConst(extent.dtype(), 0) < extent)) MayNotRun(effects_);
    if (body.same(node->body)) return self;
    auto copy = ffi::Make<ForNode>(*node);
    copy->body = body;
    return copy;
  }
  static void MayNotRun(BlockEffects* effects) {
    effects->shared.ordered = effects->global.ordered = false;
  }

  Stmt MutateNode(const WhileNode* node, const Stmt& self) override {
    loads_ = {};
    bool differs = terms_.IsPrivate(Evaluate(node->condition).value);
    return Enclosed([&] {
      return Controlled(differs, {node->condition}, self, "condition of the loop",
                        [&] { return MutateLoop(node, self); });
    });
  }
  Stmt MutateLoop(const WhileNode* node, const Stmt& self) {
    loads_ = {};
    size_t mark = terms_.Mark();
    Evaluated condition = Evaluate(node->condition);
    ReadBefore(condition.reads, node->span);
    BlockEffects start = *effects_;
    guards_.push_back(condition.value);
    Stmt body = Mutate(node->body);
    guards_.pop_back();
    loads_ = {};
    BlockEffects carried = Carried(*effects_, mark, {}, {});
    BlockEffects end;
    if (Stmt barrier = Barrier(NeedsBetween(carried, *effects_), node->span, &end)) {
      body = SeqNode::Make({body, barrier}, node->body.span());
      effects_->Append(end);
      effects_->Append(start);  // the condition is read once more
    }
    MayNotRun(effects_);
    return body.same(node->body) ? self : WhileNode::Make(node->condition, body, node->span);
  }

  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    std::vector<Expr> exprs;
    bool along_threads = false;
    Expr first;
    for (const BlockIter& iter : node->iters) {
      exprs.push_back(iter.binding);
      values_[iter.var.node()] = ValueOf(iter.var, Evaluate(iter.binding).value);
      NoteThreadVar(iter.var, iter.binding);
      if (iter.kind != IterKind::kReduce) continue;
      Expr value = values_[iter.var.node()];
      along_threads |= terms_.IsPrivate(value);
      Expr at_start = value == ir::MakeConst(value.dtype(), 0);
      first = first ? first && at_start : at_start;
    }
    Expr predicate = node->predicate ? Evaluate(node->predicate).value : Expr();
    if (predicate) exprs.push_back(node->predicate);
    Stmt before = ReadBefore(exprs, node->span);
    const BlockNode* outer = std::exchange(reduction_, along_threads ? node : reduction_);
    if (predicate) guards_.push_back(predicate);
    Stmt result = Enclosed([&] {
      std::vector<Expr> decides;
      if (predicate) decides.push_back(node->predicate);
      return Controlled(predicate.get() && terms_.IsPrivate(predicate), decides, self, "predicate",
                        [&] { return MutateInstance(node, self, first); });
    });
    if (predicate) guards_.pop_back();
    reduction_ = outer;
    return After(before, result);
  }
  Stmt MutateInstance(const BlockNode* node, const Stmt& self, const Expr& first) {
    auto copy = ffi::Make<BlockNode>(*node);
    if (node->init) {
      BlockEffects own, *outer = std::exchange(effects_, &own);
      guards_.push_back(first);
      std::vector<Expr> decides;
      for (const BlockIter& iter : node->iters)
        if (iter.kind == IterKind::kReduce) decides.push_back(iter.binding);
      copy->init = Controlled(terms_.IsPrivate(first), decides, node->init,
                              "start of the reduction", [&] { return Mutate(node->init); });
      guards_.pop_back();
      effects_ = outer;
      MayNotRun(&own);
      effects_->Append(own);
    }
    copy->body = Mutate(node->body);
    if (node->predicate) MayNotRun(effects_);
    bool same = copy->init.same(node->init) && copy->body.same(node->body);
    return same ? self : Stmt(copy);
  }

  ThreadTerms terms_;
  std::optional<std::unordered_set<const VarNode*>> written_;  // the others never conflict
  std::unordered_set<const VarNode*> private_memory_;
  bool reports_, is_race_free_;
  BlockEffects all_, *effects_ = &all_;
  Accesses reads_;  // of the expression at hand
  std::vector<Expr> guards_;
  std::unordered_set<const VarNode*> thread_vars_;   // that follow from the index of the thread
  std::unordered_map<const VarNode*, Expr> values_;  // of variables that the kernel defines
  KnownLoads loads_;
  std::unordered_map<const VarNode*, const VarNode*> roots_;  // pointers into other memory
  std::unordered_map<const VarNode*, StorageScope> scopes_;   // of the kernel's allocations
  std::unordered_map<const BufferNode*, Buffer> views_;
  std::optional<std::string> barred_;  // why no barrier can stand here
  bool divergent_ = false;             // not all threads may come here
  int64_t proofs_ = 0;                 // that were tried
  const BlockNode* reduction_ = nullptr;
};

class BarrierInserter : public StmtMutator {
 public:
  explicit BarrierInserter(bool is_race_free) : is_race_free_(is_race_free) {}

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || IsVirtualThread(node))
      return MutateChildren(node, self);
    // Local memory is taken as uniform until a round finds otherwise; the last round has the whole
    // truth.
    std::unordered_set<const VarNode*> private_memory;
    for (bool stable = false; !stable;) {
      KernelWalker walker(node, private_memory, false, is_race_free_);
      walker.Mutate(self);
      stable = walker.private_memory().size() == private_memory.size();
      private_memory = walker.private_memory();
    }
    return KernelWalker(node, private_memory, true, is_race_free_).Mutate(self);
  }

  bool is_race_free_;
};

}  // namespace

PrimFunc InsertBarriers(const PrimFunc& function) {
  return BarrierInserter(HasFlag(function, attr::kRaceFree)).MutateFunction(function);
}

}  // namespace tern::tir
