// SPDX-License-Identifier: Apache-2.0
#ifndef TOOLS_TERN_EXPLAIN_H_
#define TOOLS_TERN_EXPLAIN_H_

#include <string>

#include "tern/model_report.h"

namespace tern::tools {

// "conv + add + relu"
std::string OpsText(const graph::Kernel& call);

// The report as one page that needs nothing else.
std::string ReportPage(const ModelReport& report, const std::string& model,
                       const std::string& target, const std::string& graph_text);

}  // namespace tern::tools

#endif  // TOOLS_TERN_EXPLAIN_H_
