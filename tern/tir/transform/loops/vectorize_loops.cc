// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/loops/vectorize_loops.h"

#include "tern/arith/inline_limit.h"
#include "tern/arith/linear.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/analysis/distinct_tensors.h"
#include "tern/tir/analysis/independent_iterations.h"
#include "tern/tir/analysis/memory_effects.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/text.h"
#include "tern/tir/transform/loops/lane_vectorizer.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

int Lanes(const ForNode* node) {
  Expr extent = arith::Analyzer().Simplify(node->extent);
  std::optional<int64_t> lanes = ir::AsConstInt(extent);
  if (!lanes)
    TERN_THROW(ValueError) << ir::At(node->span) << "loop " << node->var.name()
                           << " cannot be vectorized: its extent " << Print(extent)
                           << " is not constant; say how many lanes it is to use, as in `"
                           << node->var.name() << " in 0..n vectorized attrs {lanes = 8}`";
  if (*lanes < kMinLanes || *lanes > kMaxLanes)
    TERN_THROW(ValueError) << ir::At(node->span) << "loop " << node->var.name()
                           << " cannot be vectorized: its extent is " << *lanes << "; expected "
                           << kMinLanes << " to " << kMaxLanes;
  return static_cast<int>(*lanes);
}

// The number of lanes that the loop asks for, or null.
const ffi::Any* LanesWanted(const ForNode* node) {
  auto it = node->annotations.find(attr::kLanes);
  return it == node->annotations.end() ? nullptr : &it->second;
}

// Whether the values that a reduction combines may be combined in another order. A sum of integers
// that may not overflow could, on the way.
bool OrderIsFree(const ReductionUpdate& update, bool reassociate) {
  DataType dtype = update.store->buffer->dtype;
  bool sums = update.op == ExprKind::kAdd || update.op == ExprKind::kMul;
  if (dtype.is_float()) return reassociate;
  return !sums || dtype.is_uint() || dtype.bits() < 32;
}

class Vectorizer : public AnalyzedMutator {
 public:
  Vectorizer(const PrimFunc& function, const target::TargetKind* kind)
      : function_(function),
        kind_(kind),
        distinct_(TensorsAreDistinct(function)),
        reassociate_(HasFlag(function, attr::kReassociate)),
        effects_(function),
        faults_(function) {}

 private:
  using AnalyzedMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    faults_.BindLoop(node);
    if (node->for_kind == ForKind::kParallel) of_parallel_.insert(node->var.node());
    if (node->for_kind == ForKind::kSerial) of_serial_.insert(node->var.node());
    if (node->for_kind != ForKind::kVectorized) {
      around_.push_back(node->extent);
      Stmt result = AnalyzedMutator::MutateNode(node, self);
      around_.pop_back();
      return result;
    }
    if (const ffi::Any* wanted = LanesWanted(node)) return InSteps(node, *wanted);
    return Vectorize(node);
  }

  // Steps of `wanted` iterations, then the rest.
  Stmt InSteps(const ForNode* node, const ffi::Any& wanted) {
    auto lanes = wanted.TryAs<int64_t>();
    if (!lanes || *lanes < kMinLanes || *lanes > kMaxLanes)
      TERN_THROW(ValueError) << ir::At(node->span) << "loop " << node->var.name()
                             << " asks for a number of lanes that is not an integer from "
                             << kMinLanes << " to " << kMaxLanes;
    DataType dtype = node->var.dtype();
    auto constant = [&](int64_t value) { return ir::IntImmNode::Make(dtype, value, node->span); };
    std::vector<std::pair<Var, Expr>> lets;
    auto once = [&](Expr value, const char* suffix) -> Expr {
      if (ir::AsConstInt(value) || value.As<VarNode>()) return value;
      lets.emplace_back(Var(node->var.name() + suffix, dtype, node->span), value);
      return lets.back().first;
    };
    Expr min = once(analyzer_.Simplify(node->min), "_start");
    Expr extent = analyzer_.Simplify(node->extent);
    if (!analyzer_.CanProve(extent >= constant(0)))
      extent = ir::MaxNode::Make(extent, constant(0), node->span);
    extent = once(extent, "_extent");

    Expr width = constant(*lanes);
    Expr steps = analyzer_.Simplify(ir::FloorDiv(extent, width));
    Var step(node->var.name() + "_step", dtype, node->span);
    Stmt lanes_loop =
        ForNode::Make(node->var, analyzer_.Simplify(min + step * width), width,
                      ForKind::kVectorized, node->body, "", node->span, node->annotations);
    analyzer_.BindRange(step, constant(0), steps);
    Stmt result = ForNode::Make(step, constant(0), steps, ForKind::kSerial,
                                Vectorize(lanes_loop.As<ForNode>()), "", node->span);
    Expr rest = analyzer_.Simplify(ir::FloorMod(extent, width));
    if (!ir::IsConst(rest, 0)) {
      Expr start = analyzer_.Simplify(min + (extent - rest));
      Stmt tail =
          ForNode::Make(node->var, start, rest, ForKind::kSerial, node->body, "", node->span);
      if (Masks(node)) {
        Stmt some = IfThenElseNode::Make(node->var < analyzer_.Simplify(min + extent), node->body,
                                         {}, node->span);
        tail = ForNode::Make(node->var, start, width, ForKind::kVectorized, some, "", node->span,
                             {{attr::kTail, std::string(attr::kMaskTail)}});
      }
      // Loops inside may be vectorized too.
      result = SeqNode::Make({result, Mutate(CopyWithFreshDefs(tail))}, node->span);
    }
    for (size_t i = lets.size(); i-- > 0;)
      result = LetStmtNode::Make(lets[i].first, lets[i].second, result, node->span);
    return result;
  }

  Stmt Vectorize(const ForNode* node) {
    int lanes = Lanes(node);
    analyzer_.BindRange(node->var, node->min, node->extent);
    // The start is written out in several places: it must be the same in all of them.
    bool fixed = !ir::MayFault(node->min);
    Var start(node->var.name() + "_start", node->var.dtype(), node->span);
    Stmt serial = ForNode::Make(node->var, fixed ? node->min : start, node->extent,
                                ForKind::kSerial, Mutate(node->body), "", node->span);
    Stmt result;
    if (!kind_ || kind_->vectors) {
      bool masks = Masks(node);
      result = Vectorize(serial.As<ForNode>(), lanes, masks);
      // Indices may be seen to be neighbours by what was computed of them before.
      if (Stmt whole = result ? Stmt() : Substitute(serial, lets_); whole && !whole.same(serial))
        result = Vectorize(whole.As<ForNode>(), lanes, masks);
    }
    if (!result) result = serial;
    return fixed ? result : LetStmtNode::Make(start, node->min, result, node->span);
  }

  // What a loop does where it is a reduction to one element, in any order, and nothing else.
  std::optional<ReductionUpdate> FindReduction(const ForNode* loop, const Stmt& body) const {
    std::optional<ReductionUpdate> update = FindReductionUpdate(body);
    if (!update || !OrderIsFree(*update, reassociate_)) return {};
    const BufferStoreNode* store = update->store;
    const VarNode* place = effects_.PlaceOf(store->buffer);
    if (!place) return {};
    std::vector<Expr> values = {update->value};
    for (const LetStmtNode* let : update->lets) values.push_back(let->value);
    bool apart = true;
    for (const Expr& value : values)
      ir::ForEachExpr(value, [&](const Expr& expr) {
        const auto* load = expr.As<ir::BufferLoadNode>();
        apart &= !load || effects_.PlaceOf(load->buffer) != place;
      });
    for (const Expr& index : store->indices) {
      apart &= !ir::UsesVar(index, loop->var.node());
      for (const LetStmtNode* let : update->lets) apart &= !ir::UsesVar(index, let->var.node());
    }
    return apart ? update : std::nullopt;
  }

  // Null where there is no vector code.
  Stmt Vectorize(const ForNode* loop, int lanes, bool masks) {
    faults_.BindLoop(loop);
    FaultAnalysis faults = faults_;
    for (const Expr& extent : around_) faults.EnterIteration(extent);
    LaneVectorizer vectorizer(loop, lanes, kind_, std::move(faults), analyzer_);
    if (masks) vectorizer.UseMasks([this](const Expr& e) { return IsOfParallelLoop(e); });
    if (HasMasks()) vectorizer.MaskSelects();
    if (IterationsAreIndependent(loop, distinct_, analyzer_)) return vectorizer.Run();
    const auto* some = masks ? loop->body.As<IfThenElseNode>() : nullptr;
    if (some && some->else_case) return {};
    std::optional<ReductionUpdate> update =
        FindReduction(loop, some ? some->then_case : loop->body);
    if (!update) return {};
    return vectorizer.RunReduction(*update, some ? some->condition : Expr());
  }

  Stmt MutateNode(const LetStmtNode* node, const Stmt& self) override {
    faults_.BindLet(node->var, node->value);
    for (auto* loops : {&of_parallel_, &of_serial_})
      if (UsesAny(node->value, *loops)) loops->insert(node->var.node());
    if (arith::IsIndexType(node->var.dtype()) && arith::IsFixed(node->value)) {
      if (Expr value = ir::Substitute(node->value, lets_); arith::MayInline(value))
        lets_[node->var.node()] = value;
      analyzer_.Bind(node->var, analyzer_.Bounds(node->value));
    }
    return MutateChildren(node, self);
  }

  using Vars = std::unordered_set<const VarNode*>;
  static bool UsesAny(const Expr& expr, const Vars& vars) {
    bool found = false;
    ir::ForEachExpr(expr, [&](const Expr& e) { found |= vars.count(e.As<VarNode>()) > 0; });
    return found;
  }
  // partition_loops leaves parallel loops whole. Of what depends on a serial loop too, the masks
  // that it left are wanted.
  bool IsOfParallelLoop(const Expr& condition) const {
    return UsesAny(condition, of_parallel_) && !UsesAny(condition, of_serial_);
  }

  // Whether what only some lanes of a loop do is masked.
  bool Masks(const ForNode* loop) { return HasTail(loop, attr::kMaskTail) && HasMasks(); }
  bool HasMasks() {
    if (!takes_masks_) takes_masks_ = TakesMasks(function_);
    return *takes_masks_;
  }

  const PrimFunc& function_;
  const target::TargetKind* kind_;
  std::optional<bool> takes_masks_;
  bool distinct_, reassociate_;
  MemoryEffects effects_;
  FaultAnalysis faults_;
  std::vector<Expr> around_;      // extents of the loops around, outermost first
  ir::VarMap lets_;               // definitions of indices
  Vars of_parallel_, of_serial_;  // variables of such loops, and what is computed of them
};

}  // namespace

bool HasTail(const ForNode* loop, const char* tail) {
  auto it = loop->annotations.find(attr::kTail);
  return it != loop->annotations.end() && it->second.TryAs<std::string>() == tail;
}

bool TakesMasks(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  return it == function->attrs.end() ||
         target::DescribeMachine(it->second.As<target::Target>()).masked_vectors;
}

PrimFunc VectorizeLoops(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  bool known = it != function->attrs.end();
  return Vectorizer(function, known ? it->second.As<target::Target>()->kind : nullptr)
      .MutateFunction(function);
}

}  // namespace tern::tir
