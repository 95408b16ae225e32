// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_PARTITION_LOOPS_H_
#define TERN_TIR_TRANSFORM_PARTITION_LOOPS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// A loop whose body asks, in the condition of an `if` or of a value (or in a
// definition of type bool, which stands for one), whether something linear in its variable is below
// or above a bound runs in up to three loops: before, inside and after the range in which all those
// comparisons hold. There they are `true`. The tail of a split loop and the borders of a padded one
// are apart then, and the main part has no condition. Where the range is constant, as it must be
// for vectors, it has to be at least half of the loop. What is inside of the loops before and after
// is partitioned again where they have one iteration; else code would grow by two bodies per loop
// of a nest, for little. Where all comparisons are about the end of a tile, an unrolled loop of up
// to 8 iterations, what comes after has a body for each number of iterations that may be left: the
// last tile is in registers too. A parallel loop asks in each iteration whether it is such a tile,
// and is not partitioned otherwise. Loops stay as they are that contain a block, a barrier, a
// thread loop, shared memory or more than a thousand nodes.
PrimFunc PartitionLoops(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_PARTITION_LOOPS_H_
