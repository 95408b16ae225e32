// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/analysis/vector_move.h"

#include <algorithm>
#include <cmath>

#include "tern/arith/analyzer.h"
#include "tern/ir/intrinsic.h"
#include "tern/ir/mutator.h"
#include "tern/ir/visitor.h"
#include "tern/tir/bulk_intrinsics.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/memory/flatten_buffers.h"

namespace tern::tir {

namespace {

// Of a value whose lets are inlined: how many there are, and the expressions that it has then.
constexpr int64_t kMostInlinedLets = 8, kMostInlinedParts = 512;

template <class Counts>
int64_t CountParts(const Expr& value, const Counts& counts) {
  int64_t count = 0;
  ir::ForEachExpr(value, [&](const Expr& part) { count += counts(part); });
  return count;
}

class LetInliner : public ir::ExprMutator {
 private:
  using ir::ExprMutator::MutateNode;
  Expr MutateNode(const ir::LetNode* node, const Expr&) override {
    return Mutate(ir::Substitute(node->body, {{node->var.node(), Mutate(node->value)}}));
  }
};

}  // namespace

bool IsMoveSize(int64_t bytes, int64_t move_bytes) {
  return bytes > 1 && bytes <= move_bytes && (bytes & (bytes - 1)) == 0;
}

bool IsAlignedPlace(const Buffer& buffer, const std::vector<Expr>& indices, int64_t bytes,
                    const arith::Analyzer& analyzer) {
  int64_t elements = bytes / buffer->dtype.bytes();
  if (elements * buffer->dtype.bytes() != bytes) return false;
  arith::ModularSet place = analyzer.Modular(FlatIndex(buffer, indices));
  return place.knows_remainder(elements) && place.base % elements == 0;
}

bool IsAlignedVector(const Buffer& buffer, std::vector<Expr> indices, int64_t bytes) {
  const auto* ramp = indices.empty() ? nullptr : indices.back().As<ir::RampNode>();
  if (!ramp || !ir::IsConst(ramp->stride, 1) || buffer->alignment < bytes) return false;
  indices.back() = ramp->base;
  if (!buffer->strides.empty() && !ir::IsConst(buffer->strides.back(), 1)) return false;
  return IsAlignedPlace(buffer, indices, bytes, arith::Analyzer());
}

namespace {

// Whether a masked load is an asynchronous copy to shared memory: all lanes of it, or zeros.
bool IsCopyOrZero(const BufferStoreNode* store, const ir::BufferLoadNode* load) {
  return store->value.As<ir::CallNode>() && load->predicate.As<ir::BroadcastNode>() &&
         IsSharedScope(store->buffer->scope) && load->buffer->scope == StorageScope::kGlobal &&
         int64_t{load->dtype.lanes()} * load->dtype.element().bytes() >= kLeastAsyncBytes;
}

}  // namespace

const ir::BufferLoadNode* CopiedLoad(const BufferStoreNode* store) {
  const auto* call = store->value.As<ir::CallNode>();
  bool is_async = call && call->name == intrinsic::kAsyncCopy;
  return (is_async ? call->args[0] : store->value).As<ir::BufferLoadNode>();
}

const ir::BufferLoadNode* CopiedOrConstant(const Expr& value) {
  const auto* select = value.As<ir::SelectNode>();
  if (!select) return value.As<ir::BufferLoadNode>();
  bool has_constant =
      select->false_value.As<ir::FloatImmNode>() || ir::AsConstInt(select->false_value);
  return has_constant ? CopiedOrConstant(select->true_value) : nullptr;
}

bool IsZeroBits(const Expr& value) {
  if (const auto* number = value.As<ir::FloatImmNode>())
    return number->value == 0 && !std::signbit(number->value);
  return ir::IsConst(value, 0);
}

Expr InlineLets(const Expr& value) {
  auto is_let = [](const Expr& part) { return part.As<ir::LetNode>() != nullptr; };
  int64_t lets = CountParts(value, is_let);
  if (lets == 0 || lets > kMostInlinedLets) return value;
  Expr inlined = LetInliner().Mutate(value);
  bool is_short = CountParts(inlined, [](const Expr&) { return true; }) <= kMostInlinedParts;
  return is_short ? inlined : value;
}

std::optional<ElementCopy> AsElementCopy(const BufferStoreNode* store) {
  const auto* call = store->value.As<ir::CallNode>();
  if (!call || call->name != intrinsic::kAsyncCopy || !call->dtype.is_scalar() ||
      call->dtype.bytes() < kLeastAsyncBytes || store->buffer->scope != StorageScope::kShared)
    return {};
  ElementCopy copy = {};
  copy.value = InlineLets(call->args[0]);
  Expr value = copy.value;
  for (; !value.As<ir::BufferLoadNode>();) {
    const auto* select = value.As<ir::SelectNode>();
    const auto* choice = value.As<ir::CallNode>();
    if (!select && (!choice || choice->name != ir::kIfThenElse)) return {};
    const Expr &condition = select ? select->condition : choice->args[0],
               &otherwise = select ? select->false_value : choice->args[2];
    if (!IsZeroBits(otherwise)) return {};
    copy.condition = copy.condition ? copy.condition && condition : condition;
    value = select ? select->true_value : choice->args[1];
  }
  copy.load = value.As<ir::BufferLoadNode>();
  auto loads = [](const Expr& expr) {
    bool found = false;
    ir::ForEachExpr(expr, [&](const Expr& part) {
      found |= part.As<ir::BufferLoadNode>() || part.As<ir::LetNode>();
    });
    return found;
  };
  bool is_plain = !(copy.condition.get() && loads(copy.condition)) &&
                  std::none_of(copy.load->indices.begin(), copy.load->indices.end(), loads) &&
                  std::none_of(store->indices.begin(), store->indices.end(), loads);
  if (!is_plain || copy.load->buffer->scope != StorageScope::kGlobal ||
      copy.load->predicate.get() || store->predicate.get())
    return {};
  return copy;
}

bool IsMatrixStore(const BufferStoreNode* store) {
  const auto* call = store->value.As<ir::CallNode>();
  return call && (IsWarpMatrixOperation(call) || call->name == intrinsic::kBulkCopy);
}

bool IsVectorMove(const BufferStoreNode* store, int64_t move_bytes) {
  const auto* load = CopiedLoad(store);
  DataType dtype = store->value.dtype();
  if (!load || dtype.is_scalar() || dtype.is_scalable() || store->predicate.get()) return false;
  if (load->predicate.get() && !IsCopyOrZero(store, load)) return false;
  int64_t bytes = int64_t{dtype.lanes()} * dtype.element().bytes();
  return IsMoveSize(bytes, move_bytes) && load->dtype.element() == load->buffer->dtype &&
         store->buffer->dtype == load->buffer->dtype &&
         IsAlignedVector(store->buffer, store->indices, bytes) &&
         IsAlignedVector(load->buffer, load->indices, bytes);
}

}  // namespace tern::tir
