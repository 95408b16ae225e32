// SPDX-License-Identifier: Apache-2.0
//
// What the machine can do at most, measured: arithmetic that needs no memory, and memory that needs
// no arithmetic.
#ifndef BENCH_CPU_PEAKS_H_
#define BENCH_CPU_PEAKS_H_

#include <cstdint>
#include <string>

namespace tern::bench {

struct Peak {
  double per_second = 0;  // operations (a multiply-add is two) or bytes; 0: there is no instruction
  std::string how;        // the instruction, or what was done to the memory
};

// Products of `dtype` (float32, bfloat16, uint8), summed in 32 bits, on so many threads: on
// registers, or, of "float32-loaded", on numbers from the first cache.
Peak ArithmeticPeak(const std::string& dtype, int threads);

// Over so many bytes, those of all threads together: reading, or copying one half to the other
// (which counts as both), whichever is faster.
Peak MemoryPeak(int64_t bytes, int threads);

}  // namespace tern::bench

#endif  // BENCH_CPU_PEAKS_H_
