// SPDX-License-Identifier: Apache-2.0
//
// The registered set of intrinsics that ir::Call can name.
#ifndef TERN_IR_INTRINSIC_H_
#define TERN_IR_INTRINSIC_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ir/expr.h"

namespace tern::ir {

// if_then_else(condition, a, b): `a` where the condition, a scalar, holds and `b` elsewhere. The
// other one is not evaluated, whatever generates the code.
inline constexpr const char* kIfThenElse = "if_then_else";
// The call, or null where the expression is something else.
const CallNode* AsIfThenElse(const Expr& expr);

struct Intrinsic {
  std::string name;
  std::string signature;  // for messages and docs: "exp(x: float) -> float"
  bool pure = true;       // no effect, and the same value for the same arguments
  // The type does not follow from the arguments: the text form is name<dtype>(...).
  bool explicit_dtype = false;
  // Checks the arguments and gives the type of the result; for explicit_dtype it returns `given`.
  // Throws TypeError.
  std::function<DataType(const std::vector<Expr>& args, DataType given)> infer;
  // Of vectors, it is computed lane by lane.
  bool lane_wise = false;
  // All arguments have one type: a literal among them takes the type of the others.
  bool one_type = false;
  // Evaluating it where its value is not needed could fault.
  bool may_fault = true;
};

// Throws if the name is taken.
void RegisterIntrinsic(Intrinsic intrinsic);
// Null where there is none.
const Intrinsic* FindIntrinsic(std::string_view name);
// Called with the first part of a name "x.f" that is not known, before it is given up: may register
// it. Set by Initialize.
using NamespaceFinder = std::function<void(std::string_view prefix)>;
void SetNamespaceFinder(NamespaceFinder finder);
std::vector<std::string> IntrinsicNames();

}  // namespace tern::ir

#endif  // TERN_IR_INTRINSIC_H_
