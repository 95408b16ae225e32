// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/aligned_sizes.h"

#include <algorithm>
#include <map>
#include <set>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/block_kind.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// The variables that are an extent of an axis of a GEMM, or of a row of several blocks.
std::set<const VarNode*> ExtentsOfRows(const PrimFunc& function) {
  std::set<const VarNode*> extents;
  for (const BlockInfo& block : DescribeBlocks(function)) {
    bool is_row = block.kind == BlockKind::kSoftmax || block.kind == BlockKind::kNormalization;
    is_row &= HasFlag(function, attr::kReassociate);
    if (block.kind != BlockKind::kMatmul && !is_row) continue;
    for (size_t a = 0; a < block.axes.size(); ++a) {
      bool counts = !is_row || std::count(block.rows.begin(), block.rows.end(), a) == 0;
      if (const auto* var = block.axes[a].extent.As<VarNode>(); var && counts) extents.insert(var);
    }
  }
  return extents;
}

// Those of them that are the length of a tensor's rows, and how many elements a vector has there.
std::map<const VarNode*, int64_t> RowLengths(const PrimFunc& function, const TargetInfo& target) {
  std::map<const VarNode*, int64_t> lengths;
  std::set<const VarNode*> extents = ExtentsOfRows(function);
  for (const Param& param : function->params) {
    if (!param.is_tensor() || param.buffer->shape.size() < 2 || !param.buffer->strides.empty())
      continue;
    const auto* length = param.buffer->shape.back().As<VarNode>();
    int64_t lanes = target.vector_bytes / std::max(param.buffer->dtype.bytes(), 1);
    if (length && extents.count(length) && lanes > 1)
      lengths[length] = std::max(lengths[length], lanes);
  }
  return lengths;
}

// Those of them that are the length of an operand's rows. Empty where an operand has elements of
// so many bytes as an asynchronous copy has at least.
std::map<const VarNode*, int64_t> OperandRows(const PrimFunc& function,
                                              const std::map<const VarNode*, int64_t>& lengths) {
  std::map<const VarNode*, int64_t> rows;
  for (const BlockInfo& block : DescribeBlocks(function)) {
    if (block.kind != BlockKind::kMatmul) continue;
    for (const BlockAccess& access : block.accesses) {
      if (access.buffer.same(block.accesses[0].buffer)) continue;
      if (access.buffer->dtype.bytes() >= kLeastAsyncBytes) return {};
      auto it = lengths.find(access.buffer->shape.back().As<VarNode>());
      if (it != lengths.end()) rows.insert(*it);
    }
  }
  return rows;
}

// Whether memory has to be aligned for vectors, and is not known to be.
bool MustAlign(const Buffer& buffer, const TargetInfo& target) {
  return !target.target->kind->vectors && buffer->alignment < target.vector_bytes;
}

AlignedSizes Align(const PrimFunc& function, const std::map<const VarNode*, int64_t>& lengths,
                   const TargetInfo& target) {
  AlignedSizes made;
  auto require = [&](const Expr& condition) {
    made.when = made.when ? made.when && condition : condition;
  };
  // In the order of the parameters.
  ir::VarMap multiples;
  for (const Param& param : function->params) {
    if (!param.is_tensor()) continue;
    for (const Expr& extent : param.buffer->shape) {
      auto it = lengths.find(extent.As<VarNode>());
      if (it == lengths.end() || multiples.count(it->first)) continue;
      Expr lanes = ir::MakeConst(extent.dtype(), static_cast<double>(it->second));
      Var count(it->first->name + "_" + std::to_string(it->second), extent.dtype());
      require(ir::FloorMod(extent, lanes) == ir::MakeConst(extent.dtype(), 0));
      made.lets.emplace_back(count, ir::FloorDiv(extent, lanes));
      multiples[it->first] = count * lanes;
    }
  }
  auto aligned = ffi::Make<PrimFuncNode>(*function);
  for (Param& param : aligned->params) {
    if (!param.is_tensor()) continue;
    auto tensor = ffi::Make<ir::BufferNode>(*param.buffer);
    for (Expr& extent : tensor->shape) extent = ir::Substitute(extent, multiples);
    if (MustAlign(param.buffer, target)) {
      tensor->alignment = target.vector_bytes;
      require(ir::CallNode::Make(intrinsic::kIsAligned, {param.var, Expr(target.vector_bytes)},
                                 DataType::Void(), param.buffer->span));
    }
    made.tensors.emplace_back(tensor.get());
    aligned->body = ReplaceBuffer(aligned->body, param.buffer, made.tensors.back());
    param.buffer = made.tensors.back();
  }
  aligned->body = Substitute(aligned->body, multiples);
  for (const auto& [count, value] : made.lets) aligned->params.push_back({count, {}});
  made.function = PrimFunc(aligned);
  return made;
}

}  // namespace

std::optional<AlignedSizes> AlignSizes(const PrimFunc& function, const TargetInfo& target) {
  if (!target.has_shared_memory() || target.vector_bytes == 0) return {};
  std::map<const VarNode*, int64_t> lengths = RowLengths(function, target);
  if (lengths.empty()) return {};
  return Align(function, lengths, target);
}

std::optional<AlignedSizes> AlignOperands(const PrimFunc& function, const TargetInfo& target) {
  if (!target.has_shared_memory() || target.vector_bytes == 0) return {};
  std::map<const VarNode*, int64_t> lengths = RowLengths(function, target);
  std::map<const VarNode*, int64_t> rows = OperandRows(function, lengths);
  if (rows.empty() || rows.size() == lengths.size()) return {};
  return Align(function, rows, target);
}

std::optional<AlignedSizes> AlignMemory(const PrimFunc& function, const TargetInfo& target) {
  if (!target.has_shared_memory() || target.vector_bytes == 0) return {};
  AlignedSizes aligned = Align(function, {}, target);
  return aligned.when ? std::optional(aligned) : std::nullopt;
}

std::optional<AlignedSizes> AlignCopies(const PrimFunc& function, const TargetInfo& target) {
  if (!target.has_shared_memory() || target.vector_bytes == 0) return {};
  for (const BlockInfo& block : DescribeBlocks(function))
    for (const BlockAxis& axis : block.axes)
      if (axis.kind == IterKind::kSpatial && !ir::AsConstInt(axis.extent)) return {};
  TargetInfo narrow = target;
  narrow.vector_bytes = kLeastAsyncBytes;
  std::map<const VarNode*, int64_t> lengths = RowLengths(function, narrow);
  std::map<const VarNode*, int64_t> rows = OperandRows(function, lengths);
  if (rows.empty() || rows.size() != lengths.size()) return {};
  return Align(function, rows, target);
}

}  // namespace tern::schedule
