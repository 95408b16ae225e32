// SPDX-License-Identifier: Apache-2.0
//
// How the blocks of a function use their axes, and how its tensors are indexed: for what changes
// the axes of all blocks together (fuse_axes.h, split_groups.h).
#ifndef TERN_SCHEDULE_RULES_AXIS_USES_H_
#define TERN_SCHEDULE_RULES_AXIS_USES_H_

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "tern/tir/function.h"

namespace tern::schedule {

inline constexpr int kNoAxis = -1;

// Two extents that are surely the same.
bool SameExtent(const tir::Expr& a, const tir::Expr& b);

// One load or store.
struct TensorUse {
  int block = kNoAxis;
  std::vector<int> axes;          // of every dimension, the axis of the block that is its index
  std::vector<bool> zero;         // the index is 0
  std::vector<int64_t> quotient;  // the index is the axis, divided by so much
  std::vector<int> within;        // and then times the extent of this axis, plus this axis
  bool stores = false;
};

struct UsedTensor {
  tir::Buffer buffer;
  std::vector<TensorUse> uses;
  bool fixed = false;  // it keeps its shape
};

// A block in its loops.
struct NestedBlock {
  const tir::BlockNode* block = nullptr;
  std::vector<const tir::ForNode*> loops;  // that hold nothing else, outermost first
  std::vector<int> axes;                   // the axis that a loop is
  std::vector<bool> other;                 // axes that are more than an index somewhere

  // The loop that is an axis.
  int LoopOf(int axis) const {
    auto it = std::find(axes.begin(), axes.end(), axis);
    return it == axes.end() ? kNoAxis : static_cast<int>(it - axes.begin());
  }
};

struct AxisUses {
  std::vector<NestedBlock> blocks;
  std::map<const tir::BufferNode*, UsedTensor> tensors;
};
// An index of groups and of what is inside of one, as of channels: vo // 4 * 6 + vc, where the
// extent of vc is 6.
struct GroupedIndex {
  tir::Expr group, within;
  int64_t size = 0;  // 6
};
std::optional<GroupedIndex> AsGroupedIndex(const tir::Expr& index);
// `quotients`: an axis that is divided by a constant is an index, too, and so is a grouped one.
AxisUses FindAxisUses(const tir::PrimFunc& function, bool quotients = false);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_AXIS_USES_H_
