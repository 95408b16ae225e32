// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/access_regions.h"
#include "tern/tir/analysis/memory_effects.h"
#include "tern/tir/transform/loops/vectorize_loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

std::string Called(const ForNode* loop) { return "loop " + loop->var.name(); }

// Whether one box begins behind the end of the other, in some dimension.
bool AreApart(const AccessRegion& a, const AccessRegion& b, const arith::Analyzer& analyzer) {
  for (size_t d = 0; d < a.ranges.size(); ++d) {
    const Range &x = a.ranges[d], &y = b.ranges[d];
    if (arith::ProveLessEqual(analyzer, x.min + x.extent, y.min) ||
        arith::ProveLessEqual(analyzer, y.min + y.extent, x.min))
      return true;
  }
  return false;
}

// What iterations of two loops do to memory, seen from outside of both.
class Iterations {
 public:
  Iterations(const PrimFunc& function, const ForNode* first, const ForNode* second,
             arith::Analyzer analyzer)
      : effects_(function), analyzer_(std::move(analyzer)) {
    // Iterations of the first loop that come later than this one of the second, and earlier.
    Var others("others", second->var.dtype());
    analyzer_.BindRange(second->var, second->min, second->extent);
    analyzer_.Bind(others, {1, arith::ConstBounds::kPosInf});
    auto first_at = [&](const Expr& at) {
      return FindAccessRegions(OpenBlocks(Substitute(first->body, {{first->var.node(), at}})),
                               analyzer_);
    };
    first_ = first_at(second->var + others);
    earlier_ = first_at(second->var - others);
    same_ = first_at(second->var);
    second_ = FindAccessRegions(OpenBlocks(second->body), analyzer_);
    for (const ForNode* loop : {first, second})
      if (effects_.WritesOf(loop->body).anything)
        Refuse(Called(loop) + " has an effect other than on memory");
  }

  // Refuses where one of the second loop touches what a later one of the first writes, or writes
  // what that reads; but for the `known` buffers.
  void CheckIndependent(const std::vector<Buffer>& known = {}) const {
    auto is_known = [&](const AccessRegion& region) {
      return std::any_of(known.begin(), known.end(),
                         [&](const Buffer& buffer) { return buffer.same(region.buffer); });
    };
    for (const AccessRegion& write : first_.writes) {
      if (is_known(write)) continue;
      Check(write, second_.writes);
      Check(write, second_.reads);
    }
    for (const AccessRegion& read : first_.reads)
      if (!is_known(read)) Check(read, second_.writes);
    if (!first_.opaque.empty() || !second_.opaque.empty())
      Refuse("memory is accessed in ways that are not followed");
  }

  // Buffers that both touch; of several iterations those of which none reads what the first loop
  // has written in an earlier one.
  std::vector<Buffer> Shared(bool is_single) const {
    std::vector<Buffer> shared;
    for (const auto* regions : {&first_.writes, &first_.reads})
      for (const AccessRegion& region : *regions)
        if ((second_.Reads(region.buffer) || second_.Writes(region.buffer)) &&
            (is_single || !IsCarried(region.buffer)) &&
            std::none_of(shared.begin(), shared.end(),
                         [&](const Buffer& other) { return other.same(region.buffer); }))
          shared.push_back(region.buffer);
    return shared;
  }

 private:
  bool IsCarried(const Buffer& buffer) const {
    for (const AccessRegion& write : earlier_.writes)
      for (const auto* reads : {&same_.reads, &second_.reads})
        for (const AccessRegion& read : *reads)
          if (write.buffer.same(buffer) && read.buffer.same(buffer) &&
              !AreApart(write, read, analyzer_))
            return true;
    return false;
  }
  void Check(const AccessRegion& region, const std::vector<AccessRegion>& others) const {
    for (const AccessRegion& other : others) {
      if (effects_.PlaceOf(other.buffer) != effects_.PlaceOf(region.buffer)) continue;
      if (!effects_.PlaceOf(other.buffer) || !other.buffer.same(region.buffer))
        Refuse("the memory of " + region.buffer->name + " may be reached in other ways");
      if (!AreApart(region, other, analyzer_))
        Refuse(
            "it cannot be proven that an iteration of the second loop does nothing to what later "
            "ones of the first access of " +
            region.buffer->name);
    }
  }

  MemoryEffects effects_;
  arith::Analyzer analyzer_;
  AccessRegions first_, earlier_, same_, second_;  // first_: later ones
};

// Refuses where a loop or a condition is around one of the two alone.
void CheckIsBeside(const Path& way, const ForNode* loop) {
  for (const StmtNode* node : way)
    if (node != loop && node->kind != StmtKind::kSeq && node->kind != StmtKind::kAllocate)
      Refuse(Called(loop) + " does not stand beside the other one");
}

// The allocations on the way to a loop that it uses.
std::vector<const AllocateNode*> AllocationsFor(const Path& way, const ForNode* loop) {
  std::vector<const AllocateNode*> found;
  for (const StmtNode* node : way)
    if (node->kind == StmtKind::kAllocate) {
      const auto* allocation = static_cast<const AllocateNode*>(node);
      if (!AccessesOf(AsStmt(loop), allocation->buffer).empty()) found.push_back(allocation);
    }
  return found;
}

// Whether splits made both loops, with the same tail strategy, and they have no other annotations.
bool HaveSameTail(const ForNode* first, const ForNode* second) {
  if (first->annotations.size() != 1 || second->annotations.size() != 1) return false;
  return std::ranges::any_of(std::array{attr::kGuardTail, attr::kMaskTail}, [&](const char* tail) {
    return HasTail(first, tail) && HasTail(second, tail);
  });
}

void CheckIsSerial(const ForNode* loop) {
  if (loop->for_kind != ForKind::kSerial)
    Refuse(Called(loop) + " is " + ForKindName(loop->for_kind) + " already; fuse it before");
}

}  // namespace

void CheckIsPlain(const ForNode* loop) {
  CheckIsSerial(loop);
  if (!loop->annotations.empty()) Refuse(Called(loop) + " has annotations");
}

void CheckSameBounds(const ForNode* first, const ForNode* second, const arith::Analyzer& analyzer) {
  if (first->var.dtype() != second->var.dtype() || !analyzer.CanProve(first->min == second->min) ||
      !analyzer.CanProve(first->extent == second->extent))
    Refuse("the loops are not proven to have the same bounds");
}

void CheckIterationsApart(const PrimFunc& function, const ForNode* first, const ForNode* second,
                          const arith::Analyzer& analyzer, const std::vector<Buffer>& known) {
  Iterations(function, first, second, analyzer).CheckIndependent(known);
}

void Schedule::FuseSiblings(const LoopRef& first_ref, const LoopRef& second_ref) {
  Do("fuse_siblings", {TextOf(first_ref), TextOf(second_ref)}, [&] {
    const ForNode *first = At(first_ref), *second = At(second_ref);
    auto find = [&] { return FindBetween(tree(), first, Called(first), second, Called(second)); };
    Between between = find();
    for (const ForNode* loop : {first, second})
      HaveSameTail(first, second) ? CheckIsSerial(loop) : CheckIsPlain(loop);
    CheckIsBeside(between.to_a, first);
    CheckIsBeside(between.to_b, second);
    // What is allocated around the first, with what stands before it, is so around both.
    for (const AllocateNode* allocation : AllocationsFor(between.to_a, first)) {
      Stmt kept = AsStmt(allocation);
      ReplaceStmt(allocation, allocation->body);
      Stmt row = AsStmt(find().row);
      ReplaceStmt(row.get(), AllocateNode::Make(allocation->buffer, row, allocation->span));
    }
    between = find();
    arith::Analyzer analyzer = AnalyzerAt(function_, between.outside);
    CheckSameBounds(first, second, analyzer);
    CheckVisible(between.to_a, AsStmt(first), Called(first));
    CheckMayComeTo(function_, between, AsStmt(first));
    Iterations iterations(function_, first, second, analyzer);
    bool is_single =
        arith::ProveLessEqual(analyzer, first->extent, ir::MakeConst(first->extent.dtype(), 1));
    if (!is_single) iterations.CheckIndependent();
    Stmt body = Before(Substitute(first->body, {{first->var.node(), second->var}}), second->body);
    RemoveStmt(first);
    FillLoop(second, body, iterations.Shared(is_single));
  });
}

}  // namespace tern::schedule
