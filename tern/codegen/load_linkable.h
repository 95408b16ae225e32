// SPDX-License-Identifier: Apache-2.0
//
// From host code that can be linked to host code that runs here.
#ifndef TERN_CODEGEN_LOAD_LINKABLE_H_
#define TERN_CODEGEN_LOAD_LINKABLE_H_

#include "tern/ffi/module.h"

namespace tern::codegen {

// A runnable module with the functions and imports of `module`: itself where it is runnable, else
// linked and loaded. Throws where it is neither runnable nor linkable.
ffi::Module LoadLinkable(const ffi::Module& module);

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_LOAD_LINKABLE_H_
