// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_DEVICE_TRANSPOSE_H_
#define TERN_SCHEDULE_RULES_DEVICE_TRANSPOSE_H_

#include <optional>

#include "tern/schedule/rules/block_kind.h"

namespace tern::schedule {

// The one load of a block whose contiguous axis is not that of the result, both indexed by plain
// axes.
struct Transposition {
  tir::Buffer buffer;
  size_t written, read;  // axes along which neighbours are written, and read
};
std::optional<Transposition> FindTransposition(const BlockInfo& block);

// Fewer elements along one of the two are no side of a tile; tiles have at least so many.
inline constexpr int64_t kLeastTransposed = 16, kLeastTile = 32;

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_DEVICE_TRANSPOSE_H_
