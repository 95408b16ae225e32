// SPDX-License-Identifier: Apache-2.0
//
// What cases mean: elements of their outputs, computed one by one in double from the definition.
#ifndef BENCH_CPU_REFERENCE_H_
#define BENCH_CPU_REFERENCE_H_

#include "bench/cpu/case.h"

namespace tern::bench {

// Element `i` of a tensor, and of the output as it should be; in row-major order.
double Element(const TensorSpec& tensor, const void* data, int64_t i);
double Expected(const Case& the_case, const Buffers& inputs, int64_t i);

// How far the output in `data` is from that, |actual - expected| / max(1, |expected|), the largest
// of `samples` elements spread over it (of all where it has no more). What is no number is
// infinitely far.
double LargestError(const Case& the_case, const Buffers& inputs, const void* data, int64_t samples);

// Random numbers of a case, the same on every machine: floats from -1 to 1, integers of all values.
void FillRandom(const std::string& dtype, int64_t count, uint64_t seed, void* data);

}  // namespace tern::bench

#endif  // BENCH_CPU_REFERENCE_H_
