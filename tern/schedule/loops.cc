// SPDX-License-Identifier: Apache-2.0
//
// The steps that change loops and leave blocks where they are.
#include <algorithm>
#include <map>
#include <set>

#include "tern/ffi/text.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/reduction_nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/independent_iterations.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/analysis/reduction_update.h"
#include "tern/tir/atomics.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/text.h"
#include "tern/tir/transform/loops/vectorize_loops.h"
#include "tern/tir/transform/threads/pipeline_loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

std::string Called(const ForNode* loop) { return "loop " + loop->var.name(); }

void CheckSerial(const ForNode* loop, const char* advice = "") {
  if (loop->for_kind != ForKind::kSerial)
    Refuse(Called(loop) + " is " + ForKindName(loop->for_kind) + " already" + advice);
}

Expr Constant(const ForNode* loop, int64_t value) {
  return ir::IntImmNode::Make(loop->var.dtype(), value);
}

Schedule::Names Texts(const std::string& first, const std::vector<int64_t>& numbers) {
  Schedule::Names texts = {first};
  for (int64_t number : numbers) texts.push_back(std::to_string(number));
  return texts;
}

// The names given, or name_0, name_1, ...
Schedule::Names NamesOr(Schedule::Names names, const std::string& name, size_t count) {
  if (names.empty())
    for (size_t i = 0; i < count; ++i) names.push_back(name + "_" + std::to_string(i));
  if (names.size() != count)
    Refuse(std::to_string(count) + " loops come of it, not " + std::to_string(names.size()));
  return names;
}

// The loops from the outermost of the wanted ones down to the innermost of them.
std::vector<const ForNode*> FindNest(const StmtTree& tree,
                                     const std::vector<const ForNode*>& wanted) {
  std::vector<const ForNode*> nest;
  size_t missing = wanted.size();
  // The innermost has the longest path.
  Path path;
  for (const ForNode* loop : wanted)
    if (Path other = PathTo(tree, loop); other.size() > path.size()) path = std::move(other);
  for (; missing > 0 && !path.empty() && path.back()->kind == StmtKind::kFor; path.pop_back()) {
    nest.insert(nest.begin(), static_cast<const ForNode*>(path.back()));
    missing -= std::count(wanted.begin(), wanted.end(), nest.front());
  }
  if (missing > 0)
    Refuse(
        "the loops are not one nest: between two of them there is something else than a "
        "loop");
  return nest;
}

bool RangeUses(const ForNode* loop, const ForNode* outer) {
  return ir::UsesVar(loop->min, outer->var.node()) || ir::UsesVar(loop->extent, outer->var.node());
}

}  // namespace

const char* TailStrategyName(TailStrategy tail) {
  switch (tail) {
    case TailStrategy::kLoop:
      return "loop";
    case TailStrategy::kGuard:
      return "guard";
    case TailStrategy::kMask:
      return "mask";
    case TailStrategy::kExact:
      return "exact";
  }
  return "?";
}

namespace {

// A size that is not constant, in the type of the loop's variable: integers among the parameters
// and extents of tensors, and what is computed of them.
Expr SizeFor(const PrimFunc& function, const ForNode* loop, const std::string& what,
             const Expr& size) {
  if (!size.dtype().is_integer() || !size.dtype().is_scalar())
    Refuse(what + " " + Print(size) + " is " + size.dtype().str() + "; expected an integer");
  std::set<const VarNode*> known;
  for (const Param& param : function->params) {
    if (!param.is_tensor()) known.insert(param.var.node());
    if (param.is_tensor())
      for (const Expr& extent : param.buffer->shape) known.insert(extent.As<VarNode>());
  }
  ir::ForEachExpr(size, [&](const Expr& part) {
    const auto* var = part.As<VarNode>();
    if (var && !known.count(var))
      Refuse(what + " " + Print(size) + " depends on " + var->name +
             ", which is no integer among the parameters and no extent of one");
    ir::DispatchExpr(part.get(), [&]<class T>(const T* node) {
      bool evaluable = T::kKind != ExprKind::kBufferLoad && T::kKind != ExprKind::kCall;
      if constexpr (T::kKind >= ExprKind::kTruncDiv && T::kKind <= ExprKind::kFloorMod) {
        std::optional<int64_t> divisor = ir::AsConstInt(node->b);
        evaluable = divisor && *divisor > 0;
      }
      if (!evaluable)
        Refuse(what + " " + Print(size) +
               " reads memory, calls a function or divides by what is no positive constant");
    });
  });
  DataType dtype = loop->var.dtype();
  return size.dtype() == dtype ? size : ir::CastNode::Make(dtype, size);
}

// The factors of a split, checked, in the type of the loop's variable.
class FactorChecker {
 public:
  FactorChecker(const PrimFunc& function, const ForNode* loop)
      : function_(function), loop_(loop), analyzer_(AnalyzerAt(function, {})) {}

  std::vector<Expr> Check(const SplitFactors& factors) {
    if (factors.empty()) Refuse("there is no factor");
    // Half of the type is left for an extent that is not known.
    int64_t most = std::min(kMaxFactor, LargestOf(loop_->var.dtype()) / 2), product = 1;
    std::vector<Expr> checked;
    bool symbolic = false;
    for (const Expr& factor : factors) {
      std::optional<int64_t> constant = ir::AsConstInt(factor);
      if (!constant) {
        symbolic = true;
        checked.push_back(Symbolic(factor));
        continue;
      }
      CheckFactor("the factor", *constant, most);
      if (__builtin_mul_overflow(product, *constant, &product) || product > most)
        Refuse("the product of the factors is beyond " + std::to_string(most));
      checked.push_back(Constant(loop_, *constant));
    }
    if (symbolic && factors.size() > 1)
      Refuse("a factor that is not constant is the only one; split a loop that comes of it again");
    if (!symbolic) CheckRoundsUp(loop_->extent, product);
    return checked;
  }

 private:
  // At least 1 and at most the extent: then nothing overflows that the loop's own index did not.
  Expr Symbolic(const Expr& factor) const {
    Expr value = SizeFor(function_, loop_, "the factor", factor);
    // Where it divides the extent and is 0, there is no iteration to lose.
    if (ir::IsConst(analyzer_.Simplify(ir::FloorMod(loop_->extent, value)), 0) &&
        analyzer_.CanProve(value >= Constant(loop_, 0)))
      return value;
    if (!analyzer_.CanProve(value < loop_->extent + Constant(loop_, 1)))
      value = ir::MinNode::Make(value, loop_->extent);
    if (!analyzer_.CanProve(value >= Constant(loop_, 1)))
      value = ir::MaxNode::Make(value, Constant(loop_, 1));
    return analyzer_.Simplify(value);
  }

  const PrimFunc& function_;
  const ForNode* loop_;
  arith::Analyzer analyzer_;
};

Schedule::Names SplitArgs(const std::string& loop, const SplitFactors& factors, TailStrategy tail) {
  Schedule::Names args = {loop};
  for (const Expr& factor : factors) args.push_back(Print(factor));
  if (tail != TailStrategy::kLoop) args.push_back(std::string("tail = ") + TailStrategyName(tail));
  return args;
}

}  // namespace

LoopRefs Schedule::Split(const LoopRef& loop_ref, const SplitFactors& wanted, Names names,
                         TailStrategy tail) {
  // Whether conditions around a loop say that it has no more iterations.
  auto is_no_more = [&](const ForNode* loop, const Expr& number) {
    return !ir::AsConstInt(loop->extent) && AnalyzerAt(function_, PathTo(tree(), loop))
                                                .CanProve(ir::LENode::Make(loop->extent, number));
  };
  return Do("split", SplitArgs(TextOf(loop_ref), wanted, tail), [&] {
    const ForNode* loop = At(loop_ref);
    std::vector<Expr> factors = FactorChecker(function_, loop).Check(wanted);
    names = NamesOr(names, loop->var.name(), factors.size() + 1);
    CheckSerial(loop, "; split it before");
    for (const std::string& fresh : names) CheckNewLoop(fresh);

    std::vector<Var> vars;
    for (const std::string& fresh : names) vars.emplace_back(fresh, loop->var.dtype(), loop->span);
    Expr index = vars[0], product;
    for (size_t i = 0; i < factors.size(); ++i) {
      index = index * factors[i] + vars[i + 1];
      product = product ? product * factors[i] : factors[i];
    }
    arith::Analyzer analyzer = AnalyzerAt(function_, {});
    product = analyzer.Simplify(product);
    Expr value = ir::IsConst(loop->min, 0) ? index : loop->min + index;
    Stmt body = Substitute(loop->body, {{loop->var.node(), value}});
    bool whole = analyzer.CanProve(ir::FloorMod(loop->extent, product) == Constant(loop, 0));
    if (!whole && tail == TailStrategy::kExact)
      Refuse("the extent of " + Called(loop) + ", " + Print(loop->extent) +
             ", is not known to be a multiple of " + Print(product) +
             ", which tail = exact asks for");
    if (!whole) body = Guarded(body, index < loop->extent);
    ir::Attrs annotations = loop->annotations, inner;
    // Vectors of whole ones may have conditions of other origin, such as padding.
    if (tail == TailStrategy::kMask || (!whole && tail == TailStrategy::kGuard))
      annotations[attr::kTail] = std::string(TailStrategyName(tail));
    if (auto it = annotations.find(attr::kTail); it != annotations.end()) inner.insert(*it);
    for (size_t i = factors.size(); i-- > 0;)
      body = ForNode::Make(vars[i + 1], Constant(loop, 0), factors[i], ForKind::kSerial, body, "",
                           loop->span, inner);
    Expr outer = analyzer.Simplify(whole ? ir::FloorDiv(loop->extent, product)
                                         : ir::CeilDiv(loop->extent, product));
    // One tile has all iterations, where there are any.
    if (!whole && is_no_more(loop, product)) outer = Constant(loop, 1);
    body = ForNode::Make(vars[0], Constant(loop, 0), outer, ForKind::kSerial, body, "", loop->span,
                         annotations);
    ReplaceStmt(loop, body);
    LoopRefs made;
    for (const Var& var : vars) made.emplace_back(var);
    return made;
  });
}

LoopRef Schedule::Fuse(const LoopRefs& loops, std::string name) {
  return Do("fuse", TextsOf(loops), [&] {
    if (loops.size() < 2) Refuse("there are no two loops");
    std::vector<const ForNode*> nest;
    std::string joined;
    for (const LoopRef& loop : loops) {
      nest.push_back(At(loop));
      joined += nest.back()->var.name() + "_";
    }
    name = Or(name, joined + "fused");
    CheckNewLoop(name);
    Expr extent;
    int64_t count = 1;  // as far as it is static
    for (size_t i = 0; i < nest.size(); ++i) {
      const ForNode* loop = nest[i];
      CheckSerial(loop);
      if (loop->var.dtype() != nest[0]->var.dtype()) Refuse("the loops count in different types");
      if (i > 0 && nest[i - 1]->body.get() != loop)
        Refuse(Called(loop) + " is not the whole body of " + Called(nest[i - 1]));
      for (size_t k = 0; k < i; ++k)
        if (RangeUses(loop, nest[k]))
          Refuse("the range of " + Called(loop) + " depends on " + Called(nest[k]));
      extent = extent ? extent * loop->extent : loop->extent;
      Expr simple = arith::Analyzer().Simplify(loop->extent);
      std::optional<int64_t> size = ir::AsConstInt(simple);
      if (size &&
          (__builtin_mul_overflow(count, *size, &count) || count > LargestOf(loop->var.dtype())))
        Refuse("the fused loop would have more iterations than " + loop->var.dtype().str() +
               " counts, " + std::to_string(LargestOf(loop->var.dtype())));
    }
    Var fused(name, nest[0]->var.dtype(), nest[0]->span);
    ir::VarMap values;
    Expr rest = fused;
    for (size_t i = nest.size(); i-- > 0;) {
      Expr index = i == 0 ? rest : ir::FloorMod(rest, nest[i]->extent);
      values[nest[i]->var.node()] =
          ir::IsConst(nest[i]->min, 0) ? index : Expr(nest[i]->min + index);
      rest = ir::FloorDiv(rest, nest[i]->extent);
    }
    Stmt body =
        ForNode::Make(fused, Constant(nest[0], 0), arith::Analyzer().Simplify(extent),
                      ForKind::kSerial, Substitute(nest.back()->body, values), "", nest[0]->span);
    ReplaceStmt(nest[0], body);
    return LoopRef(fused);
  });
}

namespace {

// Whether nothing that one iteration of a loop of a nest does, in all iterations of the others,
// meets what another one does: columns of a scan along rows. It may then stand anywhere.
bool IsApart(const PrimFunc& function, std::vector<const ForNode*> nest, const ForNode* loop) {
  Stmt body = nest.back()->body;
  if (std::any_of(nest.begin(), nest.end(), [&](auto* other) { return RangeUses(loop, other); }))
    return false;
  std::stable_partition(nest.begin(), nest.end(), [&](auto* other) { return other == loop; });
  Stmt bare = WrapLoops(nest, OpenBlocks(body));
  return IterationsAreIndependent(bare.As<ForNode>(), TensorsAreDistinct(function));
}

}  // namespace

void Schedule::CheckMayReorder(const std::vector<const ForNode*>& nest,
                               const std::vector<const ForNode*>& order) const {
  auto place = [&](const ForNode* loop) {
    return std::find(order.begin(), order.end(), loop) - order.begin();
  };
  for (size_t outer = 0; outer < nest.size(); ++outer)
    for (size_t inner = outer + 1; inner < nest.size(); ++inner) {
      const ForNode *a = nest[outer], *b = nest[inner];
      if (place(a) < place(b)) continue;
      std::string both = "loops " + a->var.name() + " and " + b->var.name();
      if (RangeUses(b, a))
        Refuse("the range of loop " + b->var.name() + " depends on loop " + a->var.name());
      Role role_a = RoleOf(a), role_b = RoleOf(b);
      if ((role_a == Role::kOrdered || role_b == Role::kOrdered) && !IsApart(function_, nest, a) &&
          !IsApart(function_, nest, b))
        Refuse("it cannot be proven that " + both + " may be interchanged");
      if (role_a == Role::kReduction && role_b == Role::kReduction)
        CheckMayReassociate(BlocksIn(a->body)[0], both + " run");
    }
}

void Schedule::Reorder(const LoopRefs& loops) {
  Do("reorder", TextsOf(loops), [&] {
    std::vector<const ForNode*> wanted;
    for (const LoopRef& loop : loops) {
      wanted.push_back(At(loop));
      if (std::count(wanted.begin(), wanted.end(), wanted.back()) > 1)
        Refuse("loop " + loop.str() + " is named twice");
    }
    if (wanted.empty()) Refuse("there is no loop");
    std::vector<const ForNode*> nest = FindNest(tree(), wanted), order;
    for (size_t i = 0, next = 0; i < nest.size(); ++i) {
      bool moves = std::find(wanted.begin(), wanted.end(), nest[i]) != wanted.end();
      order.push_back(moves ? wanted[next++] : nest[i]);
    }
    CheckMayReorder(nest, order);
    ReplaceStmt(nest[0], WrapLoops(order, nest.back()->body));
  });
}

namespace {

std::set<std::string> BlockNames(const Stmt& stmt) {
  std::set<std::string> names;
  for (const BlockNode* block : BlocksIn(stmt)) names.insert(block->name);
  return names;
}

// name_1, or with the next number that is free.
std::string NextName(const std::string& name, const std::set<std::string>& taken) {
  int number = 1;
  while (taken.count(name + "_" + std::to_string(number))) ++number;
  return name + "_" + std::to_string(number);
}

// The axis of a reduction that a loop is bound to by itself, from its start, where all steps of the
// one block below run; else none.
std::optional<size_t> ReducedAxis(const ForNode* loop) {
  std::vector<const BlockNode*> blocks = BlocksIn(loop->body);
  if (blocks.size() != 1 || blocks[0]->predicate.get() || !ir::IsConst(loop->min, 0)) return {};
  std::optional<size_t> axis;
  for (size_t i = 0; i < blocks[0]->iters.size(); ++i) {
    const BlockIter& iter = blocks[0]->iters[i];
    if (!ir::UsesVar(iter.binding, loop->var.node())) continue;
    bool own = !axis && iter.kind == IterKind::kReduce && iter.binding.get() == loop->var.get() &&
               ir::IsConst(arith::Analyzer().Simplify(iter.extent - loop->extent), 0);
    if (!own) return {};
    axis = i;
  }
  return axis;
}

// The steps of a block from `first` on, `count` of them, as a reduction of their own. One that does
// not begin at the start, which `first` says by being null, goes on with what is there.
class SomeSteps : public StmtMutator {
 public:
  SomeSteps(std::string name, size_t axis, Expr first, Expr count)
      : name_(std::move(name)), axis_(axis), first_(std::move(first)), count_(std::move(count)) {}

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const BlockNode* node, const Stmt&) override {
    auto copy = CopyBlock(node);
    BlockIter& iter = copy->iters[axis_];
    auto typed = [&](const Expr& size) {
      DataType dtype = iter.var.dtype();
      if (std::optional<int64_t> constant = ir::AsConstInt(size))
        return ir::IntImmNode::Make(dtype, *constant);
      return size.dtype() == dtype ? size : ir::CastNode::Make(dtype, size);
    };
    iter.extent = typed(count_);
    if (!first_) return Stmt(copy);
    copy->name = name_;
    copy->init = {};
    copy->body = Substitute(copy->body, {{iter.var.node(), iter.var + typed(first_)}});
    return Stmt(copy);
  }

  std::string name_;
  size_t axis_;
  Expr first_, count_;
};

}  // namespace

bool Schedule::PartitionSteps(const ForNode* loop, size_t axis, const Expr& head, const Expr& tail,
                              const Names& names) {
  const BlockNode* block = BlocksIn(loop->body)[0];
  BlockFacts facts = FactsOf(block);
  Nest nest = NestOf(tree(), block);
  bool apart = facts.affine && facts.bounded && facts.complete && nest.Has(loop);
  for (size_t i = 0; apart && nest.loops[i] != loop; ++i) {
    AxisUse use = UseOf(block, nest.loops[i]->var.node());
    apart = nest.loops[i]->for_kind == ForKind::kSerial && use.spatial && !use.reduce && !use.other;
  }
  if (!apart) return false;
  Stmt top = nest.top();
  std::string second = NextName(block->name, BlockNames(function_->body));
  auto part = [&](size_t i, const Expr& first, const Expr& count) {
    Var var(names[i], loop->var.dtype(), loop->span);
    Stmt body = SomeSteps(second, axis, first, count).Mutate(loop->body);
    Stmt steps = ForNode::Make(var, loop->min, count, ForKind::kSerial,
                               Substitute(body, {{loop->var.node(), var}}), "", loop->span,
                               loop->annotations);
    Stmt whole = ReplaceAt(PathTo(top, loop), steps);
    return i == 0 ? whole : CopyWithFreshDefs(whole);
  };
  SetFacts(second, facts);
  ReplaceStmt(top.get(), SeqNode::Make({part(0, {}, head), part(1, head, tail)}));
  return true;
}

LoopsMade<2> Schedule::LoopPartition(const LoopRef& loop_ref, const Expr& at, Names names) {
  auto made = [&] {
    LoopRefs loops;
    for (const std::string& name : names) loops.emplace_back(tree().LoopsNamed(name)[0]);
    return LoopsMade<2>(loops);
  };
  return Do("loop_partition", {TextOf(loop_ref), Print(at)}, [&] {
    const ForNode* loop = At(loop_ref);
    CheckSerial(loop);
    names = NamesOr(names, loop->var.name(), 2);
    for (const std::string& fresh : names) CheckNewLoop(fresh);
    std::optional<int64_t> extent = ir::AsConstInt(loop->extent), constant = ir::AsConstInt(at);
    int64_t most = extent ? *extent - 1 : LargestOf(loop->var.dtype());
    if (most < 1)
      Refuse(Called(loop) + " has " + std::to_string(*extent) +
             " iterations, which are no two parts");
    const char* what = "the length of the first part";
    if (constant) CheckFactor(what, *constant, most);
    Expr head = constant ? Constant(loop, *constant) : SizeFor(function_, loop, what, at);
    // No fewer than none, and no more than there are.
    arith::Analyzer analyzer = AnalyzerAt(function_, {});
    if (!analyzer.CanProve(loop->extent >= head)) head = ir::MinNode::Make(head, loop->extent);
    if (!analyzer.CanProve(head >= Constant(loop, 0)))
      head = ir::MaxNode::Make(head, Constant(loop, 0));
    Expr tail = analyzer.Simplify(loop->extent - head);
    if (std::vector<const BlockNode*> below = BlocksIn(loop->body);
        below.size() == 1 && FactsOf(below[0]).complete)
      if (auto joined = JoinFusedAxes(NestOf(tree(), below[0]), loop)) {
        ReplaceStmt(below[0], Stmt(joined));
        loop = At(LoopRef(loop->var));
      }
    std::optional<size_t> axis = ReducedAxis(loop);
    if (axis && PartitionSteps(loop, *axis, head, tail, names)) return made();
    Var first(names[0], loop->var.dtype(), loop->span),
        second(names[1], loop->var.dtype(), loop->span);
    auto part = [&](const Var& var, const Expr& min, const Expr& count, Stmt body) {
      return ForNode::Make(var, min, count, ForKind::kSerial, body, "", loop->span,
                           loop->annotations);
    };
    struct Renamer : StmtMutator {
      using StmtMutator::MutateNode;
      Stmt MutateNode(const BlockNode* node, const Stmt&) override {
        auto copy = ffi::Make<BlockNode>(*node);
        copy->name = names.at(node->name);
        return Stmt(copy);
      }
      std::map<std::string, std::string> names;
    } renamer;
    std::set<std::string> taken = BlockNames(function_->body);
    for (const BlockNode* block : BlocksIn(loop->body)) {
      std::string& other = renamer.names[block->name];
      other = NextName(block->name, taken);
      taken.insert(other);
      // Neither of them is the whole; what they are on their own is not followed.
      for (const std::string& name : {block->name, other})
        SetFacts(name, {FactsOf(block).affine, false, false});
    }
    Stmt rest = renamer.Mutate(CopyWithFreshDefs(loop->body, {{loop->var.node(), second}}));
    Stmt both = SeqNode::Make(
        {part(first, loop->min, head, Substitute(loop->body, {{loop->var.node(), first}})),
         part(second, arith::Analyzer().Simplify(loop->min + head), tail, rest)});
    ReplaceStmt(loop, both);
    return made();
  });
}

// What lower_thread_reductions and vectorize_loops need, as far as it can be told here.
void Schedule::CheckIsUpdate(const BlockNode* block, const std::string& by, bool several) const {
  if (several && FindSelectionUpdate(block->body))
    return CheckMayReassociate(block, by + " would combine");
  std::optional<ReductionUpdate> update = FindReductionUpdate(block->body);
  if (!update)
    Refuse("block " + block->name + " is no update that " + by +
           " can combine: S = S op f with op one of +, *, min, max, && and ||");
  if (update->store->buffer->dtype.is_float()) CheckMayReassociate(block, by + " would combine");
}

void Schedule::SetKind(const ForNode* loop, ForKind kind, const std::string& axis) {
  CheckSerial(loop);
  if (kind == ForKind::kUnrolled) {
    if (!ir::AsConstInt(loop->extent)) Refuse("the extent of " + Called(loop) + " is not constant");
  } else if (axis.starts_with("threadIdx.") && RoleOf(loop) == Role::kReduction) {
    CheckIsUpdate(BlocksIn(loop->body)[0], "threads", true);
  } else if (kind == ForKind::kVectorized && RoleOf(loop) == Role::kReduction) {
    CheckIsUpdate(BlocksIn(loop->body)[0], "lanes", false);
  } else if (kind != ForKind::kThread || !ir::IsConst(loop->extent, 1)) {  // one is independent
    CheckIndependent(loop);
  }
  auto copy = ffi::Make<ForNode>(*loop);
  copy->for_kind = kind;
  copy->thread = axis;
  ReplaceStmt(loop, Stmt(copy));
}

void Schedule::Parallel(const LoopRef& loop) {
  Do("parallel", {TextOf(loop)}, [&] { SetKind(At(loop), ForKind::kParallel); });
}

void Schedule::Unroll(const LoopRef& loop) {
  Do("unroll", {TextOf(loop)}, [&] { SetKind(At(loop), ForKind::kUnrolled); });
}

void Schedule::Vectorize(const LoopRef& loop) {
  Do("vectorize", {TextOf(loop)}, [&] {
    const ForNode* node = At(loop);
    std::optional<int64_t> lanes = ir::AsConstInt(node->extent);
    if (!lanes)
      Refuse("the extent of " + Called(node) + " is not constant; split it by the number of lanes");
    if (*lanes < kMinLanes || *lanes > kMaxLanes)
      Refuse("the extent of " + Called(node) + " is " + std::to_string(*lanes) + "; vectors have " +
             std::to_string(kMinLanes) + " to " + std::to_string(kMaxLanes) + " lanes");
    if (!LoopsIn(node->body).empty()) Refuse(Called(node) + " is not the innermost one");
    SetKind(node, ForKind::kVectorized);
  });
}

namespace {

// Refuses where an atomic operation of the launch is in no loop along the axis: every thread would
// do it.
void CheckAtomics(const Stmt& launch, const ForNode* loop, const std::string& axis) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ForNode* node) override {
      bool inside = node == loop || (node->for_kind == ForKind::kThread && node->thread == axis);
      if (!inside) VisitChildren(node);
    }
    void VisitNode(const BlockNode* node) override {
      block = node->name;
      VisitChildren(node);
    }
    void VisitNode(const ir::CallNode* node) override {
      if (IsAtomic(node->name))
        Refuse("every thread along " + axis + " would do the " + node->name + " of block " + block);
      VisitChildren(node);
    }
    const ForNode* loop;
    std::string axis, block;
  } finder;
  finder.loop = loop;
  finder.axis = axis;
  finder.Visit(launch);
}

}  // namespace

void Schedule::Bind(const LoopRef& loop, const std::string& axis) {
  Do("bind", {TextOf(loop), axis}, [&] {
    const ForNode* node = At(loop);
    std::vector<std::string> axes;
    for (int i = 0; i < kNumThreadAxes; ++i) axes.push_back(ThreadAxisName(i));
    axes.insert(axes.end(), kVirtualThreadAxes.begin(), kVirtualThreadAxes.end());
    if (std::find(axes.begin(), axes.end(), axis) == axes.end())
      Refuse("there is no axis " + axis + "; the axes are " + ffi::Join(axes));
    if (!ir::IsConst(node->min, 0)) Refuse(Called(node) + " does not start at 0; split it first");
    // What stands beside a loop of virtual threads is done once, not by each of them.
    bool is_virtual = IsVirtualThreadAxis(axis);
    if (is_virtual && !ir::AsConstInt(node->extent))
      Refuse("the extent of " + Called(node) + " is not constant; split it first");
    for (const ForNode* outer : LoopsAround(PathTo(tree(), node)))
      if (!is_virtual && (outer == node || outer->for_kind == ForKind::kThread)) {
        CheckAtomics(AsStmt(outer), node, axis);
        break;
      }
    SetKind(node, ForKind::kThread, axis);
  });
}

void Schedule::Pipeline(const LoopRef& loop_ref, const std::vector<int64_t>& stages,
                        const std::vector<int64_t>& async, std::optional<PipelineRoles> roles) {
  Names args = Texts(TextOf(loop_ref), stages);
  for (int64_t stage : async) args.push_back("async " + std::to_string(stage));
  if (roles) args.push_back("roles " + std::to_string(roles->tiles));
  if (roles && roles->blocks) args.push_back("blocks " + std::to_string(roles->blocks));
  if (roles && roles->turns > 1) args.push_back("turns " + std::to_string(roles->turns));
  Do("pipeline", args, [&] {
    const ForNode* loop = At(loop_ref);
    CheckSerial(loop);
    Stmt body = loop->body;
    while (const auto* allocation = body.As<AllocateNode>()) body = allocation->body;
    const auto* row = body.As<SeqNode>();
    size_t count = row ? row->stmts.size() : 1;
    if (stages.size() != count)
      Refuse("the body of " + Called(loop) + " has " + std::to_string(count) +
             " statements, each of which has a stage; got " + std::to_string(stages.size()));
    if (IsPipelined(loop)) Refuse(Called(loop) + " is pipelined already");
    for (int64_t stage : stages)
      if (stage < 0 || stage > pipeline::kMaxStage)
        Refuse("stage " + std::to_string(stage) + " is given; expected 0 to " +
               std::to_string(pipeline::kMaxStage));
    for (int64_t stage : async)
      if (std::find(stages.begin(), stages.end(), stage) == stages.end())
        Refuse("there is no stage " + std::to_string(stage));
    auto numbers = [](const std::vector<int64_t>& values) {
      return ffi::MakeArray(std::vector<ffi::Any>(values.begin(), values.end()));
    };
    auto copy = ffi::Make<ForNode>(*loop);
    copy->annotations[pipeline::kStages] = numbers(stages);
    if (!async.empty()) copy->annotations[pipeline::kAsync] = numbers(async);
    if (roles && (roles->tiles < 2 || roles->tiles > pipeline::kMaxStage))
      Refuse("roles have 2 to " + std::to_string(pipeline::kMaxStage) + " tiles, got " +
             std::to_string(roles->tiles));
    if (roles && (roles->turns < 1 || roles->turns > pipeline::kMaxTurns))
      Refuse("1 to " + std::to_string(pipeline::kMaxTurns) + " groups take turns, got " +
             std::to_string(roles->turns));
    if (roles)
      copy->annotations[pipeline::kRoles] = numbers({roles->tiles, roles->blocks, roles->turns});
    ReplaceStmt(loop, Stmt(copy));
  });
}

}  // namespace tern::schedule
