// SPDX-License-Identifier: Apache-2.0
//
// What the interpreter computes for intrinsics that work lane by lane. An intrinsic from outside of
// the tree registers its reference here, next to its own registration (tern/ir/intrinsic.h).
#ifndef TERN_TIR_INTERPRETER_INTRINSIC_REFERENCE_H_
#define TERN_TIR_INTERPRETER_INTRINSIC_REFERENCE_H_

#include <functional>
#include <string>
#include <string_view>

#include "tern/tir/interpreter/value.h"

namespace tern::tir {

// One lane of the result, from the lanes of the arguments; `operand` is the scalar type of the
// first. Throws ValueError where the value is undefined.
using LaneFunction = std::function<Lane(DataType operand, const Lane* args)>;

// Throws if the name has one.
void RegisterIntrinsicReference(const std::string& name, LaneFunction function);
// Null where there is none.
const LaneFunction* FindIntrinsicReference(std::string_view name);

// Those of RegisterIntrinsics: computed with more digits than the type has, and rounded once.
void RegisterIntrinsicReferences();

}  // namespace tern::tir

#endif  // TERN_TIR_INTERPRETER_INTRINSIC_REFERENCE_H_
