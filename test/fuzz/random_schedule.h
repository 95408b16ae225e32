// SPDX-License-Identifier: Apache-2.0
//
// Functions of blocks, and steps of schedules for them.
#ifndef TEST_FUZZ_RANDOM_SCHEDULE_H_
#define TEST_FUZZ_RANDOM_SCHEDULE_H_

#include <string>

#include "tern/tir/function.h"
#include "test/fuzz/random.h"

namespace tern::fuzz {

// A few stages, each a block or plain statements on integers, that read what others computed.
tir::PrimFunc MakeBlockProgram(Random* random);

// A step that may or may not be legal.
std::string MakeStep(const tir::PrimFunc& function, Random* random);

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_RANDOM_SCHEDULE_H_
