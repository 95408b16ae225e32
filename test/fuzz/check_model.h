// SPDX-License-Identifier: Apache-2.0
//
// Whether memory that is used again changes what a program of a model computes.
#ifndef TEST_FUZZ_CHECK_MODEL_H_
#define TEST_FUZZ_CHECK_MODEL_H_

#include <chrono>
#include <string>

#include "tern/runtime/vm/program.h"

namespace tern::fuzz {

struct ModelCheck {
  bool is_verified = false;
  bool has_run = false;  // to the end, for some of the shapes
  std::string error;     // of the verifier or the last run that had one, or ""
  std::string mistake;   // results are not the same; "" where they are
};

// Verifies any program, with the kernels of tern/runtime/test_data/test_kernels.h, and runs it with
// inputs of some shapes: with and without memory that is used again, and for some of its outputs
// alone. What was not written, or was freed, is poisoned. A run that takes longer than `time` or
// allocates much is stopped.
ModelCheck CheckModel(const runtime::vm::Program& program,
                      std::chrono::milliseconds time = std::chrono::milliseconds(1));

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_CHECK_MODEL_H_
