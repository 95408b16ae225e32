// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_ARITH_DIVIDE_SUM_H_
#define TERN_ARITH_DIVIDE_SUM_H_

#include "tern/arith/analyzer.h"

namespace tern::arith {

// Other forms of a // b and a % b, of an index type, with less under the division; null where there
// is none. The caller sees to it that they do not overflow.
//
//   (i * 8 + j) // 4     i * 2 + j // 4
//   (i * 8 + j) // 16    i // 2                where 0 <= j < 8
//   (i * 8 + j) % 16     i % 2 * 8 + j         where 0 <= j < 8
//   (i * n + j) // n     i                     where 0 <= j < n
ir::Expr DivideSum(const ir::Expr& a, const ir::Expr& b, const Analyzer& analyzer,
                   Analyzer::BoundsCache* cache);
ir::Expr RemainderOfSum(const ir::Expr& a, const ir::Expr& b, const Analyzer& analyzer,
                        Analyzer::BoundsCache* cache);

}  // namespace tern::arith

#endif  // TERN_ARITH_DIVIDE_SUM_H_
