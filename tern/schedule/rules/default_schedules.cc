// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/default_schedules.h"

#include <algorithm>
#include <map>
#include <set>

#include "tern/ffi/text.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/structural.h"
#include "tern/schedule/bind_tasks.h"
#include "tern/schedule/bind_threads.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/plain_loops.h"
#include "tern/schedule/rules/aligned_sizes.h"
#include "tern/schedule/rules/canonical_axes.h"
#include "tern/schedule/rules/fuse_axes.h"
#include "tern/schedule/rules/gemm_versions.h"
#include "tern/schedule/rules/inline_producers.h"
#include "tern/schedule/rules/packed_tensors.h"
#include "tern/schedule/rules/polyphase.h"
#include "tern/schedule/rules/processor_info.h"
#include "tern/schedule/rules/reduction_versions.h"
#include "tern/schedule/rules/row_chains.h"
#include "tern/schedule/rules/short_rows.h"
#include "tern/schedule/rules/split_borders.h"
#include "tern/schedule/rules/split_updates.h"
#include "tern/tir/analysis/packed_elements.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/schedule_steps.h"
#include "tern/tir/text.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// A plan that the function asks for, and where.
struct Asked {
  PlanRequest request;
  ScheduleStep step;
  bool taken = false;
  std::vector<std::string> refusals = {};
};

bool IsPlan(const ScheduleStep& step) { return step.text.starts_with("plan("); }

// Whether the schedule of a function is plans, and nothing else.
bool AsksForPlans(const PrimFunc& function) {
  if (!HasSchedule(function)) return false;
  const auto& steps = ChosenSchedule(function)->steps;
  return !steps.empty() && std::all_of(steps.begin(), steps.end(), IsPlan);
}

[[noreturn]] void RefuseAsked(const PrimFunc& function, const ScheduleStep& step,
                              const std::string& why) {
  TERN_THROW(ScheduleError) << ir::At(step.span) << "the schedule of " << function->name
                            << " does not apply: " << step.text << ": " << why;
}

// The plans, and the function without them.
std::vector<Asked> TakePlans(PrimFunc* function) {
  std::vector<Asked> asked;
  if (!AsksForPlans(*function)) return asked;
  for (const ScheduleStep& step : ChosenSchedule(*function)->steps) {
    try {
      asked.push_back({PlanRequest::Parse(Step::Parse(step.text)), step});
    } catch (const Error& error) {
      if (error.kind() != "ScheduleError") throw;
      RefuseAsked(*function, step, error.message());
    }
  }
  auto bare = ffi::Make<PrimFuncNode>(**function);
  bare->attrs.erase(attr::kSchedule);
  bare->attrs.erase(attr::kScheduleFor);
  *function = PrimFunc(bare);
  return asked;
}

// The plan that is asked for a block, or null.
Asked* AskedFor(const BlockInfo& block, const TargetInfo& target, std::vector<Asked>* asked) {
  std::vector<const Rule*> rules = RulesFor(block.kind, target);
  for (Asked& one : *asked) {
    const PlanRequest& request = one.request;
    bool means = request.block.empty()
                     ? std::any_of(rules.begin(), rules.end(),
                                   [&](const Rule* rule) { return request.Means(*rule); })
                     : request.block == block.name;
    if (means) return &one;
  }
  return nullptr;
}

// Why a function is not for the rules, or "".
std::string WhyNot(const PrimFunc& function) {
  if (function->attrs.count(attr::kTarget) == 0) return "it has no target";
  if (HasSchedule(function) && !AsksForPlans(function)) return "it has a schedule of its own";
  if (HasFlag(function, attr::kMayAlias)) return "its tensors may overlap";
  for (const ForNode* loop : LoopsIn(function->body)) {
    if (loop->for_kind != ForKind::kSerial)
      return "loop " + loop->var.name() + " is " + ForKindName(loop->for_kind) + " already";
    if (!loop->annotations.empty()) return "loop " + loop->var.name() + " has annotations";
  }
  std::set<std::string> names;
  for (const BlockNode* block : BlocksIn(function->body))
    if (!names.insert(block->name).second) return "two blocks are called " + block->name;
  return names.empty() ? "it has no blocks" : "";
}

// As it is now; without a name where it is gone.
BlockInfo FindInfo(const Schedule& schedule, const BlockInfo& block) {
  if (!schedule.tree().Has(block.ref)) return {};
  BlockInfo info = DescribeBlock(schedule, block.ref);
  if (block.members.empty()) return info;
  info.kind = block.kind;
  info.members = block.members;
  info.member_refs = block.member_refs;
  info.rows = block.rows;
  return info;
}

// The rules, or the plan that is asked for; where no rule takes the plan, the others.
RuleResult ApplyToBlock(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                        std::vector<Asked>* asked) {
  if (Asked* one = AskedFor(block, target, asked)) {
    RuleResult result = ApplyRules(schedule, block, target, &one->request);
    one->taken |= !result.rule.empty();
    if (!result.rule.empty()) return result;
    for (const std::string& why : result.passed_over)
      one->refusals.push_back(block.ref + " (" + result.kind + ") is not for " + why);
  }
  return ApplyRules(schedule, block, target);
}

// Whether a block computes an operand of one GEMM alone, of which few results share an element: the
// GEMM may compute it on the way, as it reads it about as often as a kernel would write it.
bool IsForFewResults(const BlockInfo& producer, const std::vector<BlockInfo>& blocks) {
  constexpr int64_t kFewResults = 16;
  if (producer.accesses.empty() || !producer.accesses[0].store) return false;
  int readers = 0;
  int64_t results = 1;
  for (const BlockInfo& block : blocks)
    for (const BlockAccess& access : block.accesses) {
      if (access.store || block.name == producer.name ||
          !access.buffer.same(producer.accesses[0].buffer))
        continue;
      ++readers;
      if (block.kind != BlockKind::kMatmul) return false;
      for (size_t a = 0; a < block.axes.size(); ++a)
        if (block.axes[a].kind == IterKind::kSpatial &&
            std::count(access.axes.begin(), access.axes.end(), a) == 0)
          results *= ir::AsConstInt(block.axes[a].extent).value_or(kFewResults + 1);
    }
  return readers == 1 && results <= kFewResults;
}

// Attention first, then row chains: where no rule takes several blocks together, each is a block
// like any other. On devices, where a block that has threads is a kernel, GEMMs are asked before
// what they may compute themselves.
void ApplyToBlocks(Schedule* schedule, const TargetInfo& target, std::vector<Asked>* asked,
                   std::vector<RuleResult>* results) {
  std::vector<BlockInfo> blocks = DescribeBlocks(*schedule), joined = blocks;
  if (!RulesFor(BlockKind::kAttention, target).empty())
    JoinAttention(schedule->function(), &joined);
  std::erase_if(joined, [](const BlockInfo& block) { return block.members.empty(); });
  std::stable_partition(joined.begin(), joined.end(),
                        [](const BlockInfo& block) { return block.kind == BlockKind::kAttention; });
  std::set<std::string> done;
  for (const BlockInfo& block : joined) {
    if (done.count(block.name)) continue;
    RuleResult result = ApplyToBlock(schedule, block, target, asked);
    if (!result.rule.empty()) {
      done.insert(block.name);
      done.insert(block.members.begin(), block.members.end());
    }
    results->push_back(std::move(result));
  }
  if (target.is_device)
    std::stable_partition(blocks.begin(), blocks.end(), [all = blocks](const BlockInfo& block) {
      return !IsForFewResults(block, all);
    });
  for (BlockInfo block : blocks) {
    if (done.count(block.name)) continue;
    block.members.clear();
    block.member_refs.clear();
    // It may have become a part of another one.
    if (BlockInfo info = FindInfo(*schedule, block); !info.name.empty())
      results->push_back(ApplyToBlock(schedule, info, target, asked));
  }
}

// Says of which blocks all is done by one thread of a device.
void NoteSingleThreads(const PrimFunc& bound, std::vector<RuleResult>* results) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ForNode* node) override {
      bool several = node->for_kind == ForKind::kThread && !ir::IsConst(node->extent, 1);
      threads += several;
      VisitChildren(node);
      threads -= several;
    }
    void VisitNode(const BlockNode* node) override {
      if (threads == 0) single.insert(node->name);
      VisitChildren(node);
    }
    int threads = 0;
    std::set<std::string> single;
  } finder;
  finder.Visit(bound->body);
  for (RuleResult& result : *results)
    if (finder.single.count(result.block) > 0)
      result.remark =
          "one thread of the device runs it: no loop around it has iterations that are known to be "
          "independent";
}

// A loop that one thread of the device runs, in a function that the rules leave alone; "" for none.
std::string LoopOfOneThread(const PrimFunc& function) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ForNode* node) override {
      bool thread = node->for_kind == ForKind::kThread;
      bool several = thread && !ir::IsConst(node->extent, 1);
      if (!thread && launched && threads == 0 && found.empty()) found = node->var.name();
      launched += thread;
      threads += several;
      VisitChildren(node);
      threads -= several;
      launched -= thread;
    }
    int launched = 0, threads = 0;
    std::string found;
  } finder;
  if (function->attrs.count(attr::kTarget) > 0) finder.Visit(BindThreads(function)->body);
  return finder.found;
}

// A function under a condition, which rules and steps then know to hold; and without it again.
PrimFunc Where(const PrimFunc& function, const Expr& condition) {
  return function.WithBody(IfThenElseNode::Make(condition, function->body));
}
PrimFunc Unconditional(const PrimFunc& function, const Expr& condition) {
  struct Remover : StmtMutator {
    using StmtMutator::MutateNode;
    Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
      return node->condition.same(*condition) ? node->then_case : MutateChildren(node, self);
    }
    const Expr* condition = nullptr;
  } remover;
  remover.condition = &condition;
  return function.WithBody(remover.Mutate(function->body));
}

// The function with the schedules that the rules choose, and threads for all that they leave. Rules
// know that `where` holds; null: nothing.
PrimFunc ScheduleBlocks(const PrimFunc& function, const TargetInfo& target,
                        std::vector<Asked>* asked, std::vector<RuleResult>* results,
                        const Expr& where = {}) {
  Schedule schedule(where ? Where(function, where) : function);
  SplitPhases(&schedule, results);
  SplitUpdates(&schedule, target, results);
  InlineProducers(&schedule, target, results);
  SplitBorders(&schedule, target, results);
  ApplyToBlocks(&schedule, target, asked, results);
  PrimFunc scheduled = schedule.trace().steps.empty() ? function : schedule.function();
  if (where) scheduled = Unconditional(scheduled, where);
  if (!target.is_device) return scheduled;
  PrimFunc bound = BindOtherThreads(scheduled);
  NoteSingleThreads(bound, results);
  return bound;
}

// "{tile_m = 8}: 1.3e+06 cycles predicted, at least 1.1e+06"
std::string Describe(const Plan& plan) {
  std::string text = plan.str();
  if (plan.cycles > 0) text += ": " + CyclesText(plan.cycles) + " cycles predicted";
  if (plan.cycles > 0 && plan.limit > 0) text += ", at least " + CyclesText(plan.limit);
  return text;
}

// A function with a number for an extent. Where that is 1 and its axis reduced, as others are, the
// axis is dropped, and those that are left are canonicalized again.
class Fixed {
 public:
  Fixed(const PrimFunc& function, const Var& extent, int64_t value)
      : view_(WithFixedExtent(function, extent, value)) {
    if (!DropUnitReductions(view_.function).same(view_.function))
      axes_ = CanonicalizeAxes(view_.function);
  }
  const PrimFunc& function() const { return axes_ ? axes_->function : view_.function; }
  Stmt Around(const Stmt& body) const { return view_.Around(axes_ ? axes_->Around(body) : body); }

 private:
  FunctionView view_;
  std::optional<CanonicalAxes> axes_;
};

bool Implies(const Expr& condition, const Expr& other) {
  arith::Analyzer holds;
  holds.Assume(condition);
  return ir::IsConst(holds.Simplify(other), 1);
}

// The body of a scheduled function, with the versions of it that are scheduled for other sizes.
// `where` is what all of them are for; null: for anything.
Stmt WithVersions(const PrimFunc& function, const PrimFunc& scheduled,
                  const std::vector<FunctionVersion>& versions, const Expr& where,
                  Explanation* told) {
  struct Made {
    Expr when;
    PrimFunc function;
    std::vector<RuleResult> results;
    const Fixed* fixed = nullptr;
  };
  std::vector<Made> made;
  std::vector<Asked> asked;
  std::map<std::pair<const VarNode*, int64_t>, Fixed> views;
  std::vector<Expr> left_out;  // that are no versions: what they were for is no later one's
  for (const FunctionVersion& version : versions) {
    if (ir::IsConst(version.when, 0)) continue;  // of no sizes
    const Fixed* fixed = nullptr;
    if (version.fixed)
      fixed = &views
                   .try_emplace({version.fixed.node(), version.value}, function, version.fixed,
                                version.value)
                   .first->second;
    std::vector<RuleResult> results;
    PrimFunc other = ScheduleBlocks(fixed ? fixed->function() : function, version.target, &asked,
                                    &results, version.bounds ? version.when : Expr());
    if (!fixed && StructuralEqual(other, scheduled)) {
      left_out.push_back(version.when);
      continue;
    }
    Expr when = version.when;
    for (const Expr& narrower : left_out)
      if (Implies(narrower, version.when))
        when = when && arith::Analyzer().Simplify(ir::NotNode::Make(narrower));
    if (!made.empty() && made.back().fixed == fixed &&
        StructuralEqual(other, made.back().function)) {
      if (!ir::StructuralEqual(made.back().when, when)) made.back().when = made.back().when || when;
    } else {
      made.push_back({when, other, std::move(results), fixed});
    }
  }
  for (Made& one : made)
    if (one.fixed) one.function = one.function.WithBody(one.fixed->Around(one.function->body));
  Stmt body = scheduled->body;
  for (size_t i = made.size(); i-- > 0;)
    body = IfThenElseNode::Make(made[i].when, CopyWithFreshDefs(made[i].function->body), body,
                                function->span);
  for (Made& one : made)
    told->versions.push_back({Print(where ? where && one.when : one.when), std::move(one.results)});
  return body;
}

// The body of a function of any sizes, with the versions for few rows or columns of aligned
// operands before it. An extent that has one value has its own.
Stmt WithAlignedOperands(const PrimFunc& function, const TargetInfo& target, const Stmt& body,
                         const std::vector<FunctionVersion>& versions, Explanation* told) {
  std::vector<FunctionVersion> few;
  std::copy_if(versions.begin(), versions.end(), std::back_inserter(few),
               [](const FunctionVersion& version) { return version.is_few; });
  std::optional<AlignedSizes> operands =
      few.empty() ? std::nullopt : AlignOperands(function, target);
  if (!operands) return body;
  // Of those that others hold, the others.
  Expr any;
  for (size_t i = 0; i < few.size(); ++i) {
    bool is_held =
        std::any_of(few.begin() + static_cast<ptrdiff_t>(i) + 1, few.end(),
                    [&](const FunctionVersion& other) { return Implies(few[i].when, other.when); });
    if (!is_held) any = any ? any || few[i].when : few[i].when;
  }
  Expr when = operands->when && any;
  std::set<std::pair<const VarNode*, int64_t>> fixed;
  for (const FunctionVersion& version : versions)
    if (version.fixed.get() && fixed.insert({version.fixed.node(), version.value}).second)
      when = when && Expr(version.fixed) !=
                         ir::MakeConst(version.fixed.dtype(), static_cast<double>(version.value));
  std::vector<Asked> asked;
  std::vector<RuleResult> results;
  PrimFunc last = ScheduleBlocks(operands->function, few.back().target, &asked, &results);
  few.pop_back();
  Stmt fast = WithVersions(operands->function, last, few, when, told);
  told->versions.push_back({Print(when), std::move(results)});
  return IfThenElseNode::Make(when, operands->Around(CopyWithFreshDefs(fast)), body,
                              function->span);
}

// The function, whose axes are as rules want them, with its versions.
PrimFunc ScheduleFunctionFor(TargetInfo target, PrimFunc function, Explanation* explanation) {
  Explanation& told = *explanation;
  std::vector<Asked> asked = TakePlans(&function);
  if (asked.empty() && FindVersionedBatch(function, target).get())
    target.least_batch = kLeastBatchOfHosts;
  PrimFunc scheduled = ScheduleBlocks(function, target, &asked, &told.results);
  for (const Asked& one : asked)
    if (!one.taken)
      RefuseAsked(function, one.step,
                  one.refusals.empty() ? "no block of the function is for this rule on this target"
                                       : ffi::Join(one.refusals));
  if (!asked.empty()) return scheduled;
  std::vector<FunctionVersion> versions = FindGemmVersions(function, target), others = versions;
  auto add = [&](const PrimFunc& of, std::vector<FunctionVersion>* all) {
    for (auto* find : {FindReductionVersions, FindShortRowVersions})
      for (FunctionVersion& version : find(of, target)) all->push_back(std::move(version));
  };
  std::optional<AlignedSizes> aligned = AlignSizes(function, target);
  // Memory that is not aligned is rare: it has one version.
  auto is_rare = [](const FunctionVersion& version) { return version.is_rare; };
  if (!aligned && std::any_of(versions.begin(), versions.end(), is_rare)) {
    aligned = AlignMemory(function, target);
    if (aligned) others.clear();
  }
  add(function, &others);
  add(aligned ? aligned->function : function, &versions);
  // An extent of 1 is no multiple.
  if (aligned) {
    std::erase_if(others, is_rare);
    std::erase_if(versions, [&](const FunctionVersion& version) {
      return version.fixed.get() && !CallersVars(aligned->function).count(version.fixed.node());
    });
  }
  Stmt body = WithVersions(function, scheduled, others, {}, &told);
  body = WithAlignedOperands(function, target, body, others, &told);
  auto add_aligned = [&](const AlignedSizes& sizes) {
    std::vector<RuleResult> results;
    PrimFunc other = ScheduleBlocks(sizes.function, target, &asked, &results);
    Stmt fast = WithVersions(sizes.function, other, versions, sizes.when, &told);
    told.versions.push_back({Print(sizes.when), std::move(results)});
    body = IfThenElseNode::Make(sizes.when, sizes.Around(CopyWithFreshDefs(fast)), body,
                                function->span);
  };
  if (std::optional<AlignedSizes> copied = AlignCopies(function, target)) add_aligned(*copied);
  if (aligned) add_aligned(*aligned);
  return scheduled.WithBody(body);
}

// The same for its target. One that is a processor is a device of threads to what needs more memory
// than a task may have of its own.
PrimFunc ScheduleFunction(const PrimFunc& function, Explanation* told) {
  auto target = function->attrs.at(attr::kTarget).As<target::Target>();
  TargetInfo info = TargetInfo::Of(target);
  if (!IsProcessor(target)) return ScheduleFunctionFor(info, function, told);
  Explanation attempt = *told;
  if (std::optional<PrimFunc> tasks = BindTasks(ScheduleFunctionFor(info, function, &attempt))) {
    *told = std::move(attempt);
    return *tasks;
  }
  return ScheduleFunctionFor(DescribeThreads(target), function, told);
}

}  // namespace

std::string Explanation::str(const std::string& function) const {
  if (!left_alone.empty())
    return "# " + function + " is left as it is: " + left_alone +
           (remark.empty() ? "" : "; " + remark) + "\n";
  std::string text = "schedule " + function + " {\n";
  for (const std::string& note : notes) text += "  # " + note + "\n";
  if (!notes.empty()) text += "  canonicalize_axes()\n";
  for (const RuleResult& result : results) {
    text += "  # " + result.block + " (" + result.kind +
            "): " + (result.rule.empty() ? "no rule" : "rule " + result.rule) + "\n";
    for (size_t i = 0; i < result.plans.size(); ++i)
      text += std::string("  #   ") + (i ? "next " : "plan ") + Describe(result.plans[i]) + "\n";
    if (!result.remark.empty()) text += "  #   " + result.remark + "\n";
    for (const std::string& other : result.passed_over) text += "  #   not " + other + "\n";
    for (const Step& step : result.steps.steps) text += "  " + step.str() + "\n";
  }
  for (const Version& version : versions) {
    text += "  # where " + version.when + ":\n";
    for (const RuleResult& result : version.results)
      text += "  #   " + result.block + ": " +
              (result.rule.empty() ? "no rule" : "rule " + result.rule) +
              (result.plans.empty() ? "" : ", plan " + Describe(result.plans[0])) + "\n";
  }
  return text + "}\n";
}

std::vector<std::string> Explanation::Remarks() const {
  std::vector<std::string> remarks;
  if (!remark.empty()) remarks.push_back(remark);
  for (const RuleResult& result : results)
    if (!result.remark.empty()) remarks.push_back("block " + result.block + ": " + result.remark);
  return remarks;
}

PrimFunc ApplyDefaultSchedule(const PrimFunc& given, Explanation* explanation) {
  Explanation own;
  Explanation& told = explanation ? *explanation : own;
  if (HasPackedElements(given)) {
    std::string why;
    PrimFunc wide = WithWideTensors(given, &why);
    PrimFunc scheduled = wide ? ApplyDefaultSchedule(wide, &told) : PrimFunc();
    PrimFunc packed = scheduled ? WithPackedTensors(scheduled, given, &why) : PrimFunc();
    if (packed && told.left_alone.empty()) return packed;
    if (told.left_alone.empty()) told = {.left_alone = why};
    std::string loop = LoopOfOneThread(given);
    if (!loop.empty()) told.remark = "one thread of the device runs loop " + loop;
    return given;
  }
  PrimFunc function = NamePlainLoops(given);
  told.left_alone = WhyNot(function);
  if (!told.left_alone.empty()) {
    std::string loop = explanation && !HasSchedule(given) ? LoopOfOneThread(given) : "";
    if (!loop.empty()) told.remark = "one thread of the device runs loop " + loop;
    return given;
  }
  CanonicalAxes axes = CanonicalizeAxes(function);
  told.notes = axes.notes;
  if (axes.notes.empty()) return ScheduleFunction(function, &told);
  PrimFunc scheduled = ScheduleFunction(axes.function, &told);
  auto result = ffi::Make<PrimFuncNode>(*scheduled);
  result->params = function->params;
  result->body = axes.Around(scheduled->body);
  return PrimFunc(result);
}

}  // namespace tern::schedule
