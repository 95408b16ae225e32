// SPDX-License-Identifier: Apache-2.0
//
// Comparing what a compiled function did with what the interpreter does.
#ifndef TOOLS_TERN_REFERENCE_H_
#define TOOLS_TERN_REFERENCE_H_

#include <string>
#include <vector>

#include "tern/ir/module.h"
#include "tern/runtime/runner.h"
#include "tools/run_report.h"

namespace tern::tools {

// Runs the function as written, on the same arguments, in the interpreter.
runtime::RunResult RunReference(const ir::IRModule& module, const runtime::FunctionInfo& info,
                                const runtime::RunOptions& options);

// How far an element of the type may be from what it should be (docs/numerics.md).
double Tolerance(DataType dtype);

// How far one tensor is from what it should be, and how far it may be.
struct Comparison {
  std::string name;
  runtime::MaxError error;
  double tolerance = 0;
  bool within() const { return IsWithin(error, tolerance); }
};
// Of every tensor that the function writes.
std::vector<Comparison> CompareResults(const runtime::FunctionInfo& info,
                                       const runtime::RunResult& actual,
                                       const runtime::RunResult& expected);

}  // namespace tern::tools

#endif  // TOOLS_TERN_REFERENCE_H_
