// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/reference.h"

#include "tern/tir/interpreter/interpreter.h"

namespace tern::tools {

// Held against |actual - expected| / max(1, |expected|).
double Tolerance(DataType dtype) {
  if (!dtype.is_float()) return 0;
  if (dtype.is_bfloat16()) return 2e-2;
  if (dtype.is_float4()) return 0.5;
  if (dtype.is_float8()) return dtype.code() == kTernTypeFloat8E4M3FN ? 0.13 : 0.26;
  switch (dtype.bits()) {
    case 16:
      return 2e-3;
    case 32:
      return 1e-5;
    default:
      return 1e-12;
  }
}

runtime::RunResult RunReference(const ir::IRModule& module, const runtime::FunctionInfo& info,
                                const runtime::RunOptions& options) {
  runtime::RunResult result;
  std::vector<ffi::Any> args = runtime::MakeArguments(info, options, &result.dims);
  tir::Interpret(module, info.name, args);
  for (const ffi::Any& arg : args)
    result.args.push_back(arg.TryAs<runtime::Tensor>().value_or(runtime::Tensor()));
  return result;
}

std::vector<Comparison> CompareResults(const runtime::FunctionInfo& info,
                                       const runtime::RunResult& actual,
                                       const runtime::RunResult& expected) {
  std::vector<Comparison> outputs;
  for (size_t i = 0; i < info.params.size(); ++i) {
    const runtime::ParamInfo& param = info.params[i];
    if (!param.is_output) continue;
    outputs.push_back({param.name, runtime::CompareTensors(actual.args[i], expected.args[i]),
                       Tolerance(param.dtype)});
  }
  return outputs;
}

}  // namespace tern::tools
