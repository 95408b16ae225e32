// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/schedule.h"

#include <algorithm>
#include <set>

#include "tern/arith/iter_map.h"
#include "tern/ffi/text.h"
#include "tern/ir/diagnostic.h"
#include "tern/schedule/nest.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/independent_iterations.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/schedule_steps.h"
#include "tern/tir/transform/pipeline_loops.h"

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
  std::vector<const ForNode*> loops = LoopsIn(function->body);
  if (std::none_of(loops.begin(), loops.end(), IsPipelined)) return;
  try {
    PipelineLoops(function);
  } catch (const Error& error) {
    Refuse("a loop is pipelined, and could not be any more: " + error.message());
  }
}

// That each thread has one index along an axis.
void CheckThreadAxes(const PrimFunc& function) {
  for (const ForNode* loop : FindReboundAxes(function->body))
    Refuse("loop " + loop->var.name() + " is in a loop that is bound to " + loop->thread +
           " already; the loops of a nest are bound to different axes");
}

template <class Nodes, class F>
void CheckNew(const Nodes& nodes, const std::string& name, const char* what, F name_of) {
  for (const auto& node : nodes)
    if (name_of(node) == name) Refuse(std::string("there is a ") + what + " " + name + " already");
}

}  // namespace

Schedule::Schedule(PrimFunc function) : function_(std::move(function)) {
  std::set<std::string> twice;
  for (const BlockNode* block : BlocksIn(function_->body)) {
    Path path = PathTo(function_->body, block);
    arith::Analyzer analyzer = AnalyzerAt(function_, {});
    std::vector<Expr> bindings, extents;
    for (const BlockIter& iter : block->iters) {
      bindings.push_back(iter.binding);
      extents.push_back(iter.extent);
    }
    std::vector<arith::IterRange> loops, bound;  // all of them, and those of its axes
    bool always = true;
    for (const StmtNode* node : path) {
      always &= node->kind != NodeKind::kIfThenElse && node->kind != NodeKind::kWhile;
      if (node->kind != NodeKind::kFor) continue;
      const auto* loop = static_cast<const ForNode*>(node);
      loops.push_back({loop->var, {loop->min, loop->extent}});
      if (std::any_of(bindings.begin(), bindings.end(),
                      [&](const Expr& e) { return ir::UsesVar(e, loop->var.node()); }))
        bound.push_back(loops.back());
    }
    arith::IterMapResult found = arith::DetectIterMap(bindings, bound, block->predicate, analyzer);
    Facts facts;
    facts.regular = found.map && found.map->not_injective.empty();
    facts.whole = facts.regular && always && bound.size() == loops.size() &&
                  arith::IsBijective(*found.map, extents, analyzer);
    facts.bounded = facts.whole;
    if (!facts_.emplace(block->name, facts).second) twice.insert(block->name);
  }
  for (const std::string& name : twice) facts_[name] = {};
}

Schedule::Names Schedule::Do(const char* name, const Names& args, const std::function<Names()>& f) {
  PrimFunc function = function_;
  std::map<std::string, Facts> facts = facts_;
  try {
    Names results = f();
    CheckThreadAxes(function_);
    CheckPipelines(function_);
    trace_.steps.push_back({results, name, args});
    return results;
  } catch (const Error& error) {
    function_ = std::move(function);
    facts_ = std::move(facts);
    if (error.kind() != "ScheduleError") throw;
    TERN_THROW(ScheduleError) << Step{{}, name, args}.str() << ": " << error.message();
    __builtin_unreachable();
  }
}

const ForNode* Schedule::FindLoop(const std::string& name) const {
  size_t dot = name.find('.');
  std::string block = dot == std::string::npos ? "" : name.substr(0, dot);
  std::string loop = dot == std::string::npos ? name : name.substr(dot + 1);
  std::vector<const ForNode*> found;
  std::vector<std::string> names;
  for (const ForNode* node : LoopsIn(function_->body)) {
    names.push_back(node->var.name());
    if (node->var.name() != loop) continue;
    std::vector<const BlockNode*> below = BlocksIn(node->body);
    if (block.empty() || std::any_of(below.begin(), below.end(),
                                     [&](const BlockNode* b) { return b->name == block; }))
      found.push_back(node);
  }
  if (found.size() == 1) return found[0];
  if (found.empty())
    Refuse("there is no loop " + name + ffi::DidYouMean(name, names) + "; the loops of " +
           function_->name + " are " + ffi::Join(names));
  Refuse(std::to_string(found.size()) + " loops are called " + name +
         "; say which by a block below it, as in BLOCK." + loop);
}

const BlockNode* Schedule::FindBlock(const std::string& name) const {
  const BlockNode* found = nullptr;
  std::vector<std::string> names;
  for (const BlockNode* block : BlocksIn(function_->body)) {
    names.push_back(block->name);
    if (block->name != name) continue;
    if (found) Refuse("two blocks are called " + name);
    found = block;
  }
  if (!found)
    Refuse("there is no block " + name + ffi::DidYouMean(name, names) + "; the blocks of " +
           function_->name + " are " + ffi::Join(names));
  return found;
}

const AllocateNode* Schedule::FindTemporary(const std::string& name) const {
  if (const AllocateNode* allocation = FindAllocation(function_->body, name)) {
    CheckPlainMemory(function_, allocation->buffer);
    return allocation;
  }
  for (const Param& param : function_->params)
    if (param.name() == name)
      Refuse(name + " is a parameter, whose memory is the caller's; cache_read or cache_write it");
  Refuse("the function allocates no buffer " + name);
}

void Schedule::CheckNewLoop(const std::string& name) const {
  CheckNew(LoopsIn(function_->body), name, "loop",
           [](const ForNode* loop) { return loop->var.name(); });
}
void Schedule::CheckNewBlock(const std::string& name) const {
  CheckNew(BlocksIn(function_->body), name, "block",
           [](const BlockNode* block) { return block->name; });
}
void Schedule::CheckNewBuffer(const std::string& name) const {
  CheckNew(function_->params, name, "parameter", [](const Param& param) { return param.name(); });
  if (FindAllocation(function_->body, name)) Refuse("there is a buffer " + name + " already");
}

Schedule::Facts Schedule::FactsOf(const BlockNode* block) const {
  auto it = facts_.find(block->name);
  return it == facts_.end() ? Facts{} : it->second;
}

Schedule::Role Schedule::RoleOf(const ForNode* loop) const {
  std::vector<const BlockNode*> blocks = BlocksIn(loop->body);
  // Several blocks may hand values on, also from one iteration to the next.
  if (blocks.size() != 1 || !OnlyBlocks(loop->body)) {
    Stmt bare = loop->With(loop->min, loop->extent, OpenBlocks(loop->body));
    bool apart = IterationsAreIndependent(bare.As<ForNode>(), TensorsAreDistinct(function_));
    return apart ? Role::kIndependent : Role::kOrdered;
  }
  if (!FactsOf(blocks[0]).regular) return Role::kOrdered;
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
      Refuse("it cannot be told that the iterations of loop " + loop->var.name() +
             " are independent");
  }
}

void Schedule::CheckMayReassociate(const BlockNode* block, const std::string& what) const {
  if (!HasFlag(function_, attr::kReassociate) && !SumsIntegers(block))
    Refuse(what +
           " along a reduction of floats, whose order counts; the attribute reassociate of the "
           "function says that it does not");
}

bool HasSchedule(const PrimFunc& function) {
  if (!function->attrs.count(attr::kSchedule)) return false;
  auto machines = function->attrs.find(attr::kScheduleFor);
  auto target = function->attrs.find(attr::kTarget);
  if (machines == function->attrs.end() || target == function->attrs.end()) return true;
  auto machine = target->second.As<target::Target>();
  auto wanted = machines->second.As<std::string>();
  return wanted == machine->kind->name || wanted == (machine->is_device() ? "device" : "host");
}

Schedule ScheduleOf(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kSchedule);
  if (it == function->attrs.end()) return Schedule(function);
  auto bare = ffi::Make<PrimFuncNode>(*function);
  bare->attrs.erase(attr::kSchedule);
  bare->attrs.erase(attr::kScheduleFor);
  if (!HasSchedule(function)) return Schedule(PrimFunc(bare));
  Schedule schedule{PrimFunc(bare)};
  std::string name = function->name + (function->span ? " at " + function->span.str() : "");
  WithContext("applying the schedule of " + name, [&] {
    for (const ScheduleStep& step : it->second.As<ScheduleSteps>()->steps) {
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

PrimFunc ApplySchedule(const PrimFunc& function) { return ScheduleOf(function).function(); }

PrimFunc WithSchedule(const PrimFunc& function, const Trace& trace) {
  std::vector<ScheduleStep> steps;
  for (const Step& step : trace.steps) steps.push_back({step.str()});
  return function.WithAttr(attr::kSchedule, MakeScheduleSteps(std::move(steps)));
}

}  // namespace tern::schedule
