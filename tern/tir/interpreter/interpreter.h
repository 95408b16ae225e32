// SPDX-License-Identifier: Apache-2.0
//
// Runs TIR, slowly and exactly: the reference that compiled code is compared with.
//
// It stops with an error, at the place in the source, where the program is wrong: an index out of
// bounds, an overflow of a signed integer of 32 or 64 bits, a division by zero, a failed assert.
// Iterations of parallel and thread loops run one after another.
#ifndef TERN_TIR_INTERPRETER_INTERPRETER_H_
#define TERN_TIR_INTERPRETER_INTERPRETER_H_

#include <string>
#include <vector>

#include "tern/ffi/any.h"
#include "tern/ir/module.h"

namespace tern::tir {

// Calls a function of the module with host tensors and scalars; launches of kernels find them in
// the module.
void Interpret(const ir::IRModule& module, const std::string& function,
               const std::vector<ffi::Any>& args);

}  // namespace tern::tir

#endif  // TERN_TIR_INTERPRETER_INTERPRETER_H_
