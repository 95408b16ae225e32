// SPDX-License-Identifier: Apache-2.0
//
// Parallel loops and thread loops.
#include <algorithm>

#include "tern/ir/diagnostic.h"
#include "tern/tir/analysis/warp_size.h"
#include "tern/tir/interpreter/machine_access.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// The iterations of a parallel loop, or virtual threads, which barriers order.
Team TeamOf(const ForNode* loop, int64_t min, int64_t extent) {
  bool is_virtual = loop->for_kind == ForKind::kThread;
  return {is_virtual ? "virtual thread" : "iteration",
          {{loop->var.name(), min, extent}},
          is_virtual ? extent : 1};
}

}  // namespace

void Machine::RunParallel(const ForNode* node) {
  auto [min, extent] = EvalRange(node);
  TaskId parent = task_;
  tasks_.BeginTeam(TeamOf(node, min, extent), parent);
  ++depth_;
  for (int64_t i = 0; i < extent; ++i) {
    task_ = tasks_.AddTask(i);
    SetVar(node->var, min + i);
    Run(node->body);
  }
  --depth_;
  tasks_.EndTeam();
  task_ = parent;
}

// launch_kernel("name", arguments..., extents...): the extents are in the kernel's thread loops
// as well.
Value Machine::LaunchKernel(const ir::CallNode* node, size_t name_at, size_t first) {
  const auto* name = node->args[name_at].As<ir::StringImmNode>();
  auto it = module_->functions.find(name->value);
  TERN_CHECK(it != module_->functions.end())
      << ir::At(node->span) << "the module has no kernel " << name->value;
  RefuseExternKernel(it->second);
  PrimFunc kernel = AsPrimFunc(it->second);
  for (size_t i = 0; i < kernel->params.size(); ++i)
    frame_->vars[kernel->params[i].var.node()] = Eval(node->args[first + i]);
  for (const Param& param : kernel->params)
    if (param.is_tensor()) Define(param.buffer.get());
  int64_t outer = std::exchange(warp_size_, WarpSizeOf(kernel));
  Run(kernel->body);
  warp_size_ = outer;
  return Value(DataType::Int(32));
}

// All iterations in one piece, in order.
Value Machine::ParallelFor(const ir::CallNode* node) {
  const std::string& name = node->args[1].As<ir::StringImmNode>()->value;
  auto it = module_->functions.find(name);
  TERN_CHECK(it != module_->functions.end())
      << ir::At(node->span) << "the module has no function " << name;
  PrimFunc body = AsPrimFunc(it->second);
  std::vector<uint64_t> slots;
  for (size_t i = 3; i < node->args.size(); ++i)
    StoreLane(node->args[i].dtype(), &slots.emplace_back(), Eval(node->args[i])[0]);
  Value given[] = {Eval(node->args[0]), Value::Int(DataType::Int(64), 0), Eval(node->args[2]),
                   Value::Handle(slots.data())};
  TERN_ICHECK(body->params.size() == std::size(given));
  for (size_t i = 0; i < std::size(given); ++i) frame_->vars[body->params[i].var.node()] = given[i];
  Run(body->body);
  return Value(DataType::Void());
}

namespace {

ThreadIndex IndexOf(int64_t thread, const ThreadIndex& extents) {
  ThreadIndex index;
  for (int axis = 0; axis < kNumThreadAxes; ++axis) {
    index[axis] = thread % extents[axis];
    thread /= extents[axis];
  }
  return index;
}

}  // namespace

void Machine::RunKernel(const ForNode* outermost) {
  auto known = shapes_.find(outermost);
  if (known == shapes_.end()) known = shapes_.emplace(outermost, FindKernelShape(outermost)).first;
  const KernelShape& shape = known->second;

  ThreadIndex extents;
  extents.fill(-1);
  for (const ForNode* loop : shape.loops) {
    int64_t extent = std::max<int64_t>(EvalInt(loop->extent), 0);
    int64_t& launched = extents[ThreadAxisNumber(loop->thread)];
    TERN_CHECK(launched == -1 || launched == extent)
        << ir::At(loop->span) << "axis " << loop->thread << " has two extents in one kernel, "
        << launched << " and " << extent;
    launched = extent;
  }
  Team team{"thread"};
  int64_t num_threads = 1;
  for (int axis = 0; axis < kNumThreadAxes; ++axis) {
    if (axis == kNumThreadAxesOfBlock) team.block_size = num_threads;
    if (extents[axis] != -1) team.axes.push_back({ThreadAxisName(axis), 0, extents[axis]});
    extents[axis] = extents[axis] == -1 ? 1 : extents[axis];
    if (__builtin_mul_overflow(num_threads, extents[axis], &num_threads))
      TERN_THROW(ValueError) << ir::At(outermost->span) << "the number of threads overflows int64";
  }
  if (num_threads == 0) return;

  TaskId parent = task_;
  int64_t block_size = team.block_size;
  tasks_.BeginTeam(std::move(team), parent);
  ++depth_;
  shape_ = &shape;
  if (shape.collective.empty()) {
    ThreadIndex index;
    index_ = &index;
    for (int64_t i = 0; i < num_threads; ++i) {
      index = IndexOf(i, extents);
      task_ = tasks_.AddTask(i);
      RunNode(outermost);
    }
  } else {
    RunBlocks(outermost, extents, num_threads, block_size);
  }
  under_way_.clear();
  index_ = nullptr;
  shape_ = nullptr;
  --depth_;
  tasks_.EndTeam();
  task_ = parent;
}

void Machine::RunBlocks(const ForNode* outermost, const ThreadIndex& extents, int64_t num_threads,
                        int64_t block_size) {
  Frame* launch_frame = frame_;
  std::vector<Thread> threads(block_size);
  Group block;
  for (Thread& thread : threads) block.push_back(&thread);
  block_ = &block;
  for (int64_t first = 0; first < num_threads; first += block_size) {
    for (int64_t i = 0; i < block_size; ++i)
      threads[i] = {
          tasks_.AddTask(first + i), IndexOf(first + i, extents), i, 0, *launch_frame, {}};
    RunNodeTogether(outermost, block);
    for (const auto& [node, piece] : shared_) pieces_.erase(piece->data);
    shared_.clear();
    under_way_.clear();
  }
  frame_ = launch_frame;
  thread_ = nullptr;
}

void Machine::SetAccumulators(const BlockNode* block) {
  if (!shape_) return;
  auto it = shape_->reductions.find(block);
  if (it != shape_->reductions.end()) accumulators_ = &it->second.written;
}

void Machine::Enter(Thread* thread) {
  thread_ = thread;
  frame_ = &thread->frame;
  task_ = thread->task;
  index_ = &thread->index;
}

Machine::Group Machine::Filter(const Group& group, const Expr& condition) {
  Group result;
  for (Thread* thread : group) {
    Enter(thread);
    if (EvalInt(condition)) result.push_back(thread);
  }
  return result;
}

// ---- Statements that threads run together.

void Machine::RunTogether(const Stmt& stmt, const Group& group) {
  if (group.empty()) return;
  if (shape_->collective.count(stmt.get())) {
    ++warp_epoch_;
    DispatchStmt(stmt.get(), [&](auto* node) { RunNodeTogether(node, group); });
    return;
  }
  for (Thread* thread : group) {
    Enter(thread);
    Run(stmt);
  }
}

// All lanes read before any of them writes.
void Machine::RunNodeTogether(const BufferStoreNode* node, const Group& group) {
  Exchange(node->value, group);
  Exchange(node->indices, group);
  if (node->predicate) Exchange(node->predicate, group);
  std::vector<Value> values;
  for (Thread* thread : group) {
    Enter(thread);
    values.push_back(Eval(node->value));
  }
  ++warp_epoch_;
  for (size_t i = 0; i < group.size(); ++i) {
    Enter(group[i]);
    ForEachLane(SiteOf(node), [&](int lane, ElementPlace at) {
      StoreLane(node->buffer->dtype, at, values[i][lane]);
    });
  }
}

void Machine::RunNodeTogether(const AssertNode* node, const Group& group) {
  Exchange(node->condition, group);
  Exchange(node->message, group);
  for (Thread* thread : group) {
    Enter(thread);
    RunNode(node);
  }
}

void Machine::ReportDivergence(const ir::Node* place, const std::string& what, const Group& group,
                               const Group& all, const char* of) {
  // Groups keep the order of the block.
  size_t i = 0;
  while (i < group.size() && group[i] == all[i]) ++i;
  TaskId missing = all[i]->task;
  std::string block = tasks_.DescribeBlock(missing);
  TERN_THROW(RuntimeError) << ir::At(place->span) << "divergent " << what << ": " << group.size()
                           << " of " << all.size() << " threads" << of
                           << (block.empty() ? "" : " of block " + block) << " wait here, but "
                           << tasks_.Describe(missing) << " does not come";
}

void Machine::RunNodeTogether(const EvaluateNode* node, const Group& group) {
  if (!IsBarrier(node->value)) {
    Exchange(node->value, group);
    for (Thread* thread : group) {
      Enter(thread);
      Eval(node->value);
    }
    return;
  }
  if (group.size() != block_->size()) ReportDivergence(node, "barrier", group, *block_, "");
  const auto* call = node->value.As<ir::CallNode>();
  ++shared_epoch_;
  if (BarrierKindOf(call) == BarrierKind::kGlobal) ++global_epoch_;
}

void Machine::RunNodeTogether(const SeqNode* node, const Group& group) {
  for (const Stmt& stmt : node->stmts) RunTogether(stmt, group);
}

void Machine::RunNodeTogether(const LetStmtNode* node, const Group& group) {
  Exchange(node->value, group);
  for (Thread* thread : group) {
    Enter(thread);
    frame_->vars[node->var.node()] = Eval(node->value);
  }
  RunTogether(node->body, group);
}

void Machine::RunNodeTogether(const AllocateNode* node, const Group& group) {
  Exchange(node->buffer->shape, group);
  std::vector<std::unique_ptr<Piece>> own;
  ScopeOwner owner = OwnerOf(node->buffer->scope);
  std::map<std::pair<int64_t, int64_t>, const Piece*> of_warps;
  bool is_shared = owner == ScopeOwner::kBlock;
  if (is_shared) {
    Enter(group[0]);
    std::unique_ptr<Piece>& piece = shared_[node];
    if (piece) {
      piece->shadow.MarkUninitialised();
      piece->writers.clear();
    } else {
      piece = Allocate(node, depth_ - 1);
    }
  }
  for (Thread* thread : group) {
    Enter(thread);
    const Piece* piece = is_shared ? shared_[node].get() : nullptr;
    const Piece** of_warp = nullptr;
    if (owner == ScopeOwner::kWarp) {
      of_warp = &of_warps[{thread->number / warp_size_, thread->virtual_number}];
      piece = *of_warp;
    }
    if (!piece) {
      own.push_back(Allocate(node, of_warp ? depth_ - 1 : depth_));
      piece = own.back().get();
      if (of_warp) *of_warp = piece;
    }
    frame_->vars[node->buffer->data.node()] = Value::Handle(piece->data);
    Define(node->buffer.get());
  }
  RunTogether(node->body, group);
  for (const auto& piece : own) pieces_.erase(piece->data);
  if (is_shared) return;
  for (Thread* thread : group) thread->frame.views.Erase(node->buffer.get());
}

void Machine::RunNodeTogether(const DeclBufferNode* node, const Group& group) {
  Exchange(node->buffer->shape, group);
  Exchange(node->buffer->strides, group);
  if (node->buffer->offset) Exchange(node->buffer->offset, group);
  for (Thread* thread : group) {
    Enter(thread);
    Define(node->buffer.get());
  }
  RunTogether(node->body, group);
  for (Thread* thread : group) thread->frame.views.Erase(node->buffer.get());
}

// Virtual threads that wait for each other walk together, like threads.
void Machine::RunVirtualTogether(const ForNode* node, const Group& group) {
  std::vector<std::unique_ptr<Thread>> made;
  int teams = 0;
  auto expand = [&](const Group& from) {
    Group result;
    for (Thread* thread : from) {
      Enter(thread);
      auto [min, extent] = EvalRange(node);
      tasks_.BeginTeam(TeamOf(node, min, extent), thread->task);
      ++teams;
      for (int64_t i = 0; i < extent; ++i) {
        made.push_back(std::make_unique<Thread>(*thread));
        Thread* own = made.back().get();
        own->task = tasks_.AddTask(i);
        own->virtual_number = thread->virtual_number * extent + i;
        own->frame.vars[node->var.node()] = Value::Int(node->var.dtype(), min + i);
        result.push_back(own);
      }
    }
    return result;
  };
  Group walking = expand(group), all = walking;
  if (group.size() != block_->size()) {
    // Those that do not come are missing at a barrier.
    std::unordered_set<const Thread*> coming(group.begin(), group.end());
    Group missing;
    for (Thread* thread : *block_)
      if (!coming.count(thread)) missing.push_back(thread);
    Group others = expand(missing);
    all.insert(all.end(), others.begin(), others.end());
  }
  const Group* outer = std::exchange(block_, &all);
  ++depth_;
  RunTogether(node->body, walking);
  --depth_;
  block_ = outer;
  for (; teams > 0; --teams) tasks_.EndTeam();
  Enter(group[0]);
}

void Machine::RunNodeTogether(const ForNode* node, const Group& group) {
  Exchange(node->min, group);
  Exchange(node->extent, group);
  if (node->for_kind == ForKind::kThread && IsVirtualThread(node))
    return RunVirtualTogether(node, group);
  if (node->for_kind == ForKind::kThread) {
    for (Thread* thread : group) {
      Enter(thread);
      SetVar(node->var, thread->index[ThreadAxisNumber(node->thread)]);
    }
    return RunTogether(node->body, group);
  }
  std::vector<LoopRange> ranges;
  for (Thread* thread : group) {
    Enter(thread);
    ranges.push_back(EvalRange(node));
  }
  for (int64_t i = 0;; ++i) {
    Group active;
    for (size_t t = 0; t < group.size(); ++t) {
      if (i >= ranges[t].extent) continue;
      Enter(group[t]);
      SetVar(node->var, ranges[t].min + i);
      active.push_back(group[t]);
    }
    if (active.empty()) return;
    instances_.BeginRound();
    RunTogether(node->body, active);
  }
}

void Machine::RunNodeTogether(const WhileNode* node, const Group& group) {
  for (Group active = group;;) {
    Exchange(node->condition, active);
    active = Filter(active, node->condition);
    if (active.empty()) return;
    instances_.BeginRound();
    RunTogether(node->body, active);
  }
}

void Machine::RunNodeTogether(const IfThenElseNode* node, const Group& group) {
  Exchange(node->condition, group);
  Group yes, no;
  for (Thread* thread : group) {
    Enter(thread);
    (EvalInt(node->condition) ? yes : no).push_back(thread);
  }
  RunTogether(node->then_case, yes);
  if (node->else_case) RunTogether(node->else_case, no);
}

void Machine::RunNodeTogether(const BlockNode* node, const Group& group) {
  for (const BlockIter& iter : node->iters) Exchange({iter.binding, iter.extent}, group);
  Group first, all;
  std::vector<InstanceId> outer;
  for (Thread* thread : group) {
    Enter(thread);
    Instance instance = BindAxes(node);
    if (instance == Instance::kNone) continue;
    outer.push_back(frame_->instance);
    EnterBlock(node);
    all.push_back(thread);
    if (instance == Instance::kFirst) first.push_back(thread);
  }
  SetAccumulators(node);
  if (node->init) RunTogether(node->init, first);
  RunTogether(node->body, all);
  accumulators_ = nullptr;
  for (size_t i = 0; i < all.size(); ++i) {
    Enter(all[i]);
    LeaveBlock(outer[i]);
  }
}

}  // namespace tern::tir
