// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/pipeline_parts.h"

#include "tern/tir/group_intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

class VersionSelector : public StmtMutator {
 public:
  VersionSelector(const VersionedBuffers& versioned, Expr iteration)
      : versioned_(versioned), iteration_(std::move(iteration)) {
    new_buffers_ = versioned;
  }

 private:
  using StmtMutator::MutateNode;

  std::vector<Expr> Indices(const Buffer& buffer, const std::vector<Expr>& indices) {
    const Buffer& versions = versioned_.at(buffer.get());
    Expr iteration = iteration_.dtype() == DataType::Int(64)
                         ? iteration_
                         : ir::CastNode::Make(DataType::Int(64), iteration_);
    std::vector<Expr> result = {ir::FloorMod(iteration, versions->shape[0])};
    for (const Expr& index : indices) result.push_back(Mutate(index));
    return result;
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    if (!versioned_.count(node->buffer.get())) return MutateChildren(node, self);
    return ir::BufferLoadNode::Make(MutateUse(node->buffer), Indices(node->buffer, node->indices),
                                    node->span, MutateOptional(node->predicate));
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    if (!versioned_.count(node->buffer.get())) return MutateChildren(node, self);
    return BufferStoreNode::Make(MutateUse(node->buffer), Indices(node->buffer, node->indices),
                                 Mutate(node->value), node->span, MutateOptional(node->predicate));
  }
  // What a block says that it touches of a version is for that version too.
  Stmt MutateNode(const BlockNode* node, const Stmt&) override {
    auto block = ffi::Make<BlockNode>(*node);
    for (auto* regions : {&block->reads, &block->writes})
      for (BufferRegion& region : *regions)
        if (versioned_.count(region.buffer.get()))
          region.ranges.insert(region.ranges.begin(), {Indices(region.buffer, {})[0], Expr(1)});
    return MutateChildren(block.get(), Stmt(block));
  }

  const VersionedBuffers& versioned_;
  Expr iteration_;
};

class MultiplicationMarker : public StmtMutator {
 public:
  std::vector<Buffer> read;  // shared memory

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    const auto* call = node->value.As<ir::CallNode>();
    if (!call || call->name != intrinsic::kWarpMatrixMultiplyGroup) return self;
    for (const Expr& arg : call->args)
      if (const auto* load = arg.As<ir::BufferLoadNode>();
          load && IsSharedScope(load->buffer->scope))
        read.push_back(load->buffer);
    Expr late = ir::CallNode::Make(intrinsic::kWarpMatrixMultiplyGroupAsync, call->args,
                                   DataType::Void(), call->span);
    return BufferStoreNode::Make(node->buffer, node->indices, late, node->span);
  }
};

}  // namespace

Buffer MakeVersions(const Buffer& buffer, int64_t versions) {
  auto made = ffi::Make<BufferNode>(*buffer);
  made->shape.insert(made->shape.begin(), Expr(versions));
  if (!buffer->strides.empty())
    made->strides.insert(made->strides.begin(), buffer->strides[0] * buffer->shape[0]);
  return Buffer(made.get());
}

Stmt SelectVersions(const Stmt& stmt, const VersionedBuffers& versioned, const Expr& iteration) {
  return VersionSelector(versioned, iteration).Mutate(stmt);
}

LateMultiplications MakeMultiplicationsLate(const Stmt& stmt) {
  MultiplicationMarker marker;
  Stmt made = marker.Mutate(stmt);
  return {made, std::move(marker.read)};
}

Stmt AwaitMultiplications(int64_t groups, const Span& span) {
  return EvaluateNode::Make(
      ir::CallNode::Make(intrinsic::kMatrixWait, {Expr(groups)}, DataType::Void(), span), span);
}

}  // namespace tern::tir
