// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/reference.h"

#include <algorithm>

#include "tern/tir/interpreter/interpreter.h"

namespace tern::tools {
namespace {

// Held against |actual - expected| / max(1, |expected|).
double Tolerance(DataType dtype) {
  if (!dtype.is_float()) return 0;
  if (dtype.is_bfloat16()) return 2e-2;
  switch (dtype.bits()) {
    case 16:
      return 2e-3;
    case 32:
      return 1e-5;
    default:
      return 1e-12;
  }
}

}  // namespace

runtime::RunResult RunReference(const ir::IRModule& module, const runtime::FunctionInfo& info,
                                const runtime::RunOptions& options) {
  runtime::RunResult result;
  std::vector<ffi::Any> args = runtime::MakeArguments(info, options, &result.dims);
  tir::Interpret(module, info.name, args);
  for (const ffi::Any& arg : args) result.args.push_back(arg.TryAs<runtime::Tensor>().value_or(runtime::Tensor()));
  return result;
}

Comparison CompareResults(const runtime::FunctionInfo& info, const runtime::RunResult& actual,
                          const runtime::RunResult& expected) {
  Comparison comparison;
  for (size_t i = 0; i < info.params.size(); ++i) {
    if (!info.params[i].is_output) continue;
    runtime::MaxError error = runtime::CompareTensors(actual.args[i], expected.args[i]);
    comparison.error.absolute = std::max(comparison.error.absolute, error.absolute);
    comparison.error.relative = std::max(comparison.error.relative, error.relative);
    comparison.error.scaled = std::max(comparison.error.scaled, error.scaled);
    // Written so that a NaN is not within.
    if (!(error.scaled <= Tolerance(info.params[i].dtype))) comparison.within_tolerance = false;
  }
  return comparison;
}

}  // namespace tern::tools
