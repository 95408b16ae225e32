// SPDX-License-Identifier: Apache-2.0
//
// Choices that a seed determines, the same on every machine.
#ifndef TEST_FUZZ_RANDOM_H_
#define TEST_FUZZ_RANDOM_H_

#include <cstdint>
#include <random>
#include <vector>

namespace tern::fuzz {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // 0..count - 1
  int64_t Below(int64_t count) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(count));
  }
  // lo..hi, both included
  int64_t Between(int64_t lo, int64_t hi) { return lo + Below(hi - lo + 1); }
  bool OneIn(int64_t count) { return Below(count) == 0; }
  template <class T>
  const T& Pick(const std::vector<T>& items) {
    return items[Below(static_cast<int64_t>(items.size()))];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_RANDOM_H_
