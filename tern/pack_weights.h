// SPDX-License-Identifier: Apache-2.0
//
// Prepacking when a model is compiled, instead of when it is loaded.
#ifndef TERN_PACK_WEIGHTS_H_
#define TERN_PACK_WEIGHTS_H_

#include "tern/compile_model.h"

namespace tern {

// How much larger packed weights may be than those that they take the place of.
inline constexpr double kMostPackedGrowth = 1.25;
// Where nothing can be packed later.
inline constexpr double kAnyGrowth = 1e9;

// Runs the prepacking of `model` that only moves and converts elements, and whose result takes the
// place of the original: it is at most `most_growth` of what nothing else reads. What is packed is
// a weight then, and the original is gone. All else is left for when the model is loaded.
//
// `kernels` are the functions as they were written, `target` what the model is compiled for. The
// functions are compiled for this machine's baseline, and the bytes are the same on all machines:
// nothing is reassociated or contracted.
void PackWeights(const ir::IRModule& kernels, const target::Target& target,
                 const CompileOptions& options, double most_growth, CompiledModel* model);

}  // namespace tern

#endif  // TERN_PACK_WEIGHTS_H_
