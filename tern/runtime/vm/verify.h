// SPDX-License-Identifier: Apache-2.0
//
// Before a program runs, once.
#ifndef TERN_RUNTIME_VM_VERIFY_H_
#define TERN_RUNTIME_VM_VERIFY_H_

#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/vm/program.h"

namespace tern::runtime::vm {

// Throws, with the function and the instruction, unless all of this holds; then running it touches
// no memory but its own, whatever the inputs are:
// - indices of registers, constants, kernels, functions and instructions are in range; each
// function
//   ends in `ret` or `jump`, and invokes functions behind it alone;
// - each instruction has the operands that its opcode takes, of their kinds, dtypes and ranks;
// - a register is read where it holds a value on every path; a view is used no longer than what it
//   is a view of, and is a view of one register; int parameters are not written;
// - calls are right for `functions`, those of the host module: number of arguments, kinds, dtypes,
//   ranks; and what they write is no constant and no input of the model;
// - main fits the inputs and outputs; every dim is an extent of an input; names are unique;
// - constants have as many bytes as their shapes say; those that are made are made once, before
//   they are used.
// Extents are for the kernels to check. `functions` may be null: then calls are not looked at.
void VerifyProgram(const Program& program, const std::vector<FunctionInfo>* functions);

inline constexpr uint32_t kMaxRank = 32;

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_VERIFY_H_
