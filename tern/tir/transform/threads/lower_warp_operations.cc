// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/lower_warp_operations.h"

#include "tern/arith/analyzer.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/analysis/warp_size.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

bool IsShuffle(const ir::CallNode* call) {
  return call->name == intrinsic::kWarpShuffle || call->name == intrinsic::kWarpShuffleUp ||
         call->name == intrinsic::kWarpShuffleDown || call->name == intrinsic::kWarpShuffleXor;
}
bool IsVote(const ir::CallNode* call) {
  return call->name == intrinsic::kWarpAny || call->name == intrinsic::kWarpAll ||
         call->name == intrinsic::kWarpBallot;
}

class KernelLowerer : public StmtMutator {
 public:
  KernelLowerer(const ForNode* kernel, int64_t warp_size, bool has_warps)
      : warp_size_(warp_size), has_warps_(has_warps) {
    std::array<const ForNode*, kNumThreadAxes> loops{};
    for (const ForNode* loop : FindKernelShape(kernel).loops) {
      const ForNode*& found = loops[ThreadAxisNumber(loop->thread)];
      if (found) return;  // a thread has no one variable for its index
      found = loop;
    }
    threads_ = Expr(1);
    thread_ = Expr(0);
    for (int axis = 0; axis < kNumThreadAxesOfBlock; ++axis) {
      if (!loops[axis]) continue;
      thread_ = thread_ + AsIndex(loops[axis]->var) * threads_;
      threads_ = threads_ * AsIndex(loops[axis]->extent);
    }
    threads_ = arith::Analyzer().Simplify(threads_);
    thread_ = arith::Analyzer().Simplify(thread_);
    constant_ = ir::AsConstInt(threads_);
    lane_ = FloorMod(thread_, Expr(warp_size));
  }
  // Whether there is something to do: with warps, where the last one may be smaller.
  bool is_needed() const {
    return threads_.get() &&
           (has_warps_ ? !constant_ || *constant_ % warp_size_ != 0 : !!constant_);
  }

  Stmt Mutate(const Stmt& stmt) override {
    std::vector<Exchange> outer;
    std::swap(outer, exchanges_);
    Stmt result = StmtMutator::Mutate(stmt);
    std::swap(outer, exchanges_);
    // Those of the statement's own expressions come before it.
    for (size_t i = outer.size(); i-- > 0;)
      result =
          AllocateNode::Make(outer[i].received, SeqNode::Make({outer[i].stmt, result}), stmt->span);
    return result;
  }
  using StmtMutator::Mutate;

 private:
  using StmtMutator::MutateNode;
  struct Exchange {
    Stmt stmt;
    Buffer received;  // what it gives
  };

  static Expr AsIndex(const Expr& expr) {
    return expr.dtype() == DataType::Int(64) ? expr : ir::CastNode::Make(DataType::Int(64), expr);
  }

  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    if (node->name == intrinsic::kLaneIndex && !has_warps_)
      return ir::CastNode::Make(node->dtype, lane_, node->span);
    bool is_shuffle = IsShuffle(node);
    if ((!is_shuffle && !IsVote(node)) || !node->dtype.is_scalar())
      return MutateChildren(node, self);
    if (has_warps_ && (!is_shuffle || node->name == intrinsic::kWarpShuffle))
      return MutateChildren(node, self);
    Expr value = Mutate(node->args[0]);
    Expr source = is_shuffle ? SourceLane(node->name, AsIndex(Mutate(node->args[1]))) : Expr();
    if (has_warps_)
      return ir::CallNode::Make(intrinsic::kWarpShuffle, {value, source}, DataType::Void(),
                                node->span);
    exchanges_.push_back(MakeExchange(node, value, source));
    return ir::BufferLoadNode::Make(exchanges_.back().received, {Expr(0)}, node->span);
  }
  // What an operation needs of a variable is written out: it comes before the expression.
  Expr MutateNode(const ir::LetNode* node, const Expr& self) override {
    bool found = false;
    ir::ForEachExpr(node->body, [&](const Expr& expr) {
      const auto* call = expr.As<ir::CallNode>();
      found |= call && IsWarpOperation(call);
    });
    if (!found) return MutateChildren(node, self);
    return Mutate(ir::Substitute(node->body, {{node->var.node(), node->value}}));
  }
  // The condition is evaluated again in every iteration: what is in it stays.
  Stmt MutateNode(const WhileNode* node, const Stmt& self) override {
    Stmt body = Mutate(node->body);
    return body.same(node->body) ? self : WhileNode::Make(node->condition, body, node->span);
  }

  // The lane of the warp that is read: the own one where there is no other.
  Expr SourceLane(const std::string& name, const Expr& number) const {
    if (name == intrinsic::kWarpShuffle) return number;
    if (name == intrinsic::kWarpShuffleUp)
      return ir::SelectNode::Make(lane_ < number, lane_, lane_ - number);
    Expr other = name == intrinsic::kWarpShuffleDown
                     ? lane_ + number
                     : ir::CallNode::Make("bit_xor", {lane_, number});
    Expr exists = other < Expr(warp_size_);
    if (!constant_ || *constant_ % warp_size_ != 0)
      exists = exists && thread_ - lane_ + other < threads_;
    return ir::SelectNode::Make(exists, other, lane_);
  }

  Exchange MakeExchange(const ir::CallNode* call, const Expr& value, const Expr& source) const {
    const Span& span = call->span;
    Buffer exchanged = ir::BufferNode::Make("exchanged_by_" + call->name, value.dtype(), {threads_},
                                            {}, StorageScope::kShared, {}, span);
    Buffer received = ir::BufferNode::Make("received", call->dtype, {Expr(1)}, {},
                                           StorageScope::kLocal, {}, span);
    Stmt give = BufferStoreNode::Make(exchanged, {thread_}, value, span);
    auto element = [&](const Expr& lane) {
      return ir::BufferLoadNode::Make(exchanged, {thread_ - lane_ + lane}, span);
    };
    Stmt take = source ? BufferStoreNode::Make(received, {Expr(0)}, element(source), span)
                       : Count(call, received, element);
    Stmt barrier = EvaluateNode::Make(MakeBarrier(BarrierKind::kShared), span);
    Stmt steps = SeqNode::Make({give, barrier, take, barrier}, span);
    return {AllocateNode::Make(exchanged, steps, span), received};
  }
  // The votes of all lanes, one after another.
  template <class F>
  Stmt Count(const ir::CallNode* call, const Buffer& received, F&& element) const {
    const Span& span = call->span;
    Var lane("lane", DataType::Int(64), span);
    Expr so_far = ir::BufferLoadNode::Make(received, {Expr(0)}, span), vote = element(lane);
    Expr first, next;
    if (call->name == intrinsic::kWarpBallot) {
      auto bits = [&](int64_t value) { return ir::MakeConst(call->dtype, double(value)); };
      first = bits(0);
      Expr bit =
          ir::CallNode::Make("shift_left", {bits(1), ir::CastNode::Make(call->dtype, lane, span)});
      next = ir::CallNode::Make("bit_or", {so_far, ir::SelectNode::Make(vote, bit, bits(0))});
    } else {
      bool any = call->name == intrinsic::kWarpAny;
      first = ir::MakeConst(DataType::Bool(), any ? 0 : 1);
      next = any ? so_far || vote : so_far && vote;
    }
    Stmt step = BufferStoreNode::Make(received, {Expr(0)}, next, span);
    if (*constant_ % warp_size_ != 0)
      step = IfThenElseNode::Make(thread_ - lane_ + lane < threads_, step, {}, span);
    return SeqNode::Make(
        {BufferStoreNode::Make(received, {Expr(0)}, first, span),
         ForNode::Make(lane, 0, Expr(warp_size_), ForKind::kSerial, step, "", span)},
        span);
  }

  const int64_t warp_size_;
  const bool has_warps_;
  Expr thread_, lane_, threads_;     // of the block; null: not known
  std::optional<int64_t> constant_;  // how many threads
  std::vector<Exchange> exchanges_;  // of the statement at hand
};

class WarpOperationLowerer : public StmtMutator {
 public:
  WarpOperationLowerer(int64_t warp_size, bool has_warps)
      : warp_size_(warp_size), has_warps_(has_warps) {}

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || IsVirtualThread(node))
      return MutateChildren(node, self);
    KernelLowerer lowerer(node, warp_size_, has_warps_);
    return lowerer.is_needed() ? lowerer.Mutate(self) : self;
  }
  int64_t warp_size_;
  bool has_warps_;
};

}  // namespace

PrimFunc LowerWarpOperations(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  if (it == function->attrs.end()) return function;
  bool has_warps = target::WarpSize(it->second.As<target::Target>()) > 0;
  return WarpOperationLowerer(WarpSizeOf(function), has_warps).MutateFunction(function);
}

}  // namespace tern::tir
