// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_THREADS_SERIALIZE_THREADS_H_
#define TERN_TIR_TRANSFORM_THREADS_SERIALIZE_THREADS_H_

#include <string>

#include "tern/tir/function.h"

namespace tern::tir {

// Runs a program written for threads on a host.
//
// Before:  for t in 0..64 bind(threadIdx.x) { S(t)   barrier("shared")   T(t) }
// After:   for t in 0..64 { S(t) }   for t in 0..64 { T(t) }
//
// Shared memory becomes local. What a thread keeps across a barrier becomes an array over threads.
// Memory and operations of warps are an error. For a device that runs the threads of a block in
// turn the same is done within thread blocks; the loops over blocks stay, and make the kernel.
PrimFunc SerializeThreads(const PrimFunc& function);
// Says so of the devices of a target kind.
void RunThreadsInTurn(const std::string& kind);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_THREADS_SERIALIZE_THREADS_H_
