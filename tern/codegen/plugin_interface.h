// SPDX-License-Identifier: Apache-2.0
//
// What a code generator from outside and the compiler must have in common: the headers, byte for
// byte, and the C++ compiler.
#ifndef TERN_CODEGEN_PLUGIN_INTERFACE_H_
#define TERN_CODEGEN_PLUGIN_INTERFACE_H_

#include "tern/codegen/header_hash.h"

#define TERN_CODEGEN_INTERFACE "headers " TERN_HEADER_HASH ", compiler " __VERSION__

#endif  // TERN_CODEGEN_PLUGIN_INTERFACE_H_
