// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics of copies of whole boxes, which one thread starts, and of the barrier objects that
// such copies complete on (the others: intrinsics.h).
//
// bulk_copy(A[0, 0], n, shape.., strides.., box.., at..)   the elements of the box at `at` of a
//                                 tensor of n axes that begins at A[0, 0], row by row; those
//                                 outside of the tensor are zero. Strides are in elements.
// bulk_copy(..., barrier)         the same, done when `barrier` has counted its bytes
// barrier_init(barrier, count)    a phase of it completes with so many arrivals
// barrier_expect(barrier, bytes)  arrives; the phase also waits for so many bytes of copies
// barrier_arrive(barrier)         arrives: what the thread did before happens before the phase ends
// barrier_wait(barrier, parity)   until the phase of this parity has completed; the first is 0
// thread_registers(n)             the warps of a group take or give back registers of each thread
//
// A barrier is a uint64 in shared memory, given by its address. Nobody writes these: pipeline_loops
// and split_roles make them.
#ifndef TERN_TIR_BULK_INTRINSICS_H_
#define TERN_TIR_BULK_INTRINSICS_H_

#include <vector>

#include "tern/ir/expr.h"

namespace tern::tir {

namespace intrinsic {
inline constexpr const char* kBulkCopy = "bulk_copy";
inline constexpr const char* kBarrierInit = "barrier_init";
inline constexpr const char* kBarrierExpect = "barrier_expect";
inline constexpr const char* kBarrierArrive = "barrier_arrive";
inline constexpr const char* kBarrierWait = "barrier_wait";
inline constexpr const char* kThreadRegisters = "thread_registers";
}  // namespace intrinsic

// The arguments of bulk_copy.
struct BulkCopy {
  ir::Expr first;  // the load of the tensor's first element
  std::vector<ir::Expr> shape, strides;
  std::vector<int64_t> box;
  std::vector<ir::Expr> at;
  ir::Expr barrier;  // may be null

  ir::Expr MakeCall(ir::Span span = {}) const;
  int64_t elements() const;
};
bool IsBulkCopy(const ir::Expr& expr);
BulkCopy BulkCopyOf(const ir::CallNode* call);

void RegisterBulkIntrinsics();  // by RegisterIntrinsics

}  // namespace tern::tir

#endif  // TERN_TIR_BULK_INTRINSICS_H_
