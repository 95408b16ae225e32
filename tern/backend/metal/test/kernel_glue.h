// SPDX-License-Identifier: Apache-2.0
//
// Beside each compiled program: what its kernels call, and how they are called.
#ifndef TERN_BACKEND_METAL_TEST_KERNEL_GLUE_H_
#define TERN_BACKEND_METAL_TEST_KERNEL_GLUE_H_

#include "tern/runtime/test_standin/access_hooks.h"

typedef unsigned uint;
typedef uint uint2 __attribute__((ext_vector_type(2)));
typedef uint uint3 __attribute__((ext_vector_type(3)));

namespace tern_glue {

using tern_standin::host;
using tern_standin::Index;
using tern_standin::state;

inline Index InGrid() {
  const Index &b = state.block, &d = state.block_dim, &t = state.thread;
  return {b.x * d.x + t.x, b.y * d.y + t.y, b.z * d.z + t.z};
}
inline uint NumberInBlock() {
  const Index &d = state.block_dim, &t = state.thread;
  return t.x + d.x * (t.y + d.y * t.z);
}

template <class T>
T As(const Index& index);
template <>
inline uint As<uint>(const Index& index) {
  return index.x;
}
template <>
inline uint2 As<uint2>(const Index& index) {
  return uint2{index.x, index.y};
}
template <>
inline uint3 As<uint3>(const Index& index) {
  return uint3{index.x, index.y, index.z};
}

// By the names of the attributes.
inline Index thread_position_in_threadgroup() { return state.thread; }
inline Index threadgroup_position_in_grid() { return state.block; }
inline Index thread_position_in_grid() { return InGrid(); }
inline Index threads_per_threadgroup() { return state.block_dim; }
inline Index threadgroups_per_grid() { return state.grid_dim; }
inline Index thread_index_in_simdgroup() { return {state.lane, 0, 0}; }
inline Index thread_index_in_threadgroup() { return {NumberInBlock(), 0, 0}; }

}  // namespace tern_glue

extern "C" {

void tern_barrier() { tern_glue::host.barrier(); }
void tern_collective(const char* instruction, const void* in, unsigned long size, void* all) {
  tern_glue::host.collective(instruction, 0xffffffffu, in, size, all);
}
void tern_atomic_access(const void* p, unsigned long size) {
  tern_glue::host.access(p, size, tern_standin::kAtomic);
}
uint tern_lane_index() { return tern_glue::state.lane; }
// The last SIMD-group may be smaller.
uint tern_num_lanes() {
  const tern_standin::Index& d = tern_glue::state.block_dim;
  uint rest = d.x * d.y * d.z - tern_glue::NumberInBlock() / 32 * 32;
  return rest < 32 ? rest : 32;
}
void tern_fail(const char* message) { tern_glue::host.fail(message); }

// Rounds to nearest even; the C library's compiler has it only of late.
__bf16 __truncsfbf2(float x) {
  uint bits = __builtin_bit_cast(uint, x);
  if (x != x)
    bits |= 0x400000;
  else
    bits += 0x7fff + (bits >> 16 & 1);
  return __builtin_bit_cast(__bf16, static_cast<unsigned short>(bits >> 16));
}

}  // extern "C"

#endif  // TERN_BACKEND_METAL_TEST_KERNEL_GLUE_H_
