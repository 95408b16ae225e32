// SPDX-License-Identifier: Apache-2.0
//
// Compiled code may do anything: a fatal signal is reported with what was being checked.
#ifndef TEST_FUZZ_FATAL_SIGNALS_H_
#define TEST_FUZZ_FATAL_SIGNALS_H_

#include <cstdint>
#include <string>

namespace tern::fuzz {

struct Progress {
  uint64_t seed = 0;
  std::string stage, text;  // "compiled for llvm"; the program
};
// What is being checked now, kept up to date by the fuzzer.
Progress& CurrentProgress();

// From here on a fatal signal prints the progress, and ends the process with status 1.
void CatchFatalSignals();

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_FATAL_SIGNALS_H_
