// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_DISTINCT_TENSORS_H_
#define TERN_TIR_ANALYSIS_DISTINCT_TENSORS_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Whether memory at one address variable is never reached through another one, where it is written:
// callers pass tensors that do not overlap (make_packed_api checks it), and the function makes no
// buffers at addresses of unknown origin. A function that says may_alias promises nothing.
bool TensorsAreDistinct(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_DISTINCT_TENSORS_H_
