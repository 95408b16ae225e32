// SPDX-License-Identifier: Apache-2.0
//
// Tensors with two elements to a byte (int4, uint4, float4_e2m1fn), for rules that know elements of
// whole bytes: the rules schedule a function of wider tensors, and what they make of it accesses
// the packed ones again.
//
//   B: int4[k, n]  ...  C[i, j] + A[i, l] * float32(B[l, j])         as written
//   B: int8[k, n]  ...  C[i, j] + A[i, l] * float32(B[l, j])         what the rules see
//   B: int4[k, n]  ...  C[i, j] + A[i, l] * float32(int8(B[l, j]))   with their loops
#ifndef TERN_SCHEDULE_RULES_PACKED_TENSORS_H_
#define TERN_SCHEDULE_RULES_PACKED_TENSORS_H_

#include <string>

#include "tern/tir/function.h"

namespace tern::schedule {

// The function with wider tensors; null, and why in `why`, where it would compute something else.
tir::PrimFunc WithWideTensors(const tir::PrimFunc& function, std::string* why);

// What was made of it, with the tensors of `function`; null, and why in `why`, where elements are
// not accessed one at a time, or iterations that run at once store into one byte.
tir::PrimFunc WithPackedTensors(const tir::PrimFunc& scheduled, const tir::PrimFunc& function,
                                std::string* why);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_PACKED_TENSORS_H_
