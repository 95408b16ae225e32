// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/rocm/codegen/lane_exchange.h"

#include "tern/ffi/error.h"

namespace tern::backend::rocm {
namespace {

using Kind = LaneStep::Kind;

// Values of dpp_ctrl.
constexpr uint64_t kRowShiftLeft = 0x100, kRowShiftRight = 0x110, kRowRotateRight = 0x120,
                   kWaveShiftLeft = 0x130, kWaveShiftRight = 0x138, kRowMirror = 0x140,
                   kHalfRowMirror = 0x141, kRowXor = 0x160;
constexpr int kRow = 16;

// Lane l % 4 of four reads lane l ^ distance.
LaneStep XorInFour(int64_t distance) {
  uint64_t control = 0;
  for (int64_t lane = 0; lane < 4; ++lane)
    control |= static_cast<uint64_t>(lane ^ distance) << (2 * lane);
  return {Kind::kDpp, control};
}

// On gfx9: mirrors and rotations are xor with 7, 15 and 8.
std::vector<LaneStep> XorInRowOfGfx9(int64_t distance) {
  if (distance < 4) return {XorInFour(distance)};
  LaneStep step = {Kind::kDpp, kHalfRowMirror};
  int64_t done = 7;
  if (distance >= 12) {
    step.control = kRowMirror;
    done = 15;
  } else if (distance >= 8) {
    step.control = kRowRotateRight | 8;
    done = 8;
  }
  if (distance == done) return {step};
  return {step, XorInFour(distance ^ done)};
}

int DppSource(uint64_t control, int lane, int lanes) {
  int row = lane / kRow * kRow, in_row = lane % kRow, by = static_cast<int>(control & 15);
  auto if_inside = [&](int source, int low, int high) {
    return source >= low && source < high ? source : lane;
  };
  if (control < 0x100) return lane / 4 * 4 + static_cast<int>(control >> (lane % 4 * 2) & 3);
  if (control == kWaveShiftLeft) return if_inside(lane + 1, 0, lanes);
  if (control == kWaveShiftRight) return if_inside(lane - 1, 0, lanes);
  if (control == kRowMirror) return row + (kRow - 1 - in_row);
  if (control == kHalfRowMirror) return lane / 8 * 8 + (7 - lane % 8);
  switch (control & ~uint64_t{15}) {
    case kRowShiftLeft:
      return if_inside(lane + by, row, row + kRow);
    case kRowShiftRight:
      return if_inside(lane - by, row, row + kRow);
    case kRowRotateRight:
      return row + (in_row + kRow - by) % kRow;
    case kRowXor:
      return row + (in_row ^ by);
    default:
      TERN_ICHECK(false) << "dpp_ctrl " << control;
  }
}

}  // namespace

std::vector<LaneStep> XorSteps(int64_t distance, bool is_gfx9) {
  constexpr int64_t kPair = 2 * kRow;
  if (distance <= 0 || distance >= kPair) return {};
  if (distance >= kRow) {
    constexpr uint64_t kAnd = 31;  // the xor is above the or, which is above this
    if (is_gfx9) return {{Kind::kSwizzle, static_cast<uint64_t>(distance) << 10 | kAnd}};
    return {{Kind::kRowsX, RowControl([](int lane, int by) { return lane ^ by; },
                                      static_cast<int>(distance % kRow))}};
  }
  if (is_gfx9) return XorInRowOfGfx9(distance);
  if (distance < 4) return {XorInFour(distance)};
  return {{Kind::kDpp, kRowXor | static_cast<uint64_t>(distance)}};
}

std::vector<LaneStep> NeighbourSteps(bool up, bool is_gfx9) {
  if (!is_gfx9) return {};
  return {{Kind::kDpp, up ? kWaveShiftRight : kWaveShiftLeft, /*has_ends=*/true}};
}

uint64_t RowControl(int (*map)(int lane, int parameter), int parameter) {
  uint64_t control = 0;
  for (int lane = 0; lane < kRow; ++lane)
    control |= static_cast<uint64_t>(map(lane, parameter)) << (4 * lane);
  return control;
}

int SourceLane(const LaneStep& step, int lane, int lanes) {
  int row = lane / kRow * kRow;
  switch (step.kind) {
    case Kind::kDpp:
      return DppSource(step.control, lane, lanes);
    case Kind::kRows:
      return row + static_cast<int>(step.control >> (lane % kRow * 4) & 15);
    case Kind::kRowsX:
      return (row ^ kRow) + static_cast<int>(step.control >> (lane % kRow * 4) & 15);
    case Kind::kSwizzle: {
      auto control = static_cast<int>(step.control);
      int in_pair = ((lane % 32 & (control & 31)) | (control >> 5 & 31)) ^ (control >> 10 & 31);
      return lane / 32 * 32 + in_pair;
    }
  }
  return lane;
}

}  // namespace tern::backend::rocm
