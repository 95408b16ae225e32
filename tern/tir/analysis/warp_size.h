// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_WARP_SIZE_H_
#define TERN_TIR_ANALYSIS_WARP_SIZE_H_

#include "tern/tir/function.h"

namespace tern::tir {

namespace attr {
// Int, of functions: how many threads make a warp.
inline constexpr const char* kWarpSize = "warp_size";
}  // namespace attr

// A ballot has a bit for each lane.
inline constexpr int64_t kMaxWarpSize = 64;

// What the function says, or its target, or 32. Throws where it is no power of two up to 64.
int64_t WarpSizeOf(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_WARP_SIZE_H_
