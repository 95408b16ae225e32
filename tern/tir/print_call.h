// SPDX-License-Identifier: Apache-2.0
//
// print("text", value...): a statement that writes a line to standard output, for debugging.
//
// On hosts it calls a function of the runtime; kernels have it where the device has printf.
#ifndef TERN_TIR_PRINT_CALL_H_
#define TERN_TIR_PRINT_CALL_H_

#include "tern/ir/expr.h"

namespace tern::tir {

namespace intrinsic {
inline constexpr const char* kPrint = "print";
}

// call_packed("runtime.print", ...), which does the same on hosts.
ir::Expr PackedPrint(const ir::CallNode* print);

void RegisterPrint();

}  // namespace tern::tir

#endif  // TERN_TIR_PRINT_CALL_H_
