// SPDX-License-Identifier: Apache-2.0
//
// Matrices of SIMD-groups as tensor intrinsics, and the rule that uses them.
//
// A fragment is memory of a SIMD-group, of scope fragment.*: tiles of 8 x 8, [..., 32, 2], of which
// lane l has the slice [..., l, 0..2]. Element (i, j) of a tile is at [i * 4 + j // 2, j % 2]. That
// is a way to speak of it: Metal does not say which lane has an element, so nothing but these
// intrinsics touches a fragment.
#ifndef TERN_BACKEND_METAL_SCHEDULE_SIMDGROUP_MATMUL_H_
#define TERN_BACKEND_METAL_SCHEDULE_SIMDGROUP_MATMUL_H_

#include "tern/target/target.h"

namespace tern::backend::metal {

// simdgroup_load_a_f16 and the others of schedule::MatrixInstructions, and its rule
// `simdgroup_matmul`. `has_matrices`: whether a target of the kind has them.
void RegisterSimdgroupMatmul(bool (*has_matrices)(const target::Target&));

}  // namespace tern::backend::metal

#endif  // TERN_BACKEND_METAL_SCHEDULE_SIMDGROUP_MATMUL_H_
