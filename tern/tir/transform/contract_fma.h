// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_CONTRACT_FMA_H_
#define TERN_TIR_TRANSFORM_CONTRACT_FMA_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Before: a kernel says `reassociate = true`, so that the last digits of its sums are free. After:
// its a * b + c of float32 and float64 are fma(a, b, c) where its target has that as it is. Hosts
// have compilers that do it.
PrimFunc ContractFma(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_CONTRACT_FMA_H_
