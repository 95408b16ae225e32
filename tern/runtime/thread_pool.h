// SPDX-License-Identifier: Apache-2.0
//
// The threads that parallel loops run on.
//
// One pool per process, made at its first use. Its threads spin for a moment after a loop, in which
// the next one starts at once, and sleep then. A child of fork makes a pool of its own. Nothing is
// joined at exit.
#ifndef TERN_RUNTIME_THREAD_POOL_H_
#define TERN_RUNTIME_THREAD_POOL_H_

#include <cstdint>
#include <functional>

namespace tern::runtime {

// How many threads a parallel loop uses, the caller's included: TERN_NUM_THREADS, or else the CPUs
// that this process may run on. Throws where the variable is not a number from 1 to 1024.
int NumThreads();

// Calls `body(begin, end)` on pieces that make up 0..extent, on the pool's threads and the
// caller's, and returns when all are done. The first exception that a piece throws is thrown here;
// pieces not yet begun are then left out. In a piece, and while another thread runs a loop, the
// caller runs all pieces itself: loops nest and meet without more threads than NumThreads.
void ParallelFor(int64_t extent, const std::function<void(int64_t begin, int64_t end)>& body);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_THREAD_POOL_H_
