// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_INDEPENDENT_ITERATIONS_H_
#define TERN_TIR_ANALYSIS_INDEPENDENT_ITERATIONS_H_

#include "tern/arith/analyzer.h"
#include "tern/tir/stmt.h"

namespace tern::tir {

// Whether it is proven that no iteration of `loop` touches memory that another one writes, and that
// none has an effect other than on memory, so that the iterations may be interleaved. Tensors
// with addresses of their own are taken not to overlap if they are `distinct`; indices are taken to
// be in bounds. `known`: the variables around the loop, and its own.
bool IterationsAreIndependent(const ForNode* loop, bool distinct,
                              const arith::Analyzer& known = arith::Analyzer());

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_INDEPENDENT_ITERATIONS_H_
