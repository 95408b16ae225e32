// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/split_roles.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/bulk_intrinsics.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/group_intrinsics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/pipeline_loops.h"
#include "tern/tir/transform/pipeline_parts.h"
#include "tern/tir/transform/simplify.h"

namespace tern::tir {
namespace {

constexpr int64_t kWarpThreads = 32;
// Registers of a multiprocessor; those of a thread that only starts copies. Given back in eights.
constexpr int64_t kRegisters = 65536, kProducerRegisters = 24, kRegisterUnit = 8,
                  kMostRegisters = 240;

bool HasRoles(const ForNode* loop) { return loop->annotations.count(pipeline::kRoles) > 0; }

// What is in a statement, by a visit.
struct Contents : StmtVisitor {
  explicit Contents(const Stmt& stmt) { Visit(stmt); }
  using StmtVisitor::VisitNode;
  void VisitNode(const ForNode* node) override {
    if (HasRoles(node)) loop = node;
    VisitChildren(node);
  }
  void VisitNode(const EvaluateNode* node) override {
    barriers += IsBarrier(node->value);
    VisitChildren(node);
  }
  void VisitNode(const BufferStoreNode* node) override {
    if (IsBulkCopy(node->value)) {
      BulkCopy copy = BulkCopyOf(node->value.As<ir::CallNode>());
      bytes += copy.elements() * node->buffer->dtype.bytes();
      ++copies;
    }
    VisitChildren(node);
  }
  void VisitNode(const AllocateNode* node) override {
    if (IsSharedScope(node->buffer->scope)) shared.push_back(node);
    VisitChildren(node);
  }
  const ForNode* loop = nullptr;
  int barriers = 0, copies = 0;
  int64_t bytes = 0;
  std::vector<const AllocateNode*> shared;
};

Stmt Call(const char* name, std::vector<Expr> args, const Span& span) {
  return EvaluateNode::Make(ir::CallNode::Make(name, std::move(args), DataType::Void(), span),
                            span);
}
Stmt Row(std::vector<Stmt> stmts, const Span& span) {
  return SeqNode::Make(std::move(stmts), span);
}

// A kernel's thread loops, from the outermost on, and what is in them.
class RoleSplitter {
 public:
  explicit RoleSplitter(const ForNode* outermost) : outermost_(outermost), span_(outermost->span) {}

  Stmt Run() {
    Stmt inner = Stmt(ffi::Ref<const ForNode>(outermost_));
    for (const ForNode* loop; (loop = inner.As<ForNode>()) && loop->for_kind == ForKind::kThread;
         inner = loop->body)
      (loop->thread.starts_with("blockIdx.") ? blocks_ : threads_).push_back(loop);
    body_ = inner;
    Contents all(body_);
    loop_ = all.loop;
    Check(all);
    auto numbers = loop_->annotations.at(pipeline::kRoles).As<ffi::Array>();
    tiles_ = (*numbers)[0].As<int64_t>();
    grid_ = (*numbers)[1].As<int64_t>();
    bytes_ = all.bytes;
    for (const AllocateNode* allocation : all.shared)
      versioned_[allocation->buffer.get()] = MakeVersions(allocation->buffer, tiles_);
    full_ = MakeBarriers("full");
    empty_ = MakeBarriers("empty");
    return WriteOut();
  }

 private:
  [[noreturn]] void Refuse(const std::string& why) const {
    TERN_THROW(ValueError) << ir::At(loop_->span) << "loop " << loop_->var.name()
                           << " has roles, but " << why;
  }

  void Check(const Contents& all) {
    Contents inside(loop_->body);
    std::sort(threads_.begin(), threads_.end(), [](const ForNode* a, const ForNode* b) {
      return a->thread < b->thread;  // x, y, z
    });
    consumers_ = 1;
    for (const ForNode* loop : threads_) {
      std::optional<int64_t> extent = ir::AsConstInt(loop->extent);
      if (!extent) Refuse("the number of threads is not constant");
      if (loop != threads_.back()) group_ *= *extent;
      consumers_ *= *extent;
    }
    if (group_ != kWarpGroupThreads)
      Refuse("its threads are no groups of " + std::to_string(kWarpGroupThreads) +
             " along the last axis");
    if (all.barriers != inside.barriers) Refuse("the threads of a block also meet outside of it");
    if (inside.copies == 0) Refuse("it has no bulk copies");
    for (const AllocateNode* allocation : all.shared)
      if (!IsFilled(allocation->buffer))
        Refuse("threads share " + allocation->buffer->name + ", too");
    if (!ir::AsConstInt(loop_->extent) || *ir::AsConstInt(loop_->extent) < 1)
      Refuse("its extent is not constant");
  }
  // Whether bulk copies write to it.
  bool IsFilled(const Buffer& buffer) const {
    struct Finder : StmtVisitor {
      using StmtVisitor::VisitNode;
      void VisitNode(const BufferStoreNode* node) override {
        if (node->buffer.same(*buffer)) (IsBulkCopy(node->value) ? filled : other) = true;
      }
      const Buffer* buffer = nullptr;
      bool filled = false, other = false;
    } finder;
    finder.buffer = &buffer;
    finder.Visit(body_);
    return finder.filled && !finder.other;
  }

  Buffer MakeBarriers(const std::string& name) const {
    auto buffer = ffi::Make<BufferNode>();
    buffer->name = name;
    buffer->data = Var(name, DataType::Handle());
    buffer->dtype = DataType::UInt(64);
    buffer->shape = {Expr(tiles_)};
    buffer->scope = StorageScope::kShared;
    return Buffer(buffer.get());
  }

  // ---- steps

  static Expr Barrier(const Buffer& barriers, const Expr& index) {
    return ir::CallNode::Make(intrinsic::kAddressOf,
                              {ir::BufferLoadNode::Make(barriers, {index}, barriers->span)},
                              DataType::Void());
  }
  Expr Version(const Expr& step) const { return ir::FloorMod(step, Expr(tiles_)); }
  // Of the phase in which a step uses its tile.
  Expr Parity(const Expr& step) const {
    return ir::FloorMod(ir::FloorDiv(step, Expr(tiles_)), Expr(int64_t{2}));
  }
  // Steps are counted over all tiles of C that the block computes.
  Expr StepOf(const Expr& tile, const Expr& k) const {
    Expr step = k - loop_->min;
    return tile ? tile * loop_->extent + step : step;
  }
  Stmt Arrive(const Expr& step) const {
    Expr lane = ir::FloorMod(ThreadNumber(), Expr(kWarpThreads));
    return IfThenElseNode::Make(
        analyzer_.Simplify(lane == Expr(int64_t{0})),
        Call(intrinsic::kBarrierArrive, {Barrier(empty_, Version(step))}, span_), {}, span_);
  }
  Expr ThreadNumber() const {
    Expr number(int64_t{0});
    for (size_t i = threads_.size(); i-- > 0;)
      number = number * threads_[i]->extent + threads_[i]->var;
    return number;
  }

  // The statements of a step that are copies, or those that are none.
  std::vector<Stmt> StepStmts(bool copies) const {
    std::vector<Stmt> stmts;
    AddStepStmts(loop_->body, copies, &stmts);
    return stmts;
  }
  void AddStepStmts(const Stmt& stmt, bool copies, std::vector<Stmt>* stmts) const {
    if (const auto* allocation = stmt.As<AllocateNode>())
      if (IsSharedScope(allocation->buffer->scope))
        return AddStepStmts(allocation->body, copies, stmts);
    if (const auto* row = stmt.As<SeqNode>()) {
      for (const Stmt& one : row->stmts) AddStepStmts(one, copies, stmts);
      return;
    }
    Contents contents(stmt);
    bool is_barrier = stmt.As<EvaluateNode>() && contents.barriers > 0;
    if (contents.barriers > 0 && !is_barrier) Refuse("threads meet within a statement of it");
    if (!is_barrier && (contents.copies > 0) == copies) stmts->push_back(stmt);
  }

  Stmt Consume(const Expr& tile) const {
    Expr step = StepOf(tile, loop_->var);
    std::vector<Stmt> stmts = {
        Call(intrinsic::kBarrierWait, {Barrier(full_, Version(step)), Parity(step)}, span_)};
    for (const Stmt& stmt : StepStmts(false)) {
      Stmt late = MakeMultiplicationsLate(stmt).stmt;
      stmts.push_back(SelectVersions(late, versioned_, step));
    }
    stmts.push_back(AwaitMultiplications(1, span_));
    stmts.push_back(
        IfThenElseNode::Make(loop_->min < loop_->var, Arrive(step - int64_t{1}), {}, span_));
    Stmt loop = ForNode::Make(loop_->var, loop_->min, loop_->extent, ForKind::kSerial,
                              Row(std::move(stmts), span_), "", span_);
    Expr last = StepOf(tile, loop_->min + loop_->extent - int64_t{1});
    return Row({loop, AwaitMultiplications(0, span_), Arrive(last)}, span_);
  }

  Stmt Produce(const Expr& tile) const {
    Expr step = StepOf(tile, loop_->var);
    Expr full = Barrier(full_, Version(step));
    // Nobody waits for the first use of a tile: the phase before the first one has completed.
    std::vector<Stmt> stmts = {
        Call(intrinsic::kBarrierWait, {Barrier(empty_, Version(step)), int64_t{1} - Parity(step)},
             span_),
        Call(intrinsic::kBarrierExpect, {full, Expr(bytes_)}, span_)};
    for (const Stmt& stmt : StepStmts(true)) {
      Stmt copies = stmt;
      while (const auto* condition = copies.As<IfThenElseNode>()) copies = condition->then_case;
      const auto* row = copies.As<SeqNode>();
      for (const Stmt& one : row ? row->stmts : std::vector<Stmt>{copies}) {
        const auto* store = one.As<BufferStoreNode>();
        if (!store || !IsBulkCopy(store->value)) Refuse("a copy does more than that");
        BulkCopy copy = BulkCopyOf(store->value.As<ir::CallNode>());
        copy.barrier = full;
        stmts.push_back(
            SelectVersions(BufferStoreNode::Make(store->buffer, store->indices,
                                                 copy.MakeCall(store->span), store->span),
                           versioned_, step));
      }
    }
    return ForNode::Make(loop_->var, loop_->min, loop_->extent, ForKind::kSerial,
                         Row(std::move(stmts), span_), "", span_);
  }

  // ---- the kernel

  // The body with the loop replaced, without what is shared.
  class LoopReplacer : public StmtMutator {
   public:
    LoopReplacer(const ForNode* loop, Stmt by) : loop_(loop), by_(std::move(by)) {}

   private:
    using StmtMutator::MutateNode;
    Stmt MutateNode(const ForNode* node, const Stmt& self) override {
      return node == loop_ ? by_ : MutateChildren(node, self);
    }
    Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
      return IsSharedScope(node->buffer->scope) ? Mutate(node->body) : MutateChildren(node, self);
    }
    const ForNode* loop_;
    Stmt by_;
  };
  // What is around the loop, alone.
  Stmt Around(const Stmt& stmt, const Stmt& by) const {
    if (stmt.get() == loop_) return by;
    if (const auto* allocation = stmt.As<AllocateNode>()) return Around(allocation->body, by);
    if (const auto* let = stmt.As<LetStmtNode>())
      return LetStmtNode::Make(let->var, let->value, Around(let->body, by), let->span);
    if (const auto* row = stmt.As<SeqNode>())
      for (const Stmt& one : row->stmts)
        if (Contents(one).loop) return Around(one, by);
    Refuse("it is in another statement, which only one role would run");
  }

  // The tiles of this block, each at its place of the grid that the kernel was written for.
  Stmt OverTiles(const Stmt& body, const Var& block, const Var& tile) const {
    if (grid_ == 0) return body;
    Expr rest = tile * grid_ + block;
    Stmt result = body;
    int64_t total = 1;
    for (size_t i = blocks_.size(); i-- > 0;) {  // the last axis, x, is the fastest
      const ForNode* loop = blocks_[i];
      int64_t extent = *ir::AsConstInt(loop->extent);
      Expr index = i == 0 ? ir::FloorDiv(rest, Expr(total))
                          : ir::FloorMod(ir::FloorDiv(rest, Expr(total)), Expr(extent));
      if (index.dtype() != loop->var.dtype()) index = ir::CastNode::Make(loop->var.dtype(), index);
      result = LetStmtNode::Make(loop->var, index, result, loop->span);
      total *= extent;
    }
    Expr count = ir::FloorDiv(Expr(total + grid_ - 1) - block, Expr(grid_));
    return CopyWithFreshDefs(
        ForNode::Make(tile, Expr(int64_t{0}), count, ForKind::kSerial, result, "", span_));
  }

  Stmt WriteOut() {
    int64_t total = 1;
    for (const ForNode* loop : blocks_) {
      std::optional<int64_t> extent = ir::AsConstInt(loop->extent);
      if (!extent) grid_ = 0;
      total *= extent.value_or(1);
    }
    // Every block has its tile anyway.
    if (total <= grid_) grid_ = 0;
    Var block("block", DataType::Int(64)), tile("tile", DataType::Int(64));
    for (const ForNode* loop : threads_) analyzer_.BindRange(loop->var, loop->min, loop->extent);
    Expr tile_index = grid_ > 0 ? Expr(tile) : Expr();
    Stmt consumer = OverTiles(LoopReplacer(loop_, Consume(tile_index)).Mutate(body_), block, tile);
    Stmt producer = OverTiles(CopyWithFreshDefs(Around(body_, Produce(tile_index))), block, tile);

    const ForNode* last = threads_.back();
    Expr is_first, is_first_of_group;
    for (const ForNode* loop : threads_) {
      Expr is_zero = loop->var == ir::IntImmNode::Make(loop->var.dtype(), 0);
      is_first = is_first ? is_first && is_zero : is_zero;
      if (loop != last)
        is_first_of_group = is_first_of_group ? is_first_of_group && is_zero : is_zero;
    }
    producer = IfThenElseNode::Make(is_first_of_group, producer, {}, span_);
    int64_t threads = consumers_ + kWarpGroupThreads,
            share = kRegisters / threads / kRegisterUnit * kRegisterUnit,
            more = (kRegisters - kProducerRegisters * kWarpGroupThreads) / consumers_ /
                   kRegisterUnit * kRegisterUnit;
    if (share < kMostRegisters) {
      auto take = [&](int64_t registers) {
        return Call(intrinsic::kThreadRegisters, {Expr(registers)}, span_);
      };
      consumer = Row({take(std::min(more, kMostRegisters)), consumer}, span_);
      producer = Row({take(kProducerRegisters), producer}, span_);
    }
    Stmt roles = IfThenElseNode::Make(last->var < last->extent, consumer, producer, span_);
    std::vector<Stmt> start;
    for (int64_t i = 0; i < tiles_; ++i) {
      start.push_back(
          Call(intrinsic::kBarrierInit, {Barrier(full_, Expr(i)), Expr(int64_t{1})}, span_));
      start.push_back(Call(intrinsic::kBarrierInit,
                           {Barrier(empty_, Expr(i)), Expr(consumers_ / kWarpThreads)}, span_));
    }
    Stmt result = Row({IfThenElseNode::Make(is_first, Row(std::move(start), span_), {}, span_),
                       EvaluateNode::Make(MakeBarrier(BarrierKind::kShared, span_), span_), roles},
                      span_);
    for (const Buffer& barriers : {full_, empty_})
      result = AllocateNode::Make(barriers, result, span_);
    for (const AllocateNode* allocation : Contents(body_).shared)
      result = AllocateNode::Make(versioned_.at(allocation->buffer.get()), result, span_);
    for (size_t i = 0; i < threads_.size(); ++i)
      result = threads_[i]->With(
          threads_[i]->min,
          threads_[i] == last ? analyzer_.Simplify(last->extent + int64_t{1}) : threads_[i]->extent,
          result);
    if (grid_ > 0)
      return ForNode::Make(block, Expr(int64_t{0}), Expr(grid_), ForKind::kThread, result,
                           "blockIdx.x", span_);
    for (size_t i = blocks_.size(); i-- > 0;)
      result = blocks_[i]->With(blocks_[i]->min, blocks_[i]->extent, result);
    return result;
  }

  const ForNode* outermost_;
  Span span_;
  std::vector<const ForNode*> blocks_, threads_;
  Stmt body_;
  const ForNode* loop_ = nullptr;
  arith::Analyzer analyzer_;
  int64_t group_ = 1, consumers_ = 1;  // threads
  int64_t tiles_ = 0, grid_ = 0, bytes_ = 0;
  Buffer full_, empty_;
  VersionedBuffers versioned_;
};

class KernelSplitter : public StmtMutator {
  using StmtMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread) return MutateChildren(node, self);
    return Contents(self).loop ? RoleSplitter(node).Run() : self;
  }
};

}  // namespace

PrimFunc SplitRoles(const PrimFunc& function) {
  if (!Contents(function->body).loop) return function;
  // While the places of tiles are loops, whose extents are known.
  return KernelSplitter().MutateFunction(Simplify(function));
}

}  // namespace tern::tir
