// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/usage_error.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "tern/ffi/error.h"
#include "tern/ffi/text.h"

namespace tern::tools {
namespace {

// "--target", "-t", ...
std::vector<std::string> Spellings(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : ListedOptions(command)) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// What the words that nobody took say.
std::string ExtraText(const CLI::App& command, const std::vector<std::string>& words) {
  auto option = std::find_if(words.begin(), words.end(),
                             [](const std::string& word) { return word.starts_with("-"); });
  if (option == words.end())
    return "unexpected argument " + (words.empty() ? "" : "'" + words[0] + "'");
  // "--targt=llvm"
  std::string name = option->substr(0, option->find('='));
  return "unknown option " + name + ffi::DidYouMean(name, Spellings(command));
}

std::string MissingText(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    std::string name = option->get_positional() ? "no " + option->get_name() + " is given"
                                                : option->get_name(false, true) + " is missing";
    return name + ": " + option->get_description();
  }
  return "an argument is missing";
}

}  // namespace

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> ListedOptions(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) {
    return !option->get_group().empty() && !option->get_positional();
  });
}

std::string UsageError(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<CLI::App*> chosen = const_cast<CLI::App&>(app).get_subcommands();
  if (chosen.empty()) return std::string(error.what()) + "; see tern --help";
  const CLI::App& command = *chosen[0];
  std::string text = error.what();
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    text = ExtraText(command, app.remaining(true));
  } else if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError)) {
    text = MissingText(command);
  } else if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch)) {
    text = text.substr(0, text.find(':')) + " needs a value";
  }
  return command.get_name() + ": " + text + "; see tern " + command.get_name() + " --help";
}

void CheckCommand(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) return;
  std::string word = argv[1];
  std::vector<std::string> names;
  for (const CLI::App* command : Commands(app)) names.push_back(command->get_name());
  if (word.starts_with("-")) {
    std::vector<std::string> options = Spellings(app);
    if (std::find(options.begin(), options.end(), word) != options.end()) return;
    TERN_THROW(ValueError) << "unknown option " << word << ffi::DidYouMean(word, options)
                           << "; first comes a command: " << ffi::Join(names);
  }
  if (std::find(names.begin(), names.end(), word) != names.end()) return;
  TERN_THROW(ValueError) << "unknown command '" << word << "'" << ffi::DidYouMean(word, names)
                         << "; the commands are: " << ffi::Join(names);
}

CLI::Validator OneOf(std::vector<std::string> words) {
  std::string expected = "expected ";
  for (size_t i = 0; i < words.size(); ++i)
    expected += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
  std::string description;
  for (const std::string& word : words) description += (description.empty() ? "" : "|") + word;
  return CLI::Validator(
      [words = std::move(words), expected](const std::string& value) {
        bool is_one = std::find(words.begin(), words.end(), value) != words.end();
        return is_one ? std::string()
                      : expected + ", got '" + value + "'" + ffi::DidYouMean(value, words);
      },
      description);
}

CLI::Validator IntegerBetween(int64_t least, int64_t most) {
  return CLI::Validator(
      [least, most](const std::string& value) {
        int64_t number = 0;
        auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
        bool is_integer = status == std::errc() && end == value.data() + value.size();
        if (is_integer && number >= least && number <= most) return std::string();
        std::string range = most == std::numeric_limits<int64_t>::max()
                                ? " of at least " + std::to_string(least)
                                : " from " + std::to_string(least) + " to " + std::to_string(most);
        return "expected an integer" + range + ", got '" + value + "'";
      },
      "");
}

CLI::Validator Number() {
  return CLI::Validator(
      [](const std::string& value) {
        double number = 0;
        auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
        bool is_number = status == std::errc() && end == value.data() + value.size();
        return is_number ? std::string() : "expected a number, got '" + value + "'";
      },
      "");
}

}  // namespace tern::tools
