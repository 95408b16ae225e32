// SPDX-License-Identifier: Apache-2.0
//
// Functions in WGSL that kernels use: integers of 64 bits as two words, low word first, and what
// the language's operators do not say.
#ifndef TERN_BACKEND_WEBGPU_CODEGEN_HELPERS_H_
#define TERN_BACKEND_WEBGPU_CODEGEN_HELPERS_H_

#include <set>
#include <string>
#include <vector>

namespace tern::backend::webgpu {

class Helpers {
 public:
  // Makes a function known, and those that it calls; returns its name, "tern_" and `name`.
  std::string Use(const std::string& name);
  // The definitions, each behind those that it uses.
  std::string Definitions() const;

 private:
  std::set<std::string> used_;
  std::vector<std::string> definitions_;
};

// The names of all helpers, for tests.
std::vector<std::string> HelperNames();

}  // namespace tern::backend::webgpu

#endif  // TERN_BACKEND_WEBGPU_CODEGEN_HELPERS_H_
