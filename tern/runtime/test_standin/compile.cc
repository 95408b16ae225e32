// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/test_standin/compile.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tern/runtime/artifact/sha256.h"

namespace tern::standin {
namespace {

class TempDirectory {
 public:
  TempDirectory() {
    path_ = (std::filesystem::temp_directory_path() / "tern-standin-XXXXXX").string();
    if (!mkdtemp(path_.data())) path_.clear();
  }
  ~TempDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string RunCompiler(const Compilation& compilation, std::string* log) {
  TempDirectory directory;
  for (const auto& [name, text] : compilation.files) std::ofstream(directory.File(name)) << text;
  std::string made = directory.File("unit.so"), said = directory.File("log");
  std::string command = "{ " + compilation.command(directory.path()) + "; } >" + said + " 2>&1";
  // NOLINTNEXTLINE(bugprone-command-processor): the command is ours, of the build and a path
  int status = std::system(command.c_str());
  *log = ReadAll(said);
  return status == 0 ? ReadAll(made) : "";
}

}  // namespace

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Compile(const Compilation& compilation, std::string* log) {
  const char* cache = std::getenv("TERN_STANDIN_CACHE");
  if (!cache) return RunCompiler(compilation, log);
  mkdir(cache, 0777);
  std::string key = compilation.command("") + '\0' + compilation.depends_on;
  for (const auto& [name, text] : compilation.files) key += '\0' + name + '\0' + text;
  std::string path = std::string(cache) + "/" + runtime::ToHex(runtime::Sha256({key})) + ".so";
  std::string code = ReadAll(path);
  if (!code.empty()) return code;
  code = RunCompiler(compilation, log);
  if (code.empty()) return code;
  // Threads of one process may compile the same.
  static std::atomic<int> number = 0;
  std::string temporary = path + "." + std::to_string(getpid()) + "." + std::to_string(number++);
  std::ofstream(temporary, std::ios::binary) << code;
  std::rename(temporary.c_str(), path.c_str());
  return code;
}

}  // namespace tern::standin
