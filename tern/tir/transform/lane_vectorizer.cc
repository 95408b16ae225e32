// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/lane_vectorizer.h"

#include <algorithm>
#include <limits>

#include "tern/arith/analyzer.h"
#include "tern/arith/linear.h"
#include "tern/ir/intrinsic.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/transform/flatten_buffers.h"
#include "tern/tir/visitor.h"

namespace tern::tir {

LaneVectorizer::LaneVectorizer(const ForNode* loop, int lanes, const target::TargetKind* kind,
                               FaultAnalysis faults, const arith::Analyzer& analyzer)
    : loop_(loop), lanes_(lanes), kind_(kind), faults_(std::move(faults)), analyzer_(analyzer) {}

Stmt LaneVectorizer::Run() {
  Stmt result = VectorizeOrSerialize(loop_->body);
  if (!any_vector_) return {};
  for (const auto& [buffer, view] : views_) result = DeclBufferNode::Make(view, result, view->span);
  return result;
}

Stmt LaneVectorizer::RunReduction(const ReductionUpdate& update) {
  std::vector<std::pair<Var, Expr>> lets;
  for (const LetStmtNode* let : update.lets) {
    std::optional<Definition> definition = Define(let->var, let->value);
    if (!definition) return {};
    if (definition->var) lets.emplace_back(definition->var, definition->value);
  }
  Expr value = Widen(update.value);
  Expr total = value ? CombineLanes(update.op, value, &lets) : Expr();
  if (!total) return {};
  const BufferStoreNode* store = update.store;
  Expr so_far = ir::BufferLoadNode::Make(store->buffer, store->indices, store->span);
  Stmt result = BufferStoreNode::Make(store->buffer, store->indices,
                                      CombineValues(update.op, so_far, total), store->span);
  for (size_t i = lets.size(); i-- > 0;)
    result = LetStmtNode::Make(lets[i].first, lets[i].second, result, store->span);
  return result;
}

Expr LaneVectorizer::CombineLanes(NodeKind op, Expr vector,
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
  if (!expr || expr.dtype().is_scalar() || !kind_ || !kind_->takes_vector) return expr;
  return kind_->takes_vector(expr) ? expr : Expr();
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
  if (!DependsOnLane(expr)) return expr;
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

template <NodeKind K>
Expr LaneVectorizer::VectorizeNode(const ir::BinaryNode<K>* node) {
  // The right side may be meant for some lanes only.
  if ((K == NodeKind::kAnd || K == NodeKind::kOr) && faults_.MayFault(node->b, node->a)) return {};
  Expr a = Widen(node->a), b = Widen(node->b);
  if (!a || !b) return {};
  return ir::BinaryNode<K>::Make(a, b, node->span);
}

Expr LaneVectorizer::VectorizeNode(const ir::NotNode* node) {
  Expr a = Widen(node->a);
  return a ? ir::NotNode::Make(a, node->span) : Expr();
}

Expr LaneVectorizer::VectorizeNode(const ir::SelectNode* node) {
  // Each lane has a choice of its own, and what it does not choose may fault.
  if (DependsOnLane(node->condition) && (faults_.MayFault(node->true_value, node->condition) ||
                                         faults_.MayFault(node->false_value, node->condition)))
    return {};
  Expr condition = Vectorize(node->condition), yes = Widen(node->true_value),
       no = Widen(node->false_value);
  if (!condition || !yes || !no) return {};
  return ir::SelectNode::Make(condition, yes, no, node->span);
}

Expr LaneVectorizer::VectorizeNode(const ir::CastNode* node) {
  Expr value = Widen(node->value);
  return value ? ir::CastNode::Make(node->dtype.with_lanes(lanes_), value, node->span) : Expr();
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
  if (!ir::FindIntrinsic(node->name)->lane_wise) return {};
  std::vector<Expr> args;
  for (const Expr& arg : node->args) {
    args.push_back(Widen(arg));
    if (!args.back()) return {};
  }
  return ir::CallNode::Make(node->name, args, node->dtype.with_lanes(lanes_), node->span);
}

Expr LaneVectorizer::VectorizeNode(const ir::BufferLoadNode* node) {
  Place place = VectorizePlace(node->buffer, node->indices);
  return place.indices.empty() ? Expr()
                               : ir::BufferLoadNode::Make(place.buffer, place.indices, node->span);
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
  std::vector<Expr> linear;
  for (const Expr& index : indices) linear.push_back(ir::Substitute(index, linear_));
  Expr ramp = AsRamp(analyzer_.Simplify(FlatIndex(buffer, linear)));
  if (!ramp || !ramp.As<ir::RampNode>()) return {};
  auto view = std::find_if(views_.begin(), views_.end(),
                           [&](const auto& known) { return known.first.same(buffer); });
  if (view == views_.end()) view = views_.insert(view, {buffer, FlatView(buffer)});
  return {view->second, {ramp}};
}

std::optional<LaneVectorizer::Definition> LaneVectorizer::Define(const Var& var,
                                                                 const Expr& value) {
  faults_.BindLet(var, value);
  if (!DependsOnLane(value)) return Definition{var, value};
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
  Stmt body = Substitute(Substitute(stmt, linear_), {{loop_->var.node(), lane}});
  return ForNode::Make(lane, loop_->min, loop_->extent, ForKind::kSerial, body, "", loop_->span);
}

Stmt LaneVectorizer::Vectorize(const Stmt& stmt) {
  return DispatchStmt(stmt.get(), [this](auto* node) -> Stmt { return VectorizeNode(node); });
}

Stmt LaneVectorizer::VectorizeNode(const BufferStoreNode* node) {
  auto [buffer, indices] = VectorizePlace(node->buffer, node->indices);
  Expr value = Widen(node->value);
  if (indices.empty() || indices.back().dtype().is_scalar() || !value) return {};
  if (!IfTaken(ir::BufferLoadNode::Make(buffer, indices, node->span))) return {};
  any_vector_ = true;
  return BufferStoreNode::Make(buffer, indices, value, node->span);
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
  faults_.BindLoop(node);
  Stmt body = VectorizeOrSerialize(node->body);
  if (!body) return {};
  return node->With(node->min, node->extent, body);
}

Stmt LaneVectorizer::VectorizeNode(const IfThenElseNode* node) {
  if (DependsOnLane(node->condition)) return VectorizeWhereUniform(node);
  Stmt then_case = VectorizeOrSerialize(node->then_case);
  Stmt else_case = node->else_case ? VectorizeOrSerialize(node->else_case) : Stmt();
  if (!then_case || (node->else_case && !else_case)) return {};
  return IfThenElseNode::Make(node->condition, then_case, else_case, node->span);
}

Expr LaneVectorizer::HoldsInAllLanes(const Expr& condition) {
  if (!DependsOnLane(condition)) return condition;
  if (const auto* both = condition.As<ir::AndNode>()) {
    Expr a = HoldsInAllLanes(both->a), b = HoldsInAllLanes(both->b);
    if (!a || !b) return {};
    return ir::AndNode::Make(a, b, both->span);
  }
  Expr a, b;
  ir::DispatchExpr(condition.get(), [&]<class T>(const T* node) {
    if constexpr (std::is_same_v<T, ir::LTNode> || std::is_same_v<T, ir::LENode> ||
                  std::is_same_v<T, ir::GTNode> || std::is_same_v<T, ir::GENode>) {
      a = node->a;
      b = node->b;
    }
  });
  if (!a || !arith::IsIndexType(a.dtype())) return {};
  // Both sides linear: what holds in the first lane and the last holds in between.
  for (const Expr& side : {a, b}) {
    auto linear = arith::AsLinear(ir::Substitute(side, linear_), loop_->var.node());
    if (!linear || DependsOnLane(linear->rest)) return {};
  }
  Expr last = loop_->min + ir::IntImmNode::Make(loop_->min.dtype(), lanes_ - 1);
  Expr whole = ir::Substitute(condition, linear_);
  arith::Analyzer analyzer;
  return ir::AndNode::Make(
      analyzer.Simplify(ir::Substitute(whole, {{loop_->var.node(), loop_->min}})),
      analyzer.Simplify(ir::Substitute(whole, {{loop_->var.node(), last}})), condition.span());
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
