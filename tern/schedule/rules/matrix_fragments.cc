// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/matrix_fragments.h"

#include <algorithm>

#include "tern/schedule/index_map.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"

namespace tern::schedule {
namespace {

// Whether the target has the type, and not its bits alone.
bool Stores(const TargetInfo& target, DataType dtype) {
  const auto& stores = target.target->kind->stores;
  return !dtype.is_narrow_float() || (stores && stores(target.target, dtype));
}

}  // namespace

void CheckMatrixDims(const Gemm& gemm, const TargetInfo& target) {
  auto is_last = [](size_t rank, size_t dim, size_t other) {
    return std::min(dim, other) + 2 == rank;
  };
  if (!is_last(gemm.a.rank, gemm.a.own_dim, gemm.a.k_dim) ||
      !is_last(gemm.b.rank, gemm.b.own_dim, gemm.b.k_dim) ||
      gemm.c_m_dim + 2 != gemm.c->shape.size())
    Refuse("M, N and K are not the last two dimensions of A, B and C");
  if (!gemm.dynamic_batch && gemm.batch > target.most_grid_blocks)
    Refuse("a grid has room for " + std::to_string(target.most_grid_blocks) + " matrices, not " +
           std::to_string(gemm.batch));
}

bool IsTransposed(const GemmOperand& operand) { return operand.is_a != operand.k_contiguous(); }

int64_t PaddedRow(int64_t elements, int64_t bytes) { return elements + kCopyBytes / bytes; }

std::string MatrixTypeOf(const Gemm& gemm, const TargetInfo& target,
                         const MatrixInstructions& machine) {
  DataType dtype = gemm.a.dtype;
  auto type = std::find_if(machine.types.begin(), machine.types.end(),
                           [&](const auto& known) { return known.first == dtype; });
  if (type == machine.types.end() || gemm.b.dtype != dtype || !Stores(target, dtype) ||
      gemm.c->dtype != DataType::Float(32))
    Refuse("the machine does not multiply " + dtype.str() + " by " + gemm.b.dtype.str() +
           " with accumulators of " + gemm.c->dtype.str());
  return type->second;
}

CopyRef MatrixSteps::ReadFragment(const GemmOperand& operand, const BufferRef& shared) {
  return schedule_.CacheRead(
      block_, shared, operand.is_a ? tir::StorageScope::kFragmentA : tir::StorageScope::kFragmentB,
      Name(operand.is_a ? "af" : "bf"));
}

void MatrixSteps::SetLayout(const BufferRef& buffer, size_t rank, Fragment fragment,
                            bool transposed) {
  std::string layout = machine_.layout(fragment, transposed), batch;
  for (size_t d = 0; d + 2 < rank; ++d) batch += "b" + std::to_string(d) + ", ";
  layout.insert(layout.find("-> (") + 4, batch);
  layout.insert(1, batch);
  schedule_.TransformLayout(buffer, IndexMap::Parse(layout));
}

void MatrixSteps::AlignRows(const BufferRef& buffer, size_t rank, int64_t bytes, int64_t row) {
  constexpr int64_t kBanks = 128;  // bytes
  int64_t line = kBanks / bytes;
  schedule_.StorageAlign(buffer, static_cast<int64_t>(rank) - 2, line,
                         PaddedRow(row, bytes) % line);
}

void MatrixSteps::LoadTiles(const BlockRef& block, const LoopRefs& loops, const std::string& prefix,
                            const GemmOperand& operand) {
  bool tiles_first = operand.k_contiguous();
  auto [tiles, inside] = schedule_.Split(loops[tiles_first ? 0 : 1].Of(block), {machine_.tile},
                                         {Name(prefix + "t"), Name(prefix + "r")});
  LoopRef outer = tiles.Of(block), inner = inside.Of(block),
          other = loops[tiles_first ? 1 : 0].Of(block);
  LoopRefs order = tiles_first ? LoopRefs{outer, inner, other} : LoopRefs{outer, other, inner};
  schedule_.Reorder(order);
  schedule_.Unroll(outer);
  schedule_.Tensorize(order[1], Intrinsic("load_") + (operand.is_a ? "a" : "b") +
                                    (IsTransposed(operand) ? "t_" : "_") + type_);
}

}  // namespace tern::schedule
