// SPDX-License-Identifier: Apache-2.0
//
// Calls of the suite as lines of a batch, which tern-run makes (tools/tern_run.cc).
#ifndef TOOLS_TERN_CTS_BATCH_H_
#define TOOLS_TERN_CTS_BATCH_H_

#include <string>

#include "tern/ffi/module.h"
#include "tern/runtime/runner.h"

namespace tern::tools {

// Writes a compiled program to `stem` with the ending that its host's libraries have; returns the
// file. Throws where it cannot be linked.
std::string WriteProgram(const ffi::Module& compiled, const runtime::ArtifactMeta& meta,
                         const std::string& stem);

// A call of a function of `file`, with the arguments that the options make.
std::string CallLine(const std::string& file, const runtime::FunctionInfo& function,
                     const runtime::RunOptions& options);

}  // namespace tern::tools

#endif  // TOOLS_TERN_CTS_BATCH_H_
