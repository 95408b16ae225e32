// SPDX-License-Identifier: Apache-2.0
//
// The subcommands of `tern`, one file each. Each adds itself to the command line and runs when it is chosen.
#ifndef TOOLS_TERN_COMMANDS_H_
#define TOOLS_TERN_COMMANDS_H_

#include <CLI/CLI.hpp>

namespace tern::tools {

void AddCompileCommand(CLI::App* app);
void AddCtsCommand(CLI::App* app, int* exit_code);
void AddInspectCommand(CLI::App* app);
void AddOptCommand(CLI::App* app);
void AddRunCommand(CLI::App* app, int* exit_code);
void AddTargetsCommand(CLI::App* app);

}  // namespace tern::tools

#endif  // TOOLS_TERN_COMMANDS_H_
