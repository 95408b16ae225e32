// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_ARTIFACT_SHA256_H_
#define TERN_RUNTIME_ARTIFACT_SHA256_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tern::runtime {

// The 32 raw bytes of FIPS 180-4's SHA-256.
std::string Sha256(std::string_view bytes);
// Of the parts, one after the other.
std::string Sha256(std::initializer_list<std::string_view> parts);

// The same of bytes that come one after the other.
class Sha256Stream {
 public:
  void Update(std::string_view bytes);
  // Once, at the end.
  std::string Finish();

 private:
  static constexpr size_t kBlock = 64;
  uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  char buffer_[kBlock];
  size_t filled_ = 0;
  uint64_t total_ = 0;
};

// How blocks are hashed: by instructions of the machine, where it has them, or by plain code. For
// tests.
void UsePlainSha256(bool plain);

std::string ToHex(std::string_view bytes);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_ARTIFACT_SHA256_H_
