// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/sha256.h"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

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

class Hasher {
 public:
  void Update(std::string_view bytes) {
    total_ += bytes.size();
    while (!bytes.empty()) {
      // Whole blocks are hashed where they lie.
      if (filled_ == 0 && bytes.size() >= kBlock) {
        Block(bytes.data());
        bytes.remove_prefix(kBlock);
        continue;
      }
      size_t take = std::min(bytes.size(), kBlock - filled_);
      std::memcpy(buffer_ + filled_, bytes.data(), take);
      filled_ += take;
      bytes.remove_prefix(take);
      if (filled_ == kBlock) {
        Block(buffer_);
        filled_ = 0;
      }
    }
  }

  std::string Finish() {
    uint64_t bits = total_ * 8;
    Update(std::string_view("\x80", 1));
    while (filled_ != kBlock - 8) Update(std::string_view("\0", 1));
    char length[8];
    for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
    Update(std::string_view(length, 8));
    std::string digest;
    for (uint32_t word : state_)
      for (int shift = 24; shift >= 0; shift -= 8) digest += static_cast<char>(word >> shift);
    return digest;
  }

 private:
  static constexpr size_t kBlock = 64;

  void Block(const char* bytes) {
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
    auto [a, b, c, d, e, f, g, h] = state_;
    for (int i = 0; i < 64; ++i) {
      uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                    ((e & f) ^ (~e & g)) + kRound[i] + w[i];
      uint32_t t2 =
          (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const uint32_t mixed[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state_[i] += mixed[i];
  }

  std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  char buffer_[kBlock];
  size_t filled_ = 0;
  uint64_t total_ = 0;
};

}  // namespace

std::string Sha256(std::initializer_list<std::string_view> parts) {
  Hasher hasher;
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
