// SPDX-License-Identifier: Apache-2.0
#ifndef TEST_FUZZ_MUTATE_MODEL_H_
#define TEST_FUZZ_MUTATE_MODEL_H_

#include "tern/runtime/vm/program.h"
#include "test/fuzz/random.h"

namespace tern::fuzz {

// Changes one thing of a program: an operand, an expression, an opcode, the order of instructions,
// a type, a port, a constant. What comes of it may be no legal program; it can be encoded.
void MutateModel(Random* random, runtime::vm::Program* program);

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_MUTATE_MODEL_H_
