// SPDX-License-Identifier: Apache-2.0
//
// What the modules of c_api.h are made of.
#ifndef TERN_RUNTIME_C_API_C_API_MODULE_H_
#define TERN_RUNTIME_C_API_C_API_MODULE_H_

#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/c_api.h"

struct TernModule {
  tern::ffi::Module module;
  tern::runtime::ArtifactMeta meta;
};

#endif  // TERN_RUNTIME_C_API_C_API_MODULE_H_
