// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/memory/flatten_buffers.h"

#include <numeric>

#include "tern/arith/analyzer.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

bool IsFlat(const Buffer& buffer) {
  return buffer->shape.size() == 1 && buffer->strides.empty() && !buffer->offset;
}

// How many elements lie between the first and one past the last.
Expr NumElements(const Buffer& buffer) {
  Expr size = 1;
  if (buffer->strides.empty()) {
    for (const Expr& extent : buffer->shape) size = size * extent;
  } else {
    for (size_t d = 0; d < buffer->shape.size(); ++d)
      size = size + (buffer->shape[d] - 1) * buffer->strides[d];
  }
  if (buffer->offset) size = size + buffer->offset;
  return arith::Analyzer().Simplify(size);
}

// ---- Of an index, which may be a vector.

Expr Widen(const Expr& scalar, DataType dtype) {
  return dtype.is_scalar() ? scalar : ir::BroadcastNode::Make(scalar, dtype.lanes());
}

// The vector or scalar `index` times, and plus, a scalar.
Expr Scale(const Expr& index, const Expr& factor) {
  if (const auto* ramp = index.As<ir::RampNode>())
    return ir::RampNode::Make(ramp->base * factor, ramp->stride * factor, ramp->lanes);
  return index * Widen(factor, index.dtype());
}

Expr Shift(const Expr& index, const Expr& offset) {
  if (const auto* ramp = index.As<ir::RampNode>())
    return ir::RampNode::Make(offset + ramp->base, ramp->stride, ramp->lanes);
  return Widen(offset, index.dtype()) + index;
}

Expr ToIndexType(const Expr& index) {
  if (const auto* ramp = index.As<ir::RampNode>())
    return ir::RampNode::Make(ToIndexType(ramp->base), ToIndexType(ramp->stride), ramp->lanes);
  return ir::CastNode::Make(DataType::Int(64, index.dtype().lanes()), index, index.span());
}

class Flattener : public StmtMutator {
 public:
  PrimFunc Run(const PrimFunc& function) {
    std::vector<Buffer> declared;
    for (const Param& param : function->params) {
      if (!param.is_tensor() || IsFlat(param.buffer)) continue;
      declared.push_back(FlatView(param.buffer));
      new_buffers_[param.buffer.get()] = declared.back();
    }
    Stmt body = Mutate(function->body);
    for (size_t i = declared.size(); i-- > 0;)
      body = DeclBufferNode::Make(declared[i], body, declared[i]->span);
    return function.WithBody(body);
  }

 private:
  using StmtMutator::MutateNode;

  Buffer MutateDef(const BufferDef& buffer) override {
    if (IsFlat(buffer)) return StmtMutator::MutateDef(buffer);
    Buffer flat = FlatView(buffer);
    // Between strides, nothing is less than no element.
    if (!buffer->strides.empty() && !ir::AsConstInt(flat->shape[0])) {
      auto copy = ffi::Make<BufferNode>(*flat);
      copy->shape[0] = ir::MaxNode::Make(flat->shape[0], Expr(0));
      flat = Buffer(copy.get());
    }
    return new_buffers_[buffer.get()] = flat;
  }

  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    if (IsFlat(node->buffer)) return MutateChildren(node, self);
    return ir::BufferLoadNode::Make(MutateUse(node->buffer),
                                    {Mutate(FlatIndex(node->buffer, node->indices))}, node->span,
                                    MutateOptional(node->predicate));
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    if (IsFlat(node->buffer)) return MutateChildren(node, self);
    return BufferStoreNode::Make(MutateUse(node->buffer),
                                 {Mutate(FlatIndex(node->buffer, node->indices))},
                                 Mutate(node->value), node->span, MutateOptional(node->predicate));
  }
};

}  // namespace

// Compact: ((i0 * n1) + i1) * n2 + ...; strided: i0 * s0 + i1 * s1 + ...
Expr FlatIndex(const Buffer& buffer, const std::vector<Expr>& indices) {
  Expr flat;
  for (size_t d = 0; d < indices.size(); ++d) {
    Expr index = ToIndexType(indices[d]);
    if (!buffer->strides.empty())
      index = Scale(index, buffer->strides[d]);
    else if (flat)
      flat = flat * buffer->shape[d];
    flat = flat ? Shift(index, flat) : index;
  }
  if (!flat) flat = Expr(0);
  return buffer->offset ? Shift(flat, buffer->offset) : flat;
}

Buffer FlatView(const Buffer& buffer) {
  auto flat = ffi::Make<BufferNode>(*buffer);
  flat->shape = {NumElements(buffer)};
  flat->strides = {};
  flat->offset = {};
  // It was that of an element inside; the first one has what of it the way between keeps.
  if (buffer->offset.get() && buffer->alignment > 0) {
    std::optional<int64_t> offset = ir::AsConstInt(buffer->offset);
    int64_t bytes = buffer->dtype.bytes();
    flat->alignment = offset ? std::gcd(buffer->alignment, *offset * bytes) : 0;
    if (flat->alignment <= bytes) flat->alignment = 0;
  }
  return Buffer(flat.get());
}

PrimFunc FlattenBuffers(const PrimFunc& function) { return Flattener().Run(function); }

}  // namespace tern::tir
