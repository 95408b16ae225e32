// SPDX-License-Identifier: Apache-2.0
//
// Where the elements of an array lie in another one: (i, j) -> (i // 16, j, i % 16).
#ifndef TERN_SCHEDULE_INDEX_MAP_H_
#define TERN_SCHEDULE_INDEX_MAP_H_

#include <string>
#include <vector>

#include "tern/arith/analyzer.h"
#include "tern/ir/expr.h"

namespace tern::schedule {

struct IndexMap {
  std::vector<ir::Var> vars;
  std::vector<ir::Expr> indices;

  // Throws ScheduleError where the text is no map.
  static IndexMap Parse(const std::string& text);
  std::string str() const;

  // Of these indices, simplified.
  std::vector<ir::Expr> Apply(const std::vector<ir::Expr>& at,
                              const arith::Analyzer& analyzer) const;
  // The shape that holds all of an array of this shape. Throws ScheduleError where two elements
  // would lie in one place, or that cannot be told.
  std::vector<ir::Expr> ShapeOf(const std::vector<ir::Expr>& shape) const;
};

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_INDEX_MAP_H_
