// SPDX-License-Identifier: Apache-2.0
//
// All that must hold for a program: its text reads back to it, it verifies, no pass changes what
// the interpreter computes, and compiled code computes the same.
#ifndef TEST_FUZZ_CHECK_PROGRAM_H_
#define TEST_FUZZ_CHECK_PROGRAM_H_

#include <optional>
#include <string>
#include <vector>

#include "tern/target/target.h"
#include "test/fuzz/random_program.h"

namespace tern::fuzz {

struct Failure {
  std::string stage;    // "pass simplify", "compiled for llvm"
  std::string message;  // what went wrong there
};

// The first failure, if any. `stage`, where not null, follows what is being checked: a signal
// handler reads it.
std::optional<Failure> CheckProgram(const RandomProgram& program,
                                    const std::vector<target::Target>& targets,
                                    std::string* stage = nullptr);

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_CHECK_PROGRAM_H_
