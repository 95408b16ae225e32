// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_COPY_WITH_FRESH_DEFS_H_
#define TERN_TIR_COPY_WITH_FRESH_DEFS_H_

#include "tern/ir/mutator.h"
#include "tern/tir/stmt.h"

namespace tern::tir {

// A copy of `stmt` whose free variables are replaced as `map` says, and in which every variable and
// buffer that `stmt` defines is a new one of the same name: copies can stand in one another's
// scope.
Stmt CopyWithFreshDefs(const Stmt& stmt, ir::VarMap map = {});

}  // namespace tern::tir

#endif  // TERN_TIR_COPY_WITH_FRESH_DEFS_H_
