// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_BLOCKS_INITIALIZE_EMPTY_REDUCTIONS_H_
#define TERN_TIR_TRANSFORM_BLOCKS_INITIALIZE_EMPTY_REDUCTIONS_H_

#include "tern/tir/function.h"

namespace tern::tir {

namespace attr {
// Of a block, true: the pass below has seen to its init.
inline constexpr const char* kInitializedIfEmpty = "initialized_if_empty";
}  // namespace attr

// Before: a block's init runs with the first step of its reduction, where all reduce axes are at 0.
// After: it also runs where that step does not exist, because a reduction loop is empty or because
// the predicate excludes it, for every instance of the other axes. Reductions that surely have
// their first step stay as they are.
//
//     for j in 0..m, i in 0..n {             if m <= 0 {
//       block sum(vi: spatial(n) = i,          for i in 0..n { block sum_init(...) { S[vi] = 0 } }
//                 vj: reduce(m) = j) {  ->   }
//         init { S[vi] = 0 }                 for j in 0..m, i in 0..n { block sum(...) { ... } }
//         ...
//
// With `decomposed_later`, reductions that DecomposeReductions takes apart stay as they are too: it
// runs their init in any case.
PrimFunc InitializeEmptyReductions(const PrimFunc& function, bool decomposed_later);

// Whether a block in the statement has an init, so that a loop around it matters even if it is
// empty.
bool ContainsInit(const Stmt& stmt);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_BLOCKS_INITIALIZE_EMPTY_REDUCTIONS_H_
