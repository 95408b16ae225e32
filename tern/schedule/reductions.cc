// SPDX-License-Identifier: Apache-2.0
//
// The steps that take reductions apart, and those that fill them up.
#include <algorithm>
#include <optional>

#include "tern/schedule/reduction_nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/conjuncts.h"
#include "tern/tir/analysis/reduction_step.h"
#include "tern/tir/copy_with_fresh_defs.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

bool Reduces(const BlockNode* block) {
  return std::any_of(block->iters.begin(), block->iters.end(),
                     [](const BlockIter& iter) { return iter.kind == IterKind::kReduce; });
}
void CheckFactsOfReduction(const BlockNode* block) {
  if (!Reduces(block) || !block->init)
    Refuse("block " + block->name + " is no reduction with an init");
}

}  // namespace

BlockRef Schedule::DecomposeReduction(const BlockRef& block_ref, const LoopRef& loop_ref,
                                      std::string name) {
  return Do("decompose_reduction", {TextOf(block_ref), TextOf(loop_ref)}, [&] {
    const BlockNode* block = At(block_ref);
    const ForNode* loop = At(loop_ref);
    CheckFactsOfReduction(block);
    Nest nest = NestOf(tree(), block);
    if (!nest.Has(loop))
      Refuse("loop " + loop_ref.str() + " is not one of block " + block_ref.name() + " alone");
    BlockFacts facts = FactsOf(block);
    if (!facts.bounded) Refuse("block " + block_ref.name() + " does not run over all of its axes");
    name = Or(name, block_ref.name() + "_init");
    CheckNewBlock(name);
    std::vector<const ForNode*> reduction = ReductionLoops(nest), inside, others;
    for (size_t i = 0, in = 0; i < nest.loops.size(); ++i) {
      in |= nest.loops[i] == loop;
      if (in) inside.push_back(nest.loops[i]);
      if (in && !IsIn(reduction, nest.loops[i])) others.push_back(nest.loops[i]);
      if (!in && IsIn(reduction, nest.loops[i]))
        Refuse("loop " + nest.loops[i]->var.name() + " of the reduction is around loop " +
               loop_ref.str());
    }
    for (const BlockIter& iter : block->iters)
      if (iter.kind == IterKind::kReduce && UsesAnyOf(iter.binding, nest.around))
        Refuse("axis " + iter.var.name() + " is bound to a loop around other statements");
    auto init = OncePerResult(block, name, block->init, reduction);
    Stmt before = CopyWithFreshDefs(WrapLoops(others, Stmt(init)));
    Stmt after = WrapLoops(inside, block->With({}, block->body));
    ReplaceStmt(loop, SeqNode::Make({before, after}, loop->span));
    SetFacts(name, facts);
    return BlockNamed(name);
  });
}

namespace {

ReductionStep StepOf(const BlockNode* block) {
  if (std::optional<ReductionUpdate> update = PlainUpdate(block)) return ReductionStep(*update);
  if (std::optional<SelectionUpdate> update = FindSelectionUpdate(block->body))
    return ReductionStep(*update);
  Refuse("block " + block->name +
         " neither combines its result with a value by +, *, min, max, && or ||, nor keeps the "
         "better of two values and their indices");
}

// A reduction in two: the steps of a loop have results each, in buffers with one more dimension;
// then these are reduced.
class Factored {
 public:
  Factored(const Nest& nest, const ForNode* loop, const ReductionStep& step,
           const std::string& name)
      : nest_(nest),
        loop_(loop),
        step_(step),
        name_(name),
        reduction_(ReductionLoops(nest)),
        part_("v" + loop->var.name(), loop->var.dtype()) {
    std::vector<Expr> shape;
    for (const BlockIter& iter : nest.block->iters)
      if (iter.kind == IterKind::kSpatial) {
        shape.push_back(iter.extent);
        at_.push_back(iter.var);
      }
    // Without an init, parts are those of one iteration of the loops around.
    for (const ForNode* around : nest.around)
      if (!nest.block->init && IsAlong(around)) {
        if (!ir::IsConst(around->min, 0))
          Refuse("loop " + around->var.name() + " does not begin at 0");
        around_.emplace_back(around, Var("v" + around->var.name(), around->var.dtype()));
        shape.push_back(around->extent);
        at_.push_back(around_.back().second);
      }
    // The parts of a result lie side by side.
    shape.push_back(arith::Analyzer().Simplify(loop->extent));
    at_.push_back(part_);
    for (const std::string& part : NamesOfParts(step, name)) {
      const Buffer& result = step.results[results_.size()];
      results_.push_back(BufferNode::Make(part, result->dtype, shape));
    }
    for (const ForNode* outer : nest.loops)
      if (!IsIn(reduction_, outer)) spatial_.push_back(outer);
    elsewhere_ = ConditionElsewhere(nest.block, reduction_);
    if (HasEmptyParts()) cut_off_ = ConditionOnSteps();
  }

  // The first has the name given, others that of their result behind it.
  static std::vector<std::string> NamesOfParts(const ReductionStep& step, const std::string& name) {
    std::vector<std::string> names = {name};
    for (size_t i = 1; i < step.results.size(); ++i)
      names.push_back(name + "_" + step.results[i]->name);
    return names;
  }

  const std::vector<Buffer>& results() const { return results_; }

  // Whether parts begin in a block of their own: one may have no step, those of a loop's tail that
  // a condition cuts off, and the condition is not on steps alone.
  bool BeginApart() const { return HasEmptyParts() && !cut_off_; }

  // Every part begins with what changes nothing.
  Stmt Begin() const {
    ffi::Ref<BlockNode> begin = Partial();
    begin->name = name_ + "_init";
    begin->body = std::exchange(begin->init, Stmt());
    begin->predicate = elsewhere_;
    std::erase_if(begin->iters, [](const BlockIter& it) { return it.kind == IterKind::kReduce; });
    std::vector<const ForNode*> loops = spatial_;
    loops.push_back(loop_);
    return CopyWithFreshDefs(WrapLoops(loops, Stmt(begin)));
  }

  Stmt Parts(bool with_init) const {
    ffi::Ref<BlockNode> partial = Partial();
    if (!with_init) partial->init = {};
    return CopyWithFreshDefs(WrapLoops(nest_.loops, Stmt(partial)));
  }

  // The results of the parts, combined as the steps were.
  Stmt Whole() const {
    auto whole = CopyBlock(nest_.block);
    std::erase_if(whole->iters, [](const BlockIter& it) { return it.kind == IterKind::kReduce; });
    for (const auto& [loop, axis] : around_)
      whole->iters.push_back({loop->extent, loop->var, axis, IterKind::kReduce});
    whole->iters.push_back({loop_->extent, loop_->var, part_, IterKind::kReduce});
    whole->predicate = elsewhere_;
    if (nest_.block->init) whole->init = InitAtStart();
    std::vector<Expr> parts;
    for (const Buffer& part : results_) parts.push_back(ir::BufferLoadNode::Make(part, at_));
    whole->body = step_.Combine(step_.results, step_.indices, parts);
    std::vector<const ForNode*> loops = spatial_;
    loops.push_back(loop_);
    return WrapLoops(loops, Stmt(whole));
  }

 private:
  // One more axis, along the loop; the other reduction loops are axes themselves.
  ffi::Ref<BlockNode> Partial() const {
    auto partial = CopyBlock(nest_.block);
    partial->name = name_;
    ir::VarMap axes = {{loop_->var.node(), part_}}, values;
    std::erase_if(partial->iters, [](const BlockIter& it) { return it.kind == IterKind::kReduce; });
    for (const auto& [loop, axis] : around_) {
      axes[loop->var.node()] = axis;
      partial->iters.push_back({loop->extent, loop->var, axis, IterKind::kSpatial});
    }
    partial->iters.push_back({loop_->extent, loop_->var, part_, IterKind::kSpatial});
    for (const ForNode* step : reduction_) {
      if (step == loop_) continue;
      Var axis("v" + step->var.name(), step->var.dtype());
      axes[step->var.node()] = axis;
      partial->iters.push_back({step->extent, step->var, axis, IterKind::kReduce});
    }
    for (const BlockIter& iter : nest_.block->iters)
      if (iter.kind == IterKind::kReduce)
        values[iter.var.node()] = ir::Substitute(iter.binding, axes);
    if (cut_off_) partial->predicate = elsewhere_;
    Expr inside = cut_off_ ? ir::Substitute(ir::Substitute(cut_off_, axes), values) : cut_off_;
    partial->init = NothingYet();
    partial->body = step_.plain ? PlainStep(values, inside) : SelectionStep(values, inside);
    return partial;
  }

  // Steps of a loop's tail that there are not add nothing.
  Stmt PlainStep(const ir::VarMap& values, const Expr& inside) const {
    Expr value = ir::Substitute(step_.values[0], values);
    if (inside)
      value = ir::SelectNode::Make(inside, value, IdentityOf(step_.plain->op, results_[0]->dtype));
    return step_.Combine(results_, {at_}, {value});
  }
  // Of a selection they are what it begins with: that is compared again, which changes nothing.
  Stmt SelectionStep(const ir::VarMap& values, const Expr& inside) const {
    std::vector<Var> next = step_.selection->next;
    std::vector<std::vector<Expr>> at(results_.size(), at_);
    Stmt step = step_.Combine(results_, at, {next.begin(), next.end()});
    std::vector<Expr> nothing = InitialValues();
    for (size_t i = next.size(); i-- > 0;) {
      Expr value = ir::Substitute(step_.values[i], values);
      if (inside) value = ir::SelectNode::Make(inside, value, nothing[i]);
      step = LetStmtNode::Make(next[i], value, step);
    }
    return step;
  }

  // What leaves any other value as it is: of a selection its own beginning.
  Stmt NothingYet() const {
    if (step_.plain)
      return BufferStoreNode::Make(results_[0], at_,
                                   IdentityOf(step_.plain->op, results_[0]->dtype));
    std::vector<Stmt> stores;
    std::vector<Expr> nothing = InitialValues();
    for (size_t i = 0; i < results_.size(); ++i)
      stores.push_back(BufferStoreNode::Make(results_[i], at_, nothing[i]));
    return SeqNode::Make(std::move(stores));
  }
  Stmt InitAtStart() const {
    ir::VarMap starts;
    for (const BlockIter& iter : nest_.block->iters)
      if (iter.kind == IterKind::kReduce)
        starts[iter.var.node()] = ir::IntImmNode::Make(iter.var.dtype(), 0);
    return Substitute(nest_.block->init, starts);
  }
  // What the init stores to each result.
  std::vector<Expr> InitialValues() const {
    std::vector<Expr> values = StoredValues(InitAtStart(), step_.results);
    if (values.empty())
      Refuse("the init of block " + nest_.block->name +
             " does not store one value to each of its results");
    return values;
  }

  // Whether an axis of the reduction is bound to a loop.
  bool IsAlong(const ForNode* loop) const { return UseOf(nest_.block, loop->var.node()).reduce; }
  bool HasEmptyParts() const {
    return nest_.block->predicate.get() && UsesAnyOf(nest_.block->predicate, reduction_);
  }

  // The condition on the steps of the reduction; null where other loops are in it too.
  Expr ConditionOnSteps() const {
    Expr condition = KeepConjuncts(nest_.block->predicate, [&](const Expr& part) {
      return IsOnSteps(part, nest_.block, reduction_);
    });
    return UsesAnyOf(condition, spatial_) ? Expr() : condition;
  }

  const Nest& nest_;
  const ForNode* loop_;
  const ReductionStep& step_;
  std::string name_;
  std::vector<const ForNode*> reduction_, spatial_;
  std::vector<std::pair<const ForNode*, Var>> around_;  // loops around others, along the reduction
  Var part_;
  std::vector<Expr> at_;  // the element of the buffers that an instance has
  std::vector<Buffer> results_;
  Expr elsewhere_;  // the condition, as far as it is on other axes
  Expr cut_off_;    // on steps, where there may be fewer than the loops have
};

}  // namespace

CopyRef Schedule::Rfactor(const LoopRef& loop_ref, std::string name) {
  return Do("rfactor", {TextOf(loop_ref)}, [&] {
    const ForNode* loop = At(loop_ref);
    std::vector<const BlockNode*> below = BlocksIn(loop->body);
    if (below.size() != 1) Refuse("there is more or less than one block in loop " + loop_ref.str());
    const BlockNode* block = below[0];
    Nest nest = NestOf(tree(), block);
    name = Or(name, block->name + "_rf");
    for (const std::string& fresh : {name, name + "_init"}) CheckNewBlock(fresh);
    // One whose init is elsewhere adds parts that begin with what changes nothing.
    bool adds = Reduces(block) && !block->init && PlainUpdate(block) && !block->predicate;
    if (!adds) CheckFactsOfReduction(block);
    if (!nest.Has(loop))
      Refuse("loop " + loop_ref.str() + " is not one of block " + block->name + " alone");
    if (!FactsOf(block).complete)
      Refuse("block " + block->name + " does not run over all of its axes");
    std::vector<const ForNode*> reduction = ReductionLoops(nest);
    if (!IsIn(reduction, loop)) Refuse("loop " + loop_ref.str() + " runs along no reduction");
    if (reduction.size() < 2)
      Refuse("loop " + loop_ref.str() + " is all of the reduction; split it, and take a part");
    ReductionStep step = StepOf(block);
    for (const std::string& buffer : Factored::NamesOfParts(step, name)) CheckNewBuffer(buffer);
    CheckMayReassociate(block, "partial results are combined");
    for (const BlockIter& iter : block->iters)
      if (!adds && UsesAnyOf(iter.binding, nest.around))
        Refuse("axis " + iter.var.name() + " is bound to a loop around other statements");

    Factored factored(nest, loop, step, name);
    bool apart = factored.BeginApart();
    std::vector<Stmt> row = {factored.Parts(!apart), factored.Whole()};
    if (apart) row.insert(row.begin(), factored.Begin());
    SetBody(ReplaceByRow(tree(), nest.top().get(), std::move(row), factored.results()));
    SetFacts(name, {true, !apart, !apart});
    if (apart) SetFacts(name + "_init", {true, false, false});
    return MadeAs(name);
  });
}

}  // namespace tern::schedule
