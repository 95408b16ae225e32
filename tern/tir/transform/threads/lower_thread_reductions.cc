// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/lower_thread_reductions.h"

#include <algorithm>
#include <map>
#include <set>

#include "tern/arith/analyzer.h"
#include "tern/arith/inline_limit.h"
#include "tern/arith/linear.h"
#include "tern/ir/diagnostic.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/structural.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/conjuncts.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/analysis/reduction_step.h"
#include "tern/tir/analysis/warp_size.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/threads/insert_barriers.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

using ir::ExprKind;

template <class F>
bool AnyExpr(const Expr& expr, F&& holds) {
  bool found = false;
  ir::ForEachExpr(expr, [&](const Expr& e) { found |= holds(e); });
  return found;
}

std::optional<ReductionStep> FindStep(const Stmt& body) {
  if (std::optional<ReductionUpdate> update = FindReductionUpdate(body))
    return ReductionStep(*update);
  if (std::optional<SelectionUpdate> update = FindSelectionUpdate(body))
    return ReductionStep(*update);
  return {};
}

class KernelLowerer : public StmtMutator {
 public:
  KernelLowerer(const ForNode* kernel, const PrimFunc& function)
      : shape_(FindKernelShape(kernel)), function_(function) {
    for (const ForNode* loop : shape_.loops)
      extents_[ThreadAxisNumber(loop->thread)] = arith::Analyzer().Simplify(loop->extent);
    struct Reads : StmtVisitor {
      using StmtVisitor::VisitNode;
      void VisitNode(const ir::BufferLoadNode* load) override {
        read.insert(load->buffer->data.node());
        VisitChildren(load);
      }
      std::set<const VarNode*> read;
    } reads;
    reads.Visit(kernel->body);
    read_ = std::move(reads.read);
  }
  bool is_needed() const {
    return std::any_of(shape_.reductions.begin(), shape_.reductions.end(),
                       [](const auto& entry) { return !entry.second.is_virtual; });
  }
  using StmtMutator::Mutate;

 private:
  using StmtMutator::MutateNode;

  // The loops around a block that only it is in, and what the block needs of them.
  struct Region {
    std::vector<const ForNode*> loops, threads;
    const BlockNode* block = nullptr;
  };

  [[noreturn]] static void Refuse(const BlockNode* block, const std::string& why) {
    TERN_THROW(ValueError) << ir::At(block->span) << "block " << block->name
                           << " is reduced along threads, but " << why;
  }

  // ---- finding what to lower

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    bool is_thread = node->for_kind == ForKind::kThread && !IsVirtualThread(node);
    Region region;
    Stmt at = self;
    for (const auto* loop = at.As<ForNode>(); loop; loop = at.As<ForNode>()) {
      bool bound = loop->for_kind == ForKind::kThread && !IsVirtualThread(loop);
      (bound ? region.threads : region.loops).push_back(loop);
      at = loop->body;
    }
    region.block = at.As<BlockNode>();
    if (region.block && IsAlongThreads(region.block) && AreReductionLoops(region))
      return Lower(region);
    if (is_thread) {
      const ForNode*& bound = threads_[ThreadAxisNumber(node->thread)];
      const ForNode* outer = std::exchange(bound, node);
      Stmt result = MutateChildren(node, self);
      bound = outer;
      return result;
    }
    int outer = std::exchange(
        divergent_, divergent_ || DependsOnThread(node->extent) || DependsOnThread(node->min));
    Stmt result = MutateChildren(node, self);
    divergent_ = outer;
    return result;
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    return IsAlongThreads(node) ? Lower({{}, {}, node}) : OnFirstThread(node, self);
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    threads_around_[node->buffer->data.node()] = threads_;
    return MutateChildren(node, self);
  }
  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    if (arith::IsIndexType(node->value.dtype())) {
      Expr value = ir::Substitute(node->value, lets_);
      if (arith::MayInline(value))
        lets_[node->var.node()] = value;
      else if (DependsOnThread(value))
        dependent_.insert(node->var.node());
    }
    return MutateChildren(node, self);
  }
  Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
    int outer = std::exchange(divergent_, divergent_ || DependsOnThread(node->condition));
    Stmt result = MutateChildren(node, self);
    divergent_ = outer;
    return result;
  }

  bool IsAlongThreads(const BlockNode* block) const {
    auto it = shape_.reductions.find(block);
    return it != shape_.reductions.end() && !it->second.is_virtual;
  }

  bool DependsOnThread(const Expr& expr) const {
    return AnyExpr(ir::Substitute(expr, lets_), [&](const Expr& e) {
      if (dependent_.contains(e.As<VarNode>())) return true;
      return std::any_of(shape_.loops.begin(), shape_.loops.end(), [&](const ForNode* loop) {
        return loop->var.get() == e.get() && ThreadAxisNumber(loop->thread) < kNumThreadAxesOfBlock;
      });
    });
  }

  // Loops of one thread whose variables are in the reduction axes alone.
  bool AreReductionLoops(const Region& region) const {
    return std::all_of(region.loops.begin(), region.loops.end(), [&](const ForNode* loop) {
      bool serial = loop->for_kind == ForKind::kSerial || loop->for_kind == ForKind::kUnrolled ||
                    loop->for_kind == ForKind::kVectorized;
      bool spatial = std::any_of(
          region.block->iters.begin(), region.block->iters.end(), [&](const BlockIter& iter) {
            return iter.kind != IterKind::kReduce && ir::UsesVar(iter.binding, loop->var.node());
          });
      return serial && !spatial && ir::IsConst(loop->min, 0);
    });
  }

  // A block outside of the loops over an axis of threads would be run by each of them. Where all it
  // does is to store what nothing in the kernel reads, the first one does.
  Stmt OnFirstThread(const BlockNode* block, const Stmt& self) const {
    if (!OnlyStoresResults(block)) return self;
    Stmt result = self;
    for (int axis = 0; axis < kNumThreadAxesOfBlock; ++axis) {
      if (threads_[axis] || !extents_[axis] || ir::IsConst(extents_[axis], 1)) continue;
      const ForNode* loop =
          *std::find_if(shape_.loops.begin(), shape_.loops.end(),
                        [&](const ForNode* one) { return ThreadAxisNumber(one->thread) == axis; });
      Var var(loop->var.name(), loop->var.dtype(), block->span);
      result = IfThenElseNode::Make(var == ir::MakeConst(var.dtype(), 0), result, {}, block->span);
      result = ForNode::Make(var, loop->min, loop->extent, ForKind::kThread, result, loop->thread,
                             block->span);
    }
    return result;
  }
  bool OnlyStoresResults(const BlockNode* block) const {
    struct Effects : StmtVisitor {
      explicit Effects(const std::set<const VarNode*>& read) : read(read) {}
      using StmtVisitor::VisitNode;
      void VisitNode(const BufferStoreNode* store) override {
        only_stores &= OwnerOf(store->buffer->scope) == ScopeOwner::kGrid &&
                       !read.contains(store->buffer->data.node());
        VisitChildren(store);
      }
      void VisitNode(const ir::CallNode* call) override {
        only_stores &= ir::FindIntrinsic(call->name)->pure;
        VisitChildren(call);
      }
      void VisitNode(const EvaluateNode*) override { only_stores = false; }
      void VisitNode(const AssertNode*) override { only_stores = false; }
      void VisitNode(const AllocateNode*) override { only_stores = false; }
      const std::set<const VarNode*>& read;
      bool only_stores = true;
    } effects(read_);
    effects.Visit(block->body);
    return effects.only_stores && !block->init;
  }

  // ---- checking it

  // Which axes of threads the reduction runs along.
  std::vector<int> ReducedAxes(const Region& region) const {
    std::vector<int> axes;
    for (int axis = 0; axis < kNumThreadAxesOfBlock; ++axis) {
      const ForNode* loop = threads_[axis];
      bool reduced = loop && std::any_of(region.block->iters.begin(), region.block->iters.end(),
                                         [&](const BlockIter& iter) {
                                           return iter.kind == IterKind::kReduce &&
                                                  ir::UsesVar(Binding(iter), loop->var.node());
                                         });
      if (reduced) axes.push_back(axis);
    }
    return axes;
  }
  Expr Binding(const BlockIter& iter) const { return ir::Substitute(iter.binding, lets_); }

  int64_t ConstantExtent(int axis, const BlockNode* block) const {
    std::optional<int64_t> extent = extents_[axis] ? ir::AsConstInt(extents_[axis]) : std::nullopt;
    if (extents_[axis].get() && !extent)
      Refuse(block, std::string("the extent of ") + ThreadAxisName(axis) + " is not constant");
    return extent ? *extent : 1;
  }

  void Check(const Region& region, const std::vector<int>& axes,
             const ReductionStep& update) const {
    const BlockNode* block = region.block;
    for (int axis = 0; axis < kNumThreadAxesOfBlock; ++axis)
      if (!threads_[axis] && ConstantExtent(axis, block) > 1)
        Refuse(block, std::string("it is outside of the loops over ") + ThreadAxisName(axis) +
                          ", so that every thread on that axis would run all of it");
    if (divergent_) Refuse(block, "it stands where not all threads of a block come");
    // The axes are at 0 in the first iteration of the first thread, and in no other.
    for (const BlockIter& iter : Unfused(block)) {
      Expr binding = iter.binding;
      std::vector<const ForNode*> loops = region.loops;
      for (int axis : axes) loops.push_back(threads_[axis]);
      for (const ForNode* loop : loops) {
        auto linear = arith::AsLinear(binding, loop->var.node());
        bool grows = linear && linear->coefficient >= (iter.kind == IterKind::kReduce ? 0 : 1);
        if (iter.kind != IterKind::kReduce && ir::UsesVar(binding, loop->var.node()))
          Refuse(block, "its axis " + iter.var.name() +
                            " runs along the same loop as the reduction, " + loop->var.name());
        if (iter.kind == IterKind::kReduce && !grows)
          Refuse(block, "its axis " + iter.var.name() + " does not grow linearly with " +
                            loop->var.name());
        if (linear) binding = linear->rest;
      }
    }
    for (size_t i = 0; i < update.results.size(); ++i) {
      CheckResult(block, update, update.results[i], update.indices[i]);
      CheckOwner(block, axes, update.results[i], IsOfThreads(update));
    }
    CheckOrder(block, axes, update);
  }
  // Whether every thread has results of its own.
  static bool IsOfThreads(const ReductionStep& update) {
    return OwnerOf(update.results[0]->scope) == ScopeOwner::kThread;
  }
  // One result that threads have their own copies of is allocated around their loops.
  void CheckOwner(const BlockNode* block, const std::vector<int>& axes, const Buffer& result,
                  bool of_threads) const {
    bool is_own = OwnerOf(result->scope) == ScopeOwner::kThread;
    auto around = threads_around_.find(result->data.node());
    bool is_inside = around != threads_around_.end() &&
                     std::any_of(axes.begin(), axes.end(),
                                 [&](int axis) { return around->second[axis] != nullptr; });
    if (is_own && is_inside)
      Refuse(block, result->name + " is " + StorageScopeName(result->scope) +
                        " memory, of which every thread has its own");
    if (is_own != of_threads)
      Refuse(block, "of its results some are memory of a thread, and others are not");
  }
  static void CheckResult(const BlockNode* block, const ReductionStep& update, const Buffer& result,
                          const std::vector<Expr>& indices) {
    for (const Expr& value : update.values)
      if (AnyExpr(value, [&](const Expr& e) {
            const auto* load = e.As<ir::BufferLoadNode>();
            return load && load->buffer->data.same(result->data);
          }))
        Refuse(block, "it reads " + result->name + " beside the element that it updates");
    for (const Expr& index : indices)
      if (AnyExpr(index, [&](const Expr& e) { return IsReduced(e, block, update); }))
        Refuse(block,
               "the place of the result in " + result->name + " depends on a reduction axis");
  }
  void CheckOrder(const BlockNode* block, const std::vector<int>& axes,
                  const ReductionStep& update) const {
    if (update.selection) {
      if (update.selection->is_ordered())
        Refuse(block,
               "which of equal values it takes depends on the order of its steps; it has to "
               "compare their indices too, as the step break_ties makes it do");
      if (update.selection->order == SelectionUpdate::Order::kAny) return;
    }
    for (const Buffer& result : update.results)
      if (result->dtype.is_float() && !MayReassociate(axes))
        Refuse(block,
               "that computes with " + result->dtype.str() +
                   " in another order than written; if that is meant, say attrs {reassociate = "
                   "true} on the function or on the thread loop");
  }
  // The axes with what they are bound to. Of two reduction axes bound to x // m and x % m, as those
  // of fused loops are, one is left, bound to x: it is 0 where both are.
  std::vector<BlockIter> Unfused(const BlockNode* block) const {
    std::vector<BlockIter> iters;
    for (BlockIter iter : block->iters) {
      iter.binding = Binding(iter);
      iters.push_back(iter);
    }
    auto joins = [](const BlockIter& high, const BlockIter& low) {
      const auto* quotient = high.binding.As<ir::FloorDivNode>();
      const auto* rest = low.binding.As<ir::FloorModNode>();
      return high.kind == IterKind::kReduce && low.kind == IterKind::kReduce && quotient && rest &&
             ir::StructuralEqual(quotient->a, rest->a) && ir::StructuralEqual(quotient->b, rest->b);
    };
    for (size_t i = 0; i < iters.size(); ++i)
      for (size_t j = 0; j < iters.size(); ++j) {
        if (i == j || !joins(iters[i], iters[j])) continue;
        iters[i].binding = iters[i].binding.As<ir::FloorDivNode>()->a;
        iters.erase(iters.begin() + static_cast<std::ptrdiff_t>(j));
        i = static_cast<size_t>(-1);  // again, from the first
        break;
      }
    return iters;
  }
  static bool IsReduced(const Expr& expr, const BlockNode* block, const ReductionStep& update) {
    for (const BlockIter& iter : block->iters)
      if (iter.kind == IterKind::kReduce && iter.var.get() == expr.get()) return true;
    if (!update.plain) return false;
    return std::any_of(update.plain->lets.begin(), update.plain->lets.end(),
                       [&](const LetStmtNode* let) { return let->var.get() == expr.get(); });
  }
  bool MayReassociate(const std::vector<int>& axes) const {
    auto says = [](const ir::Attrs& attrs) {
      auto it = attrs.find(attr::kReassociate);
      return it != attrs.end() && it->second.As<bool>();
    };
    return says(function_->attrs) || std::any_of(axes.begin(), axes.end(), [&](int axis) {
             return says(threads_[axis]->annotations);
           });
  }

  // ---- lowering it

  Stmt Lower(Region region) {
    auto outer = threads_;
    for (const ForNode* loop : region.threads) threads_[ThreadAxisNumber(loop->thread)] = loop;
    const BlockNode* block = region.block;
    std::optional<ReductionStep> update = FindStep(block->body);
    if (!update)
      Refuse(block,
             "its body is no update that can be combined; supported are S = S op f and S = f op S "
             "with op one of +, *, min, max, && and ||, behind definitions (let), and several "
             "results that the better of two candidates replaces");
    std::vector<int> axes = ReducedAxes(region);
    Check(region, axes, *update);
    Stmt result = LowerChecked(region, axes, *update);
    for (size_t i = region.threads.size(); i-- > 0;) {
      auto loop = ffi::Make<ForNode>(*region.threads[i]);
      loop->body = result;
      result = loop;
    }
    threads_ = outer;
    return result;
  }

  // Sums and products of integers wrap: whatever the parts are, the whole is right.
  static DataType PartType(ExprKind op, DataType dtype) {
    bool wraps = (op == ExprKind::kAdd || op == ExprKind::kMul) && dtype.is_int();
    return wraps ? DataType::UInt(dtype.bits()) : dtype;
  }
  static Expr And(const Expr& a, const Expr& b) { return !a.get() ? b : !b.get() ? a : a && b; }
  static Expr Convert(DataType dtype, const Expr& expr) {
    return expr.dtype() == dtype ? expr : ir::CastNode::Make(dtype, expr, expr.span());
  }

  // The linear index over some axes of threads, the first fastest.
  Expr IndexOver(const std::vector<int>& axes, const BlockNode* block) const {
    Expr index = 0;
    int64_t step = 1;
    for (int axis : axes) {
      index = index + Convert(DataType::Int(64), threads_[axis]->var) * Expr(step);
      step *= ConstantExtent(axis, block);
    }
    return arith::Analyzer().Simplify(index);
  }

  // targets[at] combined with others.
  static Stmt Merge(const ReductionStep& update, const std::vector<Buffer>& targets,
                    const std::vector<Expr>& at, const std::vector<Expr>& others) {
    return update.Combine(targets, std::vector(targets.size(), at), others);
  }
  static std::vector<Expr> Load(const std::vector<Buffer>& buffers, const std::vector<Expr>& at) {
    std::vector<Expr> loads;
    for (const Buffer& buffer : buffers)
      loads.push_back(ir::BufferLoadNode::Make(buffer, at, buffer->span));
    return loads;
  }
  static void Store(const std::vector<Buffer>& buffers, const std::vector<Expr>& at,
                    const std::vector<Expr>& values, std::vector<Stmt>* stmts) {
    for (size_t i = 0; i < buffers.size(); ++i)
      stmts->push_back(BufferStoreNode::Make(buffers[i], at, values[i], buffers[i]->span));
  }
  static Stmt Allocate(const std::vector<Buffer>& buffers, Stmt body) {
    for (const Buffer& buffer : buffers) body = AllocateNode::Make(buffer, body, buffer->span);
    return body;
  }
  // A buffer for each result. Those of a reduction with one result have no name in theirs.
  static std::vector<Buffer> MakeBuffers(const Region& region, const ReductionStep& update,
                                         const char* suffix, const std::vector<Expr>& shape,
                                         StorageScope scope) {
    std::vector<Buffer> buffers;
    for (const Buffer& result : update.results) {
      DataType dtype = update.plain ? PartType(update.plain->op, result->dtype) : result->dtype;
      std::string name = region.block->name + (update.plain ? "" : "_" + result->name) + suffix;
      buffers.push_back(
          ir::BufferNode::Make(name, dtype, shape, {}, scope, {}, region.block->span));
    }
    return buffers;
  }

  Stmt LowerChecked(const Region& region, const std::vector<int>& axes,
                    const ReductionStep& update) {
    const BlockNode* block = region.block;
    const Span& span = block->span;
    std::vector<Buffer> parts = MakeBuffers(region, update, "_part", {1}, StorageScope::kLocal);
    ir::VarMap bindings;
    for (const BlockIter& iter : block->iters) bindings[iter.var.node()] = iter.binding;

    Stmt accumulate = Accumulate(update, parts, span);
    if (block->predicate) accumulate = IfThenElseNode::Make(block->predicate, accumulate, {}, span);
    accumulate = Substitute(accumulate, bindings);
    for (size_t i = region.loops.size(); i-- > 0;) {
      auto loop = ffi::Make<ForNode>(*region.loops[i]);
      loop->body = accumulate;
      accumulate = loop;
    }
    std::vector<Stmt> stmts{Begin(region, axes, update, parts), accumulate};
    return Allocate(parts, Combine(region, axes, update, parts, &stmts));
  }

  // One step, of a thread's own results.
  static Stmt Accumulate(const ReductionStep& update, const std::vector<Buffer>& parts,
                         const Span& span) {
    if (update.plain) {
      Stmt step = Merge(update, parts, {0}, {Convert(parts[0]->dtype, update.values[0])});
      const std::vector<const LetStmtNode*>& lets = update.plain->lets;
      for (size_t i = lets.size(); i-- > 0;)
        step = LetStmtNode::Make(lets[i]->var, lets[i]->value, step, span);
      return step;
    }
    const std::vector<Var>& next = update.selection->next;
    Stmt step = Merge(update, parts, {0}, {next.begin(), next.end()});
    for (size_t i = next.size(); i-- > 0;)
      step = LetStmtNode::Make(next[i], update.values[i], step, span);
    return step;
  }

  // A thread's results before its first step: a selection begins as the whole does, which takes
  // part in every comparison as it is.
  Stmt Begin(const Region& region, const std::vector<int>& axes, const ReductionStep& update,
             const std::vector<Buffer>& parts) const {
    if (update.plain) {
      Expr nothing = IdentityOf(update.plain->op, parts[0]->dtype);
      return BufferStoreNode::Make(parts[0], {0}, nothing, region.block->span);
    }
    std::vector<Expr> values = StoredValues(region.block->init, update.results);
    if (values.empty())
      Refuse(region.block, "its init does not store one value to each of its results");
    ir::VarMap bindings = AtStart(region, axes).axes;
    std::vector<Stmt> stmts;
    for (Expr& value : values) value = ir::Substitute(value, bindings);
    Store(parts, {0}, values, &stmts);
    return SeqNode::Make(std::move(stmts), region.block->span);
  }

  // `stmts`, then the parts of all threads combined, then the update of the results.
  Stmt Combine(const Region& region, const std::vector<int>& axes, const ReductionStep& update,
               const std::vector<Buffer>& parts, std::vector<Stmt>* stmts) {
    const BlockNode* block = region.block;
    const Span& span = block->span;
    int64_t count = 1, others = 1;
    std::vector<int> other_axes;
    for (int axis = 0; axis < kNumThreadAxesOfBlock; ++axis) {
      bool reduced = std::count(axes.begin(), axes.end(), axis) > 0;
      (reduced ? count : others) *= ConstantExtent(axis, block);
      if (!reduced && threads_[axis]) other_axes.push_back(axis);
    }
    Expr index = IndexOver(axes, block), group = IndexOver(other_axes, block);

    // Lanes that follow each other combine their parts first.
    int64_t lanes = LanesInARow(axes, other_axes, count, block);
    std::vector<Buffer> received;
    if (update.selection && lanes > 1)
      received = MakeBuffers(region, update, "_other", {1}, StorageScope::kLocal);
    AddShuffles(lanes, update, parts, received, stmts);
    int64_t length = count / lanes;
    if (length == 1) {
      stmts->push_back(WriteResult(region, axes, update, Load(parts, {0}), index));
      return Allocate(received, SeqNode::Make(*stmts, span));
    }

    std::vector<Buffer> shared =
        MakeBuffers(region, update, "_shared", {Expr(length), Expr(others)}, StorageScope::kShared);
    // Threads of one step are of one row, on different banks, where others are of another result.
    Expr place = lanes == 1 ? index : ir::FloorDiv(index, lanes);
    std::vector<Stmt> put;
    Store(shared, {place, group}, Load(parts, {0}), &put);
    Stmt publish = SeqNode::Make(std::move(put), span);
    if (lanes > 1)
      publish = IfThenElseNode::Make(ir::FloorMod(index, lanes) == Expr(0), publish, {}, span);
    stmts->push_back(publish);
    // The parts of warps that are no more than lanes are combined by every warp, at once.
    if (lanes > 1 && (length & (length - 1)) == 0 && length <= lanes) {
      Store(parts, {0}, Load(shared, {ir::FloorMod(index, Expr(length)), group}), stmts);
      AddShuffles(length, update, parts, received, stmts);
      stmts->push_back(WriteResult(region, axes, update, Load(parts, {0}), index));
      return Allocate(received, Allocate(shared, SeqNode::Make(*stmts, span)));
    }
    for (int64_t rest = length; rest > 1;) {
      int64_t half = 1;
      while (half * 2 < rest) half *= 2;
      Stmt step = Merge(update, shared, {index, group}, Load(shared, {index + Expr(half), group}));
      stmts->push_back(IfThenElseNode::Make(index < Expr(rest - half), step, {}, span));
      rest = half;
    }
    stmts->push_back(WriteResult(region, axes, update, Load(shared, {0, group}), index));
    return Allocate(received, Allocate(shared, SeqNode::Make(*stmts, span)));
  }

  // Each of so many lanes in a row gets what all of them have, combined. All lanes exchange all
  // results of a selection before any compares: `received` is for those of the other lane.
  static void AddShuffles(int64_t lanes, const ReductionStep& update,
                          const std::vector<Buffer>& parts, const std::vector<Buffer>& received,
                          std::vector<Stmt>* stmts) {
    for (int64_t step = lanes / 2; step > 0; step /= 2) {
      std::vector<Expr> others;
      for (const Expr& own : Load(parts, {0}))
        others.push_back(ir::CallNode::Make(intrinsic::kWarpShuffleXor, {own, Expr(step)},
                                            DataType::Void(), own.span()));
      if (update.selection) {
        Store(received, {0}, others, stmts);
        others = Load(received, {0});
      }
      stmts->push_back(Merge(update, parts, {0}, others));
    }
  }

  // How many threads of the reduction can combine by shuffles: a power of two, the same number in
  // each warp.
  int64_t LanesInARow(const std::vector<int>& axes, const std::vector<int>& others, int64_t count,
                      const BlockNode* block) const {
    // The target has warps; where there is none, the function says so.
    auto target = function_->attrs.find(attr::kTarget);
    bool has_warps = target == function_->attrs.end()
                         ? function_->attrs.count(attr::kWarpSize) > 0
                         : target::WarpSize(target->second.As<target::Target>()) > 0;
    if (!has_warps) return 1;
    // The axes of the reduction change faster than all others.
    for (int other : others)
      if (other < axes.back() && ConstantExtent(other, block) > 1) return 1;
    int64_t size = WarpSizeOf(function_);
    if (count % size == 0) return size;
    return size % count == 0 ? count : 1;
  }

  // Where the reduction starts: values of loops, of the axes, and whether the axes are at 0 there.
  struct Start {
    ir::VarMap loops, axes;
    Expr is_first;
  };
  Start AtStart(const Region& region, const std::vector<int>& axes) const {
    Start start;
    for (const ForNode* loop : region.loops) start.loops[loop->var.node()] = loop->min;
    for (int axis : axes)
      start.loops[threads_[axis]->var.node()] = ir::MakeConst(threads_[axis]->var.dtype(), 0);
    for (const BlockIter& iter : region.block->iters) {
      Expr value = ir::Substitute(Binding(iter), start.loops);
      start.axes[iter.var.node()] = value;
      if (iter.kind != IterKind::kReduce) continue;
      Expr at_start = value == ir::MakeConst(value.dtype(), 0);
      start.is_first = start.is_first ? start.is_first && at_start : at_start;
    }
    return start;
  }

  // One thread updates the results, or each of them its own; the init comes first where this is the
  // start of the reduction.
  Stmt WriteResult(const Region& region, const std::vector<int>& axes, const ReductionStep& update,
                   const std::vector<Expr>& totals, const Expr& index) const {
    const BlockNode* block = region.block;
    const Span& span = block->span;
    Start start = AtStart(region, axes);
    // Conditions on steps do not keep the result from being initialised.
    Expr predicate = block->predicate ? ir::Substitute(block->predicate, lets_) : block->predicate;
    predicate = KeepConjuncts(predicate, [&](const Expr& part) {
      return !AnyExpr(part, [&](const Expr& e) {
        return IsReduced(e, block, update) || start.loops.count(e.As<VarNode>());
      });
    });
    if (predicate) predicate = ir::Substitute(ir::Substitute(predicate, start.axes), start.loops);

    std::vector<std::vector<Expr>> indices;
    for (const auto& of_result : update.indices) {
      auto& at = indices.emplace_back();
      for (const Expr& i : of_result) at.push_back(ir::Substitute(i, start.axes));
    }
    Stmt write = update.plain ? WritePlain(update, indices[0], totals[0], span)
                              : KeepBetter(*update.selection, update.results, indices, totals);
    if (block->init) {
      Stmt init = Substitute(block->init, start.axes);
      Expr first = arith::Analyzer().Simplify(start.is_first);
      if (!ir::IsConst(first, 1)) init = IfThenElseNode::Make(first, init, {}, span);
      write = SeqNode::Make({init, write}, span);
    }
    Expr first = IsOfThreads(update) ? Expr() : index == Expr(0), who = And(first, predicate);
    return who.get() ? IfThenElseNode::Make(who, write, {}, span) : write;
  }
  static Stmt WritePlain(const ReductionStep& update, const std::vector<Expr>& indices,
                         const Expr& total, const Span& span) {
    const Buffer& result = update.results[0];
    Expr old = Convert(total.dtype(), ir::BufferLoadNode::Make(result, indices, span));
    return BufferStoreNode::Make(
        result, indices, Convert(result->dtype, CombineValues(update.plain->op, old, total)), span);
  }

  KernelShape shape_;
  PrimFunc function_;
  std::array<Expr, kNumThreadAxes> extents_;  // of the launch; null: not bound
  using ThreadLoops = std::array<const ForNode*, kNumThreadAxes>;
  ThreadLoops threads_{};                                 // the loops around
  std::map<const VarNode*, ThreadLoops> threads_around_;  // around the allocations of addresses
  std::set<const VarNode*> read_;                         // addresses, in the kernel
  ir::VarMap lets_;
  std::set<const VarNode*> dependent_;  // definitions too large to inline that depend on the thread
  bool divergent_ = false;              // not all threads may come here
};

class ThreadReductionLowerer : public StmtMutator {
 public:
  explicit ThreadReductionLowerer(const PrimFunc& function) : function_(function) {}
  bool changed = false;

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || IsVirtualThread(node))
      return MutateChildren(node, self);
    KernelLowerer lowerer(node, function_);
    if (!lowerer.is_needed()) return self;
    changed = true;
    return lowerer.Mutate(self);
  }
  PrimFunc function_;
};

}  // namespace

PrimFunc LowerThreadReductions(const PrimFunc& function) {
  ThreadReductionLowerer lowerer(function);
  PrimFunc lowered = lowerer.MutateFunction(function);
  return lowerer.changed ? InsertBarriers(lowered) : function;
}

}  // namespace tern::tir
