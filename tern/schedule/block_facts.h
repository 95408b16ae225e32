// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_BLOCK_FACTS_H_
#define TERN_SCHEDULE_BLOCK_FACTS_H_

#include <string>

#include "tern/schedule/stmt_tree.h"
#include "tern/tir/function.h"

namespace tern::schedule {

// The facts are derived here where a schedule begins, and again where what its steps say of them is
// checked (Schedule::CheckState).

// The facts of the block at the end of a path, by analysis of its bindings and loops.
BlockFacts DeriveFacts(const tir::PrimFunc& function, const Path& path);

// Which of the facts does not hold of the block at the end of a path, or "": by analysis, and where
// that cannot tell, by running the loops, as far as they are short. Dynamic extents are given
// several values.
std::string FindStaleFact(const tir::PrimFunc& function, const Path& path, const BlockFacts& facts);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_BLOCK_FACTS_H_
