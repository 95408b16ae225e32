// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/stages.h"

#include <algorithm>
#include <map>

#include "tern/tir/block_op.h"

namespace tern::graph {
namespace {

using tir::Buffer;
using tir::BufferNode;
using tir::Stmt;
using tir::VarNode;

// Loops and the block of a stage.
Stmt MakeStage(const Stage& stage) {
  std::vector<tir::BlockIter> iters = stage.iters;
  std::vector<tir::Var> loops;
  for (tir::BlockIter& iter : iters) {
    loops.emplace_back(static_cast<const VarNode*>(iter.binding.get())->name);
    iter.binding = loops.back();
  }
  Stmt stmt = tir::WithOp(
      tir::BlockNode::Make(stage.block->name, iters, stage.init, stage.body, stage.block->span),
      tir::OpOf(stage.block));
  for (size_t i = loops.size(); i-- > 0;)
    stmt = tir::ForNode::Make(loops[i], 0, iters[i].extent, tir::ForKind::kSerial, stmt);
  return stmt;
}

class BufferReplacer : public tir::StmtMutator {
 public:
  std::map<const BufferNode*, Buffer> replaced;

 private:
  Buffer MutateUse(const Buffer& buffer) override {
    auto it = replaced.find(buffer.get());
    return it == replaced.end() ? buffer : it->second;
  }
};

class GlobalMemory : public tir::StmtMutator {
  Buffer MutateDef(const ir::BufferDef& buffer) override {
    if (buffer->scope != tir::StorageScope::kLocal) return buffer;
    auto node = ffi::Make<BufferNode>(*buffer);
    node->scope = tir::StorageScope::kGlobal;
    return new_buffers_[buffer.get()] = Buffer(ffi::Ref<const BufferNode>(node));
  }
};

}  // namespace

ir::Expr IndexMutator::MutateNode(const ir::BufferLoadNode* node, const ir::Expr&) {
  auto copy = ffi::Make<ir::BufferLoadNode>(*node);
  copy->indices = NewIndices(node->buffer, node->indices);
  copy->predicate = MutateOptional(node->predicate);
  return copy;
}

Stmt IndexMutator::MutateNode(const tir::BufferStoreNode* node, const Stmt&) {
  auto copy = ffi::Make<tir::BufferStoreNode>(*node);
  copy->indices = NewIndices(node->buffer, node->indices);
  copy->predicate = MutateOptional(node->predicate);
  copy->value = Mutate(node->value);
  return copy;
}

tir::PrimFunc WithGlobalMemory(const tir::PrimFunc& function) {
  Stmt body = GlobalMemory().Mutate(function->body);
  if (body.same(function->body)) return function;
  return tir::PrimFunc::Make(function->name, function->params, body, function->attrs,
                             function->span);
}

std::optional<StagedFunction> StagedFunction::Read(const tir::PrimFunc& function) {
  StagedFunction staged;
  staged.function = function;
  for (const tir::Param& param : function->params) {
    if (!param.is_tensor()) continue;
    if (!param.buffer->strides.empty()) return std::nullopt;
    staged.AddBuffer(param.buffer);
  }
  if (!staged.ReadBody(function->body)) return std::nullopt;
  return staged;
}

void StagedFunction::AddBuffer(const Buffer& buffer) {
  buffers.push_back(buffer);
  shapes[buffer.get()] = buffer->shape;
}

bool StagedFunction::ReadBody(const Stmt& stmt) {
  if (const auto* allocate = stmt.As<tir::AllocateNode>()) {
    AddBuffer(allocate->buffer);
    return ReadBody(allocate->body);
  }
  if (const auto* seq = stmt.As<tir::SeqNode>())
    return std::all_of(seq->stmts.begin(), seq->stmts.end(),
                       [&](const Stmt& one) { return ReadBody(one); });
  return ReadStage(stmt);
}

bool StagedFunction::ReadStage(Stmt stmt) {
  std::vector<const VarNode*> loops;
  while (const auto* loop = stmt.As<tir::ForNode>()) {
    if (loop->for_kind != tir::ForKind::kSerial || !ir::IsConst(loop->min, 0)) return false;
    loops.push_back(loop->var.node());
    stmt = loop->body;
  }
  const auto* block = stmt.As<tir::BlockNode>();
  if (!block || static_cast<bool>(block->predicate) || block->iters.size() != loops.size())
    return false;
  for (size_t i = 0; i < loops.size(); ++i)
    if (block->iters[i].binding.get() != loops[i]) return false;
  stages.push_back({block, block->iters, block->init, block->body});
  return true;
}

tir::PrimFunc StagedFunction::Rebuild() const {
  BufferReplacer replacer;
  for (const Buffer& old : buffers) {
    auto node = ffi::Make<BufferNode>(*old);
    node->shape = shapes.at(old.get());
    replacer.replaced[old.get()] = Buffer(ffi::Ref<const BufferNode>(node));
  }
  std::vector<tir::Param> params = function->params;
  size_t num_tensors = 0;
  for (tir::Param& param : params) {
    if (!param.is_tensor()) continue;
    param.buffer = replacer.replaced.at(param.buffer.get());
    ++num_tensors;
  }
  std::vector<Stmt> stmts;
  for (const Stage& stage : stages) stmts.push_back(replacer.Mutate(MakeStage(stage)));
  Stmt body = tir::SeqNode::Make(std::move(stmts));
  for (size_t i = buffers.size(); i-- > num_tensors;)
    body = tir::AllocateNode::Make(replacer.replaced.at(buffers[i].get()), body);
  return tir::PrimFunc::Make(function->name, std::move(params), body, function->attrs,
                             function->span);
}

}  // namespace tern::graph
