// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/async_copies.h"

#include "tern/target/target.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class CopyMarker : public StmtMutator {
 public:
  std::vector<Buffer> filled;

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    const auto* load = CopiedOrConstant(node->value);
    if (!load || load->predicate.get() || node->predicate.get() ||
        !IsSharedScope(node->buffer->scope) || load->buffer->scope != StorageScope::kGlobal)
      return self;
    filled.push_back(node->buffer);
    Expr copy =
        ir::CallNode::Make(intrinsic::kAsyncCopy, {node->value}, DataType::Void(), node->span);
    return BufferStoreNode::Make(node->buffer, node->indices, copy, node->span);
  }
};

Stmt Call(const char* name, std::vector<Expr> args, const Span& span) {
  return EvaluateNode::Make(ir::CallNode::Make(name, std::move(args), DataType::Void(), span),
                            span);
}

}  // namespace

bool TakesAsyncCopies(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  if (it == function->attrs.end()) return false;
  Expr copy = ir::CallNode::Make(intrinsic::kAsyncCopy, {Expr(0)}, DataType::Void());
  return IsKept(copy.As<ir::CallNode>(), it->second.As<target::Target>());
}

AsyncCopies MakeCopiesAsync(const Stmt& stmt) {
  CopyMarker marker;
  Stmt marked = marker.Mutate(stmt);
  return {marked, std::move(marker.filled)};
}

Stmt CommitCopies(const Span& span) { return Call(intrinsic::kAsyncCommit, {}, span); }

std::vector<Stmt> AwaitCopies(int64_t groups, const Span& span) {
  return {Call(intrinsic::kAsyncWait, {Expr(groups)}, span),
          EvaluateNode::Make(MakeBarrier(BarrierKind::kShared, span), span)};
}

}  // namespace tern::tir
