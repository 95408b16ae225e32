// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/memory/lower_allocations.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/ffi/c_abi.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

constexpr int64_t kMaxStackBytes = 4096;
constexpr int64_t kAlignment = 64;  // a cache line, and the widest vector

Expr Text(std::string text) { return ir::StringImmNode::Make(std::move(text)); }

// As far as the last element; strides may leave gaps before it.
Expr NumBytes(const Buffer& buffer) {
  Expr elements = 1;
  for (size_t d = 0; d < buffer->shape.size(); ++d)
    elements = buffer->strides.empty() ? elements * buffer->shape[d]
                                       : elements + (buffer->shape[d] - 1) * buffer->strides[d];
  return arith::Analyzer().Simplify(elements * Expr(buffer->dtype.bytes()));
}

class AllocationLowerer : public StmtMutator {
 protected:
  // An allocation that is not on the stack, of so many bytes.
  virtual Stmt PlaceElsewhere(const AllocateNode* node, const Expr& bytes) = 0;
  virtual bool on_host() const { return true; }

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    Expr bytes = NumBytes(node->buffer);
    std::optional<int64_t> constant = ir::AsConstInt(bytes);
    if (!on_host() || !constant || *constant > kMaxStackBytes) return PlaceElsewhere(node, bytes);
    if (node->buffer->scope == StorageScope::kLocal) return MutateChildren(node, self);
    auto local = ffi::Make<BufferNode>(*node->buffer);
    local->scope = StorageScope::kLocal;
    new_buffers_[node->buffer.get()] = Buffer(local.get());
    return AllocateNode::Make(Buffer(local.get()), Mutate(node->body), node->span);
  }
};

class EnvironmentLowerer : public AllocationLowerer {
 public:
  EnvironmentLowerer(const WorkspaceSource& source, const std::string& function)
      : source_(source), function_(function) {}

 private:
  bool on_host() const override { return source_.device_type == kTernDeviceCpu; }

  Stmt PlaceElsewhere(const AllocateNode* node, const Expr& bytes) override {
    const Buffer& buffer = node->buffer;
    const Var& address = buffer->data;
    Expr type = ir::IntImmNode::Make(DataType::Int(32), source_.device_type);
    Expr memory = ir::CallNode::Make(
        intrinsic::kAllocWorkspace,
        {source_.env, type, source_.device_id, bytes, std::max(buffer->alignment, kAlignment)},
        DataType::Void(), node->span);
    Stmt check = AssertNode::Make(
        ir::NotNode::Make(ir::CallNode::Make(intrinsic::kIsNull, {address})), "MemoryError",
        {Text(function_ + ": there is no memory for " + buffer->name + ", which needs "), bytes,
         Text(" bytes")},
        node->span);
    Stmt give_back =
        EvaluateNode::Make(ir::CallNode::Make(intrinsic::kFreeWorkspace,
                                              {source_.env, type, source_.device_id, address},
                                              DataType::Void(), node->span),
                           node->span);
    Stmt body = DeclBufferNode::Make(buffer, Mutate(node->body), node->span);
    return LetStmtNode::Make(address, memory, SeqNode::Make({check, body, give_back}), node->span);
  }

  const WorkspaceSource& source_;
  const std::string& function_;
};

// Scopes nest, so the workspace is a stack whose depths are known here.
class StaticLowerer : public AllocationLowerer {
 public:
  StaticLowerer(const std::string& function, ir::Diagnostics* diagnostics)
      : function_(function), diagnostics_(diagnostics) {}

  Stmt Run(const Stmt& body) {
    Stmt lowered = Mutate(body);
    if (total_ == 0) return lowered;
    auto workspace = ffi::Make<BufferNode>(*ir::BufferNode::Make(
        "workspace", DataType::UInt(8), {total_}, {}, StorageScope::kGlobal, workspace_));
    workspace->alignment = alignment_;
    return AllocateNode::Make(Buffer(workspace.get()), lowered, body.span());
  }

 private:
  Stmt PlaceElsewhere(const AllocateNode* node, const Expr& bytes) override {
    const Buffer& buffer = node->buffer;
    std::optional<int64_t> size = ir::AsConstInt(bytes);
    if (!size)
      diagnostics_->Add(node->span,
                        "function " + function_ + " allocates " + buffer->name +
                            ", whose size is not constant; without a heap it must be: give the "
                            "tensors constant shapes, or pass the memory as a parameter");
    int64_t alignment = std::max(buffer->alignment, kAlignment), before = top_;
    int64_t offset = (top_ + alignment - 1) / alignment * alignment;
    top_ = offset + (size ? *size : 0);
    total_ = std::max(total_, top_);
    alignment_ = std::max(alignment_, alignment);
    Stmt body = DeclBufferNode::Make(buffer, Mutate(node->body), node->span);
    top_ = before;
    Expr address = ir::CallNode::Make(intrinsic::kPtrAdd, {workspace_, Expr(offset)});
    return LetStmtNode::Make(buffer->data, address, body, node->span);
  }

  const std::string& function_;
  ir::Diagnostics* diagnostics_;
  Var workspace_{"workspace", DataType::Handle()};
  int64_t top_ = 0, total_ = 0, alignment_ = kAlignment;
};

}  // namespace

Stmt LowerAllocations(const Stmt& body, const WorkspaceSource& source,
                      const std::string& function) {
  return EnvironmentLowerer(source, function).Mutate(body);
}

Stmt LowerStaticAllocations(const Stmt& body, const std::string& function,
                            ir::Diagnostics* diagnostics) {
  return StaticLowerer(function, diagnostics).Run(body);
}

}  // namespace tern::tir
