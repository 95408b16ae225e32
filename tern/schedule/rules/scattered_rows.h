// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_SCHEDULE_RULES_SCATTERED_ROWS_H_
#define TERN_SCHEDULE_RULES_SCATTERED_ROWS_H_

#include <optional>
#include <vector>

#include "tern/schedule/nest.h"

namespace tern::schedule {

// Steps that write a row each, at an index that is computed of the step:
//
//   for i, j { Y[index[i], j] = .. }
struct ScatteredRows {
  const tir::BlockIter* step = nullptr;  // i: the one axis that is no index
  size_t dimension = 0;                  // of Y that the step chooses
  tir::Expr index;                       // there

  // The row of another step.
  tir::Expr Row(const tir::Expr& i) const;
};
// None where an index is anything but an axis or computed of the step alone, or where loops are not
// those of the axes.
std::optional<ScatteredRows> FindScatteredRows(const Nest& nest,
                                               const std::vector<tir::Expr>& indices);

// The body of a block without its definitions.
tir::Stmt WithoutLets(const tir::BlockNode* block);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_SCATTERED_ROWS_H_
