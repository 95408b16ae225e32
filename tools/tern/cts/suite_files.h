// SPDX-License-Identifier: Apache-2.0
//
// The programs of the conformance suite, built into the tool from test/cts and examples/kernels,
// so that it runs wherever the tool is.
#ifndef TOOLS_TERN_CTS_SUITE_FILES_H_
#define TOOLS_TERN_CTS_SUITE_FILES_H_

#include <string_view>
#include <vector>

namespace tern::tools {

struct SuiteFile {
  std::string_view name, text;
};

// By name. Defined in a file that CMake generates.
const std::vector<SuiteFile>& SuiteFiles();
// run.sh of a folder with an exported suite.
std::string_view RunScript();

}  // namespace tern::tools

#endif  // TOOLS_TERN_CTS_SUITE_FILES_H_
