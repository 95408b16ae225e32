// SPDX-License-Identifier: Apache-2.0
//
// roll: reductions along loops that stand one behind the other, where later ones depend on the
// result of an earlier one, in one pass. What was summed up with an older result is corrected when
// the result changes: online softmax, flash attention.
//
//   for j { m = max(m, S[j]) }
//   for j { P[j] = exp((S[j] - m) * c) }
//   for j { t = t + P[j] * V[j] }
//   ->
//   m = -inf   t = 0
//   for j {
//     m_before = m
//     m = max(m, S[j])
//     m_now = select(m == -inf, 0, m)
//     m_change = select(m_before == -inf, 0, exp((m_before - m_now) * c))
//     P[j] = exp((S[j] - m_now) * c)
//     t = t * m_change
//     t = t + P[j] * V[j]
//   }
//
// What has to hold. The value that a later reduction sums up is f(x, m) = exp((x - m) * c) * g(x),
// so that f(x, m') = f(x, m) * exp((m - m') * c), a factor that no step has a part in. While m is
// -inf, its start, nothing has been summed up: x is the value of which m is the largest, so that
// exp((x - m_now) * c) is 0. A quotient f(x, m) / t, where t is another sum of the kind, is taken
// out of the sum, and done behind the loop. Both may have the same condition: the largest of
// select(c, x, -inf), and the sum of select(c, f(x, m), 0).
//
// Steps at the end that have no x but -inf in any row at hand, as select(j <= i, x, -inf) has for a
// tile of rows, change nothing, and are left out.
//
// roll_parts: the same of steps in parts, whose results are combined behind all loops, by the same
// factor: flash decoding. Of for p { for j { .. } }, in every one of the loops,
//
//   for p { m = -inf   t = 0   for j { as above }   m_parts[p] = m   t_parts[p] = t }
//   for p { m_all = max(m_all, m_parts[p]) }
//   for p { m_weight[p] = select(m_parts[p] == -inf, 0, exp((m_parts[p] - m_all) * c)) }
//   for p { t_all = t_all + t_parts[p] * m_weight[p] }
#include <algorithm>
#include <map>

#include "tern/arith/linear.h"
#include "tern/ir/structural.h"
#include "tern/schedule/roller.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/access_regions.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Rows, one inside of the other, as one: the statements in order, and what is allocated around any.
struct Row {
  std::vector<Stmt> stmts;
  std::vector<Stmt> allocations;
};
void Flatten(const Stmt& stmt, Row* row) {
  if (const auto* seq = stmt.As<SeqNode>()) {
    for (const Stmt& one : seq->stmts) Flatten(one, row);
  } else if (const auto* allocation = stmt.As<AllocateNode>()) {
    row->allocations.push_back(stmt);
    Flatten(allocation->body, row);
  } else {
    row->stmts.push_back(stmt);
  }
}

// The steps of a tile, where the part that a step is in follows from the step: tiles of so many are
// of one part after the other. 0 where it does not.
int64_t StepsOfTile(const RolledLoop& member) {
  arith::Analyzer analyzer;
  ir::VarMap single;
  for (const ForNode* loop : member.nest.loops) {
    analyzer.BindRange(loop->var, loop->min, loop->extent);
    if (ir::IsConst(loop->extent, 1)) single[loop->var.node()] = loop->min;
  }
  auto linear = arith::AsLinear(member.step->binding, member.part->var.node());
  if (!linear || linear->coefficient <= 0) return 0;
  Expr step = ir::Substitute(member.step->binding, single),
       part = ir::Substitute(Expr(member.part->var), single);
  Expr tiles = ir::FloorDiv(step, Expr(linear->coefficient));
  Expr rest = analyzer.Simplify(ir::FloorMod(tiles, member.part->extent));
  return ir::StructuralEqual(rest, analyzer.Simplify(part)) ? linear->coefficient : 0;
}

// Refuses where elements of one part are computed in another one.
void CheckPartsApart(const PrimFunc& function, const RolledLoop& first, const RolledLoop& second,
                     const arith::Analyzer& analyzer, const std::vector<Buffer>& known) {
  auto at_step = [&](const RolledLoop& member) {
    for (const Access& access : AccessesOf(AsStmt(member.block), first.result))
      if (std::none_of(access.indices.begin(), access.indices.end(),
                       [&](const Expr& index) { return index.same(member.step->var); }))
        return false;
    return true;
  };
  bool is_known = std::any_of(known.begin(), known.end(),
                              [&](const Buffer& buffer) { return buffer.same(first.result); });
  bool apart = !Touches(AsStmt(first.block), second.result) &&
               (is_known || (at_step(first) && at_step(second) && StepsOfTile(first) > 0 &&
                             StepsOfTile(first) == StepsOfTile(second)));
  if (!apart) CheckIterationsApart(function, first.part, second.part, analyzer, known);
}

void CheckStepsApart(const PrimFunc& function, const RolledLoop& first, const RolledLoop& second,
                     const arith::Analyzer& analyzer, const std::vector<Buffer>& known) {
  if (!first.part) return CheckIterationsApart(function, first.loop, second.loop, analyzer, known);
  CheckPartsApart(function, first, second, analyzer, known);
  // Of the same part.
  Stmt same = Substitute(AsStmt(first.loop), {{first.part->var.node(), second.part->var}});
  arith::Analyzer inside = analyzer;
  inside.BindRange(second.part->var, second.part->min, second.part->extent);
  CheckIterationsApart(function, same.As<ForNode>(), second.loop, inside, known);
}

// A body in which parts are combined behind the outermost loop around that over parts, for all that
// reads their results.
Stmt WithCombined(const Stmt& body, const Var& part, const Roller& roller) {
  struct Replacer : StmtMutator {
    using StmtMutator::MutateNode;
    Stmt MutateNode(const ForNode* node, const Stmt& self) override {
      return node->var.same(*part) ? self : MutateChildren(node, self);
    }
    Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
      return AllOf(node->buffer) ? Mutate(node->body) : MutateChildren(node, self);
    }
    Buffer MutateUse(const Buffer& use) override {
      const Buffer* all = AllOf(use);
      return all ? *all : StmtMutator::MutateUse(use);
    }
    const Buffer* AllOf(const Buffer& buffer) const {
      for (const PartResult& result : results)
        if (result.own.same(buffer)) return &result.all;
      return nullptr;
    }
    const Var* part = nullptr;
    std::vector<PartResult> results;
  } replacer;
  replacer.part = &part;
  replacer.results = roller.PartResults();
  Stmt whole = replacer.Mutate(body);
  const ForNode* top = nullptr;
  for (const ForNode* loop : LoopsIn(whole))
    if (loop->var.same(part)) top = LoopsAround(PathTo(whole, loop))[0];
  std::vector<Stmt> row = {AsStmt(top)};
  for (const PartResult& result : replacer.results)
    if (Touches(row[0], result.all))
      Refuse(result.own->name + " is read in the loops around, before parts are combined");
  for (Stmt& stmt : roller.Combined()) row.push_back(std::move(stmt));
  whole = ReplaceAt(PathTo(whole, top), SeqNode::Make(std::move(row)));
  whole = AllocateNode::Make(roller.weight(), whole);
  for (const PartResult& result : replacer.results)
    for (const Buffer& buffer : {result.parts, result.all, result.undivided})
      if (buffer) whole = AllocateNode::Make(buffer, whole);
  return whole;
}

}  // namespace

// A buffer of shared memory has what a step accesses.
void Schedule::ShrinkToStep(const Buffer& buffer, const ForNode* loop) {
  const AllocateNode* allocation = AllocationOf(tree(), buffer);
  if (!allocation || !tree().IsInside(allocation, loop)) return;
  arith::Analyzer analyzer = AnalyzerAt(function_, PathTo(tree(), allocation));
  AccessRegions regions = FindAccessRegions(OpenBlocks(allocation->body), analyzer);
  std::vector<AccessRegion> joined;
  for (const AccessRegion* region : {regions.Reads(buffer), regions.Writes(buffer)})
    if (region) JoinRegion(*region, analyzer, &joined);
  if (!joined.empty()) ReplaceStmt(allocation, ShrinkShared(allocation, joined[0].ranges));
}

void Schedule::Roll(const LoopRef& first, const LoopRef& last) {
  Do("roll", {TextOf(first), TextOf(last)}, [&] { RollLoops(first, last, false); });
}

void Schedule::RollParts(const LoopRef& first, const LoopRef& last) {
  Do("roll_parts", {TextOf(first), TextOf(last)}, [&] { RollLoops(first, last, true); });
}

void Schedule::RollLoops(const LoopRef& first_ref, const LoopRef& last_ref, bool in_parts) {
  const ForNode *first = At(first_ref), *last = At(last_ref);
  Between between =
      FindBetween(tree(), first, "loop " + first_ref.str(), last, "loop " + last_ref.str());
  arith::Analyzer analyzer = AnalyzerAt(function_, between.outside);
  Row row;
  Flatten(AsStmt(between.row), &row);
  auto place = [&](const ForNode* loop) {
    auto at = std::find_if(row.stmts.begin(), row.stmts.end(),
                           [&](const Stmt& stmt) { return stmt.get() == loop; });
    if (at == row.stmts.end())
      Refuse("loop " + loop->var.name() + " does not stand beside the other one");
    return at;
  };
  auto begin = place(first), end = place(last) + 1;
  // The loop of the steps, which is all of a loop of parts.
  auto steps_of = [&](const ForNode* loop) {
    if (!in_parts) return loop;
    const auto* steps = loop->body.As<ForNode>();
    if (!steps) Refuse("in loop " + loop->var.name() + " is no loop along the steps of a part");
    if (ir::UsesVar(steps->extent, loop->var.node()))
      Refuse("parts along loop " + loop->var.name() + " have different numbers of steps");
    return steps;
  };
  std::vector<RolledLoop> members;
  for (auto it = begin; it != end; ++it) {
    const auto* loop = it->As<ForNode>();
    std::vector<const BlockNode*> blocks = BlocksIn(*it);
    if (!loop || blocks.size() != 1)
      Refuse("between the loops is more than loops of one block each");
    const ForNode* steps = steps_of(loop);
    Nest nest = NestOf(tree(), blocks[0]);
    for (const ForNode* one : {loop, steps}) {
      CheckIsPlain(one);
      CheckSameBounds(one, one == steps ? steps_of(last) : last, analyzer);
      if (!nest.Has(one)) Refuse("loop " + one->var.name() + " holds more than its block");
    }
    if (!FactsOf(blocks[0]).bounded)
      Refuse("block " + blocks[0]->name + " does not run over all of its axes");
    members.push_back(
        {.loop = steps, .part = in_parts ? loop : nullptr, .nest = nest, .block = blocks[0]});
  }
  Roller roller(members);
  for (const RolledLoop& member : members)
    if (member.block->init) CheckMayReassociate(member.block, "steps are corrected");
  for (size_t a = 0; a < members.size(); ++a)
    for (size_t b = a + 1; b < members.size(); ++b)
      CheckStepsApart(function_, roller.members()[a], roller.members()[b], analyzer,
                      roller.Results());
  for (const auto& [block, of] : roller.NewBlocks()) CheckNewBlock(block);
  for (const Buffer& buffer : roller.NewBuffers()) CheckNewBuffer(buffer->name);
  for (const PartResult& result : roller.PartResults()) {
    if (!in_parts) break;
    if (!AllocationOf(tree(), result.own))
      Refuse(result.own->name + " is not allocated by the function; cache_write it before");
    for (const Buffer& buffer : {result.parts, result.all}) CheckNewBuffer(buffer->name);
  }
  // What is computed of results so far has no meaning behind the loop.
  Stmt all = SeqNode::Make(std::vector<Stmt>(begin, end));
  const ForNode* steps = steps_of(last);
  Expr extent = roller.StepsThatCount(steps);
  for (const auto& [buffer, of_results] : roller.AllElements()) {
    bool is_seen = !AllocationOf(tree(), buffer) ||
                   AccessesOf(function_->body, buffer).size() != AccessesOf(all, buffer).size();
    if (of_results && is_seen)
      Refuse(buffer->name + " depends on the results so far, and is read outside of the loops");
    if (is_seen) extent = {};
  }
  if (!extent) extent = steps->extent;
  std::map<std::string, BlockFacts> facts;
  for (const auto& [block, of] : roller.NewBlocks()) facts[block] = FactsOf(FindBlock(of));

  std::vector<Stmt> stmts(row.stmts.begin(), begin), rolled = roller.Inits();
  rolled.push_back(steps->With(steps->min, analyzer.Simplify(extent), roller.Body(steps->var)));
  if (in_parts) {
    for (Stmt& store : roller.PartStores()) rolled.push_back(std::move(store));
    Stmt body = SeqNode::Make(std::move(rolled));
    for (const PartResult& result : roller.PartResults())
      body = AllocateNode::Make(result.own, body);
    rolled = {last->With(last->min, last->extent, body)};
  } else {
    for (Stmt& quotient : roller.Quotients()) rolled.push_back(std::move(quotient));
  }
  stmts.insert(stmts.end(), rolled.begin(), rolled.end());
  stmts.insert(stmts.end(), end, row.stmts.end());
  Stmt whole = SeqNode::Make(std::move(stmts));
  for (size_t i = row.allocations.size(); i-- > 0;) {
    const auto* allocation = row.allocations[i].As<AllocateNode>();
    whole = AllocateNode::Make(allocation->buffer, whole, allocation->span);
  }
  whole = ReplaceAt(PathTo(tree(), between.row), whole);
  SetBody(in_parts ? WithCombined(whole, last->var, roller) : whole);
  for (const auto& [block, of] : facts) SetFacts(block, of);
  // Elements are needed in a step alone.
  LoopRef loop(steps->var);
  std::vector<Buffer> elements;
  for (const auto& [buffer, of_results] : roller.AllElements()) elements.push_back(buffer);
  FillLoop(At(loop), At(loop)->body, elements);
  for (const Buffer& buffer : elements) ShrinkToStep(buffer, At(loop));
}

}  // namespace tern::schedule
