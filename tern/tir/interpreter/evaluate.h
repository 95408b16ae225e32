// SPDX-License-Identifier: Apache-2.0
//
// Elements of tensors as expressions, without code being generated: how shape arithmetic of models
// is done at compile time.
#ifndef TERN_TIR_INTERPRETER_EVALUATE_H_
#define TERN_TIR_INTERPRETER_EVALUATE_H_

#include <functional>

#include "tern/tir/builder.h"

namespace tern::tir {

// An element of an input, at constant indices; null where it is not known.
using InputElement = std::function<Expr(const Tensor& input, const std::vector<int64_t>& indices)>;

// The element of a tensor at constant indices, in terms of its inputs' elements: formulas are
// inserted into one another, reductions unrolled, constants folded as compiled code computes them.
// Null where an element that counts is not known, an index or an extent stays symbolic, or more
// than kMaxEvaluatedTerms loads would be needed.
//
//   Tensor y = Compute("Y", {2}, [&](Var i) { return x(i) * x(1 - i); });
//   Evaluate(y, {0}, x_is_n_and_3)    // n * 3
inline constexpr int64_t kMaxEvaluatedTerms = 1 << 16;
Expr Evaluate(const Tensor& tensor, const std::vector<int64_t>& indices, const InputElement& input);

// The expression with its constant parts computed, of any type; other integer parts as
// arith::Analyzer::Simplify leaves them.
Expr FoldConstants(const Expr& expr);

}  // namespace tern::tir

#endif  // TERN_TIR_INTERPRETER_EVALUATE_H_
