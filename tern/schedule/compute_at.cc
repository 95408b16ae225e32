// SPDX-License-Identifier: Apache-2.0
//
// The steps that move a block into a loop of another one.
#include <algorithm>
#include <set>

#include "tern/arith/linear_sum.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/access_regions.h"
#include "tern/tir/analysis/memory_effects.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

const BlockIter* AxisOf(const BlockNode* block, const Expr& expr) {
  for (const BlockIter& iter : block->iters)
    if (iter.var.get() == expr.get()) return &iter;
  return nullptr;
}

bool UsesAxes(const BlockNode* block, const Expr& expr) {
  return std::any_of(block->iters.begin(), block->iters.end(),
                     [&](const BlockIter& iter) { return ir::UsesVar(expr, iter.var.node()); });
}

// The axis that each dimension of a buffer is accessed at, in all loads or all stores of a block;
// null where none is. Refuses other indices.
std::vector<const BlockIter*> AxesOf(const BlockNode* block, const Buffer& buffer, bool store) {
  std::vector<const BlockIter*> axes;
  bool first = true;
  for (const Stmt& part : {block->init, block->body}) {
    if (!part) continue;
    for (const Access& access : AccessesOf(part, buffer)) {
      if (access.store != store) continue;
      std::vector<const BlockIter*> found;
      for (const Expr& index : access.indices) {
        const BlockIter* axis = AxisOf(block, index);
        if (!axis && UsesAxes(block, index))
          Refuse("block " + block->name + " accesses " + buffer->name +
                 " at an index that is no axis of its own");
        if (axis && std::count(found.begin(), found.end(), axis) > 0)
          Refuse("block " + block->name + " accesses " + buffer->name +
                 " at the same axis in two dimensions");
        found.push_back(axis);
      }
      if (!first && found != axes)
        Refuse("block " + block->name + " accesses " + buffer->name + " at several indices");
      axes = found;
      first = false;
    }
  }
  return axes;
}

// A box of all that a statement reads of a buffer: in every dimension as if predicates held where
// that makes it constant, and otherwise no more than they let through.
std::vector<Range> BoxRead(const Stmt& stmt, const Buffer& buffer,
                           const arith::Analyzer& analyzer) {
  auto find = [&](const Stmt& in) {
    AccessRegions regions = FindAccessRegions(in, buffer, analyzer);
    const AccessRegion* found = regions.Reads(buffer);
    if (!found || regions.opaque.count(buffer->data.node()))
      Refuse("what is read of " + buffer->name + " cannot be told");
    return found->ranges;
  };
  auto is_constant = [](const Range& range) { return ir::AsConstInt(range.extent).has_value(); };
  std::vector<Range> loose = find(OpenBlocks(stmt));
  if (std::all_of(loose.begin(), loose.end(), is_constant)) return loose;
  std::vector<Range> box = find(stmt);
  for (size_t d = 0; d < box.size(); ++d)
    if (is_constant(loose[d])) box[d] = loose[d];
  return box;
}

Expr As(DataType dtype, const Expr& expr) {
  return expr.dtype() == dtype ? expr : ir::CastNode::Make(dtype, expr);
}

// The one buffer that a block writes.
Buffer ResultOf(const BlockNode* block) {
  Buffer result;
  for (const Access& access : AccessesOf(AsStmt(block))) {
    if (!access.store || (result && access.buffer.same(result))) continue;
    if (result) Refuse("block " + block->name + " writes more than one buffer");
    result = access.buffer;
  }
  if (!result) Refuse("block " + block->name + " writes nothing");
  return result;
}

// Refuses where the loops from the outermost of `way` down to `loop` run along axes of the block
// other than spatial ones: then an iteration leaves results that others go on with.
void CheckFinished(const BlockNode* block, const Path& way, const ForNode* loop) {
  for (const StmtNode* node : way) {
    if (node->kind != StmtKind::kFor) continue;
    const auto* outer = static_cast<const ForNode*>(node);
    AxisUse use = UseOf(block, outer->var.node());
    bool once = ir::IsConst(outer->extent, 1);
    if (!once && (!use.spatial || use.reduce || use.other))
      Refuse("what block " + block->name + " computes is not finished in one iteration of loop " +
             outer->var.name());
    if (outer == loop) return;
  }
}

// Loops of a block that are those of a reduction alone run once, where it is not sure that they
// run: without a step there is the init.
class RunOnce : public StmtMutator {
 public:
  RunOnce(const BlockNode* block, std::vector<const ForNode*> inside)
      : block_(block), inside_(std::move(inside)) {}

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    Expr zero = ir::IntImmNode::Make(node->var.dtype(), 0);
    AxisUse use = UseOf(block_, node->var.node());
    if (!use.reduce || use.spatial || UsesAnyOf(node->extent, inside_) ||
        arith::Analyzer().CanProve(zero < node->extent))
      return MutateChildren(node, self);
    return node->With(node->min, ir::IntImmNode::Make(node->var.dtype(), 1), Mutate(node->body));
  }

  const BlockNode* block_;
  std::vector<const ForNode*> inside_;
};

// The box of its result that a block makes in an iteration of a loop, as if its predicate held.
std::vector<Range> MadeBy(const ForNode* loop, const BlockNode* block, const Buffer& buffer,
                          const arith::Analyzer& analyzer) {
  RunOnce once(block, LoopsIn(loop->body));
  AccessRegions regions = FindAccessRegions(once.Mutate(OpenBlocks(loop->body)), buffer, analyzer);
  const AccessRegion* made = regions.Writes(buffer);
  if (!made || !made->exact || regions.opaque.count(buffer->data.node()))
    Refuse("an iteration of loop " + loop->var.name() + " makes no box of " + buffer->name);
  return made->ranges;
}

// Refuses where a condition of a block says more than that its axes are in their domains, which is
// so of what reads its result too. What it asks of the loops down to `loop` is returned.
Expr ConditionOutside(const BlockNode* block, const std::vector<const ForNode*>& inside,
                      const arith::Analyzer& analyzer) {
  Expr outside;
  for (const Expr& part : Conjuncts(block->predicate)) {
    const auto* less = part.As<ir::LTNode>();
    bool is_bound =
        less && std::any_of(block->iters.begin(), block->iters.end(), [&](const BlockIter& iter) {
          return less->a.dtype() == iter.binding.dtype() &&
                 analyzer.CanProve(less->a == iter.binding) &&
                 analyzer.CanProve(less->b == iter.extent);
        });
    if (is_bound) continue;
    if (UsesAnyOf(part, inside))
      Refuse("block " + block->name + " leaves out a part of what an iteration makes");
    outside = And(outside, part);
  }
  return outside;
}

// The axes of a block at which it reads a buffer run over what was made of it. Where all of a
// dimension was made, it may be read at any place, and reduced along.
void JoinBoxes(const BlockNode* block, const Buffer& buffer, const std::vector<Range>& made,
               const arith::Analyzer& analyzer, std::map<const VarNode*, Range>* boxes) {
  std::vector<bool> whole;
  for (size_t d = 0; d < made.size(); ++d)
    whole.push_back(analyzer.CanProve(made[d].min == Expr(0)) &&
                    analyzer.CanProve(made[d].extent == arith::AsInt64(buffer->shape[d])));
  for (const Access& access : AccessesOf(AsStmt(block), buffer)) {
    if (access.store) continue;
    std::set<const BlockIter*> used;
    for (size_t d = 0; d < made.size(); ++d) {
      const BlockIter* axis = AxisOf(block, access.indices[d]);
      if (axis && !used.insert(axis).second)
        Refuse("block " + block->name + " accesses " + buffer->name +
               " at the same axis in two dimensions");
      if (!axis && whole[d] && !UsesAxes(block, access.indices[d])) continue;
      if (!axis)
        Refuse("block " + block->name + " reads " + buffer->name + " at an index that is no axis");
      if (axis->kind != IterKind::kSpatial && whole[d]) continue;
      if (axis->kind != IterKind::kSpatial)
        Refuse("block " + block->name + " reduces " + buffer->name +
               ", of which an iteration makes a part");
      if (!analyzer.CanProve(arith::AsInt64(buffer->shape[d]) >= arith::AsInt64(axis->extent)))
        Refuse("axis " + axis->var.name() + " of block " + block->name + " goes beyond " +
               buffer->name + ", of which an iteration makes a part");
      auto [it, fresh] = boxes->emplace(axis->var.node(), made[d]);
      if (!fresh && !(analyzer.CanProve(it->second.min == made[d].min) &&
                      analyzer.CanProve(it->second.extent == made[d].extent)))
        Refuse("block " + block->name + " reads different parts of what the loop makes");
    }
  }
}

// A statement behind another one, inside of its allocations.
Stmt Behind(const Stmt& body, const Stmt& stmt) {
  if (const auto* allocation = body.As<AllocateNode>())
    return AllocateNode::Make(allocation->buffer, Behind(allocation->body, stmt), allocation->span);
  return SeqNode::Make({body, stmt}, body.span());
}

}  // namespace

Stmt ShrinkShared(const AllocateNode* allocation, const std::vector<Range>& box) {
  auto is_known = [](const Range& range) { return ir::AsConstInt(range.extent).has_value(); };
  const Buffer& buffer = allocation->buffer;
  if (!IsSharedScope(buffer->scope) || !buffer->strides.empty() ||
      !std::all_of(box.begin(), box.end(), is_known))
    return AsStmt(allocation);
  auto part = ffi::Make<BufferNode>(*buffer);
  for (size_t d = 0; d < box.size(); ++d) part->shape[d] = box[d].extent;
  Buffer shrunk(part.get());
  auto at = [&](const std::vector<Expr>& indices) {
    std::vector<Expr> moved;
    for (size_t d = 0; d < box.size(); ++d)
      moved.push_back(ir::IsConst(box[d].min, 0) ? indices[d]
                                                 : arith::AsInt64(indices[d]) - box[d].min);
    return moved;
  };
  AccessRewrite rewrite;
  rewrite.load = [&](const Buffer& loaded, const std::vector<Expr>& indices) {
    return loaded.same(buffer) ? ir::BufferLoadNode::Make(shrunk, at(indices)) : Expr();
  };
  rewrite.store = [&](const Buffer& stored, const std::vector<Expr>& indices, const Expr& value) {
    return stored.same(buffer) ? BufferStoreNode::Make(shrunk, at(indices), value) : Stmt();
  };
  Stmt body = RewriteAccesses(allocation->body, rewrite);
  return AllocateNode::Make(shrunk, body, allocation->span);
}

Buffer Schedule::SoleResult(const BlockNode* block) const {
  Buffer result = ResultOf(block);
  CheckPlainMemory(function_, result);
  MemoryEffects effects(function_);
  size_t here = 0, all = 0;
  for (const Access& access : AccessesOf(AsStmt(block)))
    here += access.store && effects.PlaceOf(access.buffer) == effects.PlaceOf(result);
  for (const Access& access : AccessesOf(function_->body))
    all += access.store && effects.PlaceOf(access.buffer) == effects.PlaceOf(result);
  if (here != all)
    Refuse("block " + block->name + " is not the only one that writes " + result->name);
  return result;
}

void Schedule::CheckRecomputable(const Nest& nest) const {
  const BlockNode* block = nest.block;
  BlockFacts facts = FactsOf(block);
  if (!facts.affine || !facts.bounded)
    Refuse("the axes of block " + block->name +
           " are not bound to a loop each, or it runs under a condition");
  for (const ForNode* loop : nest.loops) {
    AxisUse use = UseOf(block, loop->var.node());
    if (use.other || use.spatial == use.reduce)
      Refuse("loop " + loop->var.name() + " of block " + block->name +
             " does not run along axes of one kind");
    if (loop->for_kind != ForKind::kSerial)
      Refuse("loop " + loop->var.name() + " is " + ForKindName(loop->for_kind) +
             " already; move the block before");
  }
  for (const BlockIter& iter : block->iters) {
    bool inside = UsesAnyOf(iter.binding, nest.loops) || ir::IsConst(iter.extent, 1);
    if (iter.kind != IterKind::kSpatial && !inside)
      Refuse("axis " + iter.var.name() + " of block " + block->name +
             " is bound to a loop around other statements");
  }
}

Schedule::Moved Schedule::Recompute(const Nest& nest, const std::map<const VarNode*, Range>& boxes,
                                    const arith::Analyzer& outside, const Names& names) const {
  const BlockNode* block = nest.block;
  std::vector<const ForNode*> kept;
  for (const ForNode* loop : nest.loops)
    if (UseOf(block, loop->var.node()).reduce) kept.push_back(loop);
  auto copy = CopyBlock(block);
  copy->predicate = {};
  for (const Expr& part : Conjuncts(block->predicate)) {
    // What is asked of no loop of its own is asked as before.
    bool invariant = !UsesAnyOf(part, nest.loops) && !UsesAnyOf(part, nest.around);
    if (!UsesAnyOf(part, kept) && !invariant) continue;
    copy->predicate = And(copy->predicate, part);
  }
  FreshLoops loops;
  arith::Analyzer analyzer = outside;
  for (BlockIter& iter : copy->iters) {
    if (iter.kind != IterKind::kSpatial) continue;
    auto it = boxes.find(iter.var.node());
    if (it == boxes.end() && !UsesAnyOf(iter.binding, nest.loops)) continue;
    if (it == boxes.end() && (!FactsOf(block).complete || UsesAnyOf(iter.binding, nest.around)))
      Refuse("block " + block->name + " does not run over all of axis " + iter.var.name());
    Range box = it == boxes.end() ? Range{Expr(0), arith::AsInt64(iter.extent)} : it->second;
    Expr at = box.min;
    if (!ir::IsConst(box.extent, 1)) {
      size_t count = loops.vars.size();
      std::string name = count < names.size() ? names[count] : block->name + "_";
      // The block's own loops are gone then.
      auto taken = [&](const std::string& wanted) {
        std::vector<const ForNode*> all = LoopsIn(function_->body);
        return std::any_of(all.begin(), all.end(), [&](const ForNode* loop) {
          return loop->var.name() == wanted && !nest.Has(loop);
        });
      };
      if (count < names.size()) {
        if (taken(name)) Refuse("there is a loop " + name + " already");
      } else {
        while (taken(name + std::to_string(count))) ++count;
        name += std::to_string(count);
      }
      loops.vars.emplace_back(name);
      loops.extents.push_back(box.extent);
      analyzer.BindRange(loops.vars.back(), 0, box.extent);
      at = ir::IsConst(box.min, 0) ? Expr(loops.vars.back()) : box.min + loops.vars.back();
    }
    at = analyzer.Simplify(at);
    iter.binding = As(iter.var.dtype(), at);
    Expr end = arith::AsInt64(iter.extent);
    if (it != boxes.end() && !arith::ProveLessEqual(analyzer, Expr(0), at))
      copy->predicate = And(copy->predicate, at >= Expr(0));
    if (it != boxes.end() && !arith::ProveLessEqual(analyzer, box.min + box.extent, end) &&
        !arith::ProveLessEqual(analyzer, at + Expr(1), end))
      copy->predicate = And(copy->predicate, at < end);
  }
  if (!names.empty() && names.size() != loops.vars.size())
    Refuse(std::to_string(loops.vars.size()) + " loops come of it, not " +
           std::to_string(names.size()));
  Moved moved{loops.Around(WrapLoops(kept, Stmt(copy))), {}};
  for (const Var& var : loops.vars) moved.loops.emplace_back(var);
  return moved;
}

LoopRefs Schedule::ComputeAt(const BlockRef& block_ref, const LoopRef& loop_ref, Names names) {
  return Do("compute_at", {TextOf(block_ref), TextOf(loop_ref)}, [&] {
    const BlockNode* block = At(block_ref);
    const ForNode* loop = At(loop_ref);
    Nest nest = NestOf(tree(), block);
    CheckRecomputable(nest);
    Buffer buffer = SoleResult(block);
    if (!AllocationOf(tree(), buffer))
      Refuse(buffer->name + " is a parameter, all of which has to be computed");
    auto find_between = [&] {
      return FindBetween(tree(), nest.top().get(), "block " + block_ref.name(), loop,
                         "loop " + loop_ref.str());
    };
    Between between = find_between();
    // Copies that the block alone reads are allocated around both; now around all siblings.
    for (;;) {
      Stmt sibling = AsStmt(between.to_a.front());
      const auto* copies = sibling.As<AllocateNode>();
      if (!copies || copies->buffer.same(buffer) || !Touches(nest.top(), copies->buffer)) break;
      SetBody(ReplaceByRow(tree(), copies, {copies->body}, {copies->buffer}));
      block = At(block_ref);
      loop = At(loop_ref);
      nest = NestOf(tree(), block);
      between = find_between();
    }
    if (AccessesOf(function_->body, buffer).size() !=
        AccessesOf(nest.top(), buffer).size() + AccessesOf(loop->body, buffer).size())
      Refuse(buffer->name + " is used outside of loop " + loop_ref.str());
    CheckMayMove(function_, between, nest.top(), {buffer});
    CheckNothingCarried(function_, tree(), between, buffer);
    std::vector<const BlockIter*> axes = AxesOf(block, buffer, true);

    Path path = PathTo(tree(), loop);
    arith::Analyzer analyzer = AnalyzerAt(function_, path);
    std::vector<Range> needed = BoxRead(loop->body, buffer, analyzer);
    std::map<const VarNode*, Range> boxes;
    for (size_t d = 0; d < axes.size(); ++d)
      if (axes[d]) boxes[axes[d]->var.node()] = needed[d];
    Moved moved = Recompute(nest, boxes, analyzer, names);
    CheckVisible(between.to_a, moved.stmt, "block " + block_ref.name());
    BlockFacts facts = FactsOf(block);
    SetFacts(block->name, {facts.affine, facts.bounded, false});

    RemoveStmt(nest.top().get());
    FillLoop(loop, Before(moved.stmt, loop->body), {buffer});
    const AllocateNode* allocation = AllocationOf(tree(), buffer);
    std::vector<const ForNode*> loops = LoopsAround(PathTo(tree(), allocation));
    if (std::any_of(loops.begin(), loops.end(),
                    [&](const ForNode* outer) { return outer->var.same(loop->var); }))
      ReplaceStmt(allocation, ShrinkShared(allocation, needed));
    return moved.loops;
  });
}

LoopRefs Schedule::ReverseComputeAt(const BlockRef& block_ref, const LoopRef& loop_ref,
                                    Names names) {
  return Do("reverse_compute_at", {TextOf(block_ref), TextOf(loop_ref)}, [&] {
    const BlockNode* block = At(block_ref);
    const ForNode* loop = At(loop_ref);
    Nest nest = NestOf(tree(), block);
    CheckRecomputable(nest);
    if (!FactsOf(block).complete)
      Refuse("block " + block_ref.name() + " does not run over all of its axes");
    Between between = FindBetween(tree(), loop, "loop " + loop_ref.str(), nest.top().get(),
                                  "block " + block_ref.name());
    Path path = PathTo(tree(), loop);
    arith::Analyzer analyzer = AnalyzerAt(function_, path);
    std::map<const VarNode*, Range> boxes;
    std::vector<Buffer> read;
    Expr condition;
    for (const BlockNode* writer : BlocksIn(loop->body)) {
      Buffer buffer = ResultOf(writer);
      if (!Touches(AsStmt(block), buffer)) continue;
      if (!FactsOf(writer).complete)
        Refuse("block " + writer->name + " does not run over all of its axes");
      CheckFinished(writer, between.to_a, loop);
      SoleResult(writer);
      JoinBoxes(block, buffer, MadeBy(loop, writer, buffer, analyzer), analyzer, &boxes);
      condition = And(condition, ConditionOutside(writer, LoopsIn(loop->body), analyzer));
      read.push_back(buffer);
    }
    if (read.empty())
      Refuse("loop " + loop_ref.str() + " makes nothing that block " + block_ref.name() + " reads");
    for (const Buffer& buffer : read) CheckNothingCarried(function_, tree(), between, buffer);
    Moved moved = Recompute(nest, boxes, analyzer, names);
    if (condition) moved.stmt = Guarded(moved.stmt, condition);
    CheckVisible(between.to_b, moved.stmt, "block " + block_ref.name());
    CheckMayMove(function_, between, nest.top(), read);
    RemoveStmt(nest.top().get());
    FillLoop(loop, Behind(loop->body, moved.stmt), read);
    return moved.loops;
  });
}

}  // namespace tern::schedule
