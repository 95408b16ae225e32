// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_THREADS_BULK_COPIES_H_
#define TERN_TIR_TRANSFORM_THREADS_BULK_COPIES_H_

#include <string>

#include "tern/tir/function.h"

namespace tern::tir {

// Whether the code generator of the function's target keeps them.
bool TakesBulkCopies(const PrimFunc& function);

// The copies of loops with roles (pipeline_loops.h), and those to shared memory before such a loop,
// become copies of boxes, which the first thread starts: one for each block of rows of 128 bytes in
// shared memory.
//
// Before:  for i in 0..128, j in 0..64 (on threads) {
//            block S(v0 = r + i, v1 = c + j) {
//              S[v0 // 64 - r // 64, v0 % 64 * 64 + v1 % 64] = select(v0 < m, A[v0, v1], 0)
//          } }
// After:   for x bind(threadIdx.x) { if x == 0 {
//            S[0, ramp(0, 1, 4096)] = bulk_copy(A[0, 0], 2, m, k, k, 1, 64, 64, r, c)
//            S[1, ramp(0, 1, 4096)] = bulk_copy(A[0, 0], 2, m, k, k, 1, 64, 64, r + 64, c)
//          } }
//
// An index of A may also be an axis and what is the same for the whole box: part * 512 + v1.
struct BulkCopies {
  Stmt stmt;        // null where a copy is none of a box
  Expr is_aligned;  // the condition that it may run on; null: none
  std::string why;  // it is null: the tensor's sizes, but for the first one, are not constant, its
                    // strides no multiples of 16 bytes, the copy computes, zeros begin elsewhere
                    // than the tensor ends
};
BulkCopies MakeCopiesBulk(const Stmt& kernel);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_BULK_COPIES_H_
