// SPDX-License-Identifier: Apache-2.0
#ifndef TEST_FUZZ_EVALUATE_EXPR_H_
#define TEST_FUZZ_EVALUATE_EXPR_H_

#include <optional>
#include <unordered_map>

#include "tern/ir/expr.h"

namespace tern::fuzz {

using VarValues = std::unordered_map<const ir::VarNode*, int64_t>;

// The value of an integer or bool expression over variables, as the interpreter defines it; nullopt
// where it faults or overflows.
std::optional<int64_t> Evaluate(const ir::Expr& expr, const VarValues& values);

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_EVALUATE_EXPR_H_
