// SPDX-License-Identifier: Apache-2.0
#include "tern/extra/blas.h"
#include "tern/runtime/plugin_sdk.h"

TERN_PLUGIN(host, registrar) {
  using tern::plugin::Check;
  Check(
      registrar->add_function(registrar, "extra.gemm_float32", tern::extra::GemmFloat32, nullptr));
  Check(registrar->add_function(registrar, "extra.gemm_add_float32", tern::extra::GemmAddFloat32,
                                nullptr));
  Check(
      registrar->add_function(registrar, "extra.gemm_float64", tern::extra::GemmFloat64, nullptr));
}
