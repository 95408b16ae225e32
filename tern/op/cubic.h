// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_OP_CUBIC_H_
#define TERN_OP_CUBIC_H_

#include "tern/op/formulas.h"

namespace tern::op {

// Keys' kernel for cubic interpolation with parameter `a`: how much a neighbour at that distance
// counts.
Expr CubicWeight(const Expr& distance, double a);

}  // namespace tern::op

#endif  // TERN_OP_CUBIC_H_
