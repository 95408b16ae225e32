// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/test_standin/shared_shadow.h"

#include <algorithm>

namespace tern::standin {

constexpr uint32_t kLanes = 32;

static bool InOneWarp(const SharedShadow::Who& a, const SharedShadow::Who& b) {
  return a.thread / kLanes == b.thread / kLanes;
}

bool SharedShadow::IsUnordered(const Touch& before, const Who& now) {
  if (before.who.block_phase != now.block_phase) return false;
  if (before.readers == Touch::kOfBlock) return true;
  if (before.who.thread == now.thread && before.readers == Touch::kOne) return false;
  return !InOneWarp(before.who, now) || before.who.warp_phase == now.warp_phase;
}

void SharedShadow::NoteRead(Touch& read, const Who& who) {
  if (read.who.block_phase != who.block_phase) {
    read = {who};
  } else if (read.readers != Touch::kOfBlock) {
    if (!InOneWarp(read.who, who))
      read.readers = Touch::kOfBlock;
    else if (read.who.thread != who.thread)
      read.readers = Touch::kOfWarp;
    read.who = who;
  }
}

std::optional<SharedShadow::Race> SharedShadow::Access(size_t offset, size_t bytes, const Who& who,
                                                       bool is_write) {
  for (size_t i = offset; i < offset + bytes; ++i) {
    Cell& cell = cells_[i];
    if (IsUnordered(cell.write, who)) return Race{cell.write.who.thread, true};
    if (is_write && IsUnordered(cell.read, who)) return Race{cell.read.who.thread, false};
    if (is_write)
      cell.write = {who};
    else
      NoteRead(cell.read, who);
  }
  return std::nullopt;
}

}  // namespace tern::standin
