// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_ARITH_INLINE_LIMIT_H_
#define TERN_ARITH_INLINE_LIMIT_H_

#include "tern/ir/expr.h"

namespace tern::arith {

// Whether an analysis may put a definition in place of its variable. Each let that is used twice
// doubles what the next one inlines, so a large definition stays a variable.
bool MayInline(const ir::Expr& value);

}  // namespace tern::arith

#endif  // TERN_ARITH_INLINE_LIMIT_H_
