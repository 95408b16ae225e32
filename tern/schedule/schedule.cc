// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/schedule.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include "tern/arith/analyzer.h"
#include "tern/ffi/text.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/independent_iterations.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Loops with the blocks below them, in the order of the text.
struct LoopScan : StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitNode(const ForNode* node) override {
    loops.push_back({node, {}});
    around.push_back(loops.size() - 1);
    VisitChildren(node);
    around.pop_back();
  }
  void VisitNode(const BlockNode* node) override {
    for (size_t loop : around) loops[loop].second.push_back(node);
    blocks.push_back(node);
    VisitChildren(node);
  }
  std::vector<std::pair<const ForNode*, std::vector<const BlockNode*>>> loops;
  std::vector<const BlockNode*> blocks;
  std::vector<size_t> around;
};

LoopScan ScanLoops(const Stmt& stmt) {
  LoopScan scan;
  scan.Visit(stmt);
  return scan;
}

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

// Blocks as what they do, as far as memory goes: as if all of their instances ran, with their
// initialisation.
class BlockOpener : public StmtMutator {
  using StmtMutator::MutateNode;
  Stmt MutateNode(const BlockNode* node, const Stmt&) override {
    ir::VarMap values;
    for (const BlockIter& iter : node->iters) values[iter.var.node()] = iter.binding;
    Stmt body = Mutate(Substitute(node->body, values));
    return node->init ? SeqNode::Make({Substitute(node->init, values), body}, node->span) : body;
  }
};

// One statement in place of another.
Stmt Replace(const Stmt& root, const Stmt& old, const Stmt& replacement) {
  struct Replacer : StmtMutator {
    Replacer(const Stmt& old, const Stmt& replacement) : old(old), replacement(replacement) {}
    Stmt Mutate(const Stmt& stmt) override {
      return stmt.same(old) ? replacement : StmtMutator::Mutate(stmt);
    }
    using StmtMutator::Mutate;
    const Stmt &old, &replacement;
  };
  return Replacer(old, replacement).Mutate(root);
}

Stmt StmtOf(const ForNode* loop) { return Stmt(ffi::Ref<const ForNode>(loop)); }

// Runs `body` where `condition` holds: as the predicate of the block that it is, or with an if.
Stmt Guarded(const Stmt& body, const Expr& condition) {
  if (const auto* loop = body.As<ForNode>())
    return loop->With(loop->min, loop->extent, Guarded(loop->body, condition));
  if (const auto* block = body.As<BlockNode>()) {
    auto copy = ffi::Make<BlockNode>(*block);
    copy->predicate = block->predicate ? block->predicate && condition : condition;
    return Stmt(copy);
  }
  return IfThenElseNode::Make(condition, body, {}, body.span());
}

// `step` as it was, or would be, written.
std::string StepText(const std::vector<std::string>& results, const char* name,
                     const std::vector<std::string>& args) {
  std::string text = results.empty() ? "" : ffi::Join(results) + " = ";
  return text + name + "(" + ffi::Join(args) + ")";
}

[[noreturn]] void Refuse(const std::string& step, const std::string& why) {
  TERN_THROW(ScheduleError) << step << ": " << why;
  __builtin_unreachable();
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

}  // namespace

Schedule::Schedule(PrimFunc function) : function_(std::move(function)) {
  for (const BlockNode* block : ScanLoops(function_->body).blocks) {
    std::set<const ir::Node*> seen;
    for (const BlockIter& iter : block->iters)
      if (!ir::AsConstInt(iter.binding) &&
          (!iter.binding.As<VarNode>() || !seen.insert(iter.binding.get()).second))
        irregular_.insert(block->name);
  }
}

const ForNode* Schedule::FindLoop(const std::string& name) const {
  size_t dot = name.find('.');
  std::string block = dot == std::string::npos ? "" : name.substr(0, dot);
  std::string loop = dot == std::string::npos ? name : name.substr(dot + 1);
  std::vector<const ForNode*> found;
  std::vector<std::string> names;
  for (const auto& [node, blocks] : ScanLoops(function_->body).loops) {
    names.push_back(node->var.name());
    bool below = block.empty() || std::any_of(blocks.begin(), blocks.end(),
                                              [&](auto* b) { return b->name == block; });
    if (node->var.name() == loop && below) found.push_back(node);
  }
  if (found.size() == 1) return found[0];
  if (found.empty())
    TERN_THROW(ScheduleError) << "there is no loop " << name << ffi::DidYouMean(name, names)
                              << "; the loops of " << function_->name << " are "
                              << (names.empty() ? "none" : ffi::Join(names));
  TERN_THROW(ScheduleError) << found.size() << " loops are called " << name
                            << "; say which by a block below it, as in BLOCK." << loop;
  __builtin_unreachable();
}

void Schedule::CheckNewName(const std::string& name) const {
  for (const auto& [node, blocks] : ScanLoops(function_->body).loops)
    if (node->var.name() == name)
      TERN_THROW(ScheduleError) << "there is a loop " << name << " already";
}

Schedule::Role Schedule::RoleOf(const ForNode* loop) const {
  LoopScan scan = ScanLoops(loop->body);
  // Several blocks may hand values on, also from one iteration to the next.
  if (scan.blocks.size() != 1 || !OnlyBlocks(loop->body)) {
    Stmt bare = loop->With(loop->min, loop->extent, BlockOpener().Mutate(loop->body));
    bool apart = IterationsAreIndependent(bare.As<ForNode>(), TensorsAreDistinct(function_));
    return apart ? Role::kIndependent : Role::kOrdered;
  }
  const BlockNode* block = scan.blocks[0];
  if (irregular_.count(block->name)) return Role::kOrdered;
  std::set<IterKind> kinds;
  for (const BlockIter& iter : block->iters)
    if (ir::UsesVar(iter.binding, loop->var.node())) kinds.insert(iter.kind);
  // Without an axis it is the same instance again and again; with several kinds, a reduction could
  // come to begin elsewhere than at its first step.
  if (kinds == std::set{IterKind::kSpatial}) return Role::kIndependent;
  return kinds == std::set{IterKind::kReduce} ? Role::kReduction : Role::kOrdered;
}

void Schedule::CheckIndependent(const ForNode* loop, const std::string& step) const {
  switch (RoleOf(loop)) {
    case Role::kIndependent:
      return;
    case Role::kReduction:
      Refuse(step, "loop " + loop->var.name() +
                       " runs along a reduction, whose steps are not "
                       "independent");
    case Role::kOrdered:
      Refuse(step, "it cannot be told that the iterations of loop " + loop->var.name() +
                       " are independent");
  }
}

void Schedule::Finish(Stmt body, std::string step) {
  function_ = function_.WithBody(std::move(body));
  trace_.push_back(std::move(step));
}

std::vector<std::string> Schedule::Split(const std::string& name,
                                         const std::vector<int64_t>& factors,
                                         std::vector<std::string> names) {
  const ForNode* loop = FindLoop(name);
  if (names.empty())
    for (size_t i = 0; i <= factors.size(); ++i)
      names.push_back(loop->var.name() + "_" + std::to_string(i));
  std::vector<std::string> args = {name};
  for (int64_t factor : factors) args.push_back(std::to_string(factor));
  std::string step = StepText(names, "split", args);
  if (factors.empty()) Refuse(step, "there is no factor");
  if (names.size() != factors.size() + 1)
    Refuse(step, std::to_string(factors.size() + 1) + " loops come of it, not " +
                     std::to_string(names.size()));
  if (loop->for_kind != ForKind::kSerial)
    Refuse(step, std::string("loop ") + loop->var.name() + " is " + ForKindName(loop->for_kind) +
                     " already; split it before");
  int64_t product = 1;
  for (int64_t factor : factors)
    if (factor < 1 || __builtin_mul_overflow(product, factor, &product))
      Refuse(step, "a factor is a number from 1 on");
  for (const std::string& fresh : names) CheckNewName(fresh);

  DataType dtype = loop->var.dtype();
  auto constant = [&](int64_t value) { return ir::IntImmNode::Make(dtype, value); };
  std::vector<Var> vars;
  for (const std::string& fresh : names) vars.emplace_back(fresh, dtype, loop->span);
  Expr index = vars[0];
  for (size_t i = 0; i < factors.size(); ++i) index = index * constant(factors[i]) + vars[i + 1];
  Expr value = ir::IsConst(loop->min, 0) ? index : loop->min + index;
  Stmt body = Substitute(loop->body, {{loop->var.node(), value}});
  arith::Analyzer analyzer;
  bool whole = analyzer.CanProve(ir::FloorMod(loop->extent, constant(product)) == constant(0));
  if (!whole) body = Guarded(body, index < loop->extent);
  for (size_t i = factors.size(); i-- > 0;)
    body = ForNode::Make(vars[i + 1], constant(0), constant(factors[i]), ForKind::kSerial, body, "",
                         loop->span);
  Expr outer = analyzer.Simplify(ir::CeilDiv(loop->extent, constant(product)));
  body = ForNode::Make(vars[0], constant(0), outer, ForKind::kSerial, body, "", loop->span,
                       loop->annotations);
  Finish(Replace(function_->body, StmtOf(loop), body), step);
  return names;
}

std::string Schedule::Fuse(const std::vector<std::string>& loops, std::string name) {
  if (name.empty()) {
    for (const std::string& loop : loops)
      name += (name.empty() ? "" : "_") + FindLoop(loop)->var.name();
    name += "_fused";
  }
  std::string step = StepText({name}, "fuse", loops);
  if (loops.size() < 2) Refuse(step, "there are no two loops");
  CheckNewName(name);
  std::vector<const ForNode*> nest;
  for (const std::string& loop : loops) nest.push_back(FindLoop(loop));
  Expr extent;
  for (size_t i = 0; i < nest.size(); ++i) {
    const ForNode* loop = nest[i];
    if (loop->for_kind != ForKind::kSerial)
      Refuse(step, "loop " + loop->var.name() + " is " + ForKindName(loop->for_kind) + " already");
    if (loop->var.dtype() != nest[0]->var.dtype())
      Refuse(step, "the loops count in different types");
    if (i > 0 && nest[i - 1]->body.get() != loop)
      Refuse(step, "loop " + loop->var.name() + " is not the whole body of loop " +
                       nest[i - 1]->var.name());
    for (size_t k = 0; k < i; ++k)
      if (ir::UsesVar(loop->min, nest[k]->var.node()) ||
          ir::UsesVar(loop->extent, nest[k]->var.node()))
        Refuse(step,
               "the range of loop " + loop->var.name() + " depends on loop " + nest[k]->var.name());
    extent = extent ? extent * loop->extent : loop->extent;
  }
  Var fused(name, nest[0]->var.dtype(), nest[0]->span);
  ir::VarMap values;
  Expr rest = fused;
  for (size_t i = nest.size(); i-- > 0;) {
    Expr index = i == 0 ? rest : ir::FloorMod(rest, nest[i]->extent);
    values[nest[i]->var.node()] = ir::IsConst(nest[i]->min, 0) ? index : Expr(nest[i]->min + index);
    rest = ir::FloorDiv(rest, nest[i]->extent);
  }
  arith::Analyzer analyzer;
  Stmt body =
      ForNode::Make(fused, ir::IntImmNode::Make(fused.dtype(), 0), analyzer.Simplify(extent),
                    ForKind::kSerial, Substitute(nest.back()->body, values), "", nest[0]->span);
  Finish(Replace(function_->body, StmtOf(nest[0]), body), step);
  return name;
}

void Schedule::Reorder(const std::vector<std::string>& loops) {
  std::string step = StepText({}, "reorder", loops);
  std::vector<const ForNode*> wanted;
  for (const std::string& loop : loops) {
    wanted.push_back(FindLoop(loop));
    if (std::count(wanted.begin(), wanted.end(), wanted.back()) > 1)
      Refuse(step, "loop " + loop + " is named twice");
  }
  if (wanted.empty()) Refuse(step, "there is no loop");
  auto is_wanted = [&](const ForNode* loop) {
    return std::find(wanted.begin(), wanted.end(), loop) != wanted.end();
  };
  // The nest from the outermost of them to the innermost.
  const ForNode* top = nullptr;
  for (const auto& [loop, blocks] : ScanLoops(function_->body).loops)
    if (!top && is_wanted(loop)) top = loop;
  std::vector<const ForNode*> nest;
  size_t missing = wanted.size();
  for (const ForNode* at = top; at && missing > 0; at = at->body.As<ForNode>()) {
    nest.push_back(at);
    missing -= is_wanted(at);
  }
  if (missing > 0)
    Refuse(step,
           "the loops are not one nest: between two of them there is something else than a "
           "loop");
  std::vector<const ForNode*> order;
  for (size_t i = 0, next = 0; i < nest.size(); ++i)
    order.push_back(is_wanted(nest[i]) ? wanted[next++] : nest[i]);
  auto place = [&](const std::vector<const ForNode*>& in, const ForNode* loop) {
    return std::find(in.begin(), in.end(), loop) - in.begin();
  };
  for (const ForNode* a : nest)
    for (const ForNode* b : nest) {
      if (place(nest, a) >= place(nest, b) || place(order, a) < place(order, b)) continue;
      // b was inside of a, and comes outside.
      std::string both = "loops " + a->var.name() + " and " + b->var.name();
      if (ir::UsesVar(b->min, a->var.node()) || ir::UsesVar(b->extent, a->var.node()))
        Refuse(step, "the range of loop " + b->var.name() + " depends on loop " + a->var.name());
      Role role_a = RoleOf(a), role_b = RoleOf(b);
      if (role_a == Role::kOrdered || role_b == Role::kOrdered)
        Refuse(step, "it cannot be told that " + both + " may change places");
      bool sums = role_a == Role::kReduction && role_b == Role::kReduction;
      if (sums && !HasFlag(function_, attr::kReassociate) &&
          !SumsIntegers(ScanLoops(a->body).blocks[0]))
        Refuse(step, both +
                         " run along a reduction of floats, whose order counts; the attribute "
                         "reassociate of the function says that it does not");
    }
  Stmt body = nest.back()->body;
  for (size_t i = order.size(); i-- > 0;)
    body = order[i]->With(order[i]->min, order[i]->extent, body);
  Finish(Replace(function_->body, StmtOf(nest[0]), body), step);
}

void Schedule::SetKind(const std::string& name, ForKind kind, const std::string& step,
                       const std::string& axis) {
  const ForNode* loop = FindLoop(name);
  if (loop->for_kind != ForKind::kSerial)
    Refuse(step, "loop " + loop->var.name() + " is " + ForKindName(loop->for_kind) + " already");
  if (kind == ForKind::kUnrolled) {
    if (!ir::AsConstInt(loop->extent))
      Refuse(step, "the extent of loop " + loop->var.name() + " is not constant");
  } else {
    CheckIndependent(loop, step);
  }
  auto copy = ffi::Make<ForNode>(*loop);
  copy->for_kind = kind;
  copy->thread = axis;
  Finish(Replace(function_->body, StmtOf(loop), Stmt(copy)), step);
}

void Schedule::Parallel(const std::string& loop) {
  SetKind(loop, ForKind::kParallel, StepText({}, "parallel", {loop}));
}
void Schedule::Unroll(const std::string& loop) {
  SetKind(loop, ForKind::kUnrolled, StepText({}, "unroll", {loop}));
}

void Schedule::Vectorize(const std::string& loop) {
  std::string step = StepText({}, "vectorize", {loop});
  const ForNode* node = FindLoop(loop);
  if (!ir::AsConstInt(node->extent))
    Refuse(step, "the extent of loop " + node->var.name() +
                     " is not constant; split it by the number of lanes");
  if (!ScanLoops(node->body).loops.empty())
    Refuse(step, "loop " + node->var.name() + " is not the innermost one");
  SetKind(loop, ForKind::kVectorized, step);
}

void Schedule::Bind(const std::string& loop, const std::string& axis) {
  std::string step = StepText({}, "bind", {loop, axis});
  const ForNode* node = FindLoop(loop);
  std::vector<std::string> axes;
  for (int i = 0; i < kNumThreadAxes; ++i) axes.push_back(ThreadAxisName(i));
  if (std::find(axes.begin(), axes.end(), axis) == axes.end())
    Refuse(step, "there is no axis " + axis + "; the axes are " + ffi::Join(axes));
  if (!ir::IsConst(node->min, 0))
    Refuse(step, "loop " + node->var.name() + " does not start at 0; split it first");
  SetKind(loop, ForKind::kThread, step, axis);
}

// ---- Steps as text

namespace {

struct Step {
  std::vector<std::string> results;
  std::string name;
  std::vector<std::string> args;
};

std::vector<std::string> SplitList(const std::string& text, const std::string& step) {
  std::vector<std::string> items;
  std::string item;
  for (char c : text + ",") {
    if (c == ',') {
      if (item.empty() && !(items.empty() && text.find_first_not_of(' ') == std::string::npos))
        Refuse(step, "a name is missing");
      if (!item.empty()) items.push_back(std::exchange(item, ""));
    } else if (c != ' ') {
      item += c;
    }
  }
  return items;
}

// results = name(args)
Step ReadStep(const std::string& text) {
  size_t open = text.find('('), equal = text.find('=');
  if (open == std::string::npos || text.back() != ')' ||
      (equal != std::string::npos && equal > open))
    Refuse(text, "expected a step, as in io, ii = split(i, 8)");
  Step step;
  size_t begin = 0;
  if (equal != std::string::npos) {
    step.results = SplitList(text.substr(0, equal), text);
    begin = equal + 1;
  }
  std::vector<std::string> name = SplitList(text.substr(begin, open - begin), text);
  step.name = name.empty() ? "" : name[0];
  step.args = SplitList(text.substr(open + 1, text.size() - open - 2), text);
  return step;
}

int64_t Number(const std::string& text, const std::string& step) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    Refuse(step, "expected a number, got " + text);
  return value;
}

}  // namespace

namespace {

// A step: how many arguments it takes (at least), whether it names loops, and what it does.
struct Primitive {
  size_t least, most, results;
  std::function<void(Schedule*, const Step&, const std::string& line)> apply;
};

constexpr size_t kAny = 64;

const std::map<std::string, Primitive>& Primitives() {
  using Line = const std::string&;
  static const std::map<std::string, Primitive> primitives = {
      {"split",
       {2, kAny, kAny,
        [](Schedule* schedule, const Step& step, Line line) {
          std::vector<int64_t> factors;
          for (size_t i = 1; i < step.args.size(); ++i)
            factors.push_back(Number(step.args[i], line));
          schedule->Split(step.args[0], factors, step.results);
        }}},
      {"fuse",
       {2, kAny, 1,
        [](Schedule* schedule, const Step& step, Line) {
          schedule->Fuse(step.args, step.results.empty() ? "" : step.results[0]);
        }}},
      {"reorder",
       {1, kAny, 0,
        [](Schedule* schedule, const Step& step, Line) { schedule->Reorder(step.args); }}},
      {"parallel",
       {1, 1, 0,
        [](Schedule* schedule, const Step& step, Line) { schedule->Parallel(step.args[0]); }}},
      {"vectorize",
       {1, 1, 0,
        [](Schedule* schedule, const Step& step, Line) { schedule->Vectorize(step.args[0]); }}},
      {"unroll",
       {1, 1, 0,
        [](Schedule* schedule, const Step& step, Line) { schedule->Unroll(step.args[0]); }}},
      {"bind", {2, 2, 0, [](Schedule* schedule, const Step& step, Line) {
                  schedule->Bind(step.args[0], step.args[1]);
                }}}};
  return primitives;
}

}  // namespace

void Schedule::Apply(const std::string& text) {
  Step step = ReadStep(text);
  auto it = Primitives().find(step.name);
  if (it == Primitives().end()) {
    std::vector<std::string> names;
    for (const auto& [name, primitive] : Primitives()) names.push_back(name);
    Refuse(text, "there is no step " + step.name + ffi::DidYouMean(step.name, names) +
                     "; the steps are " + ffi::Join(names));
  }
  const Primitive& primitive = it->second;
  if (step.args.size() < primitive.least || step.args.size() > primitive.most)
    Refuse(text, step.name + " takes " + std::to_string(primitive.least) +
                     (primitive.least == primitive.most ? "" : " or more") + " arguments, got " +
                     std::to_string(step.args.size()));
  if (step.results.size() > primitive.results)
    Refuse(text, step.name + " makes " + (primitive.results ? "one loop" : "no loops") +
                     ", and gives no more names");
  primitive.apply(this, step, text);
}

PrimFunc ApplySchedule(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kSchedule);
  if (it == function->attrs.end()) return function;
  auto bare = ffi::Make<PrimFuncNode>(*function);
  bare->attrs.erase(attr::kSchedule);
  Schedule schedule{PrimFunc(bare)};
  for (const ffi::Any& step : *it->second.As<ffi::Array>()) {
    try {
      schedule.Apply(step.As<std::string>());
    } catch (const Error& error) {
      if (error.kind() != "ScheduleError") throw;
      TERN_THROW(ScheduleError) << function->span.str() << ": the schedule of " << function->name
                                << " does not apply: " << error.message();
    }
  }
  return schedule.function();
}

}  // namespace tern::schedule
