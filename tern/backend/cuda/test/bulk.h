// SPDX-License-Identifier: Apache-2.0
//
// Copies of boxes of tensors, and barrier objects in shared memory, part of ptx.h.
#ifndef TERN_BACKEND_CUDA_TEST_BULK_H_
#define TERN_BACKEND_CUDA_TEST_BULK_H_

template <class A, class N>
static inline void __ptx_mbarrier_init_shared__cta_b64(A barrier, N count) {
  TERN_NEEDS(A, 90, "mbarrier");
  tern_standin::host.object_init(static_cast<unsigned>(barrier), static_cast<unsigned>(count));
}
template <class A, class N>
static inline void __ptx_mbarrier_arrive_expect_tx_shared__cta_b64(A barrier, N bytes) {
  TERN_NEEDS(A, 90, "mbarrier");
  tern_standin::host.object_arrive(static_cast<unsigned>(barrier),
                                   static_cast<unsigned long>(bytes));
}
template <class A>
static inline void __ptx_mbarrier_arrive_shared__cta_b64(A barrier) {
  TERN_NEEDS(A, 90, "mbarrier");
  tern_standin::host.object_arrive(static_cast<unsigned>(barrier), 0);
}
// Comes back when it is done.
template <class A, class P>
static inline void __ptx_mbarrier_try_wait_parity_shared__cta_b64(bool& done, A barrier, P parity) {
  TERN_NEEDS(A, 90, "mbarrier.try_wait");
  tern_standin::host.object_wait(static_cast<unsigned>(barrier), static_cast<unsigned>(parity));
  done = true;
}
template <class R>
static inline void __ptx_selp_u32(R& out, R yes, R no, bool condition) {
  out = condition ? yes : no;
}
template <class R>
static inline void __ptx_selp_u32(R& out, int yes, int no, bool condition) {
  out = static_cast<R>(condition ? yes : no);
}
template <class T = char>
static inline void __ptx_fence_mbarrier_init_release_cluster() {
  TERN_NEEDS(T, 90, "fence.mbarrier_init");
}

namespace tern_standin {
template <int kAxes, class A, class M, class B, class... C>
static void BulkCopy(A target, M map, B barrier, C... coordinates) {
  TERN_NEEDS(A, 90, "cp.async.bulk.tensor");
  const int at[] = {coordinates...};
  host.bulk_copy(static_cast<unsigned>(target), reinterpret_cast<const void*>(map), at, kAxes,
                 static_cast<unsigned>(barrier));
}
template <class T>
static void SetRegisters(T registers) {
  static_assert(sizeof(T) && TERN_STANDIN_SM_90A,
                "Instruction 'setmaxnreg' is not supported on any .target but sm_90a");
  if (registers % 8 || registers < 24 || registers > 256)
    host.fail("setmaxnreg takes a multiple of 8 from 24 to 256");
}
}  // namespace tern_standin

template <class A, class M, class B>
static inline void
__ptx_cp_async_bulk_tensor_2d_shared__cluster_global_mbarrier__complete_tx__bytes(A target, M map,
                                                                                  int c0, int c1,
                                                                                  B barrier) {
  tern_standin::BulkCopy<2>(target, map, barrier, c0, c1);
}
template <class A, class M, class B>
static inline void
__ptx_cp_async_bulk_tensor_3d_shared__cluster_global_mbarrier__complete_tx__bytes(A target, M map,
                                                                                  int c0, int c1,
                                                                                  int c2,
                                                                                  B barrier) {
  tern_standin::BulkCopy<3>(target, map, barrier, c0, c1, c2);
}
template <class A, class M, class B>
static inline void
__ptx_cp_async_bulk_tensor_4d_shared__cluster_global_mbarrier__complete_tx__bytes(A target, M map,
                                                                                  int c0, int c1,
                                                                                  int c2, int c3,
                                                                                  B barrier) {
  tern_standin::BulkCopy<4>(target, map, barrier, c0, c1, c2, c3);
}
template <class T>
static inline void __ptx_setmaxnreg_inc_sync_aligned_u32(T registers) {
  tern_standin::SetRegisters(registers);
}
template <class T>
static inline void __ptx_setmaxnreg_dec_sync_aligned_u32(T registers) {
  tern_standin::SetRegisters(registers);
}

#endif  // TERN_BACKEND_CUDA_TEST_BULK_H_
