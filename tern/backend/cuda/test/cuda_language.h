// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ for the machine's own C++ compiler: included before each program by the stand-in NVRTC.
// No header is included here, as NVRTC has none either.
#ifndef TERN_BACKEND_CUDA_TEST_CUDA_LANGUAGE_H_
#define TERN_BACKEND_CUDA_TEST_CUDA_LANGUAGE_H_

#include "tern/runtime/test_standin/access_hooks.h"

// ---- The language.

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __CUDACC_RTC__ 1

typedef unsigned long size_t;

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
#define threadIdx (static_cast<const tern_standin::Index&>(tern_standin::state.thread))
#define blockIdx (static_cast<const tern_standin::Index&>(tern_standin::state.block))
#define blockDim (static_cast<const tern_standin::Index&>(tern_standin::state.block_dim))
#define gridDim (static_cast<const tern_standin::Index&>(tern_standin::state.grid_dim))
constexpr int warpSize = 32;

#define TERN_VECTOR(type, name, align2, align4)                                      \
  struct name##1 { type x; };                                                        \
  struct __align__(align2) name##2 { type x, y; };                                   \
  struct name##3 { type x, y, z; };                                                  \
  struct __align__(align4) name##4 { type x, y, z, w; };                             \
  static inline name##1 make_##name##1(type x) { return {x}; }                       \
  static inline name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  static inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  static inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
TERN_VECTOR(signed char, char, 2, 4)
TERN_VECTOR(unsigned char, uchar, 2, 4)
TERN_VECTOR(short, short, 4, 8)
TERN_VECTOR(unsigned short, ushort, 4, 8)
TERN_VECTOR(int, int, 8, 16)
TERN_VECTOR(unsigned int, uint, 8, 16)
TERN_VECTOR(long, long, 16, 16)
TERN_VECTOR(unsigned long, ulong, 16, 16)
TERN_VECTOR(long long, longlong, 16, 16)
TERN_VECTOR(unsigned long long, ulonglong, 16, 16)
TERN_VECTOR(float, float, 8, 16)
TERN_VECTOR(double, double, 16, 16)

// ---- Bits.

template <class To, class From>
static inline To tern_bit_cast(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  __builtin_memcpy(&result, &value, sizeof result);
  return result;
}
static inline float __int_as_float(int x) { return tern_bit_cast<float>(x); }
static inline float __uint_as_float(unsigned x) { return tern_bit_cast<float>(x); }
static inline int __float_as_int(float x) { return tern_bit_cast<int>(x); }
static inline unsigned __float_as_uint(float x) { return tern_bit_cast<unsigned>(x); }
static inline double __longlong_as_double(long long x) { return tern_bit_cast<double>(x); }
static inline long long __double_as_longlong(double x) { return tern_bit_cast<long long>(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
static inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= (x >> i & 1) << (31 - i);
  return result;
}
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  unsigned long long bytes = static_cast<unsigned long long>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    unsigned byte = bytes >> (selector >> (4 * i) & 7) * 8 & 255;
    if (selector >> (4 * i) & 8) byte = byte >> 7 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
template <class T>
static inline T __ldg(const T* pointer) {
  return *pointer;
}
static inline void __stcg(float* pointer, float value) { *pointer = value; }

// ---- Mathematics: that of the C library, in both widths and by overloads.

#define TERN_MATH1(name)                    \
  extern "C" double name(double) noexcept;  \
  extern "C" float name##f(float) noexcept; \
  static inline float name(float x) { return name##f(x); }
#define TERN_MATH2(name)                           \
  extern "C" double name(double, double) noexcept; \
  extern "C" float name##f(float, float) noexcept; \
  static inline float name(float x, float y) { return name##f(x, y); }
#define TERN_MATH_FUNCTIONS1(X) \
  X(exp)                        \
  X(exp2)                       \
  X(expm1)                      \
  X(log)                        \
  X(log2)                       \
  X(log10)                      \
  X(log1p)                      \
  X(sqrt)                       \
  X(cbrt)                       \
  X(sin)                        \
  X(cos)                        \
  X(tan)                        \
  X(asin)                       \
  X(acos)                       \
  X(atan)                       \
  X(sinh)                       \
  X(cosh)                       \
  X(tanh)                       \
  X(asinh)                      \
  X(acosh)                      \
  X(atanh)                      \
  X(floor) X(ceil) X(trunc) X(round) X(rint) X(nearbyint) X(fabs) X(erf) X(erfc) X(lgamma) X(tgamma)
#define TERN_MATH_FUNCTIONS2(X) \
  X(pow) X(atan2) X(fmod) X(fmin) X(fmax) X(copysign) X(hypot) X(nextafter) X(remainder) X(fdim)
TERN_MATH_FUNCTIONS1(TERN_MATH1)
TERN_MATH_FUNCTIONS2(TERN_MATH2)
extern "C" int printf(const char*, ...);
extern "C" double fma(double, double, double) noexcept;
extern "C" float fmaf(float, float, float) noexcept;
extern "C" double ldexp(double, int) noexcept;
extern "C" float ldexpf(float, int) noexcept;
static inline float rsqrtf(float x) { return static_cast<float>(1 / sqrt(static_cast<double>(x))); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
template <class T>
static inline bool isnan(T x) {
  return __builtin_isnan(x);
}
template <class T>
static inline bool isinf(T x) {
  return __builtin_isinf(x);
}
template <class T>
static inline bool isfinite(T x) {
  return __builtin_isfinite(x);
}
template <class T>
static inline bool signbit(T x) {
  return __builtin_signbit(x);
}
// Quick ones, as near as any.
static inline float __expf(float x) { return expf(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __fdividef(float x, float y) { return x / y; }
// Rounded once, and never made a part of another operation.
static inline float __fadd_rn(float x, float y) { return x + y; }
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
#define TERN_MIN_MAX(type)                                         \
  static inline type min(type x, type y) { return y < x ? y : x; } \
  static inline type max(type x, type y) { return x < y ? y : x; }
TERN_MIN_MAX(int)
TERN_MIN_MAX(unsigned)
TERN_MIN_MAX(long long) TERN_MIN_MAX(unsigned long long) static inline float min(float x, float y) {
  return fminf(x, y);
}
static inline float max(float x, float y) { return fmaxf(x, y); }
static inline double min(double x, double y) { return fmin(x, y); }
static inline double max(double x, double y) { return fmax(x, y); }
static inline int abs(int x) { return x < 0 ? -x : x; }
static inline long long abs(long long x) { return x < 0 ? -x : x; }
static inline float abs(float x) { return fabsf(x); }
static inline double abs(double x) { return fabs(x); }

// ---- Threads that wait for each other, and what passes between the lanes of a warp.

static inline void __syncthreads() { tern_standin::host.barrier(); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}

namespace tern_standin {
template <class T>
struct Lanes {
  T of[32];
  Lanes(const char* instruction, unsigned mask, T value) {
    host.collective(instruction, mask, &value, sizeof value, of);
  }
};
static inline unsigned Bit(unsigned lane) { return 1u << lane; }
template <class T>
static T Shuffle(const char* instruction, unsigned mask, T value, int source, int width,
                 bool is_inside) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "shuffles take values of 4 and 8 bytes");
  if (width < 1 || width > 32 || (width & (width - 1)))
    host.fail("the width of a shuffle is a power of two up to 32");
  Lanes<T> lanes(instruction, mask, value);
  if (!is_inside) return value;
  if (!(mask & Bit(source))) host.fail("a shuffle reads a lane that its mask does not name");
  return lanes.of[source];
}
}  // namespace tern_standin

static inline void __syncwarp(unsigned mask = 0xffffffffu) {
  tern_standin::Lanes<char>("__syncwarp", mask, 0);
  tern_standin::host.order_warp();
}
// Narrow integers are promoted to int, as by the overloads that there are.
template <class T>
static inline auto __shfl_sync(unsigned mask, T given, int source, int width = 32) {
  auto value = +given;
  int lane = static_cast<int>(tern_standin::state.lane);
  return tern_standin::Shuffle("__shfl_sync", mask, value,
                               (lane & ~(width - 1)) | (source & (width - 1)), width, true);
}
template <class T>
static inline auto __shfl_up_sync(unsigned mask, T given, unsigned delta, int width = 32) {
  auto value = +given;
  int lane = static_cast<int>(tern_standin::state.lane), source = lane - static_cast<int>(delta);
  return tern_standin::Shuffle("__shfl_up_sync", mask, value, source, width,
                               source >= (lane & ~(width - 1)));
}
template <class T>
static inline auto __shfl_down_sync(unsigned mask, T given, unsigned delta, int width = 32) {
  auto value = +given;
  int lane = static_cast<int>(tern_standin::state.lane), source = lane + static_cast<int>(delta);
  return tern_standin::Shuffle("__shfl_down_sync", mask, value, source, width,
                               source <= (lane | (width - 1)));
}
template <class T>
static inline auto __shfl_xor_sync(unsigned mask, T given, int bits, int width = 32) {
  auto value = +given;
  int lane = static_cast<int>(tern_standin::state.lane), source = lane ^ bits;
  return tern_standin::Shuffle("__shfl_xor_sync", mask, value, source, width,
                               source <= (lane | (width - 1)));
}
// Lanes that the block does not have do not vote.
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
  tern_standin::Lanes<int> lanes("__ballot_sync", mask, predicate != 0);
  unsigned result = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((mask & tern_standin::Bit(lane)) && lanes.of[lane] == 1) result |= tern_standin::Bit(lane);
  return result;
}
static inline int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
static inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, !predicate) == 0;
}
// No other lane is known to be here.
static inline unsigned __activemask() { return tern_standin::Bit(tern_standin::state.lane); }
static inline size_t __cvta_generic_to_shared(const void* pointer) {
  return tern_standin::host.shared_address(pointer);
}

// Threads are fibers: nothing comes between.
#define TERN_ATOMIC(name, type, result)                                                       \
  static inline __attribute__((noinline, no_sanitize("thread"))) type name(type* p, type x) { \
    tern_standin::host.access(p, sizeof x, tern_standin::kAtomic);                            \
    type old = *p;                                                                            \
    *p = result;                                                                              \
    return old;                                                                               \
  }
#define TERN_ATOMICS(type) TERN_ATOMIC(atomicAdd, type, old + x) TERN_ATOMIC(atomicExch, type, x)
#define TERN_ATOMIC_ORDER(type) \
  TERN_ATOMIC(atomicMin, type, x < old ? x : old) TERN_ATOMIC(atomicMax, type, old < x ? x : old)
TERN_ATOMICS(int)
TERN_ATOMICS(unsigned)
TERN_ATOMICS(unsigned long long)
TERN_ATOMICS(float)
TERN_ATOMICS(double)
TERN_ATOMIC_ORDER(int)
TERN_ATOMIC_ORDER(unsigned)
TERN_ATOMIC_ORDER(unsigned long long)
TERN_ATOMIC_ORDER(long long)
// clang-format off: it does not come to an end with this one.
#define TERN_ATOMIC_BITS(type)                                      \
  TERN_ATOMIC(atomicAnd, type, old & x)                             \
  TERN_ATOMIC(atomicOr, type, old | x)                              \
  TERN_ATOMIC(atomicXor, type, old ^ x)                             \
  static inline __attribute__((noinline, no_sanitize("thread")))    \
  type atomicCAS(type* p, type expected, type desired) {            \
    tern_standin::host.access(p, sizeof *p, tern_standin::kAtomic); \
    type old = *p;                                                  \
    if (old == expected) *p = desired;                              \
    return old;                                                     \
  }
// clang-format on
TERN_ATOMIC_BITS(unsigned)
TERN_ATOMIC_BITS(unsigned long long)
// ---- What the stand-in NVRTC makes of a program's kernels.

#define TERN_SHARED(kernel) static __attribute__((section("tern_shared_" #kernel)))
#define TERN_SHARED_BOUNDS(kernel)                                                            \
  extern "C" __attribute__((weak, visibility("hidden"))) char __start_tern_shared_##kernel[], \
      __stop_tern_shared_##kernel[];

namespace tern_standin {
template <class... P>
struct Call {
  Call(void (*kernel)(P...), P... args) { kernel(args...); }
};
template <auto F>
struct Entry;
template <class... P, void (*F)(P...)>
struct Entry<F> {
  static constexpr Param kParams[] = {{sizeof(P), alignof(P)}..., {}};
  static constexpr int kCount = sizeof...(P);
  // Braces are evaluated from left to right.
  static __attribute__((no_sanitize("thread"))) void Run(void** args) {
    Call<P...>{F, *static_cast<P*>(*args++)...};
    (void)args;
  }
};
}  // namespace tern_standin
#define TERN_KERNEL(kernel, max_threads)  \
  {#kernel,                               \
   tern_standin::Entry<&kernel>::Run,     \
   tern_standin::Entry<&kernel>::kParams, \
   tern_standin::Entry<&kernel>::kCount,  \
   max_threads,                           \
   __start_tern_shared_##kernel,          \
   __stop_tern_shared_##kernel}

#endif  // TERN_BACKEND_CUDA_TEST_CUDA_LANGUAGE_H_
