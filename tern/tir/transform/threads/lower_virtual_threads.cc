// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/lower_virtual_threads.h"

#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/loops/distribute_loop.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// Loops of no more virtual threads than this become straight code.
constexpr int64_t kMaxUnrolled = 8;

class VirtualThreadLowerer : public StmtMutator {
  using StmtMutator::MutateNode;

  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    bool outer = std::exchange(in_unrolled_, in_unrolled_ || node->for_kind == ForKind::kUnrolled);
    Stmt stmt = MutateChildren(node, self);
    in_unrolled_ = outer;
    const auto* loop = stmt.As<ForNode>();
    if (loop->for_kind != ForKind::kThread || !IsVirtualThread(loop)) return stmt;
    std::optional<int64_t> extent = ir::AsConstInt(loop->extent);
    bool unrolls = extent && *extent <= kMaxUnrolled && !in_unrolled_;
    DistributeOptions options;
    options.runs_once = [](const EvaluateNode* call) { return IsBarrier(call->value); };
    options.is_common = [](const AllocateNode* allocation) {
      return IsSharedScope(allocation->buffer->scope);
    };
    options.innermost = true;
    options.kind = unrolls ? ForKind::kUnrolled : ForKind::kSerial;
    options.iteration = "virtual thread";
    return DistributeLoop(loop, options);
  }

  bool in_unrolled_ = false;
};

}  // namespace

PrimFunc LowerVirtualThreads(const PrimFunc& function) {
  return VirtualThreadLowerer().MutateFunction(function);
}

}  // namespace tern::tir
