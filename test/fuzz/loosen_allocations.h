// SPDX-License-Identifier: Apache-2.0
#ifndef TEST_FUZZ_LOOSEN_ALLOCATIONS_H_
#define TEST_FUZZ_LOOSEN_ALLOCATIONS_H_

#include "tern/tir/stmt.h"
#include "test/fuzz/random.h"

namespace tern::fuzz {

// The same program with some of its local arrays larger than needed, used from the middle on, and
// allocated outside of loops and branches that alone use them.
tir::Stmt LoosenAllocations(const tir::Stmt& stmt, Random* random);

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_LOOSEN_ALLOCATIONS_H_
