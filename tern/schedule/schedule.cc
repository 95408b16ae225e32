// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/schedule.h"

#include <algorithm>
#include <set>

#include "tern/ffi/text.h"
#include "tern/ir/diagnostic.h"
#include "tern/schedule/block_facts.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/plain_loops.h"
#include "tern/schedule/rules/canonical_axes.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/independent_iterations.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/analysis/preparation.h"
#include "tern/tir/schedule_steps.h"
#include "tern/tir/transform/threads/pipeline_loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Whether everything that a statement does is done by its blocks.
bool OnlyBlocks(const Stmt& stmt) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const BlockNode*) override {}
    void VisitNode(const BufferStoreNode*) override { others = true; }
    void VisitNode(const EvaluateNode*) override { others = true; }
    void VisitNode(const AssertNode*) override { others = true; }
    bool others = false;
  } scan;
  scan.Visit(stmt);
  return !scan.others;
}

bool SumsIntegers(const BlockNode* block) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const BufferStoreNode* node) override {
      integers &= !node->value.dtype().is_float();
    }
    bool integers = true;
  } scan;
  scan.Visit(block->body);
  return scan.integers;
}

// That loops which are pipelined can be.
void CheckPipelines(const PrimFunc& function) {
  try {
    PipelineLoops(function);
  } catch (const Error& error) {
    if (error.kind() == "InternalError") throw;
    Refuse("a loop is pipelined, and could not be any more: " + error.message());
  }
}

// That each thread has one index along an axis.
void CheckThreadAxes(const PrimFunc& function) {
  for (const ForNode* loop : FindReboundAxes(function->body))
    Refuse("loop " + loop->var.name() + " is in a loop that is bound to " + loop->thread +
           " already; the loops of a nest are bound to different axes");
}

}  // namespace

Schedule::Schedule(PrimFunc function)
    : function_(std::move(function)), tree_(std::make_shared<StmtTree>(function_->body)) {
  for (const BlockNode* block : BlocksIn(function_->body))
    if (tree().BlocksNamed(block->name).size() == 1)
      tree_->SetFacts(block->name, DeriveFacts(function_, PathTo(tree(), block)));
}

void Schedule::DoStep(const char* name, const Names& args, const std::function<Names()>& f) {
  PrimFunc function = function_;
  try {
    if (std::find(args.begin(), args.end(), "") != args.end())
      Refuse("several loops have the same name, and there is no block in one of them alone");
    Names results = f();
    if (tree().HasThreads()) CheckThreadAxes(function_);
    if (tree().HasPipelines()) CheckPipelines(function_);
    old_facts_.clear();
    if (tree().HasGone()) OwnTree()->EndStep();
#ifndef NDEBUG
    CheckState();
#endif
    trace_.steps.push_back({std::move(results), name, args});
  } catch (const Error& error) {
    SetBody(function->body);
    function_ = std::move(function);
    for (; !old_facts_.empty(); old_facts_.pop_back())
      OwnTree()->SetFacts(old_facts_.back().first, old_facts_.back().second);
    if (tree().HasGone()) OwnTree()->EndStep();
    if (error.kind() != "ScheduleError") throw;
    TERN_THROW(ScheduleError) << Step{{}, name, args}.str() << ": " << error.message();
  }
}

void Schedule::CheckState() const {
  TERN_ICHECK(tree().root().same(function_->body) && tree().IsUpToDate())
      << "the tree of a schedule is not that of its function";
  for (const BlockNode* block : BlocksIn(function_->body)) {
    std::string stale = FindStaleFact(function_, PathTo(tree(), block), FactsOf(block));
    TERN_ICHECK(stale.empty()) << "a fact of block " << block->name << " is stale, " << stale;
  }
}

StmtTree* Schedule::OwnTree() {
  if (tree_.use_count() > 1) tree_ = std::make_shared<StmtTree>(*tree_);
  return tree_.get();
}

void Schedule::SetFacts(const std::string& block, const BlockFacts& facts) {
  old_facts_.emplace_back(block, tree().FactsOf(block));
  OwnTree()->SetFacts(block, facts);
}

void Schedule::SetBody(Stmt body) {
  if (body.same(function_->body)) return;
  OwnTree()->Update(body);
  preparation_.reset();
  function_ = function_.WithBody(std::move(body));
}

const Preparation& Schedule::preparation() const {
  if (!preparation_) preparation_ = std::make_shared<const Preparation>(function_);
  return *preparation_;
}

void Schedule::ReplaceStmt(const StmtNode* old, const Stmt& replacement) {
  SetBody(ReplaceAt(PathTo(tree(), old), replacement));
}

void Schedule::RemoveStmt(const StmtNode* stmt) { SetBody(RemoveAt(PathTo(tree(), stmt))); }

void Schedule::FillLoop(const ForNode* loop, Stmt body, const std::vector<Buffer>& buffers) {
  Path path = PathTo(tree(), loop);
  for (const StmtNode* node : path)
    if (node->kind == StmtKind::kBlock)
      Refuse("loop " + loop->var.name() + " is inside of a block, where there can be no other");
  for (const Buffer& buffer : buffers) {
    const AllocateNode* allocation = AllocationOf(tree(), buffer);
    if (!allocation || !tree().IsInside(loop, allocation) ||
        AccessesOf(function_->body, buffer).size() != AccessesOf(loop->body, buffer).size())
      continue;
    body = AllocateNode::Make(buffer, body, allocation->span);
    ReplaceStmt(allocation, allocation->body);
  }
  ReplaceStmt(loop, loop->With(loop->min, loop->extent, body));
}

const ForNode* Schedule::At(const LoopRef& loop) const { return tree().At(loop); }

const BlockNode* Schedule::At(const BlockRef& block) const {
  const std::vector<const BlockNode*>& found = tree().At(block);
  if (found.size() > 1) Refuse("two blocks are called " + block.name());
  return found[0];
}

const Buffer& Schedule::BufferAt(const BufferRef& buffer) const {
  const AllocateNode* allocation = tree().At(buffer);
  TERN_ICHECK(allocation) << "a reference to buffer " << buffer.name()
                          << " is used, which the function does not allocate";
  return allocation->buffer;
}

LoopRef Schedule::LoopNamed(const std::string& text) const {
  LoopRef loop(FindLoop(text));
  size_t dot = text.find('.');
  return dot == std::string::npos ? loop : loop.Of(tree().RefTo(text.substr(0, dot)));
}

BlockRef Schedule::BlockNamed(const std::string& name) const {
  return tree().RefTo(FindBlock(name));
}

std::string Schedule::TextOf(const LoopRef& loop) const { return tree().TextOf(loop); }

std::string Schedule::TextOf(const BlockRef& block) const {
  tree().At(block);
  return block.name();
}

Schedule::Names Schedule::TextsOf(const LoopRefs& loops) const {
  Names texts;
  for (const LoopRef& loop : loops) texts.push_back(TextOf(loop));
  return texts;
}

CopyRef Schedule::MadeAs(const std::string& name) const {
  const std::vector<const AllocateNode*>& buffers = tree().AllocationsNamed(name);
  BufferRef buffer = buffers.empty() ? BufferRef(name) : BufferRef(buffers[0]->buffer);
  // The block of some buffers has another name.
  bool has_block = !tree().BlocksNamed(name).empty();
  return {has_block ? BlockNamed(name) : BlockRef(), buffer};
}

CopyRefs Schedule::MadeAs(const Names& names) const {
  CopyRefs made;
  for (const std::string& name : names) made.push_back(MadeAs(name));
  return made;
}

const ForNode* Schedule::FindLoop(const std::string& name) const {
  std::vector<const ForNode*> found = tree().LoopsCalled(name);
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    std::vector<std::string> names;
    for (const ForNode* node : LoopsIn(function_->body)) names.push_back(node->var.name());
    Refuse("there is no loop " + name + ffi::DidYouMean(name, names) + "; the loops of " +
           function_->name + " are " + ffi::Join(names));
  }
  Refuse(std::to_string(found.size()) + " loops are called " + name +
         "; say which by a block below it, as in BLOCK." + name.substr(name.find('.') + 1));
}

const BlockNode* Schedule::FindBlock(const std::string& name) const {
  const std::vector<const BlockNode*>& found = tree().BlocksNamed(name);
  if (found.size() > 1) Refuse("two blocks are called " + name);
  if (found.empty()) {
    std::vector<std::string> names;
    for (const BlockNode* block : BlocksIn(function_->body)) names.push_back(block->name);
    Refuse("there is no block " + name + ffi::DidYouMean(name, names) + "; the blocks of " +
           function_->name + " are " + ffi::Join(names));
  }
  return found[0];
}

const AllocateNode* Schedule::Temporary(const BufferRef& buffer) const {
  const std::string& name = buffer.name();
  bool is_written = StmtTree::IsWritten(buffer);
  const AllocateNode* allocation =
      is_written ? FindAllocation(function_->body, name) : tree().At(buffer);
  if (allocation) {
    // The trace means the first one of the name.
    if (!is_written && tree().AllocationsNamed(name).size() > 1 &&
        FindAllocation(function_->body, name) != allocation)
      Refuse("several buffers are called " + name);
    CheckPlainMemory(function_, allocation->buffer);
    return allocation;
  }
  for (const Param& param : function_->params)
    if (param.name() == name)
      Refuse(name + " is a parameter, whose memory is the caller's; cache_read or cache_write it");
  TERN_ICHECK(is_written) << "a reference to buffer " << name << " is used, which is gone";
  Refuse("the function allocates no buffer " + name);
}

void Schedule::CheckNewLoop(const std::string& name) const {
  if (!tree().LoopsNamed(name).empty()) Refuse("there is a loop " + name + " already");
}
void Schedule::CheckNewBlock(const std::string& name) const {
  if (!tree().BlocksNamed(name).empty()) Refuse("there is a block " + name + " already");
}
void Schedule::CheckNewBuffer(const std::string& name) const {
  for (const Param& param : function_->params)
    if (param.name() == name) Refuse("there is a parameter " + name + " already");
  if (!tree().AllocationsNamed(name).empty()) Refuse("there is a buffer " + name + " already");
}

Schedule::Role Schedule::RoleOf(const ForNode* loop) const {
  std::vector<const BlockNode*> blocks = BlocksIn(loop->body);
  // Several blocks may hand values on, also from one iteration to the next.
  if (blocks.size() != 1 || !OnlyBlocks(loop->body)) {
    Stmt bare = loop->With(loop->min, loop->extent, OpenBlocks(loop->body));
    bool apart = IterationsAreIndependent(bare.As<ForNode>(), TensorsAreDistinct(function_));
    return apart ? Role::kIndependent : Role::kOrdered;
  }
  if (!FactsOf(blocks[0]).affine) return Role::kOrdered;
  AxisUse use = UseOf(blocks[0], loop->var.node());
  // Without an axis it is the same instance again and again; with several kinds, a reduction could
  // come to begin elsewhere than at its first step.
  if (use.other || use.spatial == use.reduce) return Role::kOrdered;
  return use.spatial ? Role::kIndependent : Role::kReduction;
}

void Schedule::CheckIndependent(const ForNode* loop) const {
  switch (RoleOf(loop)) {
    case Role::kIndependent:
      return;
    case Role::kReduction:
      Refuse("loop " + loop->var.name() +
             " runs along a reduction, whose steps are not independent");
    case Role::kOrdered:
      Refuse("it cannot be proven that the iterations of loop " + loop->var.name() +
             " are independent");
  }
}

void Schedule::CheckMayReassociate(const BlockNode* block, const std::string& what) const {
  if (std::optional<SelectionUpdate> selection = FindSelectionUpdate(block->body)) {
    if (selection->order == SelectionUpdate::Order::kAny) return;
    if (selection->is_ordered())
      Refuse(what + ", and of equal values block " + block->name + " takes the one that comes " +
             (selection->order == SelectionUpdate::Order::kFirst ? "first" : "last") +
             "; break_ties(" + block->name + ") makes that the one of the " +
             (selection->order == SelectionUpdate::Order::kFirst ? "lowest" : "highest") +
             " index");
  }
  if (!HasFlag(function_, attr::kReassociate) && !SumsIntegers(block))
    Refuse(what + " along a reduction of floats; that needs attrs {reassociate = true}");
}

bool HasSchedule(const PrimFunc& function) { return ChosenSchedule(function).get() != nullptr; }

namespace {

// With blocks for plain loops, where a step calls one of them by its name.
PrimFunc WithNamedLoops(const PrimFunc& function, const ScheduleStepsNode& steps) {
  PrimFunc named = NamePlainLoops(function);
  std::set<std::string> own;
  for (const BlockNode* block : BlocksIn(function->body)) own.insert(block->name);
  for (const BlockNode* block : BlocksIn(named->body))
    for (const ScheduleStep& step : steps.steps)
      if (!own.count(block->name) && step.text.find(block->name) != std::string::npos) return named;
  return function;
}

}  // namespace

Schedule ScheduleOf(const PrimFunc& function) {
  if (!function->attrs.count(attr::kSchedule)) return Schedule(function);
  auto bare = ffi::Make<PrimFuncNode>(*function);
  bare->attrs.erase(attr::kSchedule);
  bare->attrs.erase(attr::kScheduleFor);
  ScheduleSteps chosen = ChosenSchedule(function);
  if (!chosen) return Schedule(PrimFunc(bare));
  Schedule schedule{WithNamedLoops(PrimFunc(bare), *chosen)};
  std::string name = function->name + (function->span ? " at " + function->span.str() : "");
  WithContext("applying the schedule of " + name, [&] {
    for (const ScheduleStep& step : chosen->steps) {
      try {
        schedule.Apply(step.text);
      } catch (const Error& error) {
        if (error.kind() != "ScheduleError") throw;
        TERN_THROW(ScheduleError) << ir::At(step.span) << "the schedule of " << function->name
                                  << " does not apply: " << error.message();
      }
    }
  });
  return schedule;
}

PrimFunc ApplySchedule(const PrimFunc& function) {
  ScheduleSteps chosen = ChosenSchedule(function);
  if (!chosen || chosen->steps.empty() || chosen->steps[0].text != "canonicalize_axes()")
    return ScheduleOf(function).function();
  auto other = ffi::Make<PrimFuncNode>(*function);
  other->attrs.erase(attr::kScheduleFor);
  ScheduleSteps rest = MakeScheduleSteps({chosen->steps.begin() + 1, chosen->steps.end()});
  other->attrs[attr::kSchedule] = rest;
  CanonicalAxes axes = CanonicalizeAxes(WithNamedLoops(PrimFunc(other), *rest));
  auto scheduled = ffi::Make<PrimFuncNode>(*ScheduleOf(axes.function).function());
  scheduled->params = function->params;
  scheduled->body = axes.Around(scheduled->body);
  return PrimFunc(scheduled);
}

PrimFunc WithFirstSteps(const PrimFunc& function, int64_t count) {
  ScheduleSteps chosen = ChosenSchedule(function);
  TERN_CHECK(chosen) << function->name << " has no schedule"
                     << (function->attrs.count(attr::kTarget) ? " for this target" : "");
  auto all = static_cast<int64_t>(chosen->steps.size());
  TERN_CHECK(count >= 0 && count <= all)
      << "the schedule of " << function->name << " has " << all << " steps, and no step " << count;
  auto bare = ffi::Make<PrimFuncNode>(*function);
  bare->attrs.erase(attr::kScheduleFor);
  return PrimFunc(bare).WithAttr(
      attr::kSchedule, MakeScheduleSteps({chosen->steps.begin(), chosen->steps.begin() + count}));
}

PrimFunc WithSchedule(const PrimFunc& function, const Trace& trace) {
  std::vector<ScheduleStep> steps;
  for (const Step& step : trace.steps) steps.push_back({step.str()});
  return function.WithAttr(attr::kSchedule, MakeScheduleSteps(std::move(steps)));
}

}  // namespace tern::schedule
