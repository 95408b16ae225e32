// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_TEST_DATA_TEST_ENVIRONMENT_H_
#define TERN_RUNTIME_TEST_DATA_TEST_ENVIRONMENT_H_

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tern/ffi/error.h"

namespace tern::runtime {

// Sets an environment variable for the life of this object.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (old_)
      setenv(name_, old_->c_str(), 1);
    else
      unsetenv(name_);
  }
  ScopedVariable(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

// A directory that goes with this object.
class TempDirectory {
 public:
  TempDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "tern-test-XXXXXX").string();
    if (!mkdtemp(path.data())) throw Error("RuntimeError", "no temporary directory");
    path_ = path;
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  std::string File(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What `body` throws, or "no error".
inline std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// What `body` says in a forked child of this process; how the child ended where that was not well.
inline std::string InForkedChild(const std::function<std::string()>& body) {
  constexpr unsigned kSeconds = 60;  // for a child that hangs
  int ends[2];
  if (pipe(ends) != 0) throw Error("RuntimeError", "no pipe");
  pid_t child = fork();
  if (child == 0) {
    alarm(kSeconds);
    std::string text = body();
    bool is_written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(is_written ? 0 : 1);  // what runs at the end of a process is the parent's
  }
  close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? text : "the child ended with status " + std::to_string(status);
}

// What a forked child is told that touches a device of its parent.
inline std::string ForkedDeviceError(const std::string& kind) {
  return "cannot use " + kind +
         " devices: this process was forked after its parent had used them, and a driver does not "
         "survive a fork; use them first in the child, or start the child by exec";
}

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_TEST_DATA_TEST_ENVIRONMENT_H_
