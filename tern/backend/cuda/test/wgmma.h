// SPDX-License-Identifier: Apache-2.0
//
// The instructions of a group of four warps on matrices in shared memory, part of ptx.h. Each runs
// when it is issued, for the numbers, and again when it is waited for: its operands must be the
// same then, and its sums are no numbers between.
#ifndef TERN_BACKEND_CUDA_TEST_WGMMA_H_
#define TERN_BACKEND_CUDA_TEST_WGMMA_H_

// In a function with a template parameter, of which `size` is made.
#define TERN_NEEDS_SM_90A(size, feature)     \
  static_assert(size && TERN_STANDIN_SM_90A, \
                "Instruction '" feature "' is not supported on any .target but sm_90a")
#define TERN_UNSEEN static __attribute__((noinline, no_sanitize("thread")))

namespace tern_standin {

constexpr unsigned kLateSum = 0x7fbadbad;  // the bits of a sum that is not there yet

struct Wgmma {
  const char* instruction;
  unsigned long long a, b;
  int columns, bytes;  // of an element
  bool is_integer;
  bool a_transposed, b_transposed, a_in_registers;
  unsigned registers[4];  // the thread's part of a
  unsigned rows[4][4];    // of its two rows: those of the four lanes that have them
  float (*widen)(unsigned);
  float* sums[128];  // of integers, their bits
  float before[128], result[128];
};

// Of a thread. Groups are of one or more multiplications; those behind the last group are open.
struct WgmmaQueue {
  static constexpr int kMost = 64;
  Wgmma all[kMost];     // a ring
  int group_of[kMost];  // a number that grows
  int first, count, groups;
  bool is_fenced;

  __attribute__((no_sanitize("thread"))) int At(int i) const { return (first + i) % kMost; }
};
TERN_UNSEEN WgmmaQueue& Queue() {
  return *static_cast<WgmmaQueue*>(host.thread_memory(sizeof(WgmmaQueue)));
}

// Elements by their bits. Of tf32 the instruction does not read the last 13.
TERN_UNSEEN float WidenF16(unsigned x) { return FromF16(static_cast<unsigned short>(x)); }
TERN_UNSEEN float WidenBf16(unsigned x) { return FromBf16(static_cast<unsigned short>(x)); }
TERN_UNSEEN float WidenE5m2(unsigned x) { return FromF16(static_cast<unsigned short>(x << 8)); }
TERN_UNSEEN float WidenE4m3(unsigned x) {
  if ((x & 0x7f) == 0x7f) return __uint_as_float(0x7fc00000u);
  float magnitude = x >> 3 & 15 ? __uint_as_float(((x >> 3 & 15) + 120) << 23 | (x & 7) << 20)
                                : static_cast<float>(x & 7) * 0x1p-9f;
  return x & 0x80 ? -magnitude : magnitude;
}
TERN_UNSEEN float WidenS8(unsigned x) { return static_cast<float>(static_cast<signed char>(x)); }
TERN_UNSEEN float WidenU8(unsigned x) { return static_cast<float>(x); }
TERN_UNSEEN float WidenTf32(unsigned x) { return __uint_as_float(x & 0xffffe000u); }

// An element of an operand, by its descriptor: swizzled tiles of 8 rows of 128 bytes.
TERN_UNSEEN unsigned WgmmaAddress(unsigned long long descriptor, bool transposed, unsigned row,
                                  unsigned k, unsigned bytes) {
  unsigned start = static_cast<unsigned>(descriptor & 0x3fff) << 4,
           leading = static_cast<unsigned>(descriptor >> 16 & 0x3fff) << 4,
           stride = static_cast<unsigned>(descriptor >> 32 & 0x3fff) << 4;
  unsigned plain = transposed
                       ? start + row / 64 * leading + k / 8 * stride + k % 8 * 128 + row % 64 * 2
                       : start + row / 8 * stride + row % 8 * 128 + k * bytes;
  return plain ^ (plain >> 7 & 7) << 4;
}
TERN_UNSEEN float WgmmaElement(const Wgmma& wgmma, bool is_a, unsigned row, unsigned k) {
  if (is_a && wgmma.a_in_registers)
    return wgmma.widen(
        static_cast<unsigned short>(wgmma.rows[k % 8 / 2][k / 8 * 2 + row % 16 / 8] >> k % 2 * 16));
  unsigned address =
      WgmmaAddress(is_a ? wgmma.a : wgmma.b, is_a ? wgmma.a_transposed : wgmma.b_transposed, row, k,
                   static_cast<unsigned>(wgmma.bytes));
  unsigned bits = 0;
  __builtin_memcpy(&bits, host.shared_pointer(address, wgmma.bytes), wgmma.bytes);
  return wgmma.widen(bits);
}

// 32 bytes of K.
TERN_UNSEEN unsigned StepsOf(const Wgmma& wgmma) { return 32u / wgmma.bytes; }

// Every thread reads its part of the operands, so that all is checked for races.
TERN_UNSEEN void ReadOperands(const Wgmma& wgmma, unsigned thread) {
  for (unsigned row = thread; row < 64u + wgmma.columns; row += 128)
    for (unsigned k = 0; k < StepsOf(wgmma); ++k) {
      bool is_a = row < 64;
      if (is_a && wgmma.a_in_registers) continue;
      host.async_read(
          WgmmaAddress(is_a ? wgmma.a : wgmma.b, is_a ? wgmma.a_transposed : wgmma.b_transposed,
                       is_a ? row : row - 64, k, static_cast<unsigned>(wgmma.bytes)),
          wgmma.bytes);
    }
}

TERN_UNSEEN unsigned GroupThread() {
  const Index &t = state.thread, &dim = state.block_dim;
  return (t.x + dim.x * (t.y + dim.y * t.z)) % 128;
}

TERN_UNSEEN float WgmmaSum(const Wgmma& wgmma, unsigned thread, int e, float before) {
  unsigned lane = thread % 32, row = thread / 32 * 16 + e / 2 % 2 * 8 + lane / 4,
           column = e / 4 * 8 + lane % 4 * 2 + e % 2;
  double sum = wgmma.is_integer ? static_cast<double>(__float_as_int(before)) : before;
  for (unsigned k = 0; k < StepsOf(wgmma); ++k)
    sum += static_cast<double>(WgmmaElement(wgmma, true, row, k)) *
           WgmmaElement(wgmma, false, column, k);
  return wgmma.is_integer ? __int_as_float(static_cast<int>(static_cast<long long>(sum)))
                          : static_cast<float>(sum);
}

TERN_UNSEEN bool IsLate(const float* sum) {
  unsigned bits;
  __builtin_memcpy(&bits, sum, 4);
  return bits == kLateSum;
}
TERN_UNSEEN void SetLate(float* sum) {
  unsigned bits = kLateSum;
  __builtin_memcpy(sum, &bits, 4);
}

// By members: a copy of all would be seen as accesses.
TERN_UNSEEN void Put(Wgmma& to, const Wgmma& from) {
  to.instruction = from.instruction, to.widen = from.widen;
  to.a = from.a, to.b = from.b, to.columns = from.columns;
  to.bytes = from.bytes, to.is_integer = from.is_integer;
  to.a_transposed = from.a_transposed, to.b_transposed = from.b_transposed;
  to.a_in_registers = from.a_in_registers;
  for (int i = 0; i < 16; ++i) to.rows[i / 4][i % 4] = from.rows[i / 4][i % 4];
  for (int e = 0; e < from.columns / 2; ++e) {
    to.sums[e] = from.sums[e];
    __builtin_memcpy(&to.before[e], &from.before[e], 4);
    __builtin_memcpy(&to.result[e], &from.result[e], 4);
  }
}

TERN_UNSEEN void IssueWgmma(Wgmma& wgmma) {
  WgmmaQueue& queue = Queue();
  if (queue.count == WgmmaQueue::kMost) host.fail("wgmma: too many multiplications are under way");
  if (!queue.is_fenced) host.fail("wgmma.mma_async without a wgmma.fence before it");
  const unsigned long long descriptors[] = {wgmma.a_in_registers ? wgmma.b : wgmma.a, wgmma.b};
  for (unsigned long long descriptor : descriptors)
    if (descriptor >> 62 != 1 || (descriptor >> 49 & 7))
      host.fail("wgmma: a descriptor is not that of a matrix with swizzled rows of 128 bytes");
  Lanes<unsigned long long> left(wgmma.instruction, 0xffffffffu, wgmma.a),
      right(wgmma.instruction, 0xffffffffu, wgmma.b);
  for (unsigned lane = 0; lane < 32; ++lane)
    if (left.of[lane] != wgmma.a || right.of[lane] != wgmma.b)
      host.fail("wgmma: the threads of a warp name different operands");
  unsigned thread = GroupThread();
  for (int i = 0; i < 4 && wgmma.a_in_registers; ++i) {
    Lanes<unsigned> part(wgmma.instruction, 0xffffffffu, wgmma.registers[i]);
    for (unsigned lane = 0; lane < 4; ++lane)
      wgmma.rows[lane][i] = part.of[thread % 32 / 4 * 4 + lane];
  }
  ReadOperands(wgmma, thread);
  const Wgmma* before = nullptr;
  for (int i = 0; i < queue.count; ++i)
    if (queue.all[queue.At(i)].sums[0] == wgmma.sums[0]) before = &queue.all[queue.At(i)];
  for (int e = 0; e < wgmma.columns / 2; ++e) {
    if (before && !IsLate(wgmma.sums[e])) host.fail("wgmma: a sum was written while it was late");
    __builtin_memcpy(&wgmma.before[e], before ? &before->result[e] : wgmma.sums[e], 4);
    float result = WgmmaSum(wgmma, thread, e, wgmma.before[e]);
    __builtin_memcpy(&wgmma.result[e], &result, 4);
    SetLate(wgmma.sums[e]);
  }
  int at = queue.At(queue.count++);
  queue.group_of[at] = queue.groups;
  Put(queue.all[at], wgmma);
}

TERN_UNSEEN void FinishWgmma(const Wgmma& wgmma, bool is_last) {
  unsigned thread = GroupThread();
  ReadOperands(wgmma, thread);
  for (int e = 0; e < wgmma.columns / 2; ++e) {
    float again = WgmmaSum(wgmma, thread, e, wgmma.before[e]);
    if (__builtin_memcmp(&again, &wgmma.result[e], 4))
      host.fail("wgmma: an operand was written while it was read");
    if (!IsLate(wgmma.sums[e])) host.fail("wgmma: a sum was written while it was late");
    if (is_last) __builtin_memcpy(wgmma.sums[e], &wgmma.result[e], 4);
  }
}

TERN_UNSEEN void WaitWgmma(int groups) {
  WgmmaQueue& queue = Queue();
  while (queue.count > 0 && queue.group_of[queue.first] < queue.groups - groups) {
    const Wgmma& oldest = queue.all[queue.first];
    bool is_last = true;
    for (int i = 1; i < queue.count; ++i)
      is_last &= queue.all[queue.At(i)].sums[0] != oldest.sums[0];
    FinishWgmma(oldest, is_last);
    queue.first = queue.At(1);
    --queue.count;
  }
  queue.is_fenced &= queue.count > 0;  // else the sums are the thread's again
}
TERN_UNSEEN void FenceWgmma() { Queue().is_fenced = true; }
TERN_UNSEEN void CommitWgmma() { ++Queue().groups; }

template <class A, class B>
static inline void TakeRest(Wgmma& wgmma, A a, B b, int scale_d, int scale_a, int scale_b,
                            int transpose_a, int transpose_b) {
  if (scale_d != 1 || scale_a != 1 || scale_b != 1) host.fail("wgmma: scales are 1 here");
  wgmma.a = a, wgmma.b = b;
  wgmma.a_transposed = transpose_a, wgmma.b_transposed = transpose_b;
}
// Of types that are read along K alone, and of integers, which have no signs.
template <class A, class B>
static inline void TakeRest(Wgmma& wgmma, A a, B b, int scale_d, int scale_a, int scale_b) {
  TakeRest(wgmma, a, b, scale_d, scale_a, scale_b, 0, 0);
}
template <class A, class B>
static inline void TakeRest(Wgmma& wgmma, A a, B b, int scale_d) {
  TakeRest(wgmma, a, b, scale_d, 1, 1, 0, 0);
}
template <class B>
static inline void TakeRest(Wgmma& wgmma, unsigned a0, unsigned a1, unsigned a2, unsigned a3, B b,
                            int scale_d, int scale_a, int scale_b, int transpose_b) {
  TakeRest(wgmma, 0, b, scale_d, scale_a, scale_b, 0, transpose_b);
  wgmma.a_in_registers = true;
  wgmma.registers[0] = a0, wgmma.registers[1] = a1;
  wgmma.registers[2] = a2, wgmma.registers[3] = a3;
}
template <int kCount, class First, class... Rest>
static inline void TakeOperands(Wgmma& wgmma, First&& first, Rest&&... rest) {
  if constexpr (kCount == 0) {
    TakeRest(wgmma, first, rest...);
  } else {
    wgmma.sums[wgmma.columns / 2 - kCount] = reinterpret_cast<float*>(&first);
    TakeOperands<kCount - 1>(wgmma, rest...);
  }
}

}  // namespace tern_standin

#define TERN_WGMMA(shape, size, types, width, integer, narrow)                   \
  template <class... Operands>                                                   \
  static __attribute__((no_sanitize("thread"))) void                             \
  __ptx_wgmma_mma_async_sync_aligned_##shape##_##types(Operands&&... operands) { \
    TERN_NEEDS_SM_90A(sizeof...(Operands), "wgmma.mma_async");                   \
    tern_standin::Wgmma wgmma = {};                                              \
    wgmma.instruction = "wgmma.mma_async";                                       \
    wgmma.columns = size;                                                        \
    wgmma.bytes = width;                                                         \
    wgmma.is_integer = integer;                                                  \
    wgmma.widen = narrow;                                                        \
    tern_standin::TakeOperands<size / 2>(wgmma, operands...);                    \
    tern_standin::IssueWgmma(wgmma);                                             \
  }
#define TERN_WGMMAS(steps, types, width, integer, narrow)        \
  TERN_WGMMA(m64n64##steps, 64, types, width, integer, narrow)   \
  TERN_WGMMA(m64n128##steps, 128, types, width, integer, narrow) \
  TERN_WGMMA(m64n192##steps, 192, types, width, integer, narrow) \
  TERN_WGMMA(m64n256##steps, 256, types, width, integer, narrow)
TERN_WGMMAS(k16, f32_f16_f16, 2, false, tern_standin::WidenF16)
TERN_WGMMAS(k16, f32_bf16_bf16, 2, false, tern_standin::WidenBf16)
TERN_WGMMAS(k32, f32_e4m3_e4m3, 1, false, tern_standin::WidenE4m3)
TERN_WGMMAS(k32, f32_e5m2_e5m2, 1, false, tern_standin::WidenE5m2)
TERN_WGMMAS(k32, s32_s8_s8, 1, true, tern_standin::WidenS8)
TERN_WGMMAS(k32, s32_u8_u8, 1, true, tern_standin::WidenU8)
TERN_WGMMAS(k8, f32_tf32_tf32, 4, false, tern_standin::WidenTf32)

#define TERN_NARROW_WGMMAS(steps, types, width, narrow)      \
  TERN_WGMMA(m64n8##steps, 8, types, width, false, narrow)   \
  TERN_WGMMA(m64n16##steps, 16, types, width, false, narrow) \
  TERN_WGMMA(m64n32##steps, 32, types, width, false, narrow)
TERN_NARROW_WGMMAS(k16, f32_f16_f16, 2, tern_standin::WidenF16)
TERN_NARROW_WGMMAS(k16, f32_bf16_bf16, 2, tern_standin::WidenBf16)

template <class T = char>
static inline void __ptx_wgmma_fence_sync_aligned() {
  TERN_NEEDS_SM_90A(sizeof(T), "wgmma.fence");
  tern_standin::FenceWgmma();
}
template <class T = char>
static inline void __ptx_wgmma_commit_group_sync_aligned() {
  TERN_NEEDS_SM_90A(sizeof(T), "wgmma.commit_group");
  tern_standin::CommitWgmma();
}
template <class T>
static inline void __ptx_wgmma_wait_group_sync_aligned(T groups) {
  TERN_NEEDS_SM_90A(sizeof(T), "wgmma.wait_group");
  tern_standin::WaitWgmma(groups);
}
template <class T = char>
static inline void __ptx_fence_proxy_async_shared__cta() {
  TERN_NEEDS(T, 90, "fence.proxy.async");
  tern_standin::host.fence_async();
}

#endif  // TERN_BACKEND_CUDA_TEST_WGMMA_H_
