// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_PASSES_H_
#define TERN_TIR_TRANSFORM_PASSES_H_

namespace tern::tir {

// Registers the passes of this directory by their names.
void RegisterPasses();

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_PASSES_H_
