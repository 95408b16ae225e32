// SPDX-License-Identifier: Apache-2.0
//
// tern explain: what a model becomes on a target, and why. Nothing is compiled.
#include <cstdio>

#include "tern/compile_model.h"
#include "tern/report_text.h"
#include "tern/runtime/artifact/file_bytes.h"
#include "tern/tir/text.h"
#include "tools/tern/commands.h"
#include "tools/tern/source.h"

namespace tern::tools {

void Explain(const ExplainOptions& options) {
  ir::IRModule module = ReadSource(
      options.input,
      ParseImportOptions(options.input_shapes, options.dims, options.freeze, options.bound));
  TERN_CHECK(IsModel(module)) << options.input
                              << ": no model; for the schedules of a .tir file's functions, use "
                                 "tern opt --explain-schedule";
  target::Target target = ParseTarget(options.target, options.host);
  ModelOptions model_options;
  model_options.fuse = options.fuse;
  model_options.strict_math = options.strict_math;
  model_options.precision = options.precision;
  model_options.offload = options.offload;
  ir::IRModule graph = OptimizeGraph(module, {target}, model_options);
  graph::LoweredModel lowered = LowerModel(graph, target, model_options);
  ModelReport report = ReportModel(lowered, target);
  if (!options.kernel.empty()) {
    std::fputs(KernelText(report, options.kernel).c_str(), stdout);
    return;
  }
  ReportHead head{options.input, target->str()};
  if (!options.html.empty()) {
    runtime::WriteFile(options.html, ReportPage(report, head, tir::PrintModule(graph)));
    std::printf("%s: %zu calls of %zu kernels\n", options.html.c_str(), report.calls.size(),
                report.kernels.size());
    return;
  }
  std::fputs(ReportText(report, head).c_str(), stdout);
  if (std::string note = OpenWeightsNote(lowered.program); !note.empty())
    std::printf("\nNote: %s\n", note.c_str());
}

}  // namespace tern::tools
