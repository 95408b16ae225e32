// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_ANALYSIS_HAS_FLOAT64_H_
#define TERN_TIR_ANALYSIS_HAS_FLOAT64_H_

#include "tern/target/target.h"

namespace tern::tir {

// Whether the target computes with float64: all do that have no attribute "float64" to say no. What
// is computed in float64 for its digits alone is then computed another way.
inline bool HasFloat64(const target::Target& target) {
  if (!target) return true;
  auto it = target->attrs.find("float64");
  return it == target->attrs.end() || it->second.As<bool>();
}

}  // namespace tern::tir

#endif  // TERN_TIR_ANALYSIS_HAS_FLOAT64_H_
