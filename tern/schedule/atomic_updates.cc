// SPDX-License-Identifier: Apache-2.0
//
// The steps for updates that may collide: histograms, scatters that add.
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/commuting_update.h"
#include "tern/tir/block_op.h"

namespace tern::schedule {

using namespace tern::tir;

void Schedule::AtomicUpdate(const BlockRef& block_ref) {
  Do("atomic_update", {TextOf(block_ref)}, [&] {
    const BlockNode* block = At(block_ref);
    if (block->init)
      Refuse("block " + block_ref.name() +
             " has an init; decompose_reduction makes it a block before");
    std::optional<CommutingUpdate> update = FindCommutingUpdate(block->body);
    if (!update || update->is_atomic())
      Refuse("block " + block_ref.name() +
             " is no update A[i] = A[i] op x, with op one of +, -, min, max, &, | and ^, of an A "
             "that it does not read otherwise");
    if (std::string why = update->WhyNotAtomic(); !why.empty()) Refuse(why);
    CheckMayReassociate(block, "threads update " + update->buffer->name + " in any order");
    if (update->buffer->scope != StorageScope::kGlobal &&
        update->buffer->scope != StorageScope::kShared)
      Refuse(update->buffer->name + " is in memory of one thread");
    auto atomic = CopyBlock(block);
    for (BlockIter& iter : atomic->iters) iter.kind = IterKind::kSpatial;
    atomic->body = ReplaceUpdate(block->body, *update,
                                 update->AsAtomic(update->buffer, update->indices, update->value));
    ReplaceStmt(block, Stmt(atomic));
  });
}

namespace {

// A copy of what an iteration of a loop may update, and the blocks around the updates.
class PrivateCopy {
 public:
  PrivateCopy(const Nest& nest, const ForNode* loop, const CommutingUpdate& update,
              const std::string& name, StorageScope scope)
      : nest_(nest), loop_(loop), update_(update), name_(name) {
    bool inside = false;
    for (const ForNode* other : nest.loops) {
      (inside ? inner_ : outer_).push_back(other);
      inside |= other == loop;
    }
    FindThreads();
    std::vector<Expr> shape;
    for (size_t d = 0; d < update.indices.size(); ++d) {
      if (IsFixed(update.indices[d])) continue;
      const Expr& extent = update.buffer->shape[d];
      if (!ir::AsConstInt(extent))
        Refuse("extent " + std::to_string(d) + " of " + update.buffer->name + " is not constant");
      dims_.push_back(d);
      shape.push_back(extent);
    }
    if (shape.empty()) shape.push_back(ir::MakeConst(DataType::Int(64), 1));
    copy_ = BufferNode::Make(name, update.buffer->dtype, shape, {}, scope);
  }

  const std::vector<const ForNode*>& inner() const { return inner_; }

  Stmt Body(bool atomic) const {
    std::vector<Expr> at;
    for (size_t d : dims_) at.push_back(update_.indices[d]);
    if (at.empty()) at.push_back(ir::MakeConst(DataType::Int(64), 0));
    Stmt update = atomic ? update_.AsAtomic(copy_, at, update_.value)
                         : update_.Plain(copy_, at, update_.value);
    auto block = CopyBlock(nest_.block);
    block->body = ReplaceUpdate(block->body, update_, update);
    // Behind one another, they update one element, or any.
    if (!atomic)
      for (BlockIter& iter : block->iters)
        if (UsesAnyOf(iter.binding, inner_)) iter.kind = IterKind::kReduce;
    return AllocateNode::Make(
        copy_, SeqNode::Make({Begin(), WrapLoops(inner_, Stmt(block)), Merge()}), loop_->span);
  }

 private:
  // Every thread of a block runs all of it, but for what is in thread loops.
  void FindThreads() {
    for (const ForNode* inner : inner_) {
      if (inner->for_kind != ForKind::kThread) continue;
      if (threads_ || inner->thread != "threadIdx.x" || inner->var.dtype() != DataType::Int(64))
        Refuse("loop " + inner->var.name() + " is bound to " + inner->thread +
               "; one loop bound to threadIdx.x can share a copy");
      threads_ = inner;
    }
  }

  // An index that all of an iteration have: an axis that no loop inside is bound to.
  const BlockIter* FixedAxis(const Expr& index) const {
    for (const BlockIter& iter : nest_.block->iters)
      if (index.get() == iter.var.get() && !UsesAnyOf(iter.binding, inner_)) return &iter;
    return nullptr;
  }
  bool IsFixed(const Expr& index) const { return FixedAxis(index) != nullptr; }

  // A block over all elements of the copy: where threads share it, by these.
  struct Elements {
    FreshLoops loops;
    std::vector<BlockIter> iters;
    std::vector<Expr> at;
    Expr predicate;  // null: all
  };
  Elements All(const std::string& name) const {
    Elements all;
    std::vector<Expr> places;
    if (!threads_) {
      for (const Expr& extent : copy_->shape)
        places.emplace_back(AddLoop(&all, name, std::to_string(places.size()), extent));
    } else {
      Expr count = ir::MakeConst(DataType::Int(64), 1);
      for (const Expr& extent : copy_->shape) count = count * extent;
      count = arith::Analyzer().Simplify(count);
      Expr part = AddLoop(&all, name, "o",
                          arith::Analyzer().Simplify(ir::CeilDiv(count, threads_->extent)));
      Expr place = part * threads_->extent + AddLoop(&all, name, "t", threads_->extent);
      if (!ir::IsConst(arith::Analyzer().Simplify(ir::FloorMod(count, threads_->extent)), 0))
        all.predicate = place < count;
      for (size_t d = copy_->shape.size(); d-- > 0;) {
        places.insert(places.begin(), d == 0 ? place : ir::FloorMod(place, copy_->shape[d]));
        place = ir::FloorDiv(place, copy_->shape[d]);
      }
    }
    for (size_t d = 0; d < copy_->shape.size(); ++d) {
      Var axis("v" + std::to_string(d));
      all.iters.push_back({copy_->shape[d], places[d], axis, IterKind::kSpatial});
      all.at.emplace_back(axis);
    }
    return all;
  }
  static Expr AddLoop(Elements* all, const std::string& name, const std::string& suffix,
                      const Expr& extent) {
    all->loops.vars.emplace_back(name + "_" + suffix);
    all->loops.extents.push_back(extent);
    return all->loops.vars.back();
  }
  Stmt Finish(const Elements& all, const std::string& name, const Stmt& body) const {
    Stmt made = BlockNode::Make(name, all.iters, {}, body, loop_->span);
    auto block = ffi::Make<BlockNode>(*made.As<BlockNode>());
    block->predicate = all.predicate;
    SetOp(block.get(), OpOf(nest_.block));
    Stmt stmt = Stmt(block);
    for (size_t i = all.loops.vars.size(); i-- > 0;) {
      bool thread = threads_ && i == 1;
      stmt = ForNode::Make(all.loops.vars[i], ir::MakeConst(DataType::Int(64), 0),
                           all.loops.extents[i], thread ? ForKind::kThread : ForKind::kSerial, stmt,
                           thread ? threads_->thread : "", loop_->span);
    }
    return stmt;
  }

  Stmt Begin() const {
    Elements all = All(name_);
    Stmt store = BufferStoreNode::Make(copy_, all.at, update_.Identity(), loop_->span);
    return Finish(all, name_, store);
  }

  // What was not updated is left out.
  Stmt Merge() const {
    Elements all = All(name_ + "_merge");
    ir::VarMap axes;
    for (const ForNode* outer : outer_) {
      Var axis("v" + outer->var.name(), outer->var.dtype());
      all.iters.push_back({outer->extent, outer->var - outer->min, axis, IterKind::kSpatial});
      axes[outer->var.node()] = axis + outer->min;
    }
    std::vector<Expr> at;
    size_t next = 0;
    for (const Expr& index : update_.indices) {
      const BlockIter* fixed = FixedAxis(index);
      at.push_back(fixed ? arith::Analyzer().Simplify(ir::Substitute(fixed->binding, axes))
                         : all.at[next++]);
    }
    Expr value = ir::BufferLoadNode::Make(copy_, all.at);
    Stmt add = IfThenElseNode::Make(ir::NENode::Make(value, update_.Identity()),
                                    update_.AsAtomic(update_.buffer, at, value), {}, loop_->span);
    for (BlockIter& iter : all.iters) iter.binding = arith::Analyzer().Simplify(iter.binding);
    return Finish(all, name_ + "_merge", add);
  }

  const Nest& nest_;
  const ForNode* loop_;
  const CommutingUpdate& update_;
  std::string name_;
  std::vector<const ForNode*> outer_, inner_;  // the loop is one of the outer ones
  std::vector<size_t> dims_;                   // of the result that the copy has
  const ForNode* threads_ = nullptr;           // that share the copy; null: it is one thread's
  Buffer copy_;
};

}  // namespace

CopyRef Schedule::Privatize(const BlockRef& block_ref, const LoopRef& loop_ref, StorageScope scope,
                            std::string name) {
  return Do("privatize", {TextOf(block_ref), TextOf(loop_ref), StorageScopeName(scope)}, [&] {
    const BlockNode* block = At(block_ref);
    const ForNode* loop = At(loop_ref);
    std::optional<CommutingUpdate> update = FindCommutingUpdate(block->body);
    if (!update || !update->is_atomic())
      Refuse("block " + block_ref.name() + " is no atomic update; atomic_update makes it one");
    Nest nest = NestOf(tree(), block);
    if (!nest.Has(loop))
      Refuse("loop " + loop_ref.str() + " is not one of block " + block_ref.name() + " alone");
    if (update->buffer->scope != StorageScope::kGlobal)
      Refuse(update->buffer->name + " is not in global memory");
    if (scope != StorageScope::kShared && scope != StorageScope::kLocal)
      Refuse("a copy is in shared or in local memory");
    name = Or(name, block_ref.name() + "_copy");
    for (const std::string& fresh : {name, name + "_merge"}) CheckNewBlock(fresh);
    CheckNewBuffer(name);
    PrivateCopy copy(nest, loop, *update, name, scope);
    bool atomic = scope != StorageScope::kLocal;
    for (const ForNode* inner : copy.inner())
      if (!atomic && inner->for_kind != ForKind::kSerial && inner->for_kind != ForKind::kUnrolled)
        Refuse("loop " + inner->var.name() + " is " + ForKindName(inner->for_kind) +
               ", and local memory is of one thread");
    ReplaceStmt(loop, loop->With(loop->min, loop->extent, copy.Body(atomic)));
    for (const std::string& fresh : {name, name + "_merge"}) SetFacts(fresh, {true, true, true});
    return MadeAs(name);
  });
}

}  // namespace tern::schedule
