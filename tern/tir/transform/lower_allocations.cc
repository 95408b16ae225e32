// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/lower_allocations.h"

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
 public:
  AllocationLowerer(const WorkspaceSource& source, const std::string& function)
      : source_(source), function_(function) {}

 private:
  using StmtMutator::MutateNode;

  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    Expr bytes = NumBytes(node->buffer);
    const int64_t* constant = ir::AsConstInt(bytes);
    bool on_host = source_.device_type == kTernDeviceCpu;
    if (!on_host || !constant || *constant > kMaxStackBytes) return FromEnvironment(node, bytes);
    if (node->buffer->scope == "local") return MutateChildren(node, self);
    auto local = ffi::Make<BufferNode>(*node->buffer);
    local->scope = "local";
    new_buffers_[node->buffer.get()] = Buffer(local.get());
    return AllocateNode::Make(Buffer(local.get()), Mutate(node->body), node->span);
  }

  Stmt FromEnvironment(const AllocateNode* node, const Expr& bytes) {
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

}  // namespace

Stmt LowerAllocations(const Stmt& body, const WorkspaceSource& source,
                      const std::string& function) {
  return AllocationLowerer(source, function).Mutate(body);
}

}  // namespace tern::tir
