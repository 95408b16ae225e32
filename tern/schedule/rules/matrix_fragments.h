// SPDX-License-Identifier: Apache-2.0
//
// What schedules with matrix instructions share: operands as fragments of warps, from copies in
// shared memory.
#ifndef TERN_SCHEDULE_RULES_MATRIX_FRAGMENTS_H_
#define TERN_SCHEDULE_RULES_MATRIX_FRAGMENTS_H_

#include <algorithm>
#include <string>
#include <vector>

#include "tern/schedule/rules/device_gemm.h"
#include "tern/schedule/rules/matrix_matmul.h"

namespace tern::schedule {

inline constexpr int64_t kCopyBytes = 16;  // at once

// The name of the type of A and B in the intrinsics. Refuses what the machine does not multiply.
std::string MatrixTypeOf(const Gemm& gemm, const TargetInfo& target,
                         const MatrixInstructions& machine);

// Fragments are of the last two dimensions; those before are of the batch. Refuses others.
void CheckMatrixDims(const Gemm& gemm, const TargetInfo& target);

// Whether an operand lies transposed in memory: A as [K, M], B as [N, K].
bool IsTransposed(const GemmOperand& operand);

// Elements of a row of shared memory, so that rows start on different banks.
int64_t PaddedRow(int64_t elements, int64_t bytes);

// The steps of one GEMM.
class MatrixSteps : public DeviceGemmScheduler {
 public:
  MatrixSteps(Schedule* schedule, const BlockRef& block, const Gemm& gemm, const std::string& type,
              const DeviceGemmPlan& plan, const std::vector<ThreadAxis>& threads,
              const MatrixInstructions& machine)
      : DeviceGemmScheduler(schedule, block, gemm, plan, threads,
                            std::min(kCopyBytes, machine.copy_lanes * gemm.a.bytes())),
        type_(type),
        machine_(machine) {}

  using DeviceGemmScheduler::At;
  using DeviceGemmScheduler::CopyToShared;
  using DeviceGemmScheduler::Name;
  using DeviceGemmScheduler::ShareAmongThreads;
  using DeviceGemmScheduler::Split;

  std::string Intrinsic(const std::string& what) const { return machine_.prefix + "_" + what; }
  // The one that multiplies.
  std::string Multiply() const { return Intrinsic(type_); }
  Schedule::Names Own(const std::string& prefix, const std::string& a, const std::string& b) const {
    return {Name(prefix + a), Name(prefix + b)};
  }

  // The fragment that is loaded of a copy in shared memory.
  CopyRef ReadFragment(const GemmOperand& operand, const BufferRef& shared);
  // The layout of a fragment in the last two dimensions of a buffer.
  void SetLayout(const BufferRef& buffer, size_t rank, Fragment fragment, bool transposed);
  void SetLayout(const BufferRef& buffer, const GemmOperand& operand) {
    SetLayout(buffer, operand.rank, operand.is_a ? Fragment::kA : Fragment::kB,
              IsTransposed(operand));
  }
  // Rows of a buffer, which are so long, start on different banks.
  void AlignRows(const BufferRef& buffer, size_t rank, int64_t bytes, int64_t row);
  // One dimension of what a warp loads is a tile, the other one several.
  void LoadTiles(const BlockRef& block, const LoopRefs& loops, const std::string& prefix,
                 const GemmOperand& operand);

 protected:
  std::string type_;
  const MatrixInstructions& machine_;
};

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_MATRIX_FRAGMENTS_H_
