// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/group_fragments.h"

#include <fmt/format.h>

#include "tern/schedule/index_map.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/matrix_fragments.h"

namespace tern::schedule {

void SetMatrixLayout(Schedule* schedule, const std::string& buffer, size_t rank,
                     const std::string& to) {
  std::string batch;
  for (size_t d = 0; d + 2 < rank; ++d) batch += "b" + std::to_string(d) + ", ";
  schedule->TransformLayout(buffer,
                            IndexMap::Parse(fmt::format("({0}i, j) -> ({0}{1})", batch, to)));
}

void SetGroupFragmentLayout(Schedule* schedule, const std::string& buffer, size_t rank,
                            int64_t columns) {
  SetMatrixLayout(schedule, buffer, rank,
                  fmt::format("i // 64, j // {0}, i % 64 // 16, i % 8 * 4 + j % 8 // 2, j % {0} // "
                              "8 * 4 + i % 16 // 8 * 2 + j % 2",
                              columns));
}

void SetGroupRowLayout(Schedule* schedule, const std::string& buffer, size_t rank,
                       int64_t columns) {
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

GroupSteps::GroupSteps(Schedule* schedule, const std::string& block, const Gemm& gemm,
                       const DeviceGemmPlan& plan, int64_t groups)
    : DeviceGemmScheduler(schedule, block, gemm, plan, GroupThreads(groups), kCopyBytes),
      groups_(groups) {}

std::string GroupSteps::OperandLayout() const {
  return {IsTransposed(gemm_.a) ? 't' : 'n', IsTransposed(gemm_.b) ? 't' : 'n'};
}

void ShareRowsAmongLanes(Schedule* schedule, const std::string& block, const std::string& rows,
                         const std::string& lanes, int64_t groups, const Schedule::Names& inside,
                         const std::string& prefix, bool by_rows) {
  auto name = [&](const char* what) { return prefix + what; };
  auto loop = [&](const std::string& what) { return LoopOf(block, what); };
  std::vector<int64_t> factors = {kGroupWarps, 2, 8};
  Schedule::Names names = {name("b"), name("w"), name("h"), name("r")};
  if (groups > 0) {
    factors.insert(factors.begin(), groups);
    names.insert(names.begin() + 1, name("z"));
  }
  schedule->Split(loop(rows), factors, names);
  Schedule::Names order;
  if (groups > 0) order.push_back(loop(name("z")));
  for (const std::string& one : {name("w"), name("r"), lanes}) order.push_back(loop(one));
  if (by_rows) order.push_back(loop(name("h")));
  for (const std::string& one : inside) order.push_back(loop(one));
  if (!by_rows) order.push_back(loop(name("h")));
  schedule->Reorder(order);
  std::string lane = FuseLoops(schedule, block, {name("r"), lanes});
  if (groups > 0) schedule->Bind(loop(name("z")), "threadIdx.z");
  schedule->Bind(loop(name("w")), "threadIdx.y");
  schedule->Bind(loop(lane), "threadIdx.x");
  for (const std::string& one : inside) schedule->Unroll(loop(one));
  schedule->Unroll(loop(name("h")));
}

std::string ShareAmongLanes(Schedule* schedule, const std::string& block, const std::string& rows,
                            const std::string& columns, int64_t count, int64_t groups,
                            const std::string& prefix, int64_t neighbours, int64_t vector,
                            bool by_rows) {
  auto name = [&](const char* what) { return prefix + what; };
  std::vector<int64_t> factors = {count / (4 * neighbours), 4, vector};
  Schedule::Names names = {name("a"), name("n"), name("l"), name("v")}, inside = {name("n")};
  if (vector < neighbours) {
    factors.insert(factors.end() - 1, neighbours / vector);
    names.insert(names.end() - 1, name("u"));
    inside.push_back(name("u"));
  }
  schedule->Split(LoopOf(block, columns), factors, names);
  ShareRowsAmongLanes(schedule, block, rows, name("l"), groups, inside, prefix, by_rows);
  return LoopOf(block, name("v"));
}

}  // namespace tern::schedule
