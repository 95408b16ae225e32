// SPDX-License-Identifier: Apache-2.0
//
// A random kernel for every seed, of the kinds that the schedule rules know: convolutions, pooling,
// matmuls, reductions, softmax and normalization, with elementwise blocks before, between and
// behind them. Static and dynamic shapes, every layout, extents of 0, 1 and primes.
#ifndef TEST_FUZZ_RANDOM_KERNEL_H_
#define TEST_FUZZ_RANDOM_KERNEL_H_

#include <cstdint>
#include <string>

#include "tern/runtime/runner.h"

namespace tern::fuzz {

struct RandomKernel {
  std::string text;               // one function, "f"
  runtime::RunOptions arguments;  // the values of dynamic extents, the seed of the tensors
  bool reassociates = false;      // sums may be combined in any order
  bool calls_math = false;        // exp and others, whose last digits are the target's
  // How far a float may be from the interpreter's where results are not the same to the last bit.
  double tolerance = 0;
};

RandomKernel MakeRandomKernel(uint64_t seed);

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_RANDOM_KERNEL_H_
