// SPDX-License-Identifier: Apache-2.0
#ifndef TOOLS_FINISH_OUTPUT_H_
#define TOOLS_FINISH_OUTPUT_H_

#include <exception>
#include <string>

namespace tern::tools {

// Several lines, maybe, and nothing that a terminal would obey: errors quote files.
std::string ErrorText(const std::exception& error);

// For the end of main: `status`, or 1, with a message, where what was printed did not all arrive.
int FinishOutput(const char* program, int status);

}  // namespace tern::tools

#endif  // TOOLS_FINISH_OUTPUT_H_
