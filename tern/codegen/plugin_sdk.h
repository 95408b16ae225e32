// SPDX-License-Identifier: Apache-2.0
//
// For authors of code generators outside of the tree.
#ifndef TERN_CODEGEN_PLUGIN_SDK_H_
#define TERN_CODEGEN_PLUGIN_SDK_H_

#include "tern/codegen/backend_registrar.h"
#include "tern/codegen/plugin_interface.h"

// The library's entry:
//   TERN_CODEGEN_PLUGIN(registrar) { registrar.AddTargetKind(...); ... }
// What it throws becomes the error of the load; then nothing of it was registered.
#define TERN_CODEGEN_PLUGIN(registrar)                                               \
  extern "C" {                                                                       \
  extern __attribute__((visibility("default"))) const char tern_codegen_interface[]; \
  const char tern_codegen_interface[] = TERN_CODEGEN_INTERFACE;                      \
  __attribute__((visibility("default"))) void tern_codegen_plugin(                   \
      ::tern::codegen::BackendRegistrar& registrar);                                 \
  }                                                                                  \
  void tern_codegen_plugin([[maybe_unused]] ::tern::codegen::BackendRegistrar& registrar)

#endif  // TERN_CODEGEN_PLUGIN_SDK_H_
