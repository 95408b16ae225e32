// SPDX-License-Identifier: Apache-2.0
//
// Which instructions move values between the lanes of a wave without memory: a word is read from
// another lane on its way into an operation (DPP), or rows of 16 lanes are permuted.
#ifndef TERN_BACKEND_ROCM_CODEGEN_LANE_EXCHANGE_H_
#define TERN_BACKEND_ROCM_CODEGEN_LANE_EXCHANGE_H_

#include <cstdint>
#include <vector>

namespace tern::backend::rocm {

struct LaneStep {
  enum class Kind {
    kDpp,      // control: dpp_ctrl of the ISA
    kRows,     // v_permlane16: of its own row, the lane in nibble `lane % 16` of the control
    kRowsX,    // v_permlanex16: the same, of the other row of the pair
    kSwizzle,  // ds_swizzle, through the hardware of shared memory, with no address: control
  };
  Kind kind;
  uint64_t control;
  bool has_ends = false;  // where lanes have no other to read, and keep their own
};

// All of these are of whole waves. Moves that end in lane l with the value of lane l ^ distance,
// one after another; none where there are no such instructions. `is_gfx9`: of the waves of 64, with
// fewer of them.
std::vector<LaneStep> XorSteps(int64_t distance, bool is_gfx9);
// The same of lane l - 1 (`up`) or l + 1, and of its own at the ends of the wave.
std::vector<LaneStep> NeighbourSteps(bool up, bool is_gfx9);

// Of kRows and kRowsX: in lane l of 16, what was in lane map(l).
uint64_t RowControl(int (*map)(int lane, int parameter), int parameter);
inline constexpr uint64_t kSameRow = 0xfedcba9876543210;  // every lane its own

// Row r of a left operand that WMMA of gfx11 multiplies makes element r / 2 of the sums in the half
// r % 2 of the wave. It is given this one, so that a half has rows in order, as on gfx12.
inline int SumRowOfGfx11(int row, int) { return row % 2 * 8 + row / 2; }

// Which lane of the wave's `lanes` the step reads in `lane`; `lane` itself where it reads none: by
// the ISA's definitions, for tests.
int SourceLane(const LaneStep& step, int lane, int lanes);

}  // namespace tern::backend::rocm

#endif  // TERN_BACKEND_ROCM_CODEGEN_LANE_EXCHANGE_H_
