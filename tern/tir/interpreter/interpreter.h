// SPDX-License-Identifier: Apache-2.0
//
// Runs TIR, slowly and exactly: the reference that compiled code is compared with.
//
// It stops with an error, at the place in the source, where the program is wrong:
//
// - an index is out of bounds, or an offset overflows;
// - a signed integer of 32 or 64 bits overflows, a number is divided by zero;
// - an element of an allocation is read before it is written;
// - two iterations of a parallel loop, or two threads of a launch, access the same element, one of
//   them writes, and no barrier orders them;
// - an element is accessed while a copy or a product that a thread began, and has not waited for,
//   may still read or write it;
// - some threads of a block wait at a barrier that others do not come to;
// - an assert fails.
//
// Iterations of parallel loops and blocks of threads run one after another; the threads of a block
// run in turn, each from one barrier to the next. Mistakes are found whatever the order is.
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
