// SPDX-License-Identifier: Apache-2.0
//
// What CPUs do with one instruction on a row or a small tile; docs/schedules.md lists them.
#ifndef TERN_BACKEND_CPU_SCHEDULE_TENSOR_INTRINSICS_H_
#define TERN_BACKEND_CPU_SCHEDULE_TENSOR_INTRINSICS_H_

namespace tern::backend::cpu {

// On any machine with vectors: f32_axpy_N and f32_outer_4xN for 4, 8 and 16 numbers N.
void RegisterVectorIntrinsics();
// By instructions that LLVM has names for: x86_vnni_dot_16x4, arm_sdot_4x4.
void RegisterDotIntrinsics();

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_SCHEDULE_TENSOR_INTRINSICS_H_
