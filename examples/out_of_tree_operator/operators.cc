// SPDX-License-Identifier: Apache-2.0
//
// Operators of com.example. The formula is all that there is to write: shapes, types, code for
// every target and fusion with other operators come from it.
#include "tern/codegen/plugin_sdk.h"
#include "tern/graph/op.h"

namespace {

using tern::graph::AttrKind;
using tern::graph::Call;
using tern::graph::Expr;

// Smoothstep of com.example: 0 below `low`, 1 above `high`, and a cubic between them.
void RegisterSmoothstep() {
  tern::graph::RegisterOp({.name = "com_example_Smoothstep",
                           .summary = "0 below low, 1 above high, and a smooth step between them",
                           .inputs = {"x"},
                           .attrs = {{"low", AttrKind::kFloat, tern::ffi::Any(0.0)},
                                     {"high", AttrKind::kFloat, tern::ffi::Any(1.0)}},
                           .compute = [](Call& c) {
                             double low = c.Float("low"), width = c.Float("high") - low;
                             TERN_CHECK(width > 0) << "high is above low";
                             return c.Elementwise([&](const Expr& x) {
                               auto number = [&](double value) {
                                 return tern::tir::Const(x.dtype(), value);
                               };
                               Expr t = (x - number(low)) * number(1 / width);
                               t = tern::tir::Min(tern::tir::Max(t, number(0)), number(1));
                               return t * t * (number(3) - number(2) * t);
                             });
                           }});
}

}  // namespace

TERN_CODEGEN_PLUGIN(registrar) { RegisterSmoothstep(); }
