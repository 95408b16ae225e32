// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_ARITH_RANGE_H_
#define TERN_ARITH_RANGE_H_

#include "tern/ir/expr.h"

namespace tern::arith {

// The integers min <= x < min + extent.
struct Range {
  ir::Expr min, extent;
  TERN_FIELDS(min, extent)
};

}  // namespace tern::arith

#endif  // TERN_ARITH_RANGE_H_
