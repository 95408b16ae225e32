// SPDX-License-Identifier: Apache-2.0
//
// How much a function computes and moves, as roofline models count it.
#ifndef TERN_TIR_ANALYSIS_WORK_H_
#define TERN_TIR_ANALYSIS_WORK_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Expressions over the function's variables.
struct Work {
  // Arithmetic on elements: a multiplication and an addition are two, a call is one. Indices,
  // comparisons, selections and conversions are none; of branches both count.
  Expr flops;
  Expr bytes;  // of the tensor parameters, each once
};
// Of a function as it is written. A schedule may do more, or less (Winograd).
Work WorkOf(const PrimFunc& function);
// The amount with equal terms added up: 4 * n + 8 + 2 * n is 6 * n + 8.
Expr CombineTerms(const Expr& amount);
// The sum of amounts that are simplified already, with equal terms added up. Takes hundreds of
// them.
Expr AddAmounts(const std::vector<Expr>& amounts);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_WORK_H_
