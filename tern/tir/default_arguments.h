// SPDX-License-Identifier: Apache-2.0
//
// The values that scalars have where a run of a function is given none: n: int32 = 37.
#ifndef TERN_TIR_DEFAULT_ARGUMENTS_H_
#define TERN_TIR_DEFAULT_ARGUMENTS_H_

#include <map>
#include <string>

#include "tern/tir/function.h"

namespace tern::tir {

namespace attr {
// Array of strings, "name = value".
inline constexpr const char* kDefaults = "defaults";
}  // namespace attr

// The numbers are an IntImm or FloatImm each.
PrimFunc WithDefaults(const PrimFunc& function, const std::map<std::string, Expr>& defaults);
// By name, as text: "37", "0.5", "true".
std::map<std::string, std::string> DefaultsOf(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_DEFAULT_ARGUMENTS_H_
