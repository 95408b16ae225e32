// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_RUNTIME_TEST_DATA_TEST_ENVIRONMENT_H_
#define TERN_RUNTIME_TEST_DATA_TEST_ENVIRONMENT_H_

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

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_TEST_DATA_TEST_ENVIRONMENT_H_
