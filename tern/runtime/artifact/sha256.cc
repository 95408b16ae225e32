// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/sha256.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace tern::runtime {
namespace {

// FIPS 180-4, 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64
// primes.
constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// FIPS 180-4, 5.3.3.
constexpr uint32_t kStart[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

constexpr size_t kBlock = 64;  // bytes

// Blocks, one after the other.
using HashBlocks = void (*)(uint32_t* state, const char* bytes, size_t blocks);

void HashBlock(uint32_t* state, const char* bytes) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i) {
    const auto* p = reinterpret_cast<const unsigned char*>(bytes) + 4 * i;
    w[i] = uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | p[3];
  }
  for (int i = 16; i < 64; ++i) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5],
           g = state[6], h = state[7];
  for (int i = 0; i < 64; ++i) {
    uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                  ((e & f) ^ (~e & g)) + kRound[i] + w[i];
    uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const uint32_t mixed[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state[i] += mixed[i];
}

void HashBlocksPlain(uint32_t* state, const char* bytes, size_t blocks) {
  for (; blocks > 0; --blocks, bytes += 64) HashBlock(state, bytes);
}

#if defined(__x86_64__)
// The instructions keep the state as (a, b, e, f) and (c, d, g, h), and make two rounds: what they
// return is the first half, and the second is what the first one was.
__attribute__((target("sha,sse4.1"))) void HashBlocksByMachine(uint32_t* state, const char* bytes,
                                                               size_t blocks) {
  auto lanes = [](uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    return _mm_set_epi32(static_cast<int>(a), static_cast<int>(b), static_cast<int>(c),
                         static_cast<int>(d));
  };
  const __m128i big_endian = lanes(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203);
  __m128i abef = lanes(state[0], state[1], state[4], state[5]);
  __m128i cdgh = lanes(state[2], state[3], state[6], state[7]);
  for (; blocks > 0; --blocks, bytes += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; ++i)
      w[i] = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i),
                              big_endian);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const __m128i k = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kRound) + i);
      __m128i sum = _mm_add_epi32(w[i % 4], k);
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
      if (i >= 12) continue;
      // The words that are needed in four groups.
      const __m128i before = w[(i + 3) % 4];
      const __m128i older = _mm_alignr_epi8(before, w[(i + 2) % 4], 4);
      w[i % 4] = _mm_sha256msg2_epu32(
          _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), older), before);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  uint32_t low[4], high[4];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(low), abef);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(high), cdgh);
  const uint32_t result[8] = {low[3], low[2], high[3], high[2], low[1], low[0], high[1], high[0]};
  std::memcpy(state, result, sizeof result);
}

using Words = __m256i;  // one of each text

__attribute__((target("avx2"))) inline Words Rotated(Words x, int bits) {
  return _mm256_or_si256(_mm256_srli_epi32(x, bits), _mm256_slli_epi32(x, 32 - bits));
}
__attribute__((target("avx2"))) inline Words Xor(Words a, Words b, Words c) {
  return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}
__attribute__((target("avx2"))) inline Words Sum(Words a, Words b) {
  return _mm256_add_epi32(a, b);
}

// As HashBlock, of blocks of all texts.
__attribute__((target("avx2"))) void HashBeside(uint32_t (*state)[Sha256Lanes::kMost],
                                                const char* const* bytes, size_t size) {
  static_assert(Sha256Lanes::kMost * 4 == sizeof(Words));
  const Words big_endian =
      _mm256_broadcastsi128_si256(_mm_set_epi32(0x0c0d0e0f, 0x08090a0b, 0x04050607, 0x00010203));
  for (size_t at = 0; at < size; at += kBlock) {
    auto word = [&](size_t text, int i) {
      int32_t value;
      std::memcpy(&value, bytes[text] + at + static_cast<size_t>(4 * i), sizeof value);
      return value;
    };
    Words w[16], s[8];
    for (int i = 0; i < 16; ++i)
      w[i] = _mm256_shuffle_epi8(_mm256_setr_epi32(word(0, i), word(1, i), word(2, i), word(3, i),
                                                   word(4, i), word(5, i), word(6, i), word(7, i)),
                                 big_endian);
    for (int i = 0; i < 8; ++i)
      s[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(state[i]));
#if defined(__clang__)
#pragma clang loop unroll(full)
#else
#pragma GCC unroll 64
#endif
    for (int i = 0; i < 64; ++i) {
      Words& now = w[i % 16];
      if (i >= 16) {
        Words x = w[(i + 1) % 16], y = w[(i + 14) % 16];
        now = Sum(Sum(now, w[(i + 9) % 16]),
                  Sum(Xor(Rotated(x, 7), Rotated(x, 18), _mm256_srli_epi32(x, 3)),
                      Xor(Rotated(y, 17), Rotated(y, 19), _mm256_srli_epi32(y, 10))));
      }
      // The letters of the standard move on by one place in each round.
      auto at_letter = [&](int letter) -> Words& { return s[(letter + 64 - i) % 8]; };
      Words a = at_letter(0), b = at_letter(1), c = at_letter(2), e = at_letter(4),
            f = at_letter(5), g = at_letter(6), h = at_letter(7);
      Words choice = _mm256_xor_si256(g, _mm256_and_si256(e, _mm256_xor_si256(f, g)));
      Words majority =
          _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(c, _mm256_or_si256(a, b)));
      Words k = _mm256_set1_epi32(static_cast<int>(kRound[i]));
      Words t1 =
          Sum(Sum(Sum(h, now), Sum(choice, k)), Xor(Rotated(e, 6), Rotated(e, 11), Rotated(e, 25)));
      Words t2 = Sum(Xor(Rotated(a, 2), Rotated(a, 13), Rotated(a, 22)), majority);
      at_letter(3) = Sum(at_letter(3), t1);
      at_letter(7) = Sum(t1, t2);
    }
    for (int i = 0; i < 8; ++i) {
      auto* place = reinterpret_cast<__m256i*>(state[i]);
      _mm256_storeu_si256(place, Sum(s[i], _mm256_loadu_si256(place)));
    }
  }
}
bool MachineHasVectors() { return __builtin_cpu_supports("avx2"); }

bool MachineHashes() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kShuffle = 1u << 9, kSse41 = 1u << 19, kSha = 1u << 29;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & kShuffle) == 0 || (c & kSse41) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
}
#elif defined(__aarch64__) && defined(__linux__)
__attribute__((target("+crypto"))) void HashBlocksByMachine(uint32_t* state, const char* bytes,
                                                            size_t blocks) {
  uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
  for (; blocks > 0; --blocks, bytes += 64) {
    const uint32x4_t abcd_before = abcd, efgh_before = efgh;
    uint32x4_t w[4];
    for (int i = 0; i < 4; ++i)
      w[i] = vreinterpretq_u32_u8(
          vrev32q_u8(vld1q_u8(reinterpret_cast<const uint8_t*>(bytes) + 16 * i)));
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      const uint32x4_t sum = vaddq_u32(w[i % 4], vld1q_u32(kRound + 4 * i)), before = abcd;
      abcd = vsha256hq_u32(abcd, efgh, sum);
      efgh = vsha256h2q_u32(efgh, before, sum);
      if (i < 12)
        w[i % 4] = vsha256su1q_u32(vsha256su0q_u32(w[i % 4], w[(i + 1) % 4]), w[(i + 2) % 4],
                                   w[(i + 3) % 4]);
    }
    abcd = vaddq_u32(abcd, abcd_before);
    efgh = vaddq_u32(efgh, efgh_before);
  }
  vst1q_u32(state, abcd);
  vst1q_u32(state + 4, efgh);
}

bool MachineHashes() { return (getauxval(AT_HWCAP) & HWCAP_SHA2) != 0; }
#else
constexpr HashBlocks HashBlocksByMachine = HashBlocksPlain;
bool MachineHashes() { return false; }
#endif

#if !defined(__x86_64__)
void HashBeside(uint32_t (*)[Sha256Lanes::kMost], const char* const*, size_t) {}
bool MachineHasVectors() { return false; }
#endif

std::atomic<Sha256By> chosen = Sha256By::kBest;

void HashAll(uint32_t* state, const char* bytes, size_t blocks) {
  static const HashBlocks best = MachineHashes() ? HashBlocksByMachine : HashBlocksPlain;
  (chosen == Sha256By::kBest ? best : &HashBlocksPlain)(state, bytes, blocks);
}

bool UseVectors() {
  static const bool has = MachineHasVectors(), pays = has && !MachineHashes();
  Sha256By by = chosen;
  return by == Sha256By::kVectors ? has : by == Sha256By::kBest && pays;
}

// The last 8 bytes of the last block: how many bits there are.
void PutLength(uint64_t bytes, char* out) {
  for (int i = 0; i < 8; ++i) out[i] = static_cast<char>(bytes * 8 >> (56 - 8 * i));
}

std::string DigestOf(const uint32_t* state) {
  std::string digest;
  for (int i = 0; i < 8; ++i)
    for (int shift = 24; shift >= 0; shift -= 8) digest += static_cast<char>(state[i] >> shift);
  return digest;
}

}  // namespace

void UseSha256(Sha256By by) { chosen = by; }

Sha256Stream::Sha256Stream() { std::copy_n(kStart, 8, state_); }

void Sha256Stream::Update(std::string_view bytes) {
  total_ += bytes.size();
  while (!bytes.empty()) {
    // Whole blocks are hashed where they lie.
    if (size_t blocks = bytes.size() / kBlock; filled_ == 0 && blocks > 0) {
      HashAll(state_, bytes.data(), blocks);
      bytes.remove_prefix(blocks * kBlock);
      continue;
    }
    size_t take = std::min(bytes.size(), kBlock - filled_);
    std::memcpy(buffer_ + filled_, bytes.data(), take);
    filled_ += take;
    bytes.remove_prefix(take);
    if (filled_ == kBlock) {
      HashAll(state_, buffer_, 1);
      filled_ = 0;
    }
  }
}

std::string Sha256Stream::Finish() {
  char length[8];
  PutLength(total_, length);
  Update(std::string_view("\x80", 1));
  while (filled_ != kBlock - 8) Update(std::string_view("\0", 1));
  Update(std::string_view(length, 8));
  return DigestOf(state_);
}

size_t Sha256Lanes::AtOnce() { return UseVectors() ? kMost : 1; }

Sha256Lanes::Sha256Lanes(size_t count) : count_(count) {
  for (int i = 0; i < 8; ++i) std::fill_n(state_[i], kMost, kStart[i]);
}

void Sha256Lanes::Update(const char* const* bytes, size_t size) {
  total_ += size;
  if (UseVectors()) {
    const char* all[kMost];
    for (size_t text = 0; text < kMost; ++text) all[text] = bytes[text < count_ ? text : 0];
    HashBeside(state_, all, size);
    return;
  }
  for (size_t text = 0; text < count_; ++text) {
    uint32_t state[8];
    for (int i = 0; i < 8; ++i) state[i] = state_[i][text];
    HashAll(state, bytes[text], size / kBlock);
    for (int i = 0; i < 8; ++i) state_[i][text] = state[i];
  }
}

std::vector<std::string> Sha256Lanes::Finish() {
  char end[kBlock] = {'\x80'};
  PutLength(total_, end + kBlock - 8);
  const char* ends[kMost];
  std::fill_n(ends, kMost, end);
  Update(ends, kBlock);
  std::vector<std::string> digests;
  for (size_t text = 0; text < count_; ++text) {
    uint32_t state[8];
    for (int i = 0; i < 8; ++i) state[i] = state_[i][text];
    digests.push_back(DigestOf(state));
  }
  return digests;
}

std::string Sha256(std::initializer_list<std::string_view> parts) {
  Sha256Stream hasher;
  for (std::string_view part : parts) hasher.Update(part);
  return hasher.Finish();
}

std::string Sha256(std::string_view bytes) { return Sha256({bytes}); }

std::string ToHex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned char byte : bytes) (hex += kDigits[byte >> 4]) += kDigits[byte & 15];
  return hex;
}

}  // namespace tern::runtime
