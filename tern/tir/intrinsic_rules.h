// SPDX-License-Identifier: Apache-2.0
//
// What becomes of intrinsics on their way to a code generator. A rule rewrites calls of one
// intrinsic, for one target kind or for all; the pass lower_intrinsics applies them. There is a
// rule for all kinds for every intrinsic that can be written with others (tern/tir/math); what is
// left for a code generator to take is listed in docs/lowered_tir.md.
#ifndef TERN_TIR_INTRINSIC_RULES_H_
#define TERN_TIR_INTRINSIC_RULES_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ir/expr.h"
#include "tern/target/target.h"

namespace tern::tir {

// What the call becomes: null where the rule does not apply, the call itself where the code
// generator takes it as it is. Arguments are variables or constants, so a rule may use them often.
// target::CurrentTarget() is the function's target, if it has one.
using LoweringRule = std::function<ir::Expr(const ir::CallNode* call)>;

// `kind` is a target kind, or "" for all of them. Of several rules the latest is asked first.
void RegisterLoweringRule(const std::string& intrinsic, const std::string& kind, LoweringRule rule);
// The code generator of `kind` takes these as they are, on operands that `takes` says yes to.
void KeepIntrinsics(const std::string& kind, const std::vector<std::string>& intrinsics,
                    const std::function<bool(DataType operand)>& takes);
// The rule that keeps a call on operands that `takes` says yes to.
LoweringRule KeepingRule(std::function<bool(DataType operand)> takes);
inline bool IsWideFloat(DataType dtype) { return dtype.is_float() && dtype.bits() >= 32; }

// Asks the rules of the kind, then those for all; null where none applies.
ir::Expr ApplyLoweringRules(const ir::CallNode* call, std::string_view kind);
bool HasLoweringRule(std::string_view intrinsic, std::string_view kind);
// Whether the code generator of the target takes the call as it is, by a rule that says so.
bool IsKept(const ir::CallNode* call, const target::Target& target);

}  // namespace tern::tir

#endif  // TERN_TIR_INTRINSIC_RULES_H_
