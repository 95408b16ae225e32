// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/group_fragments.h"

#include <fmt/format.h>

#include "tern/schedule/index_map.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/matrix_fragments.h"

namespace tern::schedule {

void SetMatrixLayout(Schedule* schedule, const BufferRef& buffer, size_t rank,
                     const std::string& to, bool transposed) {
  std::string batch;
  for (size_t d = 0; d + 2 < rank; ++d) batch += "b" + std::to_string(d) + ", ";
  schedule->TransformLayout(buffer, IndexMap::Parse(fmt::format("({0}{1}) -> ({0}{2})", batch,
                                                                transposed ? "j, i" : "i, j", to)));
}

void SetGroupFragmentLayout(Schedule* schedule, const BufferRef& buffer, size_t rank,
                            int64_t columns, bool transposed) {
  SetMatrixLayout(schedule, buffer, rank,
                  fmt::format("i // 64, j // {0}, i % 64 // 16, i % 8 * 4 + j % 8 // 2, j % {0} // "
                              "8 * 4 + i % 16 // 8 * 2 + j % 2",
                              columns),
                  transposed);
}

void SetGroupRowLayout(Schedule* schedule, const BufferRef& buffer, size_t rank, int64_t columns) {
  SetMatrixLayout(schedule, buffer, rank,
                  fmt::format("i // 64, j // {0}, i % 64 // 16, i % 8 * 4 + j % 32 // 8, j % {0} "
                              "// 32 * 16 + i % 16 // 8 * 8 + j % 8",
                              columns));
}

static std::vector<ThreadAxis> GroupThreads(int64_t groups) {
  std::vector<ThreadAxis> axes = {{"threadIdx.y", kGroupWarps}, {"threadIdx.x", kGroupLanes}};
  if (groups > 0) axes.insert(axes.begin(), {"threadIdx.z", groups});
  return axes;
}

GroupSteps::GroupSteps(Schedule* schedule, const BlockRef& block, const Gemm& gemm,
                       const DeviceGemmPlan& plan, int64_t groups)
    : DeviceGemmScheduler(schedule, block, gemm, plan, GroupThreads(groups), kCopyBytes),
      groups_(groups) {}

std::string GroupSteps::OperandLayout() const {
  return {IsTransposed(gemm_.a) ? 't' : 'n', IsTransposed(gemm_.b) ? 't' : 'n'};
}

LoopRef ShareRowsAmongLanes(Schedule* schedule, const BlockRef& block, const LoopRef& rows,
                            const LoopRef& lanes, int64_t groups, const LoopRefs& inside,
                            const std::string& prefix, bool by_rows) {
  auto name = [&](const char* what) { return prefix + what; };
  std::vector<int64_t> factors = {kGroupWarps, 2, 8};
  Schedule::Names names = {name("b"), name("w"), name("h"), name("r")};
  if (groups > 0) {
    factors.insert(factors.begin(), groups);
    names.insert(names.begin() + 1, name("z"));
  }
  LoopRefs made = schedule->Split(LoopAround(*schedule, block, rows), factors, names).Of(block);
  const LoopRef &warps = made[made.size() - 3], &halves = made[made.size() - 2];
  LoopRefs own = LoopsAround(*schedule, block, inside), order;
  if (groups > 0) order.push_back(made[1]);
  order.insert(order.end(), {warps, made.back(), LoopAround(*schedule, block, lanes)});
  if (by_rows) order.push_back(halves);
  order.insert(order.end(), own.begin(), own.end());
  if (!by_rows) order.push_back(halves);
  schedule->Reorder(order);
  LoopRef lane = FuseLoops(schedule, block, {made.back(), LoopAround(*schedule, block, lanes)});
  if (groups > 0) schedule->Bind(made[1], "threadIdx.z");
  schedule->Bind(warps, "threadIdx.y");
  schedule->Bind(lane.Of(block), "threadIdx.x");
  for (const LoopRef& one : own) schedule->Unroll(one);
  schedule->Unroll(halves);
  return made[0];
}

SharedElements ShareAmongLanes(Schedule* schedule, const BlockRef& block, const LoopRef& rows,
                               const LoopRef& columns, int64_t count, int64_t groups,
                               const std::string& prefix, int64_t neighbours, int64_t vector,
                               bool by_rows) {
  auto name = [&](const char* what) { return prefix + what; };
  std::vector<int64_t> factors = {count / (4 * neighbours), 4, vector};
  Schedule::Names names = {name("a"), name("n"), name("l"), name("v")};
  if (vector < neighbours) {
    factors.insert(factors.end() - 1, neighbours / vector);
    names.insert(names.end() - 1, name("u"));
  }
  LoopRefs made = schedule->Split(LoopAround(*schedule, block, columns), factors, names).Of(block);
  LoopRefs inside = {made[1]};
  if (vector < neighbours) inside.push_back(made[3]);
  LoopRef blocks =
      ShareRowsAmongLanes(schedule, block, rows, made[2], groups, inside, prefix, by_rows);
  return {made.back(), blocks};
}

}  // namespace tern::schedule
