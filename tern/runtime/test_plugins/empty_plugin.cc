// SPDX-License-Identifier: Apache-2.0
//
// A plugin that brings nothing: no device, no kernels.
#include "tern/runtime/plugin_sdk.h"

TERN_PLUGIN(host, registrar) {}
