// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_SERIALIZE_THREADS_H_
#define TERN_TIR_TRANSFORM_SERIALIZE_THREADS_H_

#include <string>

#include "tern/tir/function.h"

namespace tern::tir {

// A program written for threads runs on a host too: in functions for a host target, thread loops
// become serial loops and shared memory local. Where threads wait for each other, the loops end and
// begin anew at the barriers, and what a thread keeps across one is an array over the threads.
// Memory and operations of warps are an error.
// For a device that runs the threads of a block in turn it is the same inside of blocks; the loops
// over blocks stay, and are what makes a kernel.
PrimFunc SerializeThreads(const PrimFunc& function);
// Says so of the devices of a target kind.
void RunThreadsInTurn(const std::string& kind);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_SERIALIZE_THREADS_H_
