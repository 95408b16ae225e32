// SPDX-License-Identifier: Apache-2.0
//
// Parts of `tern inspect`.
#ifndef TOOLS_TERN_INSPECT_H_
#define TOOLS_TERN_INSPECT_H_

#include <string>

#include "tools/tern/commands.h"

namespace tern::tools {

// A line of what the file says of itself: it stays one.
void PrintLine(const char* what, const std::string& text);

// Of an ONNX model: what it was made by, its inputs and outputs, how many nodes of which operators,
// how large its weights are; with the format "nodes" the nodes instead.
void InspectOnnx(const InspectOptions& options);

}  // namespace tern::tools

#endif  // TOOLS_TERN_INSPECT_H_
