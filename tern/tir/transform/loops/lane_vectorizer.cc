// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/loops/lane_vectorizer.h"

#include <algorithm>
#include <limits>
#include <set>

#include "tern/arith/analyzer.h"
#include "tern/arith/fold.h"
#include "tern/arith/linear.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/mutator.h"
#include "tern/ir/structural.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/transform/memory/flatten_buffers.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// Masked lanes that are not neighbours in memory: code for them is a branch for each, and a serial
// loop is shorter.
bool HasMaskedGather(const Expr& expr) {
  bool found = false;
  ir::ForEachExpr(expr, [&](const Expr& e) {
    const auto* load = e.As<ir::BufferLoadNode>();
    if (!load || !load->predicate) return;
    const auto* ramp = load->indices.back().As<ir::RampNode>();
    found |= !ramp || !ir::IsConst(ramp->stride, 1);
  });
  return found;
}

}  // namespace

LaneVectorizer::LaneVectorizer(const ForNode* loop, int lanes, const target::TargetKind* kind,
                               FaultAnalysis faults, const arith::Analyzer& analyzer)
    : loop_(loop), lanes_(lanes), kind_(kind), faults_(std::move(faults)), analyzer_(analyzer) {}

Stmt LaneVectorizer::Run() {
  Stmt result = VectorizeOrSerialize(loop_->body);
  if (!any_vector_) return {};
  for (const auto& [buffer, view] : views_) result = DeclBufferNode::Make(view, result, view->span);
  return result;
}

Stmt LaneVectorizer::RunReduction(const ReductionUpdate& update, const Expr& condition) {
  std::vector<std::pair<Var, Expr>> lets;
  bool is_tail = condition.get() && HoldsForFirstLanes(condition);
  if (condition) {
    Expr mask = MaskOf(condition);
    if (!mask) return {};
    lets.emplace_back(Var("mask", mask.dtype(), condition.span()), mask);
    mask_ = lets.back().first;
    mask_may_be_empty_ = !is_tail;
  }
  for (const LetStmtNode* let : update.lets) {
    std::optional<Definition> definition = Define(let->var, let->value);
    if (!definition) return {};
    if (definition->var) lets.emplace_back(definition->var, definition->value);
  }
  Expr value = Widen(update.value);
  if (value.get() && condition.get()) {
    Expr identity = IdentityOf(update.op, value.dtype().element());
    value = IfTaken(ir::SelectNode::Make(mask_, value, ir::BroadcastNode::Make(identity, lanes_)));
  }
  Expr total = value ? CombineLanes(update.op, value, &lets) : Expr();
  if (!total) return {};
  const BufferStoreNode* store = update.store;
  Expr so_far = ir::BufferLoadNode::Make(store->buffer, store->indices, store->span);
  Stmt result = BufferStoreNode::Make(store->buffer, store->indices,
                                      CombineValues(update.op, so_far, total), store->span);
  for (size_t i = lets.size(); i-- > 0;)
    result = LetStmtNode::Make(lets[i].first, lets[i].second, result, store->span);
  return is_tail ? IfThenElseNode::Make(InLane(condition, 0), result, {}, store->span) : result;
}

Expr LaneVectorizer::CombineLanes(ExprKind op, Expr vector,
                                  std::vector<std::pair<Var, Expr>>* halves) const {
  if ((lanes_ & (lanes_ - 1)) != 0) return {};
  for (int64_t half = lanes_ / 2; half > 0; half /= 2) {
    halves->emplace_back(Var("lanes", vector.dtype(), vector.span()), vector);
    std::vector<int64_t> low, high;
    for (int64_t lane = 0; lane < half; ++lane) {
      low.push_back(lane);
      high.push_back(half + lane);
    }
    const Var& all = halves->back().first;
    Expr a = IfTaken(ir::ShuffleNode::Make({all}, low)),
         b = IfTaken(ir::ShuffleNode::Make({all}, high));
    vector = a.get() && b.get() ? IfTaken(CombineValues(op, a, b)) : Expr();
    if (!vector) return {};
  }
  return vector;
}

template <class F>
auto LaneVectorizer::Where(const Expr& mask, bool may_be_empty, F&& make) {
  Expr outer = std::exchange(mask_, mask_ ? ir::AndNode::Make(mask_, mask) : mask);
  bool outer_may_be_empty = std::exchange(mask_may_be_empty_, mask_may_be_empty_ || may_be_empty);
  auto result = make();
  mask_ = std::move(outer);
  mask_may_be_empty_ = outer_may_be_empty;
  return result;
}

// ---- Expressions ----

bool LaneVectorizer::DependsOnLane(const Expr& expr) const {
  bool depends = false;
  ir::ForEachExpr(expr, [&](const Expr& e) {
    const auto* var = e.As<VarNode>();
    depends |= var && (var == loop_->var.node() || linear_.count(var) || vectors_.count(var));
  });
  return depends;
}

Expr LaneVectorizer::IfTaken(Expr expr) const {
  if (!expr || expr.dtype().is_scalar() || !kind_) return expr;
  return target::TakesVector(*kind_, expr) ? expr : Expr();
}

Expr LaneVectorizer::AsRamp(const Expr& expr) {
  DataType dtype = expr.dtype();
  auto linear = arith::AsLinear(ir::Substitute(expr, linear_), loop_->var.node());
  if (!linear || DependsOnLane(linear->rest)) return {};
  if (linear->coefficient == 0) return linear->rest;
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (dtype.bits() == 32 && (linear->coefficient > kMax || linear->coefficient < -kMax)) return {};
  Expr stride = ir::IntImmNode::Make(dtype, linear->coefficient, expr.span());
  Expr base = ir::CastNode::Make(dtype, loop_->min) * stride + linear->rest;
  return ir::RampNode::Make(arith::Analyzer().Simplify(base), stride, lanes_, expr.span());
}

Expr LaneVectorizer::Widen(const Expr& expr) {
  Expr value = Vectorize(expr);
  if (!value || !value.dtype().is_scalar()) return value;
  return IfTaken(ir::BroadcastNode::Make(value, lanes_, expr.span()));
}

Expr LaneVectorizer::Vectorize(const Expr& expr) {
  // What is a vector already cannot be one of vectors.
  if (!expr.dtype().is_scalar()) return {};
  if (!DependsOnLane(expr)) return MayEvaluate(expr) ? expr : Expr();
  if (Expr ramp = AsRamp(expr)) return IfTaken(ramp);
  return IfTaken(
      ir::DispatchExpr(expr.get(), [this](auto* node) -> Expr { return VectorizeNode(node); }));
}

Expr LaneVectorizer::VectorizeNode(const VarNode* node) {
  if (node == loop_->var.node())  // of a type that wraps
    return ir::RampNode::Make(loop_->min, ir::MakeConst(node->dtype, 1), lanes_, node->span);
  auto it = vectors_.find(node);
  return it == vectors_.end() ? Vectorize(linear_.at(node)) : it->second;
}

template <ExprKind K>
Expr LaneVectorizer::VectorizeNode(const ir::BinaryNode<K>* node) {
  // The right side may be meant for some lanes only.
  if ((K == ExprKind::kAnd || K == ExprKind::kOr) && faults_.MayFault(WithoutOwn(node->b), node->a))
    return {};
  Expr a = Widen(node->a), b = Widen(node->b);
  if (!a || !b) return {};
  // A divisor of a lane that is masked may be anything.
  if (K >= ExprKind::kTruncDiv && K <= ExprKind::kFloorMod && !ir::AsConstInt(node->b))
    b = Unmasked(b, 1);
  return ir::BinaryNode<K>::Make(a, b, node->span);
}

Expr LaneVectorizer::VectorizeNode(const ir::NotNode* node) {
  Expr a = Widen(node->a);
  return a ? ir::NotNode::Make(a, node->span) : Expr();
}

Expr LaneVectorizer::VectorizeNode(const ir::SelectNode* node) {
  // Each lane has a choice of its own, and what it does not choose may fault.
  if (DependsOnLane(node->condition) && (faults_.MayFault(node->true_value, node->condition) ||
                                         faults_.MayFault(node->false_value, node->condition))) {
    Expr mask = masks_selects_ ? MaskOf(node->condition) : Expr();
    if (!mask) return {};
    Expr yes = Where(mask, true, [&] { return Widen(node->true_value); });
    Expr no = Where(ir::NotNode::Make(mask), true, [&] { return Widen(node->false_value); });
    if (!yes || !no || HasMaskedGather(yes) || HasMaskedGather(no)) return {};
    return ir::SelectNode::Make(mask, yes, no, node->span);
  }
  Expr condition =
      DependsOnLane(node->condition) ? MaskOf(node->condition) : Vectorize(node->condition);
  Expr yes = Widen(node->true_value), no = Widen(node->false_value);
  if (!condition || !yes || !no) return {};
  return ir::SelectNode::Make(condition, yes, no, node->span);
}

Expr LaneVectorizer::VectorizeNode(const ir::CastNode* node) {
  Expr value = Widen(node->value);
  if (!value) return {};
  // Not every float is in the range of an integer type.
  if (node->dtype.is_integer() && value.dtype().is_float()) value = Unmasked(value, 0);
  return ir::CastNode::Make(node->dtype.with_lanes(lanes_), value, node->span);
}

Expr LaneVectorizer::VectorizeNode(const ir::LetNode* node) {
  auto definition = Define(node->var, node->value);
  if (!definition) return {};
  Expr body = Vectorize(node->body);
  Forget(node->var);
  if (!body || !definition->var) return body;
  return ir::LetNode::Make(definition->var, definition->value, body, node->span);
}

Expr LaneVectorizer::VectorizeNode(const ir::CallNode* node) {
  const ir::Intrinsic* intrinsic = ir::FindIntrinsic(node->name);
  if (!intrinsic->lane_wise || (mask_.get() && intrinsic->may_fault)) return {};
  std::vector<Expr> args;
  for (const Expr& arg : node->args) {
    args.push_back(Widen(arg));
    if (!args.back()) return {};
  }
  return ir::CallNode::Make(node->name, args, node->dtype.with_lanes(lanes_), node->span);
}

Expr LaneVectorizer::LoadShared(const ir::BufferLoadNode* node) {
  if (mask_.get() || node->indices.empty() || !node->dtype.is_scalar()) return {};
  Expr index = ir::Substitute(node->indices.back(), linear_);
  bool is_known = arith::IsFixed(index) && !AsRamp(index);
  ir::ForEachExpr(index, [&](const Expr& e) { is_known &= !vectors_.count(e.As<VarNode>()); });
  for (size_t i = 0; i + 1 < node->indices.size(); ++i)
    is_known &= !DependsOnLane(node->indices[i]);
  if (!is_known) return {};
  auto in_lane = [&](int lane) {
    Expr var = loop_->min + ir::IntImmNode::Make(loop_->var.dtype(), lane);
    return analyzer_.Simplify(ir::Substitute(index, {{loop_->var.node(), var}}));
  };
  Expr first = in_lane(0);
  std::vector<int64_t> places = {0};
  for (int lane = 1; lane < lanes_; ++lane) {
    std::optional<int64_t> ahead = ir::AsConstInt(analyzer_.Simplify(in_lane(lane) - first));
    if (!ahead) return {};
    places.push_back(*ahead);
  }
  auto [low, high] = std::minmax_element(places.begin(), places.end());
  int64_t start = *low, count = *high - *low + 1;
  bool is_dense =
      std::set<int64_t>(places.begin(), places.end()).size() == static_cast<uint64_t>(count);
  if (!is_dense || count < 2 || count >= lanes_) return {};
  std::vector<Expr> indices = node->indices;
  DataType dtype = index.dtype();
  indices.back() =
      ir::RampNode::Make(analyzer_.Simplify(first + ir::IntImmNode::Make(dtype, start)),
                         ir::IntImmNode::Make(dtype, 1), count, index.span());
  Expr elements = IfTaken(ir::BufferLoadNode::Make(node->buffer, indices, node->span));
  if (!elements) return {};
  for (int64_t& place : places) place -= start;
  return IfTaken(ir::ShuffleNode::Make({elements}, places, node->span));
}

Expr LaneVectorizer::VectorizeNode(const ir::BufferLoadNode* node) {
  if (Expr shared = LoadShared(node)) return shared;
  Place place = VectorizePlace(node->buffer, node->indices);
  if (place.indices.empty()) return {};
  return ir::BufferLoadNode::Make(place.buffer, place.indices, node->span, mask_);
}

LaneVectorizer::Place LaneVectorizer::VectorizePlace(const Buffer& buffer,
                                                     const std::vector<Expr>& indices) {
  Place result{buffer, {}};
  for (const Expr& index : indices) {
    bool last = result.indices.size() + 1 == indices.size();
    if (!last && DependsOnLane(index)) return FlattenPlace(buffer, indices);
    result.indices.push_back(Vectorize(index));
    if (!result.indices.back()) return {};
  }
  return result;
}

LaneVectorizer::Place LaneVectorizer::FlattenPlace(const Buffer& buffer,
                                                   const std::vector<Expr>& indices) {
  // Kernels get tensors by the buffers that they use.
  bool is_kernel = kind_ && kind_->role == target::Role::kDevice;
  if (is_kernel || !buffer->strides.empty()) return {};
  // What is the same in all lanes, as the image of a batch of any size, need not be simplified with
  // the rest.
  std::vector<Expr> linear, same;
  for (const Expr& index : indices) {
    linear.push_back(ir::Substitute(index, linear_));
    same.push_back(ir::MakeConst(index.dtype(), 0));
    if (!DependsOnLane(index)) std::swap(linear.back(), same.back());
  }
  Expr vector = AsRamp(analyzer_.Simplify(FlatIndex(buffer, linear)));
  const auto* lanes = vector ? vector.As<ir::RampNode>() : nullptr;
  if (!lanes) return {};
  Expr first = buffer->offset ? FlatIndex(buffer, same) - buffer->offset : FlatIndex(buffer, same);
  Expr ramp = ir::RampNode::Make(analyzer_.Simplify(lanes->base + first), lanes->stride, lanes_,
                                 vector.span());
  auto view = std::find_if(views_.begin(), views_.end(),
                           [&](const auto& known) { return known.first.same(buffer); });
  if (view == views_.end()) view = views_.insert(view, {buffer, FlatView(buffer)});
  return {view->second, {ramp}};
}

std::optional<LaneVectorizer::Definition> LaneVectorizer::Define(const Var& var,
                                                                 const Expr& value) {
  faults_.BindLet(var, value);
  if (!DependsOnLane(value))
    return MayEvaluate(value) ? std::optional(Definition{var, value}) : std::nullopt;
  auto linear = arith::AsLinear(ir::Substitute(value, linear_), loop_->var.node());
  if (linear && loop_->var.dtype() == var.dtype() && !DependsOnLane(linear->rest)) {
    Expr step = loop_->var * ir::IntImmNode::Make(var.dtype(), linear->coefficient);
    bool simple = ir::AsConstInt(linear->rest) || linear->rest.As<VarNode>();
    Definition rest{simple ? Var() : Var(var.name(), var.dtype(), var.span()), linear->rest};
    linear_[var.node()] = (simple ? linear->rest : rest.var) + step;
    return rest;
  }
  Expr vector = Widen(value);
  if (!vector) return {};
  Var lanes(var.name(), vector.dtype(), var.span());
  vectors_[var.node()] = lanes;
  return Definition{lanes, vector};
}

void LaneVectorizer::Forget(const Var& var) {
  linear_.erase(var.node());
  vectors_.erase(var.node());
}

// ---- Statements ----

Stmt LaneVectorizer::VectorizeOrSerialize(const Stmt& stmt) {
  Stmt result = Vectorize(stmt);
  if (result || vector_lets_ > 0) return result;
  return Serialize(stmt);
}

Stmt LaneVectorizer::Serialize(const Stmt& stmt) {
  Var lane(loop_->var.name(), loop_->var.dtype(), loop_->var.span());
  Stmt lanes = stmt;
  for (size_t i = conditions_.size(); i-- > 0;)
    lanes = IfThenElseNode::Make(conditions_[i], lanes, {}, stmt.span());
  Stmt body = Substitute(Substitute(lanes, linear_), {{loop_->var.node(), lane}});
  return ForNode::Make(lane, loop_->min, loop_->extent, ForKind::kSerial, body, "", loop_->span);
}

Stmt LaneVectorizer::Vectorize(const Stmt& stmt) {
  return DispatchStmt(stmt.get(), [this](auto* node) -> Stmt { return VectorizeNode(node); });
}

Stmt LaneVectorizer::VectorizeNode(const BufferStoreNode* node) {
  auto [buffer, indices] = VectorizePlace(node->buffer, node->indices);
  Expr value = Widen(node->value);
  if (indices.empty() || indices.back().dtype().is_scalar() || !value) return {};
  if (!IfTaken(ir::BufferLoadNode::Make(buffer, indices, node->span, mask_))) return {};
  any_vector_ = true;
  return BufferStoreNode::Make(buffer, indices, value, node->span, mask_);
}

Stmt LaneVectorizer::VectorizeNode(const LetStmtNode* node) {
  auto definition = Define(node->var, node->value);
  if (!definition) return {};
  bool is_vector = !definition->value.dtype().is_scalar();
  vector_lets_ += is_vector;
  Stmt body = VectorizeOrSerialize(node->body);
  vector_lets_ -= is_vector;
  Forget(node->var);
  if (!body || !definition->var) return body;
  return LetStmtNode::Make(definition->var, definition->value, body, node->span);
}

Stmt LaneVectorizer::VectorizeNode(const ForNode* node) {
  if (node->for_kind == ForKind::kThread || DependsOnLane(node->min) || DependsOnLane(node->extent))
    return {};
  if (!MayEvaluate(node->min) || !MayEvaluate(node->extent)) return {};
  faults_.BindLoop(node);
  Stmt body = VectorizeOrSerialize(node->body);
  if (!body) return {};
  return node->With(node->min, node->extent, body);
}

Stmt LaneVectorizer::VectorizeNode(const IfThenElseNode* node) {
  if (DependsOnLane(node->condition)) {
    Stmt some = mostly_hold_ ? VectorizeMasked(node) : VectorizeSelected(node);
    return some ? some : VectorizeWhereUniform(node);
  }
  if (!MayEvaluate(node->condition)) return {};
  Stmt then_case = VectorizeOrSerialize(node->then_case);
  Stmt else_case = node->else_case ? VectorizeOrSerialize(node->else_case) : Stmt();
  if (!then_case || (node->else_case && !else_case)) return {};
  return IfThenElseNode::Make(node->condition, then_case, else_case, node->span);
}

std::optional<LaneVectorizer::Comparison> LaneVectorizer::AsComparison(const Expr& condition) {
  Expr a, b;
  bool strict = false;
  ir::DispatchExpr(condition.get(), [&]<class T>(const T* node) {
    if constexpr (std::is_same_v<T, ir::LTNode> || std::is_same_v<T, ir::LENode>) {
      a = node->a;
      b = node->b;
      strict = T::kKind == ExprKind::kLT;
    } else if constexpr (std::is_same_v<T, ir::GTNode> || std::is_same_v<T, ir::GENode>) {
      a = node->b;
      b = node->a;
      strict = T::kKind == ExprKind::kGT;
    }
  });
  if (!a || !arith::IsIndexType(a.dtype())) return {};
  auto left = arith::AsLinear(ir::Substitute(a, linear_), loop_->var.node()),
       right = arith::AsLinear(ir::Substitute(b, linear_), loop_->var.node());
  if (!left || !right || DependsOnLane(left->rest) || DependsOnLane(right->rest)) return {};
  auto slope = arith::FoldInt(ExprKind::kSub, right->coefficient, left->coefficient);
  if (!slope) return {};
  Comparison comparison{*slope, {}};
  if (*slope != -1) return comparison;
  Expr left_over = right->rest - left->rest - ir::CastNode::Make(a.dtype(), loop_->min);
  if (!strict) left_over = left_over + ir::IntImmNode::Make(a.dtype(), 1);
  comparison.left = analyzer_.Simplify(left_over);
  return comparison;
}

Expr LaneVectorizer::HoldsInAllLanes(const Expr& condition) {
  if (!DependsOnLane(condition)) return condition;
  if (const auto* both = condition.As<ir::AndNode>()) {
    Expr a = HoldsInAllLanes(both->a), b = HoldsInAllLanes(both->b);
    if (!a || !b) return {};
    return ir::AndNode::Make(a, b, both->span);
  }
  // Both sides linear: what holds in the first lane and the last holds in between.
  if (!AsComparison(condition)) return {};
  return ir::AndNode::Make(InLane(condition, 0), InLane(condition, lanes_ - 1), condition.span());
}

// ---- Masks ----

bool LaneVectorizer::MayEvaluate(const Expr& expr) const {
  if (!mask_may_be_empty_) return true;
  struct Remover : ir::ExprMutator {
    explicit Remover(const LaneVectorizer* vectorizer) : vectorizer(vectorizer) {}
    Expr Mutate(const Expr& expr) override {
      const auto* load = expr.As<ir::BufferLoadNode>();
      if (!load) return ExprMutator::Mutate(expr);
      // As a divisor it may be anything.
      return vectorizer->IsInside(load->buffer, load->indices) ? ir::MakeConst(expr.dtype(), 0)
                                                               : expr;
    }
    const LaneVectorizer* vectorizer;
  };
  return !faults_.MayFault(Remover(this).Mutate(expr));
}

Expr LaneVectorizer::Unmasked(const Expr& vector, double otherwise) const {
  if (!mask_) return vector;
  return ir::SelectNode::Make(mask_, vector, ir::MakeConst(vector.dtype(), otherwise));
}

bool LaneVectorizer::HoldsForFirstLanes(const Expr& condition) {
  if (!DependsOnLane(condition)) return true;
  if (const auto* both = condition.As<ir::AndNode>())
    return HoldsForFirstLanes(both->a) && HoldsForFirstLanes(both->b);
  std::optional<Comparison> comparison = AsComparison(condition);
  return comparison && comparison->slope < 0;
}

Expr LaneVectorizer::InLane(const Expr& condition, int lane) const {
  Expr value = loop_->min;
  if (lane > 0) value = value + ir::IntImmNode::Make(value.dtype(), lane);
  Expr whole = ir::Substitute(condition, linear_);
  return arith::Analyzer().Simplify(ir::Substitute(whole, {{loop_->var.node(), value}}));
}

Expr LaneVectorizer::MaskOf(const Expr& condition) {
  std::optional<Comparison> comparison = AsComparison(condition);
  if (!comparison || comparison->slope != -1) return Widen(condition);
  // a < b, where a grows by one from lane to lane, holds in the first b - a lanes. They are counted
  // in 32 bits: there are fewer comparisons than of indices of 64.
  DataType dtype = comparison->left.dtype(), narrow = DataType::Int(32);
  Expr least = ir::MinNode::Make(comparison->left, ir::IntImmNode::Make(dtype, lanes_));
  Expr count = analyzer_.Simplify(ir::MaxNode::Make(least, ir::IntImmNode::Make(dtype, 0)));
  if (dtype != narrow) count = ir::CastNode::Make(narrow, count);
  Expr lanes = ir::RampNode::Make(ir::IntImmNode::Make(narrow, 0), ir::IntImmNode::Make(narrow, 1),
                                  lanes_, condition.span());
  return IfTaken(ir::LTNode::Make(lanes, ir::BroadcastNode::Make(count, lanes_), condition.span()));
}

Stmt LaneVectorizer::VectorizeMasked(const IfThenElseNode* node) {
  if (node->else_case) return {};
  Expr all = HoldsInAllLanes(node->condition);
  if (all.get() && analyzer_.CanProve(all)) return Vectorize(node->then_case);
  // Where the first lane counts there are some: what is the same in all lanes may be evaluated.
  bool is_tail = HoldsForFirstLanes(node->condition);
  Expr mask = MaskOf(node->condition);
  if (!mask) return {};
  if (mask_) mask = ir::AndNode::Make(mask_, mask);
  Var var("mask", mask.dtype(), node->condition.span());
  bool other_vectors = std::exchange(any_vector_, false);
  Expr outer = std::exchange(mask_, Expr());
  conditions_.push_back(node->condition);
  Stmt body = Where(var, !is_tail, [&] { return Vectorize(node->then_case); });
  conditions_.pop_back();
  mask_ = std::move(outer);
  bool worth_it = body.get() && any_vector_;
  any_vector_ |= other_vectors;
  if (!worth_it) return {};
  body = LetStmtNode::Make(var, mask, body, node->span);
  if (!is_tail) return body;
  body = IfThenElseNode::Make(InLane(node->condition, 0), body, {}, node->span);
  bool has_full = all.get() && mostly_hold_(node->condition);
  Stmt full = has_full ? Vectorize(CopyWithFreshDefs(node->then_case)) : Stmt();
  return full ? IfThenElseNode::Make(all, full, body, node->span) : body;
}

bool LaneVectorizer::IsInside(const Buffer& buffer, const std::vector<Expr>& indices) const {
  for (size_t d = 0; d < indices.size(); ++d) {
    arith::ConstBounds place = faults_.analyzer().Bounds(indices[d]);
    std::optional<int64_t> extent = ir::AsConstInt(buffer->shape[d]);
    if (!extent || place.lo < 0 || place.hi >= *extent) return false;
  }
  return true;
}

Expr LaneVectorizer::WithoutOwn(const Expr& expr) const {
  struct Remover : ir::ExprMutator {
    explicit Remover(const std::vector<Expr>& own) : own(own) {}
    Expr Mutate(const Expr& expr) override {
      for (const Expr& load : own)
        if (ir::StructuralEqual(expr, load)) return ir::MakeConst(expr.dtype(), 0);
      return ExprMutator::Mutate(expr);
    }
    const std::vector<Expr>& own;
  };
  return own_.empty() ? expr : Remover(own_).Mutate(expr);
}

Stmt LaneVectorizer::VectorizeSelected(const IfThenElseNode* node) {
  if (node->else_case || mask_.get()) return {};
  const auto* seq = node->then_case.As<SeqNode>();
  std::vector<Stmt> stores = seq ? seq->stmts : std::vector<Stmt>{node->then_case};
  std::vector<Expr> own;
  bool compared = false;
  for (const Stmt& stmt : stores) {
    const auto* store = stmt.As<BufferStoreNode>();
    if (!store || store->buffer->scope != StorageScope::kLocal ||
        !IsInside(store->buffer, store->indices))
      return {};
    own.push_back(ir::BufferLoadNode::Make(store->buffer, store->indices));
    ir::ForEachExpr(node->condition,
                    [&](const Expr& e) { compared |= ir::StructuralEqual(e, own.back()); });
  }
  if (!compared) return {};
  std::swap(own_, own);
  Expr condition = Widen(node->condition);
  std::swap(own_, own);
  if (!condition) return {};
  Var take("take", condition.dtype(), node->condition.span());
  for (Stmt& stmt : stores) {
    const auto* store = stmt.As<BufferStoreNode>();
    if (faults_.MayFault(store->value, node->condition)) return {};
    auto [buffer, indices] = VectorizePlace(store->buffer, store->indices);
    Expr value = Widen(store->value);
    if (indices.empty() || indices.back().dtype().is_scalar() || !value) return {};
    Expr before = IfTaken(ir::BufferLoadNode::Make(buffer, indices, store->span));
    Expr either = before ? IfTaken(ir::SelectNode::Make(take, value, before)) : Expr();
    if (!either) return {};
    stmt = BufferStoreNode::Make(buffer, indices, either, store->span);
  }
  any_vector_ = true;
  return LetStmtNode::Make(take, condition, SeqNode::Make(std::move(stores), node->span),
                           node->span);
}

Stmt LaneVectorizer::VectorizeWhereUniform(const IfThenElseNode* node) {
  Expr all = HoldsInAllLanes(node->condition);
  if (!all || vector_lets_ > 0) return {};
  bool other_vectors = std::exchange(any_vector_, false);
  Stmt then_case = Vectorize(node->then_case);
  bool worth_it = then_case.get() && any_vector_;
  any_vector_ |= other_vectors;
  if (!worth_it) return {};
  Stmt serial = CopyWithFreshDefs(Serialize(
      IfThenElseNode::Make(node->condition, node->then_case, node->else_case, node->span)));
  return IfThenElseNode::Make(all, then_case, serial, node->span);
}

Stmt LaneVectorizer::VectorizeNode(const SeqNode* node) {
  std::vector<Stmt> stmts;
  for (const Stmt& stmt : node->stmts) {
    stmts.push_back(VectorizeOrSerialize(stmt));
    if (!stmts.back()) return {};
  }
  return SeqNode::Make(std::move(stmts), node->span);
}

}  // namespace tern::tir
