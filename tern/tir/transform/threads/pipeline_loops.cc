// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/pipeline_loops.h"

#include <algorithm>
#include <numeric>

#include "tern/arith/linear.h"
#include "tern/arith/linear_sum.h"
#include "tern/ir/diagnostic.h"
#include "tern/tir/analysis/access_regions.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/blocks/initialize_empty_reductions.h"
#include "tern/tir/transform/memory/place_allocations.h"
#include "tern/tir/transform/threads/async_copies.h"
#include "tern/tir/transform/threads/bulk_copies.h"
#include "tern/tir/transform/threads/pipeline_parts.h"

namespace tern::tir {
namespace {

[[noreturn]] void Refuse(const ForNode* loop, const Span& span, const std::string& why) {
  TERN_THROW(ValueError) << ir::At(span) << "loop " << loop->var.name()
                         << " cannot be pipelined: " << why;
}

std::vector<int64_t> IntsOf(const ForNode* loop, const char* key) {
  auto it = loop->annotations.find(key);
  auto array = it->second.TryAs<ffi::Array>();
  std::vector<int64_t> values;
  if (array)
    for (size_t i = 0; i < (*array)->size(); ++i) {
      auto value = (**array)[i].TryAs<int64_t>();
      if (!value) array = std::nullopt;
      if (!array) break;
      values.push_back(*value);
    }
  if (!array) Refuse(loop, loop->span, std::string(key) + " is a list of integers");
  return values;
}

// What a pipelined loop consists of.
struct Body {
  std::vector<const AllocateNode*> allocations;
  std::vector<const LetStmtNode*> lets;
  std::vector<Stmt> stmts;
};

struct Stage {
  Stmt stmt;
  int64_t stage, order;
  AccessRegions accesses;
  bool async = false;  // its copies need not be done before the stages that read them
};

bool HasBarrier(const Stmt& stmt) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const EvaluateNode* node) override { found |= IsBarrier(node->value); }
    bool found = false;
  } finder;
  finder.Visit(stmt);
  return finder.found;
}

// Whether it does more than to read and write memory.
bool HasOtherEffects(const Stmt& stmt) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const EvaluateNode*) override { found = true; }
    void VisitNode(const AssertNode*) override { found = true; }
    bool found = false;
  } finder;
  finder.Visit(stmt);
  return finder.found;
}

bool Uses(const Stmt& stmt, const VarNode* var) {
  struct Finder : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const VarNode* node) override { found |= node == var; }
    const VarNode* var = nullptr;
    bool found = false;
  } finder;
  finder.var = var;
  finder.Visit(stmt);
  return finder.found;
}

class LoopPipeliner {
 public:
  // `takes_async`: whether copies of a stage may be asynchronous here.
  LoopPipeliner(const ForNode* loop, arith::Analyzer analyzer, bool takes_async)
      : loop_(loop), analyzer_(std::move(analyzer)), takes_async_(takes_async) {
    analyzer_.BindRange(loop->var, loop->min, loop->extent);
  }

  Stmt Run() {
    if (loop_->for_kind != ForKind::kSerial)
      Refuse(loop_, loop_->span, std::string("it is ") + ForKindName(loop_->for_kind));
    if (!arith::IsIndexType(loop_->var.dtype()))
      Refuse(loop_, loop_->span, "its variable is " + loop_->var.dtype().str());
    TakeApart();
    AssignStages();
    CheckRoles();
    if (last_stage_ > 0) CheckEffects();
    for (Stage& stage : stages_) stage.accesses = FindAccessRegions(stage.stmt, analyzer_);
    CheckDependences();
    MakeAsync();
    MakeMultiplicationsAsync();
    MakeVersions();
    Stmt result = WriteOut();
    for (size_t i = body_.allocations.size(); i-- > 0;) {
      const AllocateNode* allocation = body_.allocations[i];
      if (IsOfStep(allocation)) continue;
      auto versions = versioned_.find(allocation->buffer.get());
      result = AllocateNode::Make(
          versions == versioned_.end() ? Buffer(allocation->buffer) : versions->second, result,
          allocation->span);
    }
    return result;
  }

 private:
  // ---- what there is

  void TakeApart() {
    Stmt inner = loop_->body;
    for (;;) {
      if (const auto* allocation = inner.As<AllocateNode>()) {
        if (!IsPrivate(allocation->buffer)) CheckShape(allocation);
        body_.allocations.push_back(allocation);
        inner = allocation->body;
      } else if (const auto* let = inner.As<LetStmtNode>()) {
        if (ir::MayFault(let->value))
          Refuse(loop_, let->span,
                 let->var.name() +
                     " is computed from memory, or in a way that may fail; "
                     "define it in the statements that need it");
        body_.lets.push_back(let);
        inner = let->body;
      } else {
        break;
      }
    }
    if (inner.As<DeclBufferNode>())
      Refuse(loop_, inner.span(), "its body begins with a view of memory; declare it outside");
    const auto* seq = inner.As<SeqNode>();
    body_.stmts = seq ? seq->stmts : std::vector<Stmt>{inner};
  }
  void CheckShape(const AllocateNode* allocation) const {
    const Buffer& buffer = allocation->buffer;
    bool fixed = std::all_of(buffer->strides.begin(), buffer->strides.end(),
                             [](const Expr& stride) { return ir::AsConstInt(stride).has_value(); });
    for (const Expr& extent : buffer->shape) {
      fixed = fixed && !ir::MayFault(extent) && !ir::UsesVar(extent, loop_->var.node());
      for (const LetStmtNode* let : body_.lets)
        fixed = fixed && !ir::UsesVar(extent, let->var.node());
    }
    if (!fixed)
      Refuse(loop_, allocation->span,
             "the memory of " + buffer->name + " may be another in every iteration");
  }

  void AssignStages() {
    size_t count = body_.stmts.size();
    std::vector<int64_t> stages(count, 1), order(count);
    std::iota(order.begin(), order.end(), 0);
    if (loop_->annotations.count(pipeline::kStages))
      stages = IntsOf(loop_, pipeline::kStages);
    else if (count > 0)
      stages[0] = 0;
    CheckCount(pipeline::kStages, stages.size());
    if (loop_->annotations.count(pipeline::kOrder)) order = IntsOf(loop_, pipeline::kOrder);
    CheckCount(pipeline::kOrder, order.size());
    std::vector<int64_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < count; ++i) {
      if (stages[i] < 0 || stages[i] > pipeline::kMaxStage)
        Refuse(loop_, body_.stmts[i].span(),
               "stage " + std::to_string(stages[i]) + " is given; expected 0 to " +
                   std::to_string(pipeline::kMaxStage));
      if (sorted[i] != static_cast<int64_t>(i))
        Refuse(loop_, loop_->span,
               std::string(pipeline::kOrder) + " is no permutation of 0.." + std::to_string(count));
      Stmt stmt = body_.stmts[i];
      for (size_t l = body_.lets.size(); l-- > 0;)
        if (const LetStmtNode* let = body_.lets[l]; Uses(stmt, let->var.node()))
          stmt = LetStmtNode::Make(let->var, let->value, stmt, let->span);
      stages_.push_back({stmt, stages[i], order[i], {}});
      last_stage_ = std::max(last_stage_, stages[i]);
    }
  }
  void CheckCount(const char* key, size_t given) const {
    if (given != body_.stmts.size())
      Refuse(loop_, loop_->span,
             std::string(key) + " has " + std::to_string(given) + " entries, its body has " +
                 std::to_string(body_.stmts.size()) + " statements");
  }
  void CheckRoles() const {
    if (!loop_->annotations.count(pipeline::kRoles)) return;
    std::vector<int64_t> roles = IntsOf(loop_, pipeline::kRoles);
    if (roles.size() != 3 || roles[0] < 2 || roles[0] > pipeline::kMaxStage || roles[1] < 0 ||
        roles[2] < 1 || roles[2] > pipeline::kMaxTurns)
      Refuse(loop_, loop_->span,
             std::string(pipeline::kRoles) + " is a number of tiles, 2 to " +
                 std::to_string(pipeline::kMaxStage) +
                 ", one of thread blocks, and one of groups " + "that take turns, 1 to " +
                 std::to_string(pipeline::kMaxTurns));
  }
  void CheckEffects() const {
    for (const Stage& stage : stages_) {
      if (HasBarrier(stage.stmt))
        Refuse(loop_, stage.stmt.span(),
               "a barrier orders the statements of one iteration, and the pipeline runs several; "
               "leave it out, it is placed afterwards");
      if (HasOtherEffects(stage.stmt))
        Refuse(loop_, stage.stmt.span(),
               "it contains a call or an assert, which must run in order");
    }
  }

  // ---- what must stay in order

  bool IsOwn(const Buffer& buffer) const {
    return std::any_of(body_.allocations.begin(), body_.allocations.end(),
                       [&](const AllocateNode* node) { return node->buffer.same(buffer); });
  }

  // Statement p of iteration i ran before statement q of iteration i + distance: whether the
  // pipeline runs it later.
  static bool Reverses(const Stage& p, const Stage& q, int64_t distance) {
    int64_t steps = distance + q.stage - p.stage;
    return steps < 0 || (steps == 0 && q.order < p.order);
  }

  void CheckDependences() const {
    for (size_t p = 0; p < stages_.size(); ++p) {
      if (last_stage_ > 0 && !stages_[p].accesses.opaque.empty())
        Refuse(loop_, body_.stmts[p].span(), "it accesses memory through a view or a pointer");
      for (size_t q = 0; q < stages_.size(); ++q) {
        if (p == q) continue;
        int64_t first = p < q ? 0 : 1;
        int64_t last = std::max(first, stages_[p].stage - stages_[q].stage);
        for (int64_t distance = first; distance <= last; ++distance)
          if (Reverses(stages_[p], stages_[q], distance)) CheckIndependent(p, q, distance);
      }
    }
  }

  void CheckIndependent(size_t p, size_t q, int64_t distance) const {
    const AccessRegions &a = stages_[p].accesses, &b = stages_[q].accesses;
    struct Pair {
      const std::vector<AccessRegion>&first, &second;
    };
    for (const Pair& pair :
         {Pair{a.writes, b.reads}, Pair{a.reads, b.writes}, Pair{a.writes, b.writes}})
      for (const AccessRegion& x : pair.first)
        for (const AccessRegion& y : pair.second) {
          if (!x.buffer->data.same(y.buffer->data)) continue;
          // Iterations that are under way together have their own versions of it.
          if (IsOwn(x.buffer) && distance > 0) continue;
          // The boxes are those of one thread; other threads may touch what lies beside them.
          if (x.buffer.same(y.buffer) && !IsSharedScope(x.buffer->scope) &&
              AreApart(x.ranges, y.ranges, distance))
            continue;
          Refuse(loop_, body_.stmts[q].span(),
                 "statement " + std::to_string(q) + " would run " +
                     (distance == 0 ? "before" : "too long before") + " statement " +
                     std::to_string(p) + ", but both access " + x.buffer->name +
                     "; their stages are " + std::to_string(stages_[q].stage) + " and " +
                     std::to_string(stages_[p].stage));
        }
  }

  // Whether box x of one iteration and box y of the one `distance` later surely share no element.
  bool AreApart(const std::vector<Range>& x, const std::vector<Range>& y, int64_t distance) const {
    ir::VarMap later{
        {loop_->var.node(), loop_->var + ir::IntImmNode::Make(loop_->var.dtype(), distance)}};
    for (size_t d = 0; d < x.size(); ++d) {
      Expr y_min = ir::Substitute(y[d].min, later), y_extent = ir::Substitute(y[d].extent, later);
      if (arith::ProveLessEqual(analyzer_, x[d].min + x[d].extent, y_min) ||
          arith::ProveLessEqual(analyzer_, y_min + y_extent, x[d].min))
        return true;
    }
    return false;
  }

  // ---- asynchronous copies

  // Each step makes a group of copies. Before the first stage that reads them runs, every thread
  // waits for its own copies, and then for the other threads.
  void MakeAsync() {
    if (!takes_async_ || !loop_->annotations.count(pipeline::kAsync)) return;
    std::vector<int64_t> stages = IntsOf(loop_, pipeline::kAsync);
    if (stages.size() != 1)
      Refuse(loop_, loop_->span,
             std::string(pipeline::kAsync) + " has " + std::to_string(stages.size()) +
                 " stages; copies of one of them can be asynchronous");
    int64_t reader = last_stage_ + 1;
    std::vector<Stmt> made;
    for (const Stage& stage : stages_) {
      AsyncCopies copies =
          stage.stage == stages[0] ? MakeCopiesAsync(stage.stmt) : AsyncCopies{stage.stmt, {}};
      made.push_back(copies.stmt);
      for (const Stage& other : stages_)
        for (const Buffer& buffer : copies.filled)
          if (other.accesses.Reads(buffer)) reader = std::min(reader, other.stage);
    }
    // What is read in its own stage is waited for at once; and copies of a later stage would make
    // groups under a condition.
    if (stages[0] != 0 || reader == 0 || reader > last_stage_) return;
    async_reader_ = reader;
    for (size_t i = 0; i < stages_.size(); ++i) {
      stages_[i].async = !made[i].same(stages_[i].stmt);
      stages_[i].stmt = made[i];
    }
  }
  // Those of one step are done when the next step ends: their operands live as long. What they sum
  // up to nobody else may touch before the loop ends.
  void MakeMultiplicationsAsync() {
    if (!async_reader_) return;
    std::vector<LateMultiplications> found;
    for (const Stage& stage : stages_) found.push_back(MakeMultiplicationsLate(stage.stmt));
    size_t multiplying = std::count_if(found.begin(), found.end(),
                                       [](const auto& late) { return !late.read.empty(); });
    if (multiplying != 1) return;
    for (size_t i = 0; i < stages_.size(); ++i) {
      if (found[i].read.empty()) continue;
      bool is_last = stages_[i].stage == last_stage_ &&
                     std::all_of(stages_.begin(), stages_.end(), [&](const Stage& other) {
                       return &other == &stages_[i] ||
                              (other.stage < last_stage_ && other.order < stages_[i].order);
                     });
      if (!is_last) return;
      stages_[i].stmt = found[i].stmt;
      late_reads_ = found[i].read;
    }
  }
  // Before a step; `later` groups were made since the one that it needs.
  void Await(int64_t later, std::vector<Stmt>* stmts) const {
    std::vector<Stmt> wait = AwaitCopies(later, loop_->span);
    stmts->insert(stmts->end(), wait.begin(), wait.end());
  }
  // The statements of a step that `runs` says yes to, each at its iteration.
  template <class F, class G>
  std::vector<Stmt> Step(F&& runs, G&& at) const {
    std::vector<Stmt> stmts;
    size_t end = 0;  // behind the last copies
    for (const Stage& stage : stages_) {
      if (!runs(stage)) continue;
      stmts.push_back(at(stage));
      if (stage.async) end = stmts.size();
    }
    if (end > 0)
      stmts.insert(stmts.begin() + static_cast<std::ptrdiff_t>(end), CommitCopies(loop_->span));
    bool multiplies = std::any_of(stages_.begin(), stages_.end(), [&](const Stage& stage) {
      return stage.stage == last_stage_ && runs(stage);
    });
    if (!late_reads_.empty() && multiplies) stmts.push_back(AwaitMultiplications(1, loop_->span));
    return stmts;
  }

  // ---- versions

  void MakeVersions() {
    for (const AllocateNode* allocation : body_.allocations) {
      const Buffer& buffer = allocation->buffer;
      int64_t first = last_stage_, last = 0;
      for (const Stage& stage : stages_) {
        if (!stage.accesses.Reads(buffer) && !stage.accesses.Writes(buffer)) continue;
        first = std::min(first, stage.stage);
        last = std::max(last, stage.stage);
      }
      if (last <= first) continue;
      CheckShape(allocation);
      last += std::count_if(late_reads_.begin(), late_reads_.end(),
                            [&](const Buffer& read) { return read.same(buffer); }) > 0;
      versioned_[buffer.get()] = tir::MakeVersions(buffer, last - first + 1);
    }
    for (Stage& stage : stages_) stage.stmt = SelectVersions(stage.stmt, versioned_, loop_->var);
    std::stable_sort(stages_.begin(), stages_.end(),
                     [](const Stage& a, const Stage& b) { return a.order < b.order; });
  }

  static bool IsPrivate(const Buffer& buffer) {
    ScopeOwner owner = OwnerOf(buffer->scope);
    return owner == ScopeOwner::kWarp || owner == ScopeOwner::kThread;
  }
  // Whether a thread, or a warp, needs it in one stage alone: then it is memory of a step, whose
  // iteration is known there.
  bool IsOfStep(const AllocateNode* allocation) const {
    return IsPrivate(allocation->buffer) && !versioned_.count(allocation->buffer.get());
  }
  Stmt WithMemoryOfStep(std::vector<Stmt> stmts) const {
    Stmt step = SeqNode::Make(std::move(stmts), loop_->span);
    AccessRegions accesses = FindAccessRegions(step, analyzer_);
    bool any = false;
    for (size_t i = body_.allocations.size(); i-- > 0;) {
      const AllocateNode* allocation = body_.allocations[i];
      const Buffer& buffer = allocation->buffer;
      if (!IsOfStep(allocation) || (!accesses.Reads(buffer) && !accesses.Writes(buffer))) continue;
      step = AllocateNode::Make(allocation->buffer, step, allocation->span);
      any = true;
    }
    return any ? CopyWithFreshDefs(step) : step;
  }

  // ---- the steps

  Expr Int(int64_t value) const { return ir::IntImmNode::Make(loop_->var.dtype(), value); }
  static Stmt At(const Stage& stage, const Var& var, const Expr& iteration) {
    return CopyWithFreshDefs(stage.stmt, {{var.node(), iteration}});
  }

  Stmt WriteOut() const {
    // Both are written out in several places.
    DataType dtype = loop_->var.dtype();
    Var start(loop_->var.name() + "_start", dtype, loop_->span),
        count(loop_->var.name() + "_count", dtype, loop_->span);
    bool start_is_plain = IsPlain(loop_->min), count_is_plain = IsPlain(loop_->extent);
    Expr min = start_is_plain ? loop_->min : start, extent = count_is_plain ? loop_->extent : count;
    std::vector<Stmt> steps;
    for (int64_t step = 0; step < last_stage_; ++step) {
      if (async_reader_ && step >= *async_reader_) Await(*async_reader_ - 1, &steps);
      std::vector<Stmt> stmts =
          Step([&](const Stage& stage) { return stage.stage <= step; },
               [&](const Stage& stage) {
                 return At(stage, loop_->var, Simple(min + Int(step - stage.stage)));
               });
      steps.push_back(If(Int(step) < extent, WithMemoryOfStep(std::move(stmts))));
    }
    steps.push_back(Steady(min, extent));
    for (int64_t step = 0; step < last_stage_; ++step) {
      if (async_reader_ && step < *async_reader_) Await(*async_reader_ - step - 1, &steps);
      std::vector<Stmt> stmts =
          Step([&](const Stage& stage) { return stage.stage > step; },
               [&](const Stage& stage) {
                 Expr iteration = Simple(min + (extent - Int(stage.stage - step)));
                 return If(Int(stage.stage - step - 1) < extent, At(stage, loop_->var, iteration));
               });
      steps.push_back(WithMemoryOfStep(std::move(stmts)));
    }
    if (!late_reads_.empty()) steps.push_back(AwaitMultiplications(0, loop_->span));
    Stmt result = SeqNode::Make(std::move(steps), loop_->span);
    if (!count_is_plain) result = LetStmtNode::Make(count, loop_->extent, result, loop_->span);
    if (!start_is_plain) result = LetStmtNode::Make(start, loop_->min, result, loop_->span);
    return result;
  }

  // All statements at once: the loop's variable is the iteration whose last stage runs.
  Stmt Steady(const Expr& min, const Expr& extent) const {
    Var var(loop_->var.name(), loop_->var.dtype(), loop_->var.span());
    std::vector<Stmt> stmts;
    if (async_reader_) Await(*async_reader_ - 1, &stmts);
    for (Stmt& stmt : Step([](const Stage&) { return true; },
                           [&](const Stage& stage) {
                             return At(stage, loop_->var,
                                       Simple(var + Int(last_stage_ - stage.stage)));
                           }))
      stmts.push_back(std::move(stmt));
    ir::Attrs annotations = loop_->annotations;
    for (const char* key : {pipeline::kStages, pipeline::kOrder, pipeline::kAsync, pipeline::kRoles,
                            pipeline::kDoubleBuffer})
      annotations.erase(key);
    return ForNode::Make(var, min, Simple(extent - Int(last_stage_)), ForKind::kSerial,
                         WithMemoryOfStep(std::move(stmts)), "", loop_->span,
                         std::move(annotations));
  }

  Stmt If(const Expr& condition, Stmt stmt) const {
    if (analyzer_.CanProve(condition)) return stmt;
    return IfThenElseNode::Make(condition, std::move(stmt), {}, loop_->span);
  }
  Expr Simple(const Expr& expr) const { return analyzer_.Simplify(expr); }
  static bool IsPlain(const Expr& expr) {
    return !ir::MayFault(expr) && (ir::AsConstInt(expr) || expr.As<VarNode>());
  }

  const ForNode* loop_;
  arith::Analyzer analyzer_;
  bool takes_async_;
  std::vector<Buffer> late_reads_;  // operands of multiplications that need not be done at once
  std::optional<int64_t> async_reader_;  // the first stage that reads the copies of stage 0
  Body body_;
  std::vector<Stage> stages_;
  int64_t last_stage_ = 0;
  VersionedBuffers versioned_;
};

template <class F>
bool HasLoop(const Stmt& stmt, F&& is_it) {
  struct Finder : StmtVisitor {
    explicit Finder(F& is_it) : is_it(is_it) {}
    using StmtVisitor::VisitNode;
    void VisitNode(const ForNode* node) override {
      found |= is_it(node);
      VisitChildren(node);
    }
    F& is_it;
    bool found = false;
  } finder(is_it);
  finder.Visit(stmt);
  return finder.found;
}
bool HasRoles(const Stmt& stmt) {
  return HasLoop(stmt,
                 [](const ForNode* loop) { return loop->annotations.count(pipeline::kRoles) > 0; });
}

class Pipeliner : public AnalyzedMutator {
 public:
  Pipeliner(bool takes_async, bool takes_bulk)
      : takes_async_(takes_async), takes_bulk_(takes_bulk) {}

 private:
  using AnalyzedMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    bool outer = std::exchange(in_launch_, in_launch_ || node->for_kind == ForKind::kThread);
    // Loops inside come first.
    Stmt result = AnalyzedMutator::MutateNode(node, self);
    in_launch_ = outer;
    if (takes_bulk_ && !in_launch_ && node->for_kind == ForKind::kThread && HasRoles(self))
      if (BulkCopies copies = MakeCopiesBulk(CopyWithFreshDefs(self)); copies.stmt)
        return copies.is_aligned
                   ? IfThenElseNode::Make(copies.is_aligned, copies.stmt, result, node->span)
                   : copies.stmt;
    if (!IsPipelined(node)) return result;
    return LoopPipeliner(result.As<ForNode>(), analyzer_, takes_async_ && in_launch_).Run();
  }

  bool takes_async_, takes_bulk_, in_launch_ = false;
};

}  // namespace

bool IsPipelined(const ForNode* loop) {
  auto it = loop->annotations.find(pipeline::kDoubleBuffer);
  bool doubled = it != loop->annotations.end() && it->second.TryAs<bool>().value_or(false);
  return doubled || loop->annotations.count(pipeline::kStages) > 0;
}

PrimFunc PipelineLoops(const PrimFunc& function) {
  if (!HasLoop(function->body, IsPipelined)) return function;
  // What one iteration alone needs is allocated in the loop then, and can have versions.
  PrimFunc placed = PlaceAllocations(InitializeEmptyReductions(function, true));
  return Pipeliner(TakesAsyncCopies(function), TakesBulkCopies(function)).MutateFunction(placed);
}

}  // namespace tern::tir
