// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_VERIFY_H_
#define TERN_TIR_ANALYSIS_VERIFY_H_

#include "tern/ir/diagnostic.h"
#include "tern/tir/function.h"

namespace tern::tir {

// Checks what the node constructors cannot see: that every variable and buffer is in scope where it
// is used and defined once, that an axis of threads is bound once on any path, that blocks are not
// nested and their initialisation stands with a reduction, that extents are int64, that constants
// are tensors which are only read, that attributes are known and of their types. Throws VerifyError
// with all mistakes, each at its place.
void Verify(const ir::IRModule& module);

// The same of one function of the module.
void VerifyFunction(const PrimFunc& function, const ir::IRModule& module,
                    ir::Diagnostics* diagnostics);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_VERIFY_H_
