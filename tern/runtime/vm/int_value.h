// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_VM_INT_VALUE_H_
#define TERN_RUNTIME_VM_INT_VALUE_H_

#include "tern/runtime/vm/program.h"

namespace tern::runtime::vm {

// The value of an expression of more than one token; both are verified.
int64_t ComputeInt(const IntExpr& expr, const int64_t* registers);

// The value, with registers as they are. Throws on overflow and division by zero.
inline int64_t ValueOf(const IntExpr& expr, const int64_t* registers) {
  if (expr.is_const()) return expr.tokens[0].value;
  if (expr.is_register()) return registers[expr.tokens[0].value];
  return ComputeInt(expr, registers);
}

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_INT_VALUE_H_
