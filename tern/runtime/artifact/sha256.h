// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_ARTIFACT_SHA256_H_
#define TERN_RUNTIME_ARTIFACT_SHA256_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace tern::runtime {

// The 32 raw bytes of FIPS 180-4's SHA-256.
std::string Sha256(std::string_view bytes);
// Of the parts, one after the other.
std::string Sha256(std::initializer_list<std::string_view> parts);

// The same of bytes that come one after the other.
class Sha256Stream {
 public:
  Sha256Stream();
  void Update(std::string_view bytes);
  // Once, at the end.
  std::string Finish();

 private:
  static constexpr size_t kBlock = 64;
  uint32_t state_[8];
  char buffer_[kBlock];
  size_t filled_ = 0;
  uint64_t total_ = 0;
};

// Of several texts of one length, side by side: in vectors, where the machine has no instructions
// for the hash. Four times as fast as one after the other.
class Sha256Lanes {
 public:
  static constexpr size_t kMost = 8;
  // How many take hardly longer than one: kMost, or 1.
  static size_t AtOnce();
  // Of up to kMost texts.
  explicit Sha256Lanes(size_t count);
  // What comes next of each, as many bytes of one as of the others: a multiple of 64.
  void Update(const char* const* bytes, size_t size);
  // Once, at the end: one for each.
  std::vector<std::string> Finish();

 private:
  size_t count_;
  uint64_t total_ = 0;
  uint32_t state_[8][kMost];  // the words of all texts, beside each other
};

// How blocks are hashed: the best way of the machine, as if it had vectors alone, or by plain code.
// For tests.
enum class Sha256By { kBest, kVectors, kPlain };
void UseSha256(Sha256By by);

std::string ToHex(std::string_view bytes);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_ARTIFACT_SHA256_H_
