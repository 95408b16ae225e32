// SPDX-License-Identifier: Apache-2.0
//
// The report of a model (model_report.h) for people: as text, and as a page.
#ifndef TERN_REPORT_TEXT_H_
#define TERN_REPORT_TEXT_H_

#include <string>

#include "tern/model_report.h"

namespace tern {

// "conv + add + relu"
std::string OpsText(const graph::Kernel& call);

// Of whom, and on what.
struct ReportHead {
  std::string model, target;
};

// A line for each call, what was not fused and why, generic schedules, memory.
std::string ReportText(const ModelReport& report, const ReportHead& head);
// One kernel: the nodes that its calls compute, its loops, and the schedule that the rules chose.
// Throws where there is no such one.
std::string KernelText(const ModelReport& report, const std::string& kernel);
// The report as one page that needs nothing else.
std::string ReportPage(const ModelReport& report, const ReportHead& head,
                       const std::string& graph_text);

// A line that says that weights are inputs too, which costs speed; "" where none is.
std::string OpenWeightsNote(const runtime::vm::Program& program);

}  // namespace tern

#endif  // TERN_REPORT_TEXT_H_
