// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_BLOCK_FACTS_H_
#define TERN_SCHEDULE_BLOCK_FACTS_H_

#include <string>

#include "tern/schedule/stmt_tree.h"
#include "tern/tir/function.h"

namespace tern::schedule {

// What is known of a block's instances. A schedule keeps it with the block: the step that changes a
// block says what holds afterwards. Nothing is known of blocks that are written in ways that are
// not followed.
struct BlockFacts {
  // Affine bindings: no two iterations of the block's own loops are the same instance.
  bool affine = false;
  // The predicate keeps instances outside of the domain from running, and those beyond the tail of
  // a split loop, and no others.
  bool bounded = false;
  // Every instance of the domain runs, where the loops around the block's own do.
  bool complete = false;
};

// The facts of the block at the end of a path, by analysis of its bindings and loops.
BlockFacts DeriveFacts(const tir::PrimFunc& function, const Path& path);

// Which of the facts does not hold of the block at the end of a path, or "": by analysis, and where
// that cannot tell, by running the loops, as far as they are short. Dynamic extents are given
// several values.
std::string FindStaleFact(const tir::PrimFunc& function, const Path& path, const BlockFacts& facts);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_BLOCK_FACTS_H_
