// SPDX-License-Identifier: Apache-2.0
//
// Instructions for products of narrow types, summed in 32 bits, that this machine has.
#ifndef BENCH_CPU_MATRIX_INSTRUCTIONS_H_
#define BENCH_CPU_MATRIX_INSTRUCTIONS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tern::bench {

struct MatrixInstruction {
  std::string name;
  double ops = 0;  // of one time
  std::function<void(int64_t times)> run;
};

// Of "bfloat16" or "uint8" (by int8).
std::vector<MatrixInstruction> MatrixInstructions(const std::string& dtype);

}  // namespace tern::bench

#endif  // BENCH_CPU_MATRIX_INSTRUCTIONS_H_
