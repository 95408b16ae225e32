// SPDX-License-Identifier: Apache-2.0
//
// What a lowered function makes use of, for a generator that declares no more than that: compilers
// warn about the rest.
#ifndef TERN_CODEGEN_USAGE_H_
#define TERN_CODEGEN_USAGE_H_

#include <unordered_set>

#include "tern/tir/function.h"

namespace tern::codegen {

struct Usage {
  std::unordered_set<const ir::VarNode*> vars;        // read by something that is not itself unused
  std::unordered_set<const ir::BufferNode*> buffers;  // loaded or stored
  std::unordered_set<const ir::VarNode*> written;     // addresses of the buffers that are stored to
  bool asserts = false;                               // there is an assert
};

Usage FindUsage(const tir::PrimFunc& function);

// Whether evaluating the expression does more than give a value.
bool HasEffect(const ir::Expr& expr);
// Whether its value can change while no variable does.
bool ReadsMemory(const ir::Expr& expr);
bool HasLet(const ir::Expr& expr);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_USAGE_H_
