// SPDX-License-Identifier: Apache-2.0
//
// GEMM on devices with thread blocks: all that does not depend on what multiplies.
//
//   for batch, ib, jb                        blockIdx.z, .y, .x: tile_m x tile_n of C
//     for lo, blocks of tile_k, pipelined in `stages`
//       A_shared, B_shared = copies          by all threads; zeros beyond M, N and K
//       acc += A_shared * B_shared           threads: device_matmul.cc; warps: matrix_matmul.cc
//     C = epilogue(acc)
//
// Other sums of products (convolutions, several M, N or K axes, grouped heads) are the GEMM of
// their im2col, which is fused into the copies. Extents may be dynamic: copies and stores have
// conditions, and the host chooses between versions (gemm_versions.h, aligned_sizes.h). With
// split_k, parts of K are a batch, whose results a second kernel adds up, in order:
//
//   for part, ib, jb { ... parts[part, i, j] = acc }
//   for i, j         { C = epilogue(sum of parts[.., i, j]) }
#ifndef TERN_SCHEDULE_RULES_DEVICE_GEMM_H_
#define TERN_SCHEDULE_RULES_DEVICE_GEMM_H_

#include <string>
#include <vector>

#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

// What the plans of all rules have.
struct DeviceGemmPlan : PlanCost {
  int64_t tile_m = 0, tile_n = 0, tile_k = 0;  // of a thread block, in shared memory
  int64_t stages = 1;  // of the pipeline: copies under way, and the one that is computed with
  int64_t split_k = 1;

  // Whether M or N has to be padded to whole tiles, and whether K has to.
  bool PadsResult(const Gemm& gemm) const;
  bool PadsK(const Gemm& gemm) const;
};

// The GEMM of a block as it is, or after im2col. Refuses what is none.
Gemm RequireDeviceGemm(Schedule* schedule, const BlockRef& block, const TargetInfo& target);
// Dynamic extents, those of the batch too, become what the target takes as likely.
void GuessDeviceSizes(Gemm* gemm, const TargetInfo& target);

// Whether an extent, also a dynamic one, is known to be a multiple (aligned_sizes.h).
bool IsMultiple(const tir::Expr& extent, int64_t factor);

// Whether B is unpacked in its copies: it is computed of narrower elements, and M is one tile. A
// thread then waits for what it loads, as copies that compute are not asynchronous, and several
// thread blocks on a multiprocessor have to hide that.
bool UnpacksInCopies(const Schedule& schedule, const Gemm& gemm, const DeviceGemmPlan& plan);

// The numbers of parts of K that are worth a try: 1, and others where there are few tiles: less
// than half of what keeps the device busy, with so many `wanted` on each multiprocessor.
std::vector<int64_t> SplitsOfK(const Schedule& schedule, const Gemm& gemm,
                               const DeviceGemmPlan& plan, const TargetInfo& target,
                               int64_t wanted = 1);
// K in as many parts as a plan has: the block of one part each, and its GEMM.
struct GemmPart {
  BlockRef block;
  Gemm gemm;
};
GemmPart SplitK(Schedule* schedule, const BlockRef& block, const DeviceGemmPlan& plan,
                const TargetInfo& target);
// M, N and K padded to the tiles of a plan: zeros are added in the copies.
Gemm PadToTiles(Schedule* schedule, const GemmPart& part, const DeviceGemmPlan& plan);

// What one thread block does for tile_k of K, in cycles.
struct TileCycles {
  double multiply = 0;
  double bytes = 0;    // copied to shared memory
  bool waits = false;  // for memory, in each step
  double stored = 0;   // bytes that memory takes for an element of the result
};
// Cycles of all thread blocks, in waves over the device. A tile takes what is longer: to multiply,
// or to copy from L2. Of dynamic sizes the geometric mean of the likely and the least ones.
double DeviceGemmCycles(const Gemm& gemm, const DeviceGemmPlan& plan, const TileCycles& tile,
                        const TargetInfo& target);

// What multiplying at so many FMAs of a multiprocessor in a cycle takes at least, or memory.
double LeastDeviceCycles(const Gemm& gemm, double fmas_per_cycle, const TargetInfo& target);

// An axis of the threads of a block: {"threadIdx.x", 32}.
struct ThreadAxis {
  std::string name;
  int64_t extent;
};

// The steps that all such schedules have.
class DeviceGemmScheduler {
 public:
  // `threads` of a block, the last one the fastest to change.
  DeviceGemmScheduler(Schedule* schedule, const BlockRef& block, const Gemm& gemm,
                      const DeviceGemmPlan& plan, std::vector<ThreadAxis> threads,
                      int64_t copy_bytes)
      : schedule_(*schedule),
        block_(block),
        gemm_(gemm),
        tiles_(plan),
        threads_(std::move(threads)),
        copy_bytes_(copy_bytes),
        loops_(block) {}

 protected:
  // A loop, block or buffer of the schedule's own.
  std::string Name(const std::string& what) const { return block_ + "_" + what; }
  // One of those loops, around the block.
  const LoopRef& At(const std::string& what) const { return loops_.At(what); }
  // The same around another block that has it, or a copy of it.
  LoopRef At(const BlockRef& block, const std::string& what) const {
    return LoopAround(schedule_, block, At(what));
  }
  // Splits a loop of the block.
  void Split(const LoopRef& loop, const std::vector<int64_t>& factors,
             const std::vector<std::string>& names) {
    loops_.Split(&schedule_, loop, factors, names);
  }

  // `order` are the loops that the block was split into, from the one inside of lo on. They are
  // put in order, and the outer ones bound to the grid. Several `rows` of tiles, a divisor of them
  // all, are walked column by column: thread blocks that run together have a square of tiles then,
  // and copy more of it from L2. Returns the last loop of the grid.
  LoopRef OrderLoops(const std::vector<const char*>& order, int64_t rows = 1);
  // A copy of an operand in shared memory, made of what computes the operand.
  CopyRef CopyToShared(const GemmOperand& operand);
  // All threads do the iterations of a block's innermost loops, as vectors where that can be.
  void ShareAmongThreads(const BlockRef& block, const LoopRefs& loops, const std::string& prefix);
  // Copies of later tiles are under way while one is computed with.
  void PipelineCopies();

  Schedule& schedule_;
  BlockRef block_;
  const Gemm& gemm_;
  const DeviceGemmPlan& tiles_;
  std::vector<ThreadAxis> threads_;
  int64_t copy_bytes_;  // that a thread copies at once
  NamedLoops loops_;

 private:
  int64_t CopyLanes(const BlockRef& block, const LoopRef& loop) const;
};

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_DEVICE_GEMM_H_
