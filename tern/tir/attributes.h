// SPDX-License-Identifier: Apache-2.0
//
// The attributes that functions, loops and blocks may have. docs/tir.md lists them for users.
#ifndef TERN_TIR_ATTRIBUTES_H_
#define TERN_TIR_ATTRIBUTES_H_

#include "tern/ir/module.h"

namespace tern::tir {

namespace attr {
// Bool, of a function: products of float32 may be of operands with 10 bits of mantissa, as tensor
// cores multiply them; sums stay float32. By default they are not.
inline constexpr const char* kAllowTf32 = "allow_tf32";
}  // namespace attr

enum class AttrPlace { kFunction, kLoop, kBlock };

// Throws ValueError where nobody reads an attribute of that name there, with near names, and
// TypeError where the value is of another type than its readers expect. Names with a dot, as in
// x.y, are free: they belong to whoever chose the word before it.
void CheckAttr(AttrPlace place, const std::string& name, const ffi::Any& value);

// The value as JSON can hold it: a target and the steps of a schedule become their text.
ffi::Any PlainAttr(const ffi::Any& value);

// Throws ValueError unless a schedule can be for it: "host", "device" or a target kind.
void CheckScheduleFor(const std::string& targets);

}  // namespace tern::tir

#endif  // TERN_TIR_ATTRIBUTES_H_
