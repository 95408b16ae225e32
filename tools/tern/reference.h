// SPDX-License-Identifier: Apache-2.0
//
// Comparing what a compiled function did with what the interpreter does.
#ifndef TOOLS_TERN_REFERENCE_H_
#define TOOLS_TERN_REFERENCE_H_

#include <string>

#include "tern/ir/module.h"
#include "tern/runtime/runner.h"

namespace tern::tools {

// Runs the function as written, on the same arguments, in the interpreter.
runtime::RunResult RunReference(const ir::IRModule& module, const runtime::FunctionInfo& info,
                                const runtime::RunOptions& options);

// The largest error over all tensors that the function writes, and whether each is within the tolerance of its type
// (docs/numerics.md).
struct Comparison {
  runtime::MaxError error;
  bool within_tolerance = true;
};
Comparison CompareResults(const runtime::FunctionInfo& info, const runtime::RunResult& actual,
                          const runtime::RunResult& expected);

}  // namespace tern::tools

#endif  // TOOLS_TERN_REFERENCE_H_
