// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_PREPARED_FUNCTION_H_
#define TERN_RUNTIME_PREPARED_FUNCTION_H_

#include "tern/ffi/function.h"
#include "tern/runtime/artifact/artifact.h"

namespace tern::runtime {

// A function that is called as `info`, one of `meta`, is. What that one needs of its constant
// tensors is made here, once, of those among `args`, the arguments of a call; later calls do not
// look at theirs. Where there is nothing to prepare it is the function of the module itself. Throws
// where an argument that counts is no tensor, or not of the type and shape.
ffi::Function Prepare(const ffi::Module& module, const ArtifactMeta& meta, const FunctionInfo& info,
                      ffi::Args args);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_PREPARED_FUNCTION_H_
