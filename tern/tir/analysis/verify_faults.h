// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_VERIFY_FAULTS_H_
#define TERN_TIR_ANALYSIS_VERIFY_FAULTS_H_

#include "tern/ir/module.h"

namespace tern::tir {

// Refuses what surely goes wrong wherever it is evaluated: an index outside of its buffer's shape
// for all values of the variables, and an integer division by zero. Code under a condition, which
// may never run, is not looked at. Throws VerifyError with all mistakes, each at its place.
void VerifyFaults(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_VERIFY_FAULTS_H_
