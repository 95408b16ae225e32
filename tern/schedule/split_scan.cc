// SPDX-License-Identifier: Apache-2.0
//
// split_scan: a scan in parts, which are independent once their carries are known.
//
//   for j { Y[j] = X[j] + select(j > 0, Y[j - 1], 0) }
//   ->
//   for p, r { totals[p] += X[p * F + r] }          # of whole parts, so that no step is outside
//   for p    { carries[p] = select(p > 0, totals[p - 1], 0) + select(p > 0, carries[p - 1], 0) }
//   for p, r { Y[p * F + r] = X[p * F + r] + select(r > 0, Y[p * F + r - 1], carries[p]) }
//
// With a scope, for the threads of a block:
//
//   for p, r { values[p, r] = X[p * F + r] }
//   for p, r { totals[p] += values[p, r] }
//   for p, q { carries[p] += select(q < p, totals[q], 0) }
//   for p, r { values[p, r] = values[p, r] + select(r > 0, values[p, r - 1], carries[p]) }
//   for p, r { Y[p * F + r] = values[p, r] }
#include <algorithm>

#include "tern/arith/linear.h"
#include "tern/ir/structural.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/conjuncts.h"
#include "tern/tir/analysis/scan_update.h"
#include "tern/tir/copy_with_fresh_defs.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

class ScanSplitter {
 public:
  ScanSplitter(const Nest& nest, const ForNode* outermost, const ScanUpdate& update, int64_t factor)
      : nest_(nest), update_(update), block_(nest.block), factor_(factor) {
    const BlockIter& scan = block_->iters[update.axis];
    auto first = std::find(nest.loops.begin(), nest.loops.end(), outermost);
    for (auto it = first; it != nest.loops.end(); ++it) TakeLoop(*it);
    if (!scan_loop_) Refuse("the scan runs along none of the loops that are split");
    DataType dtype = scan.var.dtype();
    Expr size = ir::MakeConst(dtype, factor);
    parts_ = arith::Analyzer().Simplify(ir::CeilDiv(scan.extent, size));
    part_loop_ = Var(scan_loop_->var.name() + "_p", dtype);
    step_loop_ = Var(scan_loop_->var.name() + "_r", dtype);
    part_ = Var(scan.var.name() + "_p", dtype);
    step_ = Var(scan.var.name() + "_r", dtype);
    Expr at = Expr(part_) * size + step_;
    ir::VarMap here = {{scan.var.node(), at}};
    value_ = ir::Substitute(update.value, here);
    for (const Expr& index : update.indices) indices_.push_back(ir::Substitute(index, here));
    SplitPredicate(scan, here);
    // Nobody asks for the total of the last part.
    has_whole_parts_ = !inside_.get();
    whole_parts_ =
        has_whole_parts_ ? arith::Analyzer().Simplify(ir::FloorDiv(scan.extent, size)) : parts_;
    std::optional<int64_t> extent = ir::AsConstInt(scan.extent);
    if (!extent || *extent % factor != 0) inside_ = And(at < scan.extent, inside_);
    nothing_ = IdentityOf(update.op, update.result->dtype);
    start_ = ir::Substitute(update.start, {{scan.var.node(), ir::MakeConst(dtype, 0)}});
  }

  bool conditional() const { return elsewhere_.get() != nullptr; }
  bool has_tail() const { return inside_.get() != nullptr; }

  // A buffer over the axes of the loops, and parts; also over the steps of a part.
  Buffer Make(const std::string& name, StorageScope scope, bool with_steps) const {
    return Make(name, scope, parts_, with_steps);
  }
  // The same of whole parts alone.
  Buffer MakeOfWholeParts(const std::string& name, StorageScope scope) const {
    return Make(name, scope, whole_parts_, false);
  }

  // ---- The blocks, each in its loops

  // totals[p] = values of the part, combined.
  Stmt Totals(const std::string& name, const Buffer& totals, const Expr& value) const {
    Stmt body = BufferStoreNode::Make(totals, At(part_),
                                      CombineValues(update_.op, Load(totals, At(part_)), value));
    Stmt init = BufferStoreNode::Make(totals, At(part_), nothing_);
    return Block(name, IterKind::kSpatial, IterKind::kReduce, Steps(), init, body, {},
                 totals->shape.back());
  }
  // The value of a step of a whole part.
  Expr ValueOfWhole() const { return has_whole_parts_ ? value_ : ValueInside(); }
  // The value of a step, where there is one.
  Expr ValueInside() const {
    return inside_ ? ir::SelectNode::Make(inside_, value_, nothing_) : value_;
  }

  // The scan of the totals before each part.
  Stmt CarriesByScan(const std::string& name, const Buffer& carries, const Buffer& totals) const {
    Expr one = ir::MakeConst(part_.dtype(), 1), zero = ir::MakeConst(part_.dtype(), 0);
    Expr before = Expr(part_) - one;
    Expr total =
        ir::SelectNode::Make(ir::GTNode::Make(part_, zero), Load(totals, At(before)), nothing_);
    Expr carry =
        ir::SelectNode::Make(ir::GTNode::Make(part_, zero), Load(carries, At(before)), start_);
    Stmt body = BufferStoreNode::Make(carries, At(part_), CombineValues(update_.op, total, carry));
    return Block(name, IterKind::kScan, {}, {}, {}, body);
  }
  // Each of them from all totals before it.
  Stmt CarriesByReduction(const std::string& name, const Buffer& carries,
                          const Buffer& totals) const {
    Expr total = ir::SelectNode::Make(Expr(step_) < Expr(part_), Load(totals, At(step_)), nothing_);
    Stmt body = BufferStoreNode::Make(carries, At(part_),
                                      CombineValues(update_.op, Load(carries, At(part_)), total));
    Stmt init = BufferStoreNode::Make(carries, At(part_), start_);
    return Block(name, IterKind::kSpatial, IterKind::kReduce, parts_, init, body);
  }

  // The parts, where the results are.
  Stmt Results(const Buffer& carries) const {
    Expr one = ir::MakeConst(step_.dtype(), 1);
    std::vector<Expr> before;
    for (const Expr& index : indices_)
      before.push_back(
          arith::Analyzer().Simplify(ir::Substitute(index, {{step_.node(), Expr(step_) - one}})));
    Stmt body = BufferStoreNode::Make(
        update_.result, indices_,
        CombineValues(update_.op, value_,
                      Carried(Load(update_.result, before), Load(carries, At(part_)))));
    return Block(block_->name, IterKind::kSpatial, IterKind::kScan, Steps(), {}, body, inside_);
  }
  // The parts in memory of their own.
  Stmt Values(const std::string& name, const Buffer& values) const {
    Stmt body = BufferStoreNode::Make(values, At(part_, step_), ValueInside());
    return Block(name, IterKind::kSpatial, IterKind::kSpatial, Steps(), {}, body);
  }
  Stmt Parts(const std::string& name, const Buffer& values, const Buffer& carries) const {
    Expr before = Load(values, At(part_, Expr(step_) - ir::MakeConst(step_.dtype(), 1)));
    Stmt body = BufferStoreNode::Make(values, At(part_, step_),
                                      CombineValues(update_.op, Load(values, At(part_, step_)),
                                                    Carried(before, Load(carries, At(part_)))));
    return Block(name, IterKind::kSpatial, IterKind::kScan, Steps(), {}, body);
  }
  Stmt Copy(const Buffer& values) const {
    Stmt body = BufferStoreNode::Make(update_.result, indices_, Load(values, At(part_, step_)));
    return Block(block_->name, IterKind::kSpatial, IterKind::kSpatial, Steps(), {}, body, inside_);
  }
  Expr Load(const Buffer& buffer, std::vector<Expr> at) const {
    return ir::BufferLoadNode::Make(buffer, std::move(at));
  }
  std::vector<Expr> At(const Expr& part, const Expr& step = {}) const {
    std::vector<Expr> at;
    for (const BlockIter* iter : axes_) at.push_back(iter->var);
    at.push_back(part);
    if (step) at.push_back(step);
    return at;
  }
  Expr step() const { return step_; }
  Expr part() const { return part_; }

 private:
  Buffer Make(const std::string& name, StorageScope scope, const Expr& parts,
              bool with_steps) const {
    std::vector<Expr> shape;
    for (const BlockIter* iter : axes_) shape.push_back(iter->extent);
    shape.push_back(parts);
    if (with_steps) shape.push_back(Steps());
    return BufferNode::Make(name, update_.result->dtype, shape, {}, scope);
  }
  Expr Steps() const { return ir::MakeConst(step_.dtype(), factor_); }
  Expr Carried(const Expr& before, const Expr& carry) const {
    return ir::SelectNode::Make(ir::GTNode::Make(step_, ir::MakeConst(step_.dtype(), 0)), before,
                                carry);
  }

  // A loop is that of one axis, over all of it.
  void TakeLoop(const ForNode* loop) {
    const BlockIter* own = nullptr;
    for (const BlockIter& iter : block_->iters) {
      if (!ir::UsesVar(iter.binding, loop->var.node())) continue;
      if (own || iter.binding.get() != loop->var.get() || !ir::IsConst(loop->min, 0) ||
          !ir::StructuralEqual(arith::Analyzer().Simplify(iter.extent),
                               arith::Analyzer().Simplify(loop->extent)))
        Refuse("loop " + loop->var.name() + " is not that of one axis");
      own = &iter;
    }
    if (!own) Refuse("loop " + loop->var.name() + " is that of no axis");
    if (loop->for_kind != ForKind::kSerial)
      Refuse("loop " + loop->var.name() + " is " + ForKindName(loop->for_kind) + " already");
    if (own == &block_->iters[update_.axis]) {
      scan_loop_ = loop;
    } else {
      loops_.push_back(loop);
      axes_.push_back(own);
    }
  }

  // The condition, as far as it is on the scan: it cuts off a tail.
  void SplitPredicate(const BlockIter& scan, const ir::VarMap& here) {
    for (const Expr& part : Conjuncts(block_->predicate)) {
      bool on_scan =
          ir::UsesVar(part, scan.var.node()) || ir::UsesVar(part, scan_loop_->var.node());
      if (!on_scan) {
        elsewhere_ = And(elsewhere_, part);
        continue;
      }
      const auto* less = part.As<ir::LTNode>();
      auto linear = less && arith::IsIndexType(less->a.dtype())
                        ? arith::AsLinear(less->a, scan.var.node())
                        : std::nullopt;
      if (!linear || linear->coefficient < 0 || ir::UsesVar(less->b, scan.var.node()) ||
          ir::UsesVar(part, scan_loop_->var.node()))
        Refuse("the predicate of block " + block_->name + " may leave out a step between others");
      inside_ = And(inside_, ir::Substitute(part, here));
    }
  }

  Stmt Block(const std::string& name, IterKind part, std::optional<IterKind> step,
             const Expr& steps, const Stmt& init, const Stmt& body, const Expr& predicate = {},
             const Expr& count = {}) const {
    Expr parts = count ? count : parts_;
    auto block = CopyBlock(block_);
    block->name = name;
    block->init = init;
    block->body = body;
    block->predicate = And(elsewhere_, predicate);
    block->iters.erase(block->iters.begin() + static_cast<std::ptrdiff_t>(update_.axis));
    block->iters.push_back({parts, part_loop_, part_, part});
    Stmt stmt = Stmt(block);
    if (step) {
      block->iters.push_back({steps, step_loop_, step_, *step});
      stmt = ForNode::Make(step_loop_, ir::MakeConst(step_loop_.dtype(), 0), steps,
                           ForKind::kSerial, stmt, "", scan_loop_->span);
    }
    stmt = ForNode::Make(part_loop_, ir::MakeConst(part_loop_.dtype(), 0), parts, ForKind::kSerial,
                         stmt, "", scan_loop_->span);
    return CopyWithFreshDefs(WrapLoops(loops_, stmt));
  }

  const Nest& nest_;
  const ScanUpdate& update_;
  const BlockNode* block_;
  int64_t factor_;
  std::vector<const ForNode*> loops_;   // but for that of the scan
  std::vector<const BlockIter*> axes_;  // theirs
  const ForNode* scan_loop_ = nullptr;
  Expr parts_, whole_parts_;  // how many
  bool has_whole_parts_ = false;
  Var part_loop_, step_loop_, part_, step_;
  Expr value_, nothing_, start_;
  std::vector<Expr> indices_;  // of the result
  Expr inside_, elsewhere_;    // on the steps, and other conditions
};

}  // namespace

CopyRefs Schedule::SplitScan(const BlockRef& block_ref, const LoopRef& loop_ref, int64_t factor,
                             Names names) {
  return Do("split_scan", {TextOf(block_ref), TextOf(loop_ref), std::to_string(factor)},
            [&] { return DoSplitScan(block_ref, loop_ref, factor, {}, names); });
}

CopyRefs Schedule::SplitScan(const BlockRef& block_ref, const LoopRef& loop_ref, int64_t factor,
                             StorageScope scope, Names names) {
  return Do("split_scan",
            {TextOf(block_ref), TextOf(loop_ref), std::to_string(factor), StorageScopeName(scope)},
            [&] { return DoSplitScan(block_ref, loop_ref, factor, scope, names); });
}

CopyRefs Schedule::DoSplitScan(const BlockRef& block_ref, const LoopRef& loop_ref, int64_t factor,
                               std::optional<StorageScope> scope, Names names) {
  const BlockNode* block = At(block_ref);
  const ForNode* loop = At(loop_ref);
  CheckFactor("the number of steps of a part", factor);
  std::optional<ScanUpdate> update = FindScanUpdate(block);
  if (!update)
    Refuse("block " + block_ref.name() +
           " is no scan: Y[v] = x op select(v > 0, Y[v - 1], start), with op one of +, *, min, "
           "max, && and ||");
  Nest nest = NestOf(tree(), block);
  if (!nest.Has(loop))
    Refuse("loop " + loop_ref.str() + " is not one of block " + block_ref.name() + " alone");
  if (!FactsOf(block).affine)
    Refuse("it cannot be proven that each instance of block " + block_ref.name() + " runs once");
  CheckMayReassociate(block, "parts are combined");
  const std::vector<const char*> suffixes =
      scope ? std::vector{"_values", "_totals", "_carries", "_parts"}
            : std::vector{"_totals", "_carries"};
  if (names.size() > suffixes.size())
    Refuse("it gives names to " + std::to_string(suffixes.size()) + " blocks");
  for (size_t i = names.size(); i < suffixes.size(); ++i)
    names.push_back(block_ref.name() + suffixes[i]);
  for (const std::string& name : names) CheckNewBlock(name);
  for (size_t i = 0; i < names.size() && i < 3; ++i) CheckNewBuffer(names[i]);

  ScanSplitter split(nest, loop, *update, factor);
  StorageScope memory = scope.value_or(StorageScope::kGlobal);
  size_t first = scope ? 1 : 0;
  Buffer totals = scope ? split.Make(names[first], memory, false)
                        : split.MakeOfWholeParts(names[first], memory),
         carries = split.Make(names[first + 1], memory, false);
  std::vector<Stmt> row;
  std::vector<Buffer> buffers = {totals, carries};
  if (scope) {
    Buffer values = split.Make(names[0], memory, true);
    buffers.push_back(values);
    Expr value = split.Load(values, split.At(split.part(), split.step()));
    row = {split.Values(names[0], values), split.Totals(names[1], totals, value),
           split.CarriesByReduction(names[2], carries, totals),
           split.Parts(names[3], values, carries), split.Copy(values)};
  } else {
    row = {split.Totals(names[0], totals, split.ValueOfWhole()),
           split.CarriesByScan(names[1], carries, totals), split.Results(carries)};
  }
  SetBody(ReplaceByRow(tree(), loop, std::move(row), buffers));
  bool all = !split.conditional();
  for (const std::string& name : names) SetFacts(name, {true, all, all});
  SetFacts(block_ref.name(), {true, all && !split.has_tail(), all && !split.has_tail()});
  return MadeAs(names);
}

}  // namespace tern::schedule
