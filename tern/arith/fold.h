// SPDX-License-Identifier: Apache-2.0
//
// Integer operations on constants, as the IR defines them.
#ifndef TERN_ARITH_FOLD_H_
#define TERN_ARITH_FOLD_H_

#include <cstdint>
#include <optional>

#include "tern/ir/expr.h"

namespace tern::arith {

inline int64_t FloorDivInt(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}
inline int64_t FloorModInt(int64_t a, int64_t b) {
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// The value of a binary node on signed 64-bit constants (comparisons and logic give 0 or 1);
// nullopt where it overflows or divides by zero.
std::optional<int64_t> FoldInt(ir::ExprKind kind, int64_t a, int64_t b);

// The greatest common divisor. Of the least number of 64 bits alone, whose own magnitude is none,
// half of it.
int64_t CommonDivisor(int64_t a, int64_t b);

}  // namespace tern::arith

#endif  // TERN_ARITH_FOLD_H_
