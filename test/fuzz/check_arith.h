// SPDX-License-Identifier: Apache-2.0
#ifndef TEST_FUZZ_CHECK_ARITH_H_
#define TEST_FUZZ_CHECK_ARITH_H_

#include <cstdint>
#include <string>

namespace tern::fuzz {

// Each makes something random of a seed and checks what tern/arith says of it by trying values: a
// simplified expression has the same value and adds no fault, bounds hold, an iteration map is one
// and its inverse is its inverse, a covered range is covered. The text says what is wrong; empty:
// nothing.
std::string CheckSimplify(uint64_t seed);
std::string CheckIterMap(uint64_t seed);
std::string CheckIntSet(uint64_t seed);

// How many of them had something to compare.
struct ArithCounts {
  uint64_t values = 0, maps = 0, ranges = 0;
};
const ArithCounts& arith_counts();

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_CHECK_ARITH_H_
