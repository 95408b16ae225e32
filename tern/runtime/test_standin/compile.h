// SPDX-License-Identifier: Apache-2.0
//
// Runs a compiler of this machine on the source of kernels.
#ifndef TERN_RUNTIME_TEST_STANDIN_COMPILE_H_
#define TERN_RUNTIME_TEST_STANDIN_COMPILE_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tern::standin {

struct Compilation {
  std::vector<std::pair<std::string, std::string>> files;  // by name
  // With the files in `directory`, makes unit.so there.
  std::function<std::string(const std::string& directory)> command;
  std::string depends_on;  // the text of what else is included
};

// The shared object, or "" with the compiler's words in `log`. Within TERN_STANDIN_CACHE, where
// that is given, each is compiled once.
std::string Compile(const Compilation& compilation, std::string* log);

std::string ReadAll(const std::string& path);

}  // namespace tern::standin

#endif  // TERN_RUNTIME_TEST_STANDIN_COMPILE_H_
