// SPDX-License-Identifier: Apache-2.0
//
// Makes a failing program small enough to read.
#ifndef TEST_FUZZ_REDUCE_PROGRAM_H_
#define TEST_FUZZ_REDUCE_PROGRAM_H_

#include <functional>

#include "tern/tir/function.h"

namespace tern::fuzz {

// Drops statements and replaces expressions by parts of themselves or constants, one at a time, as
// long as `fails` holds for what is left; gives up after `max_tries` questions. A candidate need
// not be well formed, nor defined: `fails` says no to those.
tir::PrimFunc ReduceProgram(tir::PrimFunc function,
                            const std::function<bool(const tir::PrimFunc&)>& fails,
                            int max_tries = 2000);

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_REDUCE_PROGRAM_H_
