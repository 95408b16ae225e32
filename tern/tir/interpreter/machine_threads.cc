// SPDX-License-Identifier: Apache-2.0
//
// Parallel loops and thread loops.
#include "tern/tir/interpreter/machine.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/storage_scope.h"
#include "tern/tir/visitor.h"

namespace tern::tir {

void Machine::RunParallel(const ForNode* node) {
  auto [min, extent] = EvalRange(node);
  TaskId parent = task_;
  tasks_.BeginTeam({"iteration", {{node->var.name(), min, extent}}, 1}, parent);
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
Value Machine::LaunchKernel(const ir::CallNode* node) {
  const auto* name = node->args[0].As<ir::StringImmNode>();
  auto it = module_->functions.find(name->value);
  TERN_CHECK(it != module_->functions.end())
      << node->span.str() << ": the module has no kernel " << name->value;
  RefuseExternKernel(it->second);
  PrimFunc kernel = AsPrimFunc(it->second);
  for (size_t i = 0; i < kernel->params.size(); ++i)
    frame_->vars[kernel->params[i].var.node()] = Eval(node->args[i + 1]);
  for (const Param& param : kernel->params)
    if (param.is_tensor()) Define(param.buffer.get());
  Run(kernel->body);
  return Value(DataType::Int(32));
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
        << loop->span.str() << ": axis " << loop->thread << " has two extents in one kernel, "
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
      TERN_THROW(ValueError) << outermost->span.str() << ": the number of threads overflows int64";
  }
  if (num_threads == 0) return;

  TaskId parent = task_;
  int64_t block_size = team.block_size;
  tasks_.BeginTeam(std::move(team), parent);
  ++depth_;
  if (shape.collective.empty()) {
    ThreadIndex index;
    index_ = &index;
    for (int64_t i = 0; i < num_threads; ++i) {
      index = IndexOf(i, extents);
      task_ = tasks_.AddTask(i);
      RunNode(outermost);
    }
  } else {
    shape_ = &shape;
    RunBlocks(outermost, extents, num_threads, block_size);
  }
  index_ = nullptr;
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
      threads[i] = {tasks_.AddTask(first + i), IndexOf(first + i, extents), *launch_frame};
    RunNodeTogether(outermost, block);
    for (const auto& [node, piece] : shared_) pieces_.erase(piece->data);
    shared_.clear();
  }
  frame_ = launch_frame;
}

void Machine::Enter(Thread* thread) {
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
    DispatchStmt(stmt.get(), [&](auto* node) { RunNodeTogether(node, group); });
    return;
  }
  for (Thread* thread : group) {
    Enter(thread);
    Run(stmt);
  }
}

void Machine::RunNodeTogether(const StmtNode*, const Group&) {
  TERN_ICHECK(false) << "a statement without parts contains a barrier";
}

void Machine::RunNodeTogether(const EvaluateNode* node, const Group& group) {
  if (group.size() != block_->size()) {
    // Groups keep the order of the block.
    size_t i = 0;
    while (i < group.size() && group[i] == (*block_)[i]) ++i;
    TaskId missing = (*block_)[i]->task;
    std::string block = tasks_.DescribeBlock(missing);
    TERN_THROW(RuntimeError) << node->span.str() << ": divergent barrier: " << group.size()
                             << " of " << block_->size() << " threads"
                             << (block.empty() ? "" : " of block " + block) << " wait here, but "
                             << tasks_.Describe(missing) << " does not come";
  }
  const auto* call = node->value.As<ir::CallNode>();
  ++shared_epoch_;
  if (call->args[0].As<ir::StringImmNode>()->value == "global") ++global_epoch_;
}

void Machine::RunNodeTogether(const SeqNode* node, const Group& group) {
  for (const Stmt& stmt : node->stmts) RunTogether(stmt, group);
}

void Machine::RunNodeTogether(const LetStmtNode* node, const Group& group) {
  for (Thread* thread : group) {
    Enter(thread);
    frame_->vars[node->var.node()] = Eval(node->value);
  }
  RunTogether(node->body, group);
}

void Machine::RunNodeTogether(const AllocateNode* node, const Group& group) {
  std::vector<std::unique_ptr<Piece>> own;
  bool is_shared = IsSharedScope(node->buffer->scope);
  if (is_shared) {
    Enter(group[0]);
    std::unique_ptr<Piece>& piece = shared_[node];
    if (piece)
      piece->shadow.MarkUninitialised();
    else
      piece = Allocate(node, depth_ - 1);
  }
  for (Thread* thread : group) {
    Enter(thread);
    if (!is_shared) own.push_back(Allocate(node, depth_));
    const Piece& piece = is_shared ? *shared_[node] : *own.back();
    frame_->vars[node->buffer->data.node()] = Value::Handle(piece.data);
    Define(node->buffer.get());
  }
  RunTogether(node->body, group);
  for (size_t i = 0; i < own.size(); ++i) {
    Enter(group[i]);
    Release(node, *own[i]);
  }
}

void Machine::RunNodeTogether(const DeclBufferNode* node, const Group& group) {
  for (Thread* thread : group) {
    Enter(thread);
    Define(node->buffer.get());
  }
  RunTogether(node->body, group);
  for (Thread* thread : group) thread->frame.views.erase(node->buffer.get());
}

void Machine::RunNodeTogether(const ForNode* node, const Group& group) {
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
    RunTogether(node->body, active);
  }
}

void Machine::RunNodeTogether(const WhileNode* node, const Group& group) {
  for (Group active = Filter(group, node->condition); !active.empty();
       active = Filter(active, node->condition))
    RunTogether(node->body, active);
}

void Machine::RunNodeTogether(const IfThenElseNode* node, const Group& group) {
  Group yes, no;
  for (Thread* thread : group) {
    Enter(thread);
    (EvalInt(node->condition) ? yes : no).push_back(thread);
  }
  RunTogether(node->then_case, yes);
  if (node->else_case) RunTogether(node->else_case, no);
}

void Machine::RunNodeTogether(const BlockNode* node, const Group& group) {
  Group first, all;
  for (Thread* thread : group) {
    Enter(thread);
    Instance instance = BindAxes(node);
    if (instance == Instance::kNone) continue;
    EnterRegions(node);
    all.push_back(thread);
    if (instance == Instance::kFirst) first.push_back(thread);
  }
  if (node->init) RunTogether(node->init, first);
  RunTogether(node->body, all);
  for (Thread* thread : all) {
    Enter(thread);
    LeaveRegions();
  }
}

}  // namespace tern::tir
