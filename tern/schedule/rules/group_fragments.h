// SPDX-License-Identifier: Apache-2.0
//
// What schedules with matrix instructions of groups of four warps share: operands as blocks in
// shared memory, sums and elements of sums as fragments.
#ifndef TERN_SCHEDULE_RULES_GROUP_FRAGMENTS_H_
#define TERN_SCHEDULE_RULES_GROUP_FRAGMENTS_H_

#include <string>
#include <vector>

#include "tern/schedule/rules/device_gemm.h"

namespace tern::schedule {

// Rows of a group, columns and steps of a block of an operand.
inline constexpr int64_t kGroupBlock = 64;
inline constexpr int64_t kGroupWarps = 4, kGroupLanes = 32;

// The layout of the last two dimensions, (i, j), of a buffer of so many; `transposed`: (j, i).
void SetMatrixLayout(Schedule* schedule, const BufferRef& buffer, size_t rank,
                     const std::string& to, bool transposed = false);
// A fragment: group, tile of so many columns, warp, lane, and the elements of the lane, as
// warp_matrix_multiply_group has them.
void SetGroupFragmentLayout(Schedule* schedule, const BufferRef& buffer, size_t rank,
                            int64_t columns, bool transposed = false);
// The same with kRowNeighbours elements of a row side by side in a lane, which it stores at once.
void SetGroupRowLayout(Schedule* schedule, const BufferRef& buffer, size_t rank, int64_t columns);
inline constexpr int64_t kPairNeighbours = 2, kRowNeighbours = 8;

// The steps of one product. The threads of a block are groups, warps and lanes.
class GroupSteps : public DeviceGemmScheduler {
 public:
  // A group for each 64 rows of a tile; or so many, where 0 is one whose threads have all rows.
  GroupSteps(Schedule* schedule, const BlockRef& block, const Gemm& gemm,
             const DeviceGemmPlan& plan)
      : GroupSteps(schedule, block, gemm, plan, plan.tile_m / kGroupBlock) {}
  GroupSteps(Schedule* schedule, const BlockRef& block, const Gemm& gemm,
             const DeviceGemmPlan& plan, int64_t groups);

  using DeviceGemmScheduler::At;
  using DeviceGemmScheduler::Name;
  using DeviceGemmScheduler::ShareAmongThreads;
  using DeviceGemmScheduler::Split;

  // "nt": how the operands lie, as in the names of the instructions.
  std::string OperandLayout() const;
  int64_t groups() const { return groups_; }

 private:
  int64_t groups_;
};

// Rows of a block that has `lanes`, a loop of 4, for each: a lane has those of its fragments. The
// rows are those of so many groups, or, 0, of one that a loop around is bound to. Other loops,
// `inside`, are inside, and unrolled; `by_rows`: of one row of the lane's two after the other,
// which then has one condition. Names of new loops begin with a prefix. Returns the loop over what
// blocks of the rows are left.
LoopRef ShareRowsAmongLanes(Schedule* schedule, const BlockRef& block, const LoopRef& rows,
                            const LoopRef& lanes, int64_t groups, const LoopRefs& inside,
                            const std::string& prefix, bool by_rows = false);
// The same of a block of elements, in tiles of so many columns: each by the lane that has it in a
// fragment, whose layout has so many neighbours.
struct SharedElements {
  LoopRef vector;  // the loop over the neighbours, or over the first `vector` of them
  LoopRef blocks;  // of the rows that are left
};
SharedElements ShareAmongLanes(Schedule* schedule, const BlockRef& block, const LoopRef& rows,
                               const LoopRef& columns, int64_t count, int64_t groups,
                               const std::string& prefix, int64_t neighbours = kPairNeighbours,
                               int64_t vector = kPairNeighbours, bool by_rows = false);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_GROUP_FRAGMENTS_H_
