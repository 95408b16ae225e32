// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/product.h"

#include <algorithm>
#include <numeric>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"
#include "tern/tir/analysis/preparation.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

bool IsSpatial(const BlockInfo& block) {
  return std::all_of(block.axes.begin(), block.axes.end(),
                     [](const BlockAxis& axis) { return axis.kind == IterKind::kSpatial; });
}

// Every element of the buffer is the one at the block's axes, in their order.
bool ReadsByAxes(const BlockInfo& reader, const Buffer& buffer) {
  std::vector<size_t> all(reader.axes.size());
  std::iota(all.begin(), all.end(), 0);
  return std::all_of(reader.accesses.begin(), reader.accesses.end(),
                     [&](const BlockAccess& access) {
                       if (!access.buffer.same(buffer)) return true;
                       return !access.store && access.by_axes && access.axes == all;
                     });
}

// The block that computes a buffer of the function's own element by element; "" for none.
std::string MakerOf(const Schedule& schedule, const Buffer& buffer) {
  const Stmt& body = schedule.function()->body;
  if (!AllocationOf(body, buffer)) return "";
  for (const BlockNode* block : BlocksIn(body)) {
    BlockInfo info = DescribeBlock(block);
    bool makes =
        !info.accesses.empty() && info.accesses[0].store && info.accesses[0].buffer.same(buffer);
    if (makes) return IsSpatial(info) ? info.name : "";
  }
  return "";
}

// Made ahead, and for other blocks too: these would have to make it at every call.
bool IsMadeForOthers(const Schedule& schedule, const std::string& block, const Buffer& buffer) {
  if (!IsConstant(schedule, buffer->name)) return false;
  int readers = 0;
  for (const BlockNode* other : BlocksIn(schedule.function()->body))
    for (const BlockAccess& access : DescribeBlock(other).accesses)
      readers += !access.store && access.buffer.same(buffer) && other->name != block;
  return readers > 0;
}

// A block that computes something that another one reads; "" for none.
std::string MakerOfOperand(const Schedule& schedule, const std::string& block) {
  for (const BlockAccess& access : DescribeBlock(FindBlockNamed(schedule, block)).accesses) {
    std::string maker = access.store ? "" : MakerOf(schedule, access.buffer);
    if (!maker.empty() && !IsMadeForOthers(schedule, block, access.buffer)) return maker;
  }
  return "";
}

bool MayBeDynamic(const BlockAxis& axis, Sizes known) {
  return axis.role == AxisRole::kBatch ||
         (axis.role == AxisRole::kM && known == Sizes::kAllButRows);
}

}  // namespace

std::optional<Product> ProductOf(const Schedule& schedule, const BlockInfo& block, Sizes known) {
  Product product;
  size_t row = 0, column = 0, sum = 0;  // axes
  for (size_t a = 0; a < block.axes.size(); ++a) {
    const BlockAxis& axis = block.axes[a];
    const int64_t* extent = ir::AsConstInt(axis.extent);
    if (axis.loop.empty() || (!extent && !MayBeDynamic(axis, known))) return {};
    auto take = [&](std::string* loop, int64_t* size, size_t* number) {
      bool fresh = loop->empty();
      *loop = axis.loop;
      *size = extent ? *extent : kUnknownExtent;
      *number = a;
      return fresh;
    };
    bool taken = axis.role == AxisRole::kM   ? take(&product.row, &product.rows, &row)
                 : axis.role == AxisRole::kN ? take(&product.column, &product.columns, &column)
                 : axis.role == AxisRole::kK ? take(&product.sum, &product.steps, &sum)
                                             : axis.role == AxisRole::kBatch;
    if (!taken) return {};
    if (axis.role == AxisRole::kBatch) product.batch.push_back(axis.loop);
    if (axis.role == AxisRole::kM) product.dynamic_rows = !extent;
  }
  bool complete = !product.row.empty() && !product.column.empty() && !product.sum.empty();
  if (!complete || block.conditional) return {};
  product.result = block.accesses[0].buffer;
  for (const BlockAccess& access : block.accesses) {
    if (!access.by_axes || access.indices.size() != access.axes.size()) return {};
    auto dim_of = [&](size_t axis) -> size_t {
      return std::find(access.axes.begin(), access.axes.end(), axis) - access.axes.begin();
    };
    if (access.buffer.same(product.result)) {
      product.result_row_dim = dim_of(row);
      continue;
    }
    size_t rank = access.axes.size();
    bool is_left = dim_of(row) < rank;
    Factor& factor = is_left ? product.left : product.right;
    if (!factor.name.empty()) return {};
    factor = {access.buffer->name,
              access.buffer->dtype,
              rank,
              dim_of(is_left ? row : column),
              dim_of(sum),
              is_left};
    if (factor.own_dim == rank || factor.sum_dim == rank) return {};
  }
  if (product.left.name.empty() || product.right.name.empty()) return {};
  Nest nest = NestOf(schedule.function()->body, FindBlockNamed(schedule, block.name));
  return nest.around.empty() ? std::optional(product) : std::nullopt;
}

Product RequireProduct(const Schedule& schedule, const BlockInfo& block, Sizes known) {
  std::optional<Product> product = ProductOf(schedule, block, known);
  if (product) return *product;
  for (const BlockAxis& axis : block.axes)
    if (!ir::AsConstInt(axis.extent) && !MayBeDynamic(axis, known))
      Refuse("the extent of axis " + axis.var.name() + " is dynamic");
  Refuse("an operand of block " + block.name +
         " is not indexed by batch, M, N and K alone, one loop each");
}

bool IsConstant(const Schedule& schedule, const std::string& buffer) {
  const PrimFunc& function = schedule.function();
  Preparation preparation(function);
  for (const Param& param : function->params)
    if (param.is_tensor() && param.name() == buffer) return preparation.IsConstant(param.buffer);
  const std::vector<Buffer>& made = preparation.made();
  return std::any_of(made.begin(), made.end(),
                     [&](const Buffer& one) { return one->name == buffer; });
}

Schedule::Names LoopsOfAxes(const Schedule& schedule, const std::string& block) {
  const BlockNode* node = FindBlockNamed(schedule, block);
  Nest nest = NestOf(schedule.function()->body, node);
  Schedule::Names loops;
  for (const BlockIter& iter : node->iters) {
    auto it = std::find_if(nest.loops.begin(), nest.loops.end(), [&](const ForNode* loop) {
      return ir::UsesVar(iter.binding, loop->var.node());
    });
    loops.push_back(it == nest.loops.end() ? "" : (*it)->var.name());
  }
  return loops;
}

std::string SoleReader(const Schedule& schedule, const std::string& block, const Buffer& result) {
  const Stmt& body = schedule.function()->body;
  if (!AllocationOf(body, result)) return "";
  std::string reader;
  for (const BlockNode* other : BlocksIn(body)) {
    if (other->name == block || !Touches(AsStmt(other), result)) continue;
    BlockInfo info = DescribeBlock(other);
    if (!IsSpatial(info) || !ReadsByAxes(info, result) || !reader.empty()) return "";
    reader = other->name;
  }
  return reader;
}

void InlineMakers(Schedule* schedule, const std::string& block) {
  for (std::string maker = MakerOfOperand(*schedule, block);
       !maker.empty() && Try(schedule, [&](Schedule* attempt) { attempt->ComputeInline(maker); });)
    maker = MakerOfOperand(*schedule, block);
}

void PadProduct(Schedule* schedule, const BlockInfo& block, const std::vector<int64_t>& factors) {
  schedule->PadEinsum(block.name, factors);
  Try(schedule,
      [&](Schedule* attempt) { attempt->ComputeInline(block.accesses[0].buffer->name + "_pad"); });
}

}  // namespace tern::schedule
