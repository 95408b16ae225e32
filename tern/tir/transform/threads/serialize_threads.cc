// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/serialize_threads.h"

#include <algorithm>
#include <set>

#include "tern/ir/diagnostic.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/loops/distribute_loop.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// The loops of a kernel, and whether its threads need one another.
class KernelScan : public StmtVisitor {
 public:
  explicit KernelScan(const ForNode* kernel) { VisitNode(kernel); }

  std::array<const ForNode*, kNumThreadAxes> loops{};  // the first one on each axis
  bool waits = false, binds_twice = false;

 private:
  using StmtVisitor::VisitNode;
  void VisitNode(const ForNode* node) override {
    if (node->for_kind == ForKind::kThread && !IsVirtualThread(node)) {
      const ForNode*& loop = loops[ThreadAxisNumber(node->thread)];
      binds_twice |= loop != nullptr;
      if (!loop) loop = node;
    }
    VisitChildren(node);
  }
  void VisitNode(const AllocateNode* node) override {
    if (OwnerOf(node->buffer->scope) == ScopeOwner::kWarp)
      TERN_THROW(ValueError)
          << ir::At(node->span) << node->buffer->name << " is memory of scope "
          << node->buffer->scope
          << ", which needs the threads of a warp; the target does not have them";
    VisitChildren(node);
  }
  void VisitNode(const ir::CallNode* node) override {
    waits |= node->name == intrinsic::kBarrier;
    if (IsWarpOperation(node) || node->name == intrinsic::kLaneIndex)
      TERN_THROW(ValueError) << ir::At(node->span) << node->name
                             << " needs the threads of a warp, which the target does not have";
    VisitChildren(node);
  }
};

bool IsBlockLoop(const ForNode* node) {
  return !IsVirtualThread(node) && ThreadAxisNumber(node->thread) >= kNumThreadAxesOfBlock;
}

// The kernel's thread loops are serial ones, in place; without barriers no thread may see what
// another wrote to shared memory, so each can have its own.
class LoopSerializer : public StmtMutator {
 public:
  explicit LoopSerializer(bool keeps_blocks) : keeps_blocks_(keeps_blocks) {}
  using StmtMutator::Mutate;

 private:
  using StmtMutator::MutateNode;

  Buffer MutateDef(const BufferDef& buffer) override {
    Buffer mutated = StmtMutator::MutateDef(buffer);
    if (OwnerOf(mutated->scope) == ScopeOwner::kGrid) return mutated;
    auto local = ffi::Make<BufferNode>(*mutated);
    local->scope = StorageScope::kLocal;
    return new_buffers_[buffer.get()] = Buffer(local.get());
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || (keeps_blocks_ && IsBlockLoop(node)))
      return MutateChildren(node, self);
    return ForNode::Make(node->var, node->min, node->extent, ForKind::kSerial, Mutate(node->body),
                         "", node->span, node->annotations);
  }
  const bool keeps_blocks_;
};

// The body without its thread loops: the indices are given.
class LoopRemover : public StmtMutator {
 public:
  explicit LoopRemover(const std::array<Var, kNumThreadAxes>& indices) : indices_(indices) {}
  using StmtMutator::Mutate;

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || IsVirtualThread(node))
      return MutateChildren(node, self);
    Expr index = indices_[ThreadAxisNumber(node->thread)];
    if (index.dtype() != node->var.dtype())
      index = ir::CastNode::Make(node->var.dtype(), index, node->span);
    return Mutate(Substitute(node->body, {{node->var.node(), index}}));
  }
  const std::array<Var, kNumThreadAxes>& indices_;
};

// Behind a barrier all threads have done what stands before it: nothing is left to wait for.
class BarrierRemover : public StmtMutator {
  using StmtMutator::MutateNode;
  Stmt MutateNode(const EvaluateNode* node, const Stmt& self) override {
    return IsBarrier(node->value) ? SeqNode::Make({}, node->span) : self;
  }
};

// The threads of a block run each statement one after another. Loops over blocks stay.
Stmt RunInSteps(const Stmt& kernel, const KernelScan& scan) {
  std::array<Var, kNumThreadAxes> indices;
  for (int axis = 0; axis < kNumThreadAxes; ++axis)
    if (const ForNode* loop = scan.loops[axis])
      indices[axis] = Var(loop->var.name(), loop->var.dtype(), loop->span);
  Stmt body = LoopRemover(indices).Mutate(kernel);
  auto loop_over = [&](int axis) {
    const ForNode* loop = scan.loops[axis];
    bool is_block = IsBlockLoop(loop);
    return ForNode::Make(indices[axis], loop->min, loop->extent,
                         is_block ? ForKind::kThread : ForKind::kSerial, body,
                         is_block ? loop->thread : "", loop->span, loop->annotations);
  };
  DistributeOptions options;
  options.runs_once = [](const EvaluateNode* node) { return IsBarrier(node->value); };
  options.is_common = [](const AllocateNode* node) { return IsSharedScope(node->buffer->scope); };
  options.iteration = "thread";
  for (int axis = 0; axis < kNumThreadAxes; ++axis) {
    if (!scan.loops[axis]) continue;
    Stmt loop = loop_over(axis);
    body = IsBlockLoop(scan.loops[axis]) ? loop : DistributeLoop(loop.As<ForNode>(), options);
  }
  return BarrierRemover().Mutate(body);
}

class ThreadSerializer : public StmtMutator {
 public:
  explicit ThreadSerializer(bool keeps_blocks) : keeps_blocks_(keeps_blocks) {}

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (node->for_kind != ForKind::kThread || IsVirtualThread(node))
      return MutateChildren(node, self);
    KernelScan scan(node);
    // Loops over blocks that stay must be the outer ones.
    bool in_steps = scan.waits || scan.binds_twice || keeps_blocks_;
    Stmt kernel = in_steps ? RunInSteps(self, scan) : self;
    Stmt serial = LoopSerializer(keeps_blocks_).Mutate(kernel);
    return keeps_blocks_ && !HasBlocks(scan) ? OneBlock(serial) : serial;
  }
  static bool HasBlocks(const KernelScan& scan) {
    return std::any_of(scan.loops.begin() + kNumThreadAxesOfBlock, scan.loops.end(),
                       [](const ForNode* loop) { return loop != nullptr; });
  }
  // What is a kernel by its threads alone stays one.
  static Stmt OneBlock(const Stmt& body) {
    Var block("b", DataType::Int(64), body->span);
    return ForNode::Make(block, 0, 1, ForKind::kThread, body, ThreadAxisName(kNumThreadAxesOfBlock),
                         body->span);
  }
  const bool keeps_blocks_;
};

std::set<std::string>& SerialKinds() {
  static std::set<std::string> kinds;
  return kinds;
}

}  // namespace

void RunThreadsInTurn(const std::string& kind) { SerialKinds().insert(kind); }

PrimFunc SerializeThreads(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  if (it == function->attrs.end()) return function;
  target::Target target = it->second.As<target::Target>();
  if (target->is_device() && !SerialKinds().contains(target->kind->name)) return function;
  return ThreadSerializer(target->is_device()).MutateFunction(function);
}

}  // namespace tern::tir
