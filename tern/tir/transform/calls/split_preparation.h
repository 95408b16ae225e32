// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_CALLS_SPLIT_PREPARATION_H_
#define TERN_TIR_TRANSFORM_CALLS_SPLIT_PREPARATION_H_

#include "tern/tir/function.h"

namespace tern::tir {

namespace attr {
// String, of a function that is there in two parts too: the name of the one that makes what it
// needs of constant parameters, and of the one that does the rest.
inline constexpr const char* kPrepare = "prepare";
inline constexpr const char* kPrepared = "prepared";
}  // namespace attr

// The names of the two parts of a function.
std::string PrepareName(const std::string& function);
std::string PreparedName(const std::string& function);

// Splits off what a host function computes from constant parameters alone: prepacking.
//
// Before:  func f(A, B, C) attrs {constants = ["B"]} { P = pack(B)   C = A * P }
// After:   func f(A, B, C) { ... }                                  as before, names its two parts
//          func f_prepare(B, P) { P = pack(B) }
//          func f_prepared(A, P, C) { C = A * P }
//
// What f_prepare writes is a parameter of both, in the place of the first constant parameter that
// f_prepared does not need (analysis/preparation.h). Functions for devices stay, and those with
// nothing to split lose the attribute. Runs on scheduled functions; the parts have an empty
// schedule.
ir::IRModule SplitPreparation(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_CALLS_SPLIT_PREPARATION_H_
