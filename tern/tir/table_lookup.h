// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TABLE_LOOKUP_H_
#define TERN_TIR_TABLE_LOOKUP_H_

#include <vector>

#include "tern/ir/constant.h"
#include "tern/ir/expr.h"

namespace tern::tir {

// An element of a small constant as an expression: the element itself where the indices are
// constants, else a binary search by selects, which every target has and unrolling folds. Outside
// of the table it gives the first or the last element. Throws where the table is too large, the
// rank is another, or constant indices are out of bounds.
ir::Expr TableLookup(const ir::Constant& table, const std::vector<ir::Expr>& indices,
                     const ir::Span& span);

}  // namespace tern::tir

#endif  // TERN_TIR_TABLE_LOOKUP_H_
