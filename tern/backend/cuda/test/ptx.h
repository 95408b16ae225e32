// SPDX-License-Identifier: Apache-2.0
//
// Instructions of PTX as functions: asm("add.x %0, %1;" : "=r"(a) : "r"(b)) becomes __ptx_add_x(a,
// b). What has no function here is no instruction. Those of a warp have the layouts of registers
// that the PTX ISA documents ("Matrix Fragments").
#ifndef TERN_BACKEND_CUDA_TEST_PTX_H_
#define TERN_BACKEND_CUDA_TEST_PTX_H_

#include "tern/backend/cuda/test/cuda_language.h"

namespace tern_standin {

// The operands of asm: of the size that their constraint says.
template <char C>
constexpr unsigned long kConstraintSize = C == 'h'               ? 2
                                          : C == 'r' || C == 'f' ? 4
                                          : C == 'l' || C == 'd' ? 8
                                                                 : 0;
template <class T>
constexpr bool kIsFloat = false;
template <>
inline constexpr bool kIsFloat<float> = true;
template <>
inline constexpr bool kIsFloat<double> = true;
template <char C, class T>
constexpr void CheckOperand() {
  static_assert(kConstraintSize<C> == sizeof(T) && kIsFloat<T> == (C == 'f' || C == 'd'),
                "an asm operand does not match the type/size implied by its constraint");
}
template <char C, class T>
static inline T& Out(T& value) {
  CheckOperand<C, T>();
  return value;
}
template <char C, class T>
static inline T In(T value) {
  if constexpr (C != 'n') CheckOperand<C, T>();
  return value;
}

// In a function with a template parameter: what older machines do not have, their compiler refuses.
#define TERN_NEEDS(parameter, arch, feature)                     \
  static_assert(sizeof(parameter) && __CUDA_ARCH__ >= arch * 10, \
                "Feature '" feature "' requires .target sm_" #arch " or higher")

static inline float FromF16(unsigned short x) {
  unsigned sign = (x & 0x8000u) << 16, exponent = x >> 10 & 31, mantissa = x & 0x3ffu;
  if (exponent == 31) return __uint_as_float(sign | 0x7f800000u | mantissa << 13);
  if (exponent) return __uint_as_float(sign | (exponent + 112) << 23 | mantissa << 13);
  float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
  return sign ? -magnitude : magnitude;
}
// To the nearest, ties to even.
static inline unsigned short ToF16(float x) {
  unsigned bits = __float_as_uint(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fff;
  if (magnitude >= 0x477ff000u)
    return static_cast<unsigned short>(sign | 0x7c00u);  // from 65520 on
  if (magnitude < 0x38800000u)  // subnormal: in units of 2^-24, those of numbers from a half to one
    return static_cast<unsigned short>(
        sign | (__float_as_uint(__uint_as_float(magnitude) + 0.5f) - 0x3f000000u));
  return static_cast<unsigned short>(
      sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13);
}
static inline float FromBf16(unsigned short x) {
  return __uint_as_float(static_cast<unsigned>(x) << 16);
}
static inline unsigned short ToBf16(float x) {
  unsigned bits = __float_as_uint(x);
  if (isnan(x)) return 0x7fff;
  return static_cast<unsigned short>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
static inline unsigned short Half(unsigned word, int i) {
  return static_cast<unsigned short>(word >> (16 * i));
}

}  // namespace tern_standin

template <class R>
static inline void __ptx_mov_b32(R& out, R x) {
  out = x;
}
// Of both halves of a word.
template <class T, class R, class F>
static inline void PtxHalves(R& out, R a, R b, F of) {
  TERN_NEEDS(R, 90, "operations on 16x2");
  R low = static_cast<unsigned short>(of(static_cast<T>(a), static_cast<T>(b)));
  R high = static_cast<unsigned short>(of(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  out = low | high << 16;
}
#define TERN_HALVES(name, T, value)                              \
  template <class R>                                             \
  static inline void name(R& out, R a, R b) {                    \
    PtxHalves<T>(out, a, b, [](int x, int y) { return value; }); \
  }
TERN_HALVES(__ptx_add_s16x2, short, x + y)
TERN_HALVES(__ptx_add_u16x2, unsigned short, x + y)
TERN_HALVES(__ptx_min_s16x2, short, x < y ? x : y)
TERN_HALVES(__ptx_min_u16x2, unsigned short, x < y ? x : y)
TERN_HALVES(__ptx_max_s16x2, short, x > y ? x : y)
TERN_HALVES(__ptx_max_u16x2, unsigned short, x > y ? x : y)
TERN_HALVES(__ptx_max_s16x2_relu, short, (x > y ? x : y) > 0 ? (x > y ? x : y) : 0)
#undef TERN_HALVES
// Of three bits the result is that of a table's.
template <class R>
static inline void __ptx_lop3_b32(R& out, R a, unsigned b, unsigned c, int table) {
  R result = 0;
  for (int i = 0; i < 32; ++i)
    result |= static_cast<R>(table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1)) & 1)
              << i;
  out = result;
}
// Products of floats of 16 bits, and differences of neighbours, are exact in float32.
#define TERN_FLOAT_HALVES(name, operation)                              \
  template <class R>                                                    \
  static inline void name(R& out, R a, R b) {                           \
    R result = 0;                                                       \
    for (int i = 0; i < 2; ++i) {                                       \
      float value = tern_standin::FromF16(tern_standin::Half(a, i))     \
          operation tern_standin::FromF16(tern_standin::Half(b, i));    \
      result |= static_cast<R>(tern_standin::ToF16(value)) << (16 * i); \
    }                                                                   \
    out = result;                                                       \
  }
TERN_FLOAT_HALVES(__ptx_sub_rn_f16x2, -)
TERN_FLOAT_HALVES(__ptx_mul_rn_f16x2, *)
#undef TERN_FLOAT_HALVES
template <class R>
static inline void __ptx_fma_rn_bf16x2(R& out, R first, R second, R third) {
  TERN_NEEDS(R, 80, "fma.rn.bf16x2");
  using tern_standin::FromBf16, tern_standin::Half;
  R result = 0;
  for (int i = 0; i < 2; ++i) {
    double product = static_cast<double>(FromBf16(Half(first, i))) * FromBf16(Half(second, i));
    auto sum = static_cast<float>(product + FromBf16(Half(third, i)));
    result |= static_cast<R>(tern_standin::ToBf16(sum)) << (16 * i);
  }
  out = result;
}
template <class H>
static inline void __ptx_cvt_f32_f16(float& out, H x) {
  out = tern_standin::FromF16(static_cast<unsigned short>(x));
}
template <class H>
static inline void __ptx_cvt_f32_bf16(float& out, H x) {
  out = tern_standin::FromBf16(static_cast<unsigned short>(x));
}
template <class H>
static inline void __ptx_cvt_rn_f16_f32(H& out, float x) {
  out = static_cast<H>(tern_standin::ToF16(x));
}
template <class H>
static inline void __ptx_cvt_rn_bf16_f32(H& out, float x) {
  TERN_NEEDS(H, 80, "cvt.rn.bf16.f32");
  out = static_cast<H>(tern_standin::ToBf16(x));
}
// Off by 2^-22.5 of the result; here it is not.
template <class R>
static inline void __ptx_ex2_approx_ftz_f32(R& out, float x) {
  out = x < -126 ? 0 : exp2f(x);
}
// The first source is the upper half.
template <class R>
static inline void __ptx_cvt_rn_f16x2_f32(R& out, float high, float low) {
  out = static_cast<R>(tern_standin::ToF16(high)) << 16 | tern_standin::ToF16(low);
}
template <class R>
static inline void __ptx_cvt_rn_bf16x2_f32(R& out, float high, float low) {
  TERN_NEEDS(R, 80, "cvt.rn.bf16x2.f32");
  out = static_cast<R>(tern_standin::ToBf16(high)) << 16 | tern_standin::ToBf16(low);
}

// ---- Copies to shared memory that go on by themselves.

template <class A, class G>
static inline void __ptx_cp_async_ca_shared_global(A target, G source, int size, int bytes) {
  TERN_NEEDS(A, 80, "cp.async");
  if (size != 4 && size != 8 && size != 16)
    tern_standin::host.fail("cp.async.ca copies 4, 8 or 16 bytes");
  tern_standin::host.copy(static_cast<unsigned>(target), reinterpret_cast<const void*>(source),
                          static_cast<unsigned long>(size), static_cast<unsigned long>(bytes));
}
template <class A, class G>
static inline void __ptx_cp_async_ca_shared_global(A target, G source, int size) {
  __ptx_cp_async_ca_shared_global(target, source, size, size);
}
template <class A, class G>
static inline void __ptx_cp_async_cg_shared_global(A target, G source, int size, int bytes) {
  if (size != 16) tern_standin::host.fail("cp.async.cg copies 16 bytes");
  __ptx_cp_async_ca_shared_global(target, source, size, bytes);
}
template <class A, class G>
static inline void __ptx_cp_async_cg_shared_global(A target, G source, int size) {
  __ptx_cp_async_cg_shared_global(target, source, size, size);
}
template <class T = char>
static inline void __ptx_cp_async_commit_group() {
  TERN_NEEDS(T, 80, "cp.async.commit_group");
  tern_standin::host.commit();
}
template <class T>
static inline void __ptx_cp_async_wait_group(T groups) {
  TERN_NEEDS(T, 80, "cp.async.wait_group");
  tern_standin::host.wait(static_cast<unsigned>(groups));
}
template <class T = char>
static inline void __ptx_cp_async_wait_all() {
  TERN_NEEDS(T, 80, "cp.async.wait_all");
  tern_standin::host.commit();
  tern_standin::host.wait(0);
}

// ---- Matrices of 8 x 8 elements of 16 bits, whose rows lanes point to.

namespace tern_standin {
template <int kCount, bool kIsTransposed, class R>
static void LoadMatrix(const char* instruction, R* (&out)[kCount], unsigned address) {
  TERN_NEEDS(R, 75, "ldmatrix");
  unsigned lane = state.lane;
  Lanes<unsigned> rows(instruction, 0xffffffffu, address);
  for (int i = 0; i < kCount; ++i) {
    unsigned short pair[2];
    for (int half = 0; half < 2; ++half) {
      unsigned row = kIsTransposed ? lane % 4 * 2 + half : lane / 4,
               column = kIsTransposed ? lane / 4 : lane % 4 * 2 + half;
      unsigned start = rows.of[i * 8 + row];
      if (start % 16) host.fail("ldmatrix: the address of a row is a multiple of 16");
      auto* element = static_cast<unsigned short*>(host.shared_pointer(start, 16)) + column;
      host.access(element, 2, kRead);
      __builtin_memcpy(&pair[half], element, 2);
    }
    *out[i] = static_cast<R>(pair[1]) << 16 | pair[0];
  }
}
}  // namespace tern_standin

#define TERN_LDMATRIX(suffix, is_transposed)                                                     \
  template <class R, class A>                                                                    \
  static inline void __ptx_ldmatrix_sync_aligned_m8n8_x1##suffix(R& a, A address) {              \
    R* out[] = {&a};                                                                             \
    tern_standin::LoadMatrix<1, is_transposed>("ldmatrix", out, static_cast<unsigned>(address)); \
  }                                                                                              \
  template <class R, class A>                                                                    \
  static inline void __ptx_ldmatrix_sync_aligned_m8n8_x2##suffix(R& a, R& b, A address) {        \
    R* out[] = {&a, &b};                                                                         \
    tern_standin::LoadMatrix<2, is_transposed>("ldmatrix", out, static_cast<unsigned>(address)); \
  }                                                                                              \
  template <class R, class A>                                                                    \
  static inline void __ptx_ldmatrix_sync_aligned_m8n8_x4##suffix(R& a, R& b, R& c, R& d,         \
                                                                 A address) {                    \
    R* out[] = {&a, &b, &c, &d};                                                                 \
    tern_standin::LoadMatrix<4, is_transposed>("ldmatrix", out, static_cast<unsigned>(address)); \
  }
TERN_LDMATRIX(_shared_b16, false)
TERN_LDMATRIX(_trans_shared_b16, true)

// ---- D (16 x 8) = A (16 x 16) B (16 x 8) + C.

namespace tern_standin {
struct MmaWords {
  unsigned a[4], b[2];
};
using Widen = float (*)(unsigned short);

// Of the matrices that the lanes' registers make.
static inline float MmaElementA(const Lanes<MmaWords>& lanes, unsigned row, unsigned k,
                                Widen widen) {
  const MmaWords& words = lanes.of[row % 8 * 4 + k % 8 / 2];
  return widen(Half(words.a[row / 8 + k / 8 * 2], static_cast<int>(k % 2)));
}
static inline float MmaElementB(const Lanes<MmaWords>& lanes, unsigned k, unsigned column,
                                Widen widen) {
  const MmaWords& words = lanes.of[column * 4 + k % 8 / 2];
  return widen(Half(words.b[k / 8], static_cast<int>(k % 2)));
}
static void Mma(const char* instruction, Widen widen, float (&d)[4], const MmaWords& words,
                const float (&c)[4]) {
  unsigned lane = state.lane;
  Lanes<MmaWords> lanes(instruction, 0xffffffffu, words);
  for (unsigned i = 0; i < 4; ++i) {
    unsigned row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    double sum = c[i];
    for (unsigned k = 0; k < 16; ++k)
      sum += static_cast<double>(MmaElementA(lanes, row, k, widen)) *
             MmaElementB(lanes, k, column, widen);
    d[i] = static_cast<float>(sum);
  }
}
}  // namespace tern_standin

#define TERN_MMA(types, widen)                                                                  \
  template <class R>                                                                            \
  static inline void __ptx_mma_sync_aligned_m16n8k16_row_col_##types(                           \
      float& d0, float& d1, float& d2, float& d3, R a0, R a1, R a2, R a3, R b0, R b1, float c0, \
      float c1, float c2, float c3) {                                                           \
    TERN_NEEDS(R, 80, "mma with .m16n8k16");                                                    \
    float d[4];                                                                                 \
    tern_standin::MmaWords words = {{static_cast<unsigned>(a0), static_cast<unsigned>(a1),      \
                                     static_cast<unsigned>(a2), static_cast<unsigned>(a3)},     \
                                    {static_cast<unsigned>(b0), static_cast<unsigned>(b1)}};    \
    tern_standin::Mma("mma.sync", widen, d, words, {c0, c1, c2, c3});                           \
    d0 = d[0], d1 = d[1], d2 = d[2], d3 = d[3];                                                 \
  }
TERN_MMA(f32_f16_f16_f32, tern_standin::FromF16)
TERN_MMA(f32_bf16_bf16_f32, tern_standin::FromBf16)

#include "tern/backend/cuda/test/wgmma.h"
// Behind it.
#include "tern/backend/cuda/test/bulk.h"

#endif  // TERN_BACKEND_CUDA_TEST_PTX_H_
