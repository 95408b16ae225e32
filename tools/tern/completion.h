// SPDX-License-Identifier: Apache-2.0
//
// tern completion: scripts that complete commands and options in a shell, made of the description
// of the command line itself, so that they say what this program takes.
#ifndef TOOLS_TERN_COMPLETION_H_
#define TOOLS_TERN_COMPLETION_H_

#include <CLI/CLI.hpp>
#include <string>

namespace tern::tools {

// For "bash", "zsh" or "fish".
std::string CompletionScript(const CLI::App& app, const std::string& shell);

}  // namespace tern::tools

#endif  // TOOLS_TERN_COMPLETION_H_
