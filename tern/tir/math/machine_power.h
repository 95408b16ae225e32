// SPDX-License-Identifier: Apache-2.0
//
// Functions of float32 on machines that have an instruction for powers of two. Errors, in units of
// the last digit, where that is off by as much as it may be: exp 3.5, erf and tanh 2; where it is
// right but for the last digit, 1.75 (machine_power_test.cc measures them).
#ifndef TERN_TIR_MATH_MACHINE_POWER_H_
#define TERN_TIR_MATH_MACHINE_POWER_H_

#include <functional>

#include "tern/ir/expr.h"

namespace tern::tir::math {

// What a machine has.
struct MachinePower {
  // 2^x, off by 2^-22.5 of the result at most. Subnormal arguments and results may be 0.
  std::function<ir::Expr(const ir::Expr& x)> power;
  // x * scale + offset, clamped to 0..1; a number of these for NaN.
  std::function<ir::Expr(const ir::Expr& x, const ir::Expr& scale, const ir::Expr& offset)>
      saturated_fma;
  // 1 / x, off by 2^-23 of the result at most; small results may be 0. For TanhByPower.
  std::function<ir::Expr(const ir::Expr& x)> reciprocal;
};

ir::Expr ExpByPower(const ir::Expr& x, const MachinePower& machine);
ir::Expr ErfByPower(const ir::Expr& x, const MachinePower& machine);
ir::Expr TanhByPower(const ir::Expr& x, const MachinePower& machine);

}  // namespace tern::tir::math

#endif  // TERN_TIR_MATH_MACHINE_POWER_H_
