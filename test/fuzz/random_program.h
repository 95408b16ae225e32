// SPDX-License-Identifier: Apache-2.0
//
// A random program for every seed: well formed, defined for the arguments that come with it, and
// free of races, so that whatever runs it, in whatever order it allows, must give one result.
#ifndef TEST_FUZZ_RANDOM_PROGRAM_H_
#define TEST_FUZZ_RANDOM_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tern/ir/module.h"
#include "tern/runtime/runner.h"

namespace tern::fuzz {

struct RandomProgram {
  ir::IRModule module;            // one function, "f"
  runtime::RunOptions arguments;  // the extents, the scalars, the seed of the tensors
  bool rounds_floats = true;
  // Passes behind lower_packed_elements take none of its elements.
  bool has_packed_elements = false;
  // An assert may fail; its message has the word kFailureWord, whichever instance it is of.
  bool may_fail = false;
  // Words that a target's refusal has of what the program uses and not all targets have.
  std::vector<std::string> optional_features = {};
};

inline constexpr const char* kFailureWord = "too large: ";

struct ProgramOptions {
  // Off: floats are never rounded, so that devices with other roundings agree to the bit.
  bool float_arithmetic = true;
};

RandomProgram MakeRandomProgram(uint64_t seed, const ProgramOptions& options = {});

// The local buffers that count the iterations of while loops. What takes a program apart leaves
// them alone: without them a loop may not end.
inline constexpr const char* kCounterName = "steps";

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_RANDOM_PROGRAM_H_
