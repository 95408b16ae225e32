// SPDX-License-Identifier: Apache-2.0
//
// A place for the files that a compiler or a linker wants to see.
#ifndef TERN_CODEGEN_TEMPORARY_DIRECTORY_H_
#define TERN_CODEGEN_TEMPORARY_DIRECTORY_H_

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "tern/ffi/environment.h"
#include "tern/ffi/error.h"

namespace tern::codegen {

// A new directory that goes away with everything in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory() : path_(environment::TemporaryDirectory() + "/tern-XXXXXX") {
    if (!mkdtemp(path_.data()))
      TERN_THROW(RuntimeError) << "cannot make a temporary directory in "
                               << environment::TemporaryDirectory() << ": " << std::strerror(errno)
                               << "; TMPDIR says where they are made";
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_TEMPORARY_DIRECTORY_H_
