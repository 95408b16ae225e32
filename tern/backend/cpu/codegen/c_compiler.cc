// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/c_compiler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <sstream>

#include "tern/codegen/temporary_directory.h"
#include "tern/codegen/undefined_symbols.h"
#include "tern/ffi/environment.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/artifact/file_bytes.h"

extern char** environ;

namespace tern::backend::cpu {
namespace {

using codegen::TemporaryDirectory;

constexpr const char* kStdout = "stdout.txt";
constexpr const char* kStderr = "stderr.txt";

struct Outcome {
  int spawn_error = 0;  // errno where the program could not be started
  int status = 0;       // its exit status, or 128 + the signal that ended it
};

// Runs a program, found in PATH, in `directory`, with its output in files there. No shell is
// involved.
Outcome RunProgram(const std::vector<std::string>& words, const TemporaryDirectory& directory) {
  bool has_directory = words[0].find('/') != std::string::npos;
  std::string program = has_directory ? words[0] : environment::FindProgram(words[0]);
  if (program.empty()) return {.spawn_error = ENOENT};
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, directory.path().c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, kStdout, O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, kStderr, O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  pid_t pid = 0;
  int spawn_error = posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (spawn_error != 0) return {.spawn_error = spawn_error};

  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
}

std::vector<std::string> SplitWords(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

std::string JoinWords(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Runs the compiler and returns what it printed; throws with what it complained about.
std::string RunCompiler(const std::vector<std::string>& words,
                        const TemporaryDirectory& directory) {
  Outcome outcome = RunProgram(words, directory);
  if (outcome.spawn_error != 0)
    TERN_THROW(RuntimeError) << "cannot run the C compiler " << words[0] << ": "
                             << std::strerror(outcome.spawn_error)
                             << "; set CC, or the target's -cc, to one that is installed";
  if (outcome.status != 0)
    TERN_THROW(RuntimeError) << "the C compiler failed with status " << outcome.status << ": "
                             << JoinWords(words) << "\n"
                             << runtime::ReadFile(directory.File(kStderr));
  return runtime::ReadFile(directory.File(kStdout));
}

}  // namespace

CCompiler::CCompiler(std::string_view command) : command_(SplitWords(command)) {
  if (command_.empty()) command_ = SplitWords(environment::TrustedText("CC").value_or(""));
  for (const char* candidate : {"cc", "gcc", "clang"})
    if (command_.empty() && !environment::FindProgram(candidate).empty()) command_ = {candidate};
  if (command_.empty())
    TERN_THROW(RuntimeError)
        << "there is no C compiler: none of cc, gcc and clang is in PATH; install one, or set CC";
}

std::string CCompiler::Triple() const {
  std::vector<std::string> words = command_;
  words.push_back("-dumpmachine");
  TemporaryDirectory directory;
  std::vector<std::string> lines = SplitWords(RunCompiler(words, directory));
  if (lines.empty())
    TERN_THROW(RuntimeError) << "the C compiler " << command_[0]
                             << " does not say what it compiles for";
  // Some compilers name a vendor, x86_64-pc-linux-gnu; Tern does not.
  std::string triple = lines[0];
  size_t first = triple.find('-'), second = triple.find('-', first + 1);
  bool has_vendor =
      second != std::string::npos && triple.find('-', second + 1) != std::string::npos;
  return has_vendor ? triple.erase(first, second - first) : triple;
}

std::string CCompiler::MakeSharedObject(const std::vector<std::string>& sources,
                                        std::string_view section) const {
  TemporaryDirectory directory;
  // No libc and no start files: what the code counts on is in every process already. -lgcc has the
  // arithmetic that the machine lacks.
  std::vector<std::string> flags = {"-fPIC",
                                    "-shared",
                                    "-nostdlib",
                                    "-Wl,--build-id=none",
                                    "-Wl,-z,noexecstack",
                                    "-Wl,-rpath,$ORIGIN"};
  if (!section.empty()) {
    runtime::WriteFile(directory.File("section.bin"), section);
    runtime::WriteFile(directory.File("section.s"),
                       std::string("\t.section ") + runtime::kContainerSection +
                           ",\"a\",%progbits\n\t.balign 64\n\t.incbin \"section.bin\"\n");
    flags.push_back("section.s");
  }
  flags.push_back("-lgcc");
  std::string bytes = Compile(sources, flags, directory);
  codegen::CheckUndefinedSymbols(bytes);
  return bytes;
}

std::string CCompiler::MakeObject(const std::string& source, bool is_shared) const {
  std::vector<std::string> flags = {"-c"};
  if (is_shared) flags.push_back("-fPIC");
  return Compile({source}, flags, TemporaryDirectory());
}

std::string CCompiler::Compile(const std::vector<std::string>& sources,
                               const std::vector<std::string>& flags,
                               const TemporaryDirectory& directory) const {
  std::vector<std::string> words = command_;
  // A square root of a negative number tells no errno. File names are relative, so that no path is
  // recorded.
  for (const char* flag :
       {"-std=c99", "-O2", "-ffp-contract=off", "-fno-math-errno", "-o", "module.out"})
    words.push_back(flag);
  for (size_t i = 0; i < sources.size(); ++i) {
    words.push_back("module" + (i == 0 ? "" : std::to_string(i)) + ".c");
    runtime::WriteFile(directory.File(words.back()), sources[i]);
  }
  words.insert(words.end(), flags.begin(), flags.end());
  words.push_back("-ffile-prefix-map=" + directory.path() + "=.");
  RunCompiler(words, directory);
  return runtime::ReadFile(directory.File("module.out"));
}

}  // namespace tern::backend::cpu
