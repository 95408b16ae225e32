// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/operand_copies.h"

#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/device_threads.h"
#include "tern/tir/analysis/vector_move.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

void ScheduleCopy(Schedule* schedule, const BlockRef& copy, const TargetInfo& target) {
  ApplyRules(schedule, DescribeBlock(*schedule, copy), target);
}

// The input channels of a convolution: the only axis of that role.
std::optional<size_t> ChannelsOf(const BlockInfo& block) {
  std::optional<size_t> channels;
  for (size_t i = 0; i < block.axes.size(); ++i) {
    if (block.axes[i].role != AxisRole::kK) continue;
    if (channels) return {};
    channels = i;
  }
  return channels;
}

// The dimension that is indexed by an axis and nothing else, which no other one uses.
std::optional<size_t> DimOf(const BlockAccess& access, const BlockAxis& axis) {
  std::optional<size_t> dim;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    if (!ir::UsesVar(access.indices[d], axis.var.node())) continue;
    if (dim || access.indices[d].get() != axis.var.get()) return {};
    dim = d;
  }
  return dim;
}

bool UsesAxis(const BlockAccess& access, const BlockAxis& axis) {
  return std::any_of(access.indices.begin(), access.indices.end(),
                     [&](const Expr& index) { return ir::UsesVar(index, axis.var.node()); });
}

// Whether dimensions behind one have a single element.
bool IsLast(const BlockAccess& access, size_t dim) {
  const auto& shape = access.buffer->shape;
  return std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(dim) + 1, shape.end(),
                     [](const Expr& extent) { return ir::IsConst(extent, 1); });
}

// Whether neighbours of the result are neighbours in memory, in whole vectors: images of 1 x 1
// convolutions at stride 1.
bool IsMatrixOfPixels(const BlockInfo& block, const BlockAccess& input, int64_t lanes) {
  int64_t pixels = 1;
  ir::VarMap single;  // axes of one step
  for (const BlockAxis& axis : block.axes) {
    int64_t extent = ConstExtent(axis);
    if (extent == 1) single[axis.var.node()] = ir::MakeConst(axis.var.dtype(), 0);
    if (axis.role == AxisRole::kWindow && extent != 1) return false;
    if (axis.role == AxisRole::kPixel) pixels *= extent;
  }
  BlockAccess plain = input;
  for (Expr& index : plain.indices)
    index = arith::Analyzer().Simplify(ir::Substitute(index, single));
  for (const BlockAxis& axis : block.axes)
    if (axis.role == AxisRole::kPixel && ConstExtent(axis) != 1 && !DimOf(plain, axis))
      return false;
  return pixels > 0 && pixels % lanes == 0 && !block.conditional;
}

// Whether weights have whole vectors of output channels last.
bool HasOutputsLast(const BlockInfo& block, const BlockAccess& weights, int64_t lanes) {
  return std::any_of(block.axes.begin(), block.axes.end(), [&](const BlockAxis& axis) {
    return axis.role == AxisRole::kN && weights.indices.back().get() == axis.var.get() &&
           Divides(lanes, axis.extent);
  });
}

}  // namespace

void CopyWithDimLast(Schedule* schedule, const BlockRef& block, const Buffer& buffer, size_t dim,
                     const TargetInfo& target) {
  CopyRef copy = schedule->CacheRead(block, buffer, StorageScope::kGlobal,
                                     FreshBlockName(*schedule, buffer->name + "_last"));
  // Padding is a part of the copy.
  if (BlockRef producer = ProducerOf(*schedule, buffer))
    Try(schedule, [&](Schedule* attempt) { attempt->ComputeInline(producer); });
  std::string from, to;
  for (size_t d = 0; d < buffer->shape.size(); ++d) {
    std::string index = "d" + std::to_string(d);
    from += (d ? ", " : "") + index;
    if (d != dim) to += index + ", ";
  }
  to += "d" + std::to_string(dim);
  schedule->TransformLayout(copy, IndexMap::Parse("(" + from + ") -> (" + to + ")"));
  ScheduleCopy(schedule, copy, target);
}

void PutChannelsLast(Schedule* schedule, const BlockRef& name, const TargetInfo& target) {
  BlockInfo block = DescribeBlock(*schedule, name);
  std::optional<size_t> channels = ChannelsOf(block);
  if (block.kind != BlockKind::kConvolution || !channels) return;
  const BlockAxis& axis = block.axes[*channels];
  struct Operand {
    Buffer buffer;
    size_t dim;
    bool turns;
  };
  std::vector<Operand> operands;
  bool gathers_input = false;
  int64_t most = 1;  // lanes of the narrower operand
  for (const BlockAccess& access : block.accesses) {
    if (access.store || access.buffer.same(block.accesses[0].buffer)) continue;
    std::optional<size_t> dim = DimOf(access, axis);
    int64_t lanes = target.vector_bytes / std::max(access.buffer->dtype.bytes(), 1);
    if (!dim || lanes < 2 || ConstExtent(axis) == 0) return;
    most = std::max(most, lanes);
    bool is_input = std::any_of(block.axes.begin(), block.axes.end(), [&](const BlockAxis& one) {
      return one.role == AxisRole::kPixel && UsesAxis(access, one);
    });
    bool gathers = !IsLast(access, *dim) && (is_input ? !IsMatrixOfPixels(block, access, lanes)
                                                      : !HasOutputsLast(block, access, lanes));
    gathers_input |= is_input && gathers;
    operands.push_back({access.buffer, *dim, gathers});
  }
  if (!gathers_input) return;
  if (ConstExtent(axis) % most != 0) {
    // Fewer would be mostly padding.
    if (ConstExtent(axis) < most) return;
    std::vector<int64_t> factors(block.axes.size(), 1);
    factors[*channels] = most;
    PaddedEinsum padded;
    if (!Try(schedule, [&](Schedule* attempt) { padded = attempt->PadEinsum(name, factors); }))
      return;
    for (Operand& operand : operands)
      for (const CopyRef& copy : padded.operands)
        if (copy.name() == operand.buffer->name + "_pad")
          operand.buffer = schedule->BufferAt(copy.buffer());
  }
  for (const Operand& operand : operands)
    if (operand.turns) CopyWithDimLast(schedule, name, operand.buffer, operand.dim, target);
}

void CopyOddRows(Schedule* schedule, const GemmOperand& operand, const TargetInfo& target) {
  BlockRef padding = FindBlock(*schedule, operand.name);
  if (operand.bytes() >= kLeastAsyncBytes || !padding) return;
  const auto* store = schedule->At(padding)->body.As<BufferStoreNode>();
  const auto* load = store ? CopiedOrConstant(store->value) : nullptr;
  if (!load || !store->value.As<ir::SelectNode>()) return;
  // What is computed in the copy, as windows are, is not copied before.
  for (size_t d = 0; d < load->indices.size(); ++d)
    if (load->indices[d].get() != store->indices[d].get()) return;
  if (HasCheapProducer(*schedule, padding)) return;
  std::vector<Expr> row = load->indices;
  row.back() = ir::MakeConst(row.back().dtype(), 0);
  if (!IsAlignedPlace(load->buffer, row, kLeastAsyncBytes, arith::Analyzer()))
    ScheduleCopy(schedule, padding, target);
}

}  // namespace tern::schedule
