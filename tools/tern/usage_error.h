// SPDX-License-Identifier: Apache-2.0
//
// What is said of a command line that cannot be understood, and the checks of options' values: in
// the words of all other errors, where CLI11 has its own.
#ifndef TOOLS_TERN_USAGE_ERROR_H_
#define TOOLS_TERN_USAGE_ERROR_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tern::tools {

// "compile: unknown option --tagret (did you mean --target?); see tern compile --help"
std::string UsageError(const CLI::App& app, const CLI::ParseError& error);
// Throws where the first word is no command and no option of the program itself.
void CheckCommand(const CLI::App& app, int argc, char** argv);

// "expected flush or keep, got 'x'", behind the option's name.
CLI::Validator OneOf(std::vector<std::string> words);
// "expected an integer from 1 to 1000, got 'x'"
CLI::Validator IntegerBetween(int64_t least, int64_t most);
// "expected a number, got 'x'"
CLI::Validator Number();

// The commands, without those that are for the program itself.
std::vector<const CLI::App*> Commands(const CLI::App& app);
// The options that help lists.
std::vector<const CLI::Option*> ListedOptions(const CLI::App& command);

}  // namespace tern::tools

#endif  // TOOLS_TERN_USAGE_ERROR_H_
