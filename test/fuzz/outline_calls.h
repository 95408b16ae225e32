// SPDX-License-Identifier: Apache-2.0
#ifndef TEST_FUZZ_OUTLINE_CALLS_H_
#define TEST_FUZZ_OUTLINE_CALLS_H_

#include <string>

#include "tern/tir/function.h"
#include "test/fuzz/random.h"

namespace tern::fuzz {

// The text of a function of which a statement, chosen at random, became a function that it calls.
// "" where there is none to choose. Calls are inlined when the text is read: what was read computes
// the same.
std::string OutlineCall(const tir::PrimFunc& function, Random* random);

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_OUTLINE_CALLS_H_
