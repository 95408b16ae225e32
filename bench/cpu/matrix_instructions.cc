// SPDX-License-Identifier: Apache-2.0
//
// Compiled for the machine at hand.
#include "bench/cpu/matrix_instructions.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace tern::bench {
namespace {

// Independent sums, as many as hide the latency.
[[maybe_unused]] constexpr int kChains = 16;
[[maybe_unused]] void Use(const void* result) { asm volatile("" : : "r"(result) : "memory"); }

// Sums `step(sum)` in kChains registers.
template <class V, class F>
[[maybe_unused]] std::function<void(int64_t)> Chains(F step) {
  return [step](int64_t times) {
    V starts[kChains] = {}, sums[kChains];
    asm volatile("" : "+m"(starts));  // for all the compiler knows they differ
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = starts[chain];
    for (int64_t i = 0; i < times; ++i) {
#pragma GCC unroll 16
      for (int chain = 0; chain < kChains; ++chain) sums[chain] = step(sums[chain]);
    }
    Use(sums);
  };
}

#if defined(__AMX_TILE__)
// 16 rows of 64 bytes in each of the eight tiles; false where the system does not let us.
bool ConfigureTiles() {
  constexpr long kAskForPermission = 0x1023, kTileData = 18;
  if (syscall(SYS_arch_prctl, kAskForPermission, kTileData) != 0) return false;
  struct alignas(64) {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } config;
  Use(&config);  // the compiler sees only its first bytes used
  _tile_loadconfig(&config);
  return true;
}

// Four sums in tiles 0 to 3, of two by two operands.
#define TERN_BENCH_TILES(name, multiply)  \
  void name(int64_t times) {              \
    ConfigureTiles();                     \
    _tile_zero(0);                        \
    _tile_zero(1);                        \
    _tile_zero(2);                        \
    _tile_zero(3);                        \
    _tile_zero(4);                        \
    _tile_zero(5);                        \
    _tile_zero(6);                        \
    _tile_zero(7);                        \
    for (int64_t i = 0; i < times; ++i) { \
      multiply(0, 4, 6);                  \
      multiply(1, 4, 7);                  \
      multiply(2, 5, 6);                  \
      multiply(3, 5, 7);                  \
    }                                     \
    _tile_release();                      \
  }
#endif
#if defined(__AMX_INT8__)
TERN_BENCH_TILES(TilesOfBytes, _tile_dpbusd)
#endif
#if defined(__AMX_BF16__)
TERN_BENCH_TILES(TilesOfBfloat16, _tile_dpbf16ps)
#endif

std::vector<MatrixInstruction> OfBytes() {
  std::vector<MatrixInstruction> found;
#if defined(__AVX512VNNI__)
  __m512i v = _mm512_set1_epi8(1);
  found.push_back({"vpdpbusd", 2.0 * 64 * kChains,
                   Chains<__m512i>([v](__m512i sum) { return _mm512_dpbusd_epi32(sum, v, v); })});
#elif defined(__AVXVNNI__)
  __m256i v = _mm256_set1_epi8(1);
  found.push_back({"vpdpbusd", 2.0 * 32 * kChains, Chains<__m256i>([v](__m256i sum) {
                     return _mm256_dpbusd_avx_epi32(sum, v, v);
                   })});
#endif
#if defined(__AMX_INT8__)
  if (ConfigureTiles()) found.push_back({"tdpbusd", 4 * 2.0 * 16 * 16 * 64, TilesOfBytes});
#endif
#if defined(__ARM_FEATURE_MATMUL_INT8)
  uint8x16_t a = vdupq_n_u8(1);
  int8x16_t b = vdupq_n_s8(1);
  found.push_back({"usmmla", 2.0 * 32 * kChains,
                   Chains<int32x4_t>([a, b](int32x4_t sum) { return vusmmlaq_s32(sum, a, b); })});
#elif defined(__ARM_FEATURE_DOTPROD)
  uint8x16_t a = vdupq_n_u8(1);
  found.push_back({"udot", 2.0 * 16 * kChains,
                   Chains<uint32x4_t>([a](uint32x4_t sum) { return vdotq_u32(sum, a, a); })});
#endif
  return found;
}

std::vector<MatrixInstruction> OfBfloat16() {
  std::vector<MatrixInstruction> found;
#if defined(__AVX512BF16__)
  __m512bh v = {};
  found.push_back({"vdpbf16ps", 2.0 * 32 * kChains,
                   Chains<__m512>([v](__m512 sum) { return _mm512_dpbf16_ps(sum, v, v); })});
#endif
#if defined(__AMX_BF16__)
  if (ConfigureTiles()) found.push_back({"tdpbf16ps", 4 * 2.0 * 16 * 16 * 32, TilesOfBfloat16});
#endif
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
  bfloat16x8_t v = vreinterpretq_bf16_u16(vdupq_n_u16(0));
  found.push_back({"bfmmla", 2.0 * 16 * kChains,
                   Chains<float32x4_t>([v](float32x4_t sum) { return vbfmmlaq_f32(sum, v, v); })});
#endif
  return found;
}

}  // namespace

std::vector<MatrixInstruction> MatrixInstructions(const std::string& dtype) {
  return dtype == "bfloat16" ? OfBfloat16() : OfBytes();
}

}  // namespace tern::bench
