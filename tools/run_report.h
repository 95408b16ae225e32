// SPDX-License-Identifier: Apache-2.0
//
// What `tern run` and `tern-run` share: reading options of the form name=value, and the lines they
// print.
#ifndef TOOLS_RUN_REPORT_H_
#define TOOLS_RUN_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>

#include "tern/runtime/runner.h"

namespace tern::tools {

// "x=file.npy" -> {"x", "file.npy"}; throws with the option's name where there is no '=' or nothing
// on one side of it.
std::pair<std::string, std::string> SplitAssignment(const std::string& option,
                                                    const std::string& text);
// Throws with the option's name on other text.
int64_t ParseInteger(const std::string& option, const std::string& text);
double ParseNumber(const std::string& option, const std::string& text);

// The function of that name; the only one, but for its parts, where `name` is empty. Throws with
// the names there are.
const runtime::FunctionInfo& FindEntry(const runtime::ArtifactMeta& meta, const std::string& name);
// A function whose first call prepares what it needs of the constant tensors among its arguments.
ffi::Function PreparingFunction(const ffi::Module& module, const runtime::ArtifactMeta& meta,
                                const runtime::FunctionInfo& info);
// The tensor of parameter `name` after a run. Throws with the tensors there are; `option` stands in
// the message.
runtime::Tensor FindTensor(const runtime::FunctionInfo& function, const runtime::RunResult& result,
                           const std::string& option, const std::string& name);

// "matmul  cpu:0  n=128 k=128  1.23 ms  C: 128x128 float32 sum=12.5"
std::string SummaryLine(const runtime::FunctionInfo& function, const std::string& device,
                        const runtime::RunResult& result, bool sums = true);
// "100 calls: best 1.23 ms, median 1.3 ms; on the device: median 1.21 ms"
std::string TimesLine(int calls, const runtime::RunResult& result);
// "C: largest error 1.2e-06 absolute, 3.1e-06 relative; within 1e-05"
std::string ErrorLine(const std::string& name, const runtime::MaxError& error, double tolerance);
inline bool IsWithin(const runtime::MaxError& error, double tolerance) {
  return error.scaled <= tolerance;
}

}  // namespace tern::tools

#endif  // TOOLS_RUN_REPORT_H_
