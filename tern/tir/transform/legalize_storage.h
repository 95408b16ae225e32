// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_LEGALIZE_STORAGE_H_
#define TERN_TIR_TRANSFORM_LEGALIZE_STORAGE_H_

#include "tern/tir/function.h"

namespace tern::tir {

// Float types of 8 and 16 bits that the target does not store (TargetKind::stores) are gone: their
// values and memory are unsigned integers of the same bits, and their conversions from and to
// float32 are written out. What legalize_compute does is done first: it leaves no other operation
// on them.
PrimFunc LegalizeStorage(const PrimFunc& function);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_LEGALIZE_STORAGE_H_
