// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_SPLIT_PREPARATION_H_
#define TERN_TIR_TRANSFORM_SPLIT_PREPARATION_H_

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

// Beside a function f of a host that makes something of its constant parameters alone
// (attr::kConstants, analysis/preparation.h) stand two more: f_prepare, which does that, and
// f_prepared, which does the rest. What the first writes for the second is a parameter, of one
// name, of both; it stands in the place of the first constant parameter that the second does not
// need. f itself stays as it is, but says which parts there are, and no more what is constant.
// Functions for devices are left alone, and those that prepare nothing but for the attribute. To be
// run when functions are scheduled: the parts have an empty schedule.
ir::IRModule SplitPreparation(const ir::IRModule& module);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_SPLIT_PREPARATION_H_
