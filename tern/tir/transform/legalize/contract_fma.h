// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LEGALIZE_CONTRACT_FMA_H_
#define TERN_TIR_TRANSFORM_LEGALIZE_CONTRACT_FMA_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Contracts multiply-adds in kernels that say `reassociate = true`.
//
// Before:  C[i] = a * b + c
// After:   C[i] = fma(a, b, c)
//
// Only float32 and float64, and targets with a native fma. Host compilers contract by themselves.
PrimFunc ContractFma(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LEGALIZE_CONTRACT_FMA_H_
