// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/completion.h"

#include "tern/target/target.h"
#include "tools/tern/usage_error.h"

namespace tern::tools {
namespace {

// One option of a command, as shells are told of it.
struct Flag {
  std::string long_name, short_name, help;
  bool takes_value = false;
  std::vector<std::string> words;  // what the value can be; none: a file
};

// Until the first sentence ends, in single quotes of a shell.
std::string Quoted(const std::string& text) {
  std::string quoted;
  for (char c : text.substr(0, text.find("; ")))
    quoted += c == '\'' ? "'\\''" : c == '\n' ? " " : std::string(1, c);
  return "'" + quoted + "'";
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// What the value of a flag can be: the words of OneOf, or the kinds of targets.
std::vector<std::string> WordsOf(const CLI::Option& option) {
  std::vector<std::string> words;
  std::string name = option.get_name();
  if (name == "--target" || name == "--host" || name == "target") {
    for (const target::TargetKind* kind : target::TargetKinds()) words.push_back(kind->name);
    return words;
  }
  // "TEXT:a|b|c"
  std::string type = option.get_type_name();
  size_t colon = type.find(':');
  if (colon == std::string::npos) return words;
  for (size_t start = colon + 1; start < type.size();) {
    size_t end = std::min(type.find('|', start), type.size());
    words.push_back(type.substr(start, end - start));
    start = end + 1;
  }
  return words;
}

std::vector<Flag> FlagsOf(const CLI::App& command) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : ListedOptions(command)) {
    Flag flag;
    if (option->get_lnames().empty()) continue;
    flag.long_name = option->get_lnames()[0];
    if (!option->get_snames().empty()) flag.short_name = option->get_snames()[0];
    flag.help = option->get_description();
    flag.takes_value = option->get_expected_max() > 0;
    flag.words = WordsOf(*option);
    flags.push_back(std::move(flag));
  }
  return flags;
}

// What stands without an option: words of a target, or files.
std::vector<std::string> PositionalWords(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) return WordsOf(*option);
  return {};
}

std::string Bash(const CLI::App& app) {
  std::string names, cases;
  for (const CLI::App* command : Commands(app)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    std::string options, values;
    for (const Flag& flag : FlagsOf(*command)) {
      options += " --" + flag.long_name + (flag.short_name.empty() ? "" : " -" + flag.short_name);
      if (flag.words.empty()) continue;
      values += "        --" + flag.long_name +
                (flag.short_name.empty() ? "" : "|-" + flag.short_name) + ") words='" +
                Joined(flag.words) + "' ;;\n";
    }
    cases += "    " + command->get_name() + ")\n      options='" + options.substr(1) +
             "'\n      positional='" + Joined(PositionalWords(*command)) + "'\n";
    if (!values.empty()) cases += "      case $previous in\n" + values + "      esac\n";
    cases += "      ;;\n";
  }
  return R"(# Completion of tern for bash: source <(tern completion bash)
_tern() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} options= words= positional=
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W ')" +
         names + R"( --help --version' -- "$current")
    return
  fi
  case ${COMP_WORDS[1]} in
)" + cases +
         R"(  esac
  if [[ $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ $positional && $previous != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$positional" -- "$current")
  else
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _tern tern
)";
}

// A description in a specification of zsh's _arguments: without the signs that end it.
std::string ZshText(std::string text) {
  text = text.substr(0, text.find("; "));
  std::string clean;
  for (char c : text)
    clean += c == '[' || c == ']' || c == ':' ? " " : c == '\'' ? "'\\''" : std::string(1, c);
  return clean;
}

std::string Zsh(const CLI::App& app) {
  std::string names, cases;
  for (const CLI::App* command : Commands(app)) {
    names += "    '" + command->get_name() + ":" + ZshText(command->get_description()) + "'\n";
    cases += "    " + command->get_name() + ") _arguments";
    for (const Flag& flag : FlagsOf(*command)) {
      std::string value;
      if (flag.takes_value)
        value = flag.words.empty() ? ":value:_files" : ":value:(" + Joined(flag.words) + ")";
      std::string help = "[" + ZshText(flag.help) + "]" + value + "'";
      cases += " \\\n      '*--" + flag.long_name + help;
      if (!flag.short_name.empty()) cases += " \\\n      '*-" + flag.short_name + help;
    }
    std::vector<std::string> words = PositionalWords(*command);
    cases +=
        " \\\n      '*:file:" + (words.empty() ? "_files" : "(" + Joined(words) + ")") + "' ;;\n";
  }
  return "#compdef tern\n# Completion of tern for zsh: tern completion zsh > "
         "\"${fpath[1]}/_tern\"\n"
         "_tern() {\n  local -a commands=(\n" +
         names +
         "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
         "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in\n" +
         cases +
         "  esac\n}\nif [[ $funcstack[1] == _tern ]]; then _tern \"$@\"; else compdef _tern tern; "
         "fi\n";
}

std::string Fish(const CLI::App& app) {
  std::string text =
      "# Completion of tern for fish: tern completion fish > "
      "~/.config/fish/completions/tern.fish\n";
  for (const CLI::App* command : Commands(app)) {
    const std::string& name = command->get_name();
    text += "complete -c tern -n __fish_use_subcommand -f -a " + name + " -d " +
            Quoted(command->get_description()) + "\n";
    for (const Flag& flag : FlagsOf(*command)) {
      text += "complete -c tern -n '__fish_seen_subcommand_from " + name + "' -l " + flag.long_name;
      if (!flag.short_name.empty()) text += " -s " + flag.short_name;
      if (flag.takes_value)
        text += flag.words.empty() ? " -r -F" : " -x -a '" + Joined(flag.words) + "'";
      text += " -d " + Quoted(flag.help) + "\n";
    }
    if (std::vector<std::string> words = PositionalWords(*command); !words.empty())
      text += "complete -c tern -n '__fish_seen_subcommand_from " + name + "' -f -a '" +
              Joined(words) + "'\n";
  }
  return text;
}

}  // namespace

std::string CompletionScript(const CLI::App& app, const std::string& shell) {
  return shell == "bash" ? Bash(app) : shell == "zsh" ? Zsh(app) : Fish(app);
}

}  // namespace tern::tools
