// SPDX-License-Identifier: Apache-2.0
//
// The suite as a folder that is carried to another machine and run there with tern-run alone:
// compiled programs, what the interpreter made of every call, and run.sh.
#ifndef TOOLS_TERN_CTS_EXPORT_SUITE_H_
#define TOOLS_TERN_CTS_EXPORT_SUITE_H_

#include <string>

#include "tern/ffi/module.h"
#include "tern/ir/module.h"
#include "tern/runtime/runner.h"

namespace tern::tools {

class SuiteFolder {
 public:
  // Makes the folder; throws where there is something in it that no suite left.
  explicit SuiteFolder(const std::string& path);

  // Takes a compiled program; throws where it cannot be written to a file.
  size_t Add(const ffi::Module& compiled, const runtime::ArtifactMeta& meta);
  // One function of the program of that number on one set of arguments; `module` is what it was
  // compiled from.
  void AddCall(const std::string& case_name, size_t program, const ir::IRModule& module,
               const runtime::FunctionInfo& function, const runtime::RunOptions& options);
  // Writes what is left to write.
  void Finish() const;

 private:
  std::string path_;
  std::vector<std::string> programs_;  // file names
  std::string calls_, cases_;          // a line for each call; names of cases
  size_t num_calls_ = 0;
};

}  // namespace tern::tools

#endif  // TOOLS_TERN_CTS_EXPORT_SUITE_H_
