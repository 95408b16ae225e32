// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/split_roles.h"

#include <algorithm>
#include <set>

#include "tern/arith/analyzer.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/bulk_intrinsics.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/group_intrinsics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/simplify.h"
#include "tern/tir/transform/threads/pipeline_loops.h"
#include "tern/tir/transform/threads/pipeline_parts.h"

namespace tern::tir {
namespace {

constexpr int64_t kWarpThreads = 32, kGroupWarps = kWarpGroupThreads / kWarpThreads;
// Of groups that take turns.
constexpr const char* kGroupAxis = "threadIdx.z";
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
    int64_t outside = repeats_;
    repeats_ *= ir::AsConstInt(node->extent).value_or(1);
    VisitChildren(node);
    repeats_ = outside;
  }
  void VisitNode(const EvaluateNode* node) override {
    barriers += IsBarrier(node->value);
    VisitChildren(node);
  }
  void VisitNode(const BufferStoreNode* node) override {
    const auto* call = node->value.As<ir::CallNode>();
    if (call && call->name == intrinsic::kWarpMatrixMultiplyGroup) multiplications += repeats_;
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
  int64_t bytes = 0, multiplications = 0;
  std::vector<const AllocateNode*> shared;

 private:
  int64_t repeats_ = 1;
};

// The buffers that a statement reads or writes.
std::set<const BufferNode*> BuffersOf(const Stmt& stmt) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const BufferStoreNode* node) override {
      found.insert(node->buffer.get());
      VisitChildren(node);
    }
    void VisitNode(const ir::BufferLoadNode* node) override {
      found.insert(node->buffer.get());
      VisitChildren(node);
    }
    std::set<const BufferNode*> found;
  } finder;
  finder.Visit(stmt);
  return std::move(finder.found);
}

bool Multiplies(const Stmt& stmt) { return !MakeMultiplicationsLate(stmt).read.empty(); }

// Shared memory that copies fill, and others read: of a step, or of all steps of the loop.
struct Tile {
  int64_t versions, bytes = 0;
  size_t first, last;  // the statements of a step that read it
  std::vector<Stmt> copies;
  std::string name;    // of one of its buffers
  Buffer full, empty;  // barriers
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
    // Where there is one tile, its place is a loop of one iteration.
    for (const ForNode* loop; (loop = inner.As<ForNode>()) && ir::IsConst(loop->extent, 1);)
      inner = Substitute(loop->body, {{loop->var.node(), loop->min}});
    body_ = inner;
    Contents all(body_);
    loop_ = all.loop;
    Check(all);
    auto numbers = loop_->annotations.at(pipeline::kRoles).As<ffi::Array>();
    versions_ = (*numbers)[0].As<int64_t>();
    grid_ = (*numbers)[1].As<int64_t>();
    turns_ = (*numbers)[2].As<int64_t>();
    CheckThreads();
    ChooseGrid();
    TakeApart(loop_->body);
    FindTiles();
    turn_ = MakeBarriers("turn", turns_);
    FindLateMultiplications();
    return WriteOut();
  }

 private:
  [[noreturn]] void Refuse(const std::string& why) const {
    TERN_THROW(ValueError) << ir::At(loop_->span) << "loop " << loop_->var.name()
                           << " has roles, but " << why;
  }

  // All threads compute a tile, the last axis being that of groups; or, where groups take turns,
  // those of one do, and that axis is a new one.
  void CheckThreads() {
    std::sort(threads_.begin(), threads_.end(), [](const ForNode* a, const ForNode* b) {
      return a->thread < b->thread;  // x, y, z
    });
    int64_t total = 1;
    for (const ForNode* loop : threads_) {
      std::optional<int64_t> extent = ir::AsConstInt(loop->extent);
      if (!extent) Refuse("the number of threads is not constant");
      total *= *extent;
    }
    if (turns_ > 1) {
      if (total != kWarpGroupThreads || threads_.back()->thread == kGroupAxis)
        Refuse("groups take turns, and its threads are no group of " +
               std::to_string(kWarpGroupThreads) + " along x and y");
      group_ = Var("group", DataType::Int(64));
      groups_ = turns_;
      return;
    }
    group_ = threads_.back()->var;
    group_axis_ = threads_.back()->thread;
    groups_ = *ir::AsConstInt(threads_.back()->extent);
    if (total != groups_ * kWarpGroupThreads)
      Refuse("its threads are no groups of " + std::to_string(kWarpGroupThreads) +
             " along the last axis");
    threads_.pop_back();
  }
  void Check(const Contents& all) {
    Contents inside(loop_->body);
    multiplications_ = inside.multiplications;
    if (inside.copies == 0) Refuse("it has no bulk copies");
    for (const AllocateNode* allocation : all.shared)
      if (!IsFilled(allocation->buffer))
        Refuse("threads share " + allocation->buffer->name + ", too");
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

  void ChooseGrid() {
    Expr total(int64_t{1});
    for (const ForNode* loop : blocks_) total = total * ExtentOf(loop);
    tiles_ = analyzer_.Simplify(total);
    // Every block has its tile anyway: one group's.
    if (ir::AsConstInt(tiles_).value_or(grid_ + 1) <= grid_ || !ir::AsConstInt(loop_->extent))
      grid_ = 0;
    if (grid_ == 0 && turns_ > 1) turns_ = groups_ = 1;
  }

  static Expr ExtentOf(const ForNode* loop) {
    return ir::CastNode::Make(DataType::Int(64), loop->extent);
  }
  static Buffer MakeBarriers(const std::string& name, int64_t count) {
    auto buffer = ffi::Make<BufferNode>();
    buffer->name = name;
    buffer->data = Var(name, DataType::Handle());
    buffer->dtype = DataType::UInt(64);
    buffer->shape = {Expr(count)};
    buffer->scope = StorageScope::kShared;
    return Buffer(buffer.get());
  }

  // ---- what there is

  // The statements of a step, and its memory. Barriers were for the copies.
  void TakeApart(const Stmt& stmt) {
    if (const auto* allocation = stmt.As<AllocateNode>()) {
      if (!IsSharedScope(allocation->buffer->scope)) memory_.push_back(allocation);
      return TakeApart(allocation->body);
    }
    if (const auto* row = stmt.As<SeqNode>()) {
      for (const Stmt& one : row->stmts) TakeApart(one);
      return;
    }
    Contents contents(stmt);
    bool is_barrier = stmt.As<EvaluateNode>() && contents.barriers > 0;
    if (contents.barriers > 0 && !is_barrier) Refuse("threads meet within a statement of it");
    if (!is_barrier) (contents.copies > 0 ? copies_ : steps_).push_back(stmt);
  }

  // What the same statements read is full, and empty, at once.
  void FindTiles() {
    for (const Stmt& copy : copies_) AddCopy(copy, &tiles_of_step_);
    struct Outside : StmtVisitor {
      using StmtVisitor::VisitNode;
      void VisitNode(const ForNode* node) override {
        if (!HasRoles(node)) VisitChildren(node);
      }
      void VisitNode(const IfThenElseNode* node) override {
        if (Contents(Stmt(ffi::Ref<const IfThenElseNode>(node))).loop)
          VisitChildren(node);
        else if (Contents(Stmt(ffi::Ref<const IfThenElseNode>(node))).copies > 0)
          copies.push_back(Stmt(ffi::Ref<const IfThenElseNode>(node)));
      }
      void VisitNode(const ir::BufferLoadNode* node) override {
        read.push_back(node->buffer.get());
        VisitChildren(node);
      }
      std::vector<Stmt> copies;
      std::vector<const BufferNode*> read;
    } outside;
    outside.Visit(body_);
    for (const Stmt& copy : outside.copies) AddCopy(copy, &tiles_of_block_);
    for (const BufferNode* buffer : outside.read)
      if (versions_of_step_.count(buffer) || versions_of_block_.count(buffer))
        Refuse(buffer->name + " is read outside of it");
    bool alone = tiles_of_step_.size() == 1 && tiles_of_block_.empty();
    for (std::vector<Tile>* tiles : {&tiles_of_step_, &tiles_of_block_})
      for (Tile& tile : *tiles) {
        std::string prefix = alone ? "" : tile.name + "_";
        tile.full = MakeBarriers(prefix + "full", tile.versions);
        tile.empty = MakeBarriers(prefix + "empty", tile.versions);
      }
  }
  void AddCopy(const Stmt& copy, std::vector<Tile>* tiles) {
    bool of_step = tiles == &tiles_of_step_;
    Contents contents(copy);
    std::set<const BufferNode*> filled;
    for (const BufferNode* buffer : BuffersOf(copy))
      if (IsSharedScope(buffer->scope)) filled.insert(buffer);
    size_t first = steps_.size(), last = 0;
    for (size_t i = 0; i < steps_.size(); ++i)
      for (const BufferNode* buffer : BuffersOf(steps_[i])) {
        if (!filled.count(buffer)) continue;
        // Only these end for all lanes of a warp at once.
        if (!Multiplies(steps_[i])) Refuse("other than multiplications read " + buffer->name);
        first = std::min(first, i);
        last = i;
      }
    if (first == steps_.size()) Refuse("no step of it reads what is copied");
    auto tile = std::find_if(tiles->begin(), tiles->end(), [&](const Tile& one) {
      return !of_step || (one.first == first && one.last == last);
    });
    if (tile == tiles->end())
      tile = tiles->insert(tile, Tile{.versions = of_step     ? versions_
                                                  : grid_ > 0 ? 2
                                                              : 1,
                                      .first = first,
                                      .last = last});
    tile->bytes += contents.bytes;
    tile->copies.push_back(copy);
    for (const BufferNode* buffer : filled) {
      tile->name = buffer->name;
      (of_step ? versions_of_step_ : versions_of_block_)[buffer] =
          MakeVersions(Buffer(buffer), tile->versions);
    }
  }

  // The last statement of a step may multiply while the next step begins: until the first other one
  // that multiplies ends, or, where there is no other, until the next step does.
  void FindLateMultiplications() {
    is_late_ = Multiplies(steps_.back());
    first_product_ = steps_.size() - 1;
    for (size_t i = steps_.size(); i-- > 0;)
      if (Multiplies(steps_[i])) first_product_ = i;
    if (first_product_ + 1 == steps_.size()) return;
    std::set<const BufferNode*> own;
    for (const BufferNode* buffer : BuffersOf(steps_.back()))
      if (!IsSharedScope(buffer->scope)) own.insert(buffer);
    for (size_t i = 0; i <= first_product_; ++i)
      for (const BufferNode* buffer : BuffersOf(steps_[i])) is_late_ &= own.count(buffer) == 0;
  }

  // ---- steps

  static Expr Barrier(const Buffer& barriers, const Expr& index) {
    return ir::CallNode::Make(intrinsic::kAddressOf,
                              {ir::BufferLoadNode::Make(barriers, {index}, barriers->span)},
                              DataType::Void());
  }
  static Expr Version(const Tile& tile, const Expr& step) {
    return ir::FloorMod(step, Expr(tile.versions));
  }
  // Of the phase in which a step uses its tile.
  static Expr Parity(const Tile& tile, const Expr& step) {
    return ir::FloorMod(ir::FloorDiv(step, Expr(tile.versions)), Expr(int64_t{2}));
  }
  // Steps are counted over all tiles of C that the block computes.
  Expr StepOf(const Expr& tile, const Expr& k) const {
    Expr step = k - loop_->min;
    return tile ? tile * loop_->extent + step : step;
  }
  static Expr Number(const Expr& tile) { return tile ? tile : Expr(int64_t{0}); }
  // The tiles of a step, and of what a block computes.
  Stmt Select(const Stmt& stmt, const Expr& tile, const Expr& step) const {
    return SelectVersions(SelectVersions(stmt, versions_of_step_, step), versions_of_block_,
                          Number(tile));
  }
  Stmt Wait(const Tile& tile, const Expr& step) const {
    return Call(intrinsic::kBarrierWait,
                {Barrier(tile.full, Version(tile, step)), Parity(tile, step)}, span_);
  }
  // By one lane of each warp.
  Stmt Arrive(const Buffer& barriers, const Expr& index) const {
    Expr lane = ir::FloorMod(ThreadNumber(), Expr(kWarpThreads));
    return IfThenElseNode::Make(analyzer_.Simplify(lane == Expr(int64_t{0})),
                                Call(intrinsic::kBarrierArrive, {Barrier(barriers, index)}, span_),
                                {}, span_);
  }
  Stmt Release(const Tile& tile, const Expr& step) const {
    return Arrive(tile.empty, Version(tile, step));
  }
  // In the group.
  Expr ThreadNumber() const {
    Expr number(int64_t{0});
    for (size_t i = threads_.size(); i-- > 0;)
      number = number * threads_[i]->extent + threads_[i]->var;
    return number;
  }
  // Each group has its barrier, which the one before it completes with each of its tiles. The first
  // group does not wait for its first turn: the phase before the first one has completed.
  Stmt AwaitTurn(const Expr& tile) const {
    Expr turn = ir::FloorDiv(tile, Expr(turns_)),
         phases = turn + ir::SelectNode::Make(group_ == Expr(int64_t{0}), Expr(int64_t{1}),
                                              Expr(int64_t{0}));
    return Call(intrinsic::kBarrierWait,
                {Barrier(turn_, group_), ir::FloorMod(phases, Expr(int64_t{2}))}, span_);
  }

  Stmt Consume(const Expr& tile) const {
    Expr step = StepOf(tile, loop_->var);
    bool waits_later = first_product_ + 1 < steps_.size();
    std::vector<Stmt> stmts;
    for (size_t i = 0; i < steps_.size(); ++i) {
      bool is_last = i + 1 == steps_.size();
      for (const Tile& one : tiles_of_step_)
        if (one.first == i) stmts.push_back(Wait(one, step));
      bool runs_on = is_late_ && (is_last || i == first_product_);
      stmts.push_back(
          Select(runs_on ? MakeMultiplicationsLate(steps_[i]).stmt : steps_[i], tile, step));
      if (is_late_ && i == first_product_) {
        stmts.push_back(AwaitMultiplications(waits_later ? 0 : multiplications_, span_));
        for (const Tile& one : tiles_of_step_)
          if (one.last + 1 == steps_.size())
            stmts.push_back(IfThenElseNode::Make(
                loop_->min < loop_->var, Release(one, step + (one.versions - 1)), {}, span_));
      }
      for (const Tile& one : tiles_of_step_)
        if (one.last == i && !(is_last && is_late_)) stmts.push_back(Release(one, step));
    }
    Stmt body = Row(std::move(stmts), span_);
    for (size_t i = memory_.size(); i-- > 0;)
      body = AllocateNode::Make(memory_[i]->buffer, body, memory_[i]->span);
    Stmt loop =
        ForNode::Make(loop_->var, loop_->min, loop_->extent, ForKind::kSerial, body, "", span_);
    Expr last = StepOf(tile, loop_->min + loop_->extent - int64_t{1});
    std::vector<Stmt> all;
    for (const Tile& one : tiles_of_block_) all.push_back(Wait(one, Number(tile)));
    if (turns_ > 1) all.push_back(AwaitTurn(tile));
    all.push_back(loop);
    if (turns_ > 1) all.push_back(Arrive(turn_, ir::FloorMod(group_ + int64_t{1}, Expr(turns_))));
    if (is_late_) {
      all.push_back(AwaitMultiplications(0, span_));
      for (const Tile& one : tiles_of_step_)
        if (one.last + 1 == steps_.size()) all.push_back(Release(one, last));
    }
    for (const Tile& one : tiles_of_block_) all.push_back(Release(one, Number(tile)));
    return Row(std::move(all), span_);
  }

  // The copies of a tile.
  void Fill(const Tile& tile, const Expr& step, std::vector<Stmt>* stmts) const {
    Expr full = Barrier(tile.full, Version(tile, step));
    // Nobody waits for the first use of a tile: the phase before the first one has completed.
    stmts->push_back(
        Call(intrinsic::kBarrierWait,
             {Barrier(tile.empty, Version(tile, step)), int64_t{1} - Parity(tile, step)}, span_));
    stmts->push_back(Call(intrinsic::kBarrierExpect, {full, Expr(tile.bytes)}, span_));
    for (const Stmt& stmt : tile.copies) {
      Stmt copies = stmt;
      while (const auto* condition = copies.As<IfThenElseNode>()) copies = condition->then_case;
      const auto* row = copies.As<SeqNode>();
      for (const Stmt& one : row ? row->stmts : std::vector<Stmt>{copies}) {
        const auto* store = one.As<BufferStoreNode>();
        if (!store || !IsBulkCopy(store->value)) Refuse("a copy does more than that");
        BulkCopy copy = BulkCopyOf(store->value.As<ir::CallNode>());
        copy.barrier = full;
        stmts->push_back(Select(BufferStoreNode::Make(store->buffer, store->indices,
                                                      copy.MakeCall(store->span), store->span),
                                step, step));
      }
    }
  }
  Stmt Produce(const Expr& tile) const {
    std::vector<Stmt> stmts, all;
    for (const Tile& one : tiles_of_block_) Fill(one, Number(tile), &all);
    // In the order in which they are waited for.
    for (size_t i = 0; i < steps_.size(); ++i)
      for (const Tile& one : tiles_of_step_)
        if (one.first == i) Fill(one, StepOf(tile, loop_->var), &stmts);
    all.push_back(ForNode::Make(loop_->var, loop_->min, loop_->extent, ForKind::kSerial,
                                Row(std::move(stmts), span_), "", span_));
    return Row(std::move(all), span_);
  }

  // ---- the kernel

  // The body with the loop replaced, and copies before it; without what is shared, and barriers.
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
    Stmt MutateNode(const IfThenElseNode* node, const Stmt& self) override {
      Contents contents(self);
      return contents.copies > 0 && !contents.loop ? Row({}, node->span)
                                                   : MutateChildren(node, self);
    }
    Stmt MutateNode(const EvaluateNode* node, const Stmt& self) override {
      return IsBarrier(node->value) ? Row({}, node->span) : self;
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

  // The tiles of this block, each at its place of the grid that the kernel was written for: all of
  // them, or every so many-th from a first one on.
  Stmt OverTiles(const Stmt& body, const Var& block, const Var& tile, const Expr& first,
                 int64_t every) const {
    if (grid_ == 0) return body;
    Expr rest = tile * grid_ + block;
    Stmt result = body;
    Expr inner(int64_t{1});
    for (size_t i = blocks_.size(); i-- > 0;) {  // the last axis, x, is the fastest
      const ForNode* loop = blocks_[i];
      Expr extent = ExtentOf(loop);
      Expr index = ir::IsConst(extent, 1) ? Expr(int64_t{0})
                   : i == 0               ? ir::FloorDiv(rest, inner)
                                          : ir::FloorMod(ir::FloorDiv(rest, inner), extent);
      if (index.dtype() != loop->var.dtype()) index = ir::CastNode::Make(loop->var.dtype(), index);
      result = LetStmtNode::Make(loop->var, index, result, loop->span);
      inner = analyzer_.Simplify(inner * extent);
    }
    Expr count = ir::FloorDiv(tiles_ + Expr(grid_ - 1) - block, Expr(grid_));
    Var loop = tile;
    if (every > 1) {
      loop = Var("turn", DataType::Int(64));
      count = ir::FloorDiv(count + Expr(every - 1) - first, Expr(every));
      result = LetStmtNode::Make(tile, loop * every + first, result, span_);
    }
    return CopyWithFreshDefs(
        ForNode::Make(loop, Expr(int64_t{0}), count, ForKind::kSerial, result, "", span_));
  }

  Stmt WriteOut() {
    Var block("block", DataType::Int(64)), tile("tile", DataType::Int(64));
    for (const ForNode* loop : threads_) analyzer_.BindRange(loop->var, loop->min, loop->extent);
    Expr tile_index = grid_ > 0 ? Expr(tile) : Expr();
    Stmt consumer = OverTiles(LoopReplacer(loop_, Consume(tile_index)).Mutate(body_), block, tile,
                              group_, turns_);
    Stmt producer =
        OverTiles(CopyWithFreshDefs(Around(body_, Produce(tile_index))), block, tile, {}, 1);

    Expr is_first_of_group;
    for (const ForNode* loop : threads_) {
      Expr is_zero = loop->var == ir::IntImmNode::Make(loop->var.dtype(), 0);
      is_first_of_group = is_first_of_group ? is_first_of_group && is_zero : is_zero;
    }
    Expr is_first = is_first_of_group && group_ == Expr(ir::IntImmNode::Make(group_.dtype(), 0));
    producer = IfThenElseNode::Make(is_first_of_group, producer, {}, span_);
    int64_t consumers = groups_ * kWarpGroupThreads, threads = consumers + kWarpGroupThreads,
            share = kRegisters / threads / kRegisterUnit * kRegisterUnit,
            more = (share * threads - kProducerRegisters * kWarpGroupThreads) / consumers /
                   kRegisterUnit * kRegisterUnit;
    if (share < kMostRegisters) {
      auto take = [&](int64_t registers) {
        return Call(intrinsic::kThreadRegisters, {Expr(registers)}, span_);
      };
      consumer = Row({take(std::min(more, kMostRegisters)), consumer}, span_);
      producer = Row({take(kProducerRegisters), producer}, span_);
    }
    Stmt roles = IfThenElseNode::Make(group_ < Expr(ir::IntImmNode::Make(group_.dtype(), groups_)),
                                      consumer, producer, span_);
    std::vector<Stmt> start;
    std::vector<Buffer> barriers;
    auto init = [&](const Buffer& one, int64_t arrivals) {
      for (int64_t i = 0; i < *ir::AsConstInt(one->shape[0]); ++i)
        start.push_back(
            Call(intrinsic::kBarrierInit, {Barrier(one, Expr(i)), Expr(arrivals)}, span_));
      barriers.push_back(one);
    };
    for (const std::vector<Tile>* tiles : {&tiles_of_step_, &tiles_of_block_})
      for (const Tile& one : *tiles) {
        init(one.full, 1);
        init(one.empty, groups_ / turns_ * kGroupWarps);
      }
    if (turns_ > 1) init(turn_, kGroupWarps);
    Stmt result = Row({IfThenElseNode::Make(is_first, Row(std::move(start), span_), {}, span_),
                       EvaluateNode::Make(MakeBarrier(BarrierKind::kShared, span_), span_), roles},
                      span_);
    for (const Buffer& one : barriers) result = AllocateNode::Make(one, result, span_);
    for (const AllocateNode* allocation : Contents(body_).shared) {
      const BufferNode* buffer = allocation->buffer.get();
      const VersionedBuffers& versions =
          versions_of_step_.count(buffer) ? versions_of_step_ : versions_of_block_;
      result = AllocateNode::Make(versions.at(buffer), result, span_);
    }
    for (const ForNode* loop : threads_) result = loop->With(loop->min, loop->extent, result);
    result = ForNode::Make(group_, ir::IntImmNode::Make(group_.dtype(), 0),
                           ir::IntImmNode::Make(group_.dtype(), groups_ + 1), ForKind::kThread,
                           result, group_axis_, span_);
    if (grid_ > 0) {
      // Of a dynamic number no blocks without a tile: for none, there is no launch.
      Expr blocks = ir::AsConstInt(tiles_) ? Expr(grid_) : ir::MinNode::Make(tiles_, Expr(grid_));
      return ForNode::Make(block, Expr(int64_t{0}), blocks, ForKind::kThread, result, "blockIdx.x",
                           span_);
    }
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
  Var group_;  // of warps: the last one copies
  std::string group_axis_ = kGroupAxis;
  int64_t groups_ = 1, turns_ = 1;  // that compute, and that take turns
  int64_t versions_ = 0, grid_ = 0, multiplications_ = 0;
  Expr tiles_;                               // of all blocks
  Buffer turn_;                              // barriers of groups that take turns
  std::vector<const AllocateNode*> memory_;  // of a step
  std::vector<Stmt> steps_, copies_;         // the statements of a step
  std::vector<Tile> tiles_of_step_, tiles_of_block_;
  VersionedBuffers versions_of_step_, versions_of_block_;
  size_t first_product_ = 0;  // the first statement of a step that multiplies
  bool is_late_ = false;      // the last one runs on in the next step
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
