// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/cts/export_suite.h"

#include <filesystem>
#include <map>

#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/artifact/npy.h"
#include "tools/tern/cts/batch.h"
#include "tools/tern/cts/suite_files.h"
#include "tools/tern/reference.h"

namespace tern::tools {
SuiteFolder::SuiteFolder(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  std::error_code error;
  bool ours = fs::exists(path + "/cases") && fs::exists(path + "/run.sh");
  TERN_CHECK(!fs::exists(path) || ours || fs::is_empty(path, error))
      << "--export: " << path << " is there, and no suite that was exported before";
  fs::remove_all(path, error);
  fs::create_directories(path, error);
  TERN_CHECK(!error) << "--export: cannot make " << path << ": " << error.message();
}

size_t SuiteFolder::Add(const ffi::Module& compiled, const runtime::ArtifactMeta& meta) {
  std::string name = "program" + std::to_string(programs_.size());
  std::string file = WriteProgram(compiled, meta, path_ + "/" + name);
  programs_.push_back(std::filesystem::path(file).filename().string());
  return programs_.size() - 1;
}

// Tensors of other types have other tolerances: calls of their own.
void SuiteFolder::AddCall(const std::string& case_name, size_t program, const ir::IRModule& module,
                          const runtime::FunctionInfo& function,
                          const runtime::RunOptions& options) {
  runtime::RunResult expected = RunReference(module, function, options);
  std::map<double, std::string> checks;
  for (size_t i = 0; i < function.params.size(); ++i) {
    const auto& param = function.params[i];
    if (!param.is_output) continue;
    std::string file = "expected" + std::to_string(num_calls_) + "_" + param.name + ".npy";
    runtime::WriteNpy(path_ + "/" + file, expected.args[i]);
    checks[Tolerance(param.dtype)] += "\t--check\t" + param.name + "=" + file;
  }
  for (const auto& [tolerance, text] : checks) {
    char number[32];
    std::snprintf(number, sizeof number, "%.17g", tolerance);
    calls_ += CallLine(programs_[program], function, options) + "\t--tol\t" + number + text + "\n";
    cases_ += case_name + "\n";
  }
  ++num_calls_;
}

void SuiteFolder::Finish() const {
  runtime::WriteFile(path_ + "/calls", calls_);
  runtime::WriteFile(path_ + "/cases", cases_);
  runtime::WriteFile(path_ + "/run.sh", std::string(RunScript()));
  std::filesystem::permissions(path_ + "/run.sh", std::filesystem::perms::owner_all |
                                                      std::filesystem::perms::group_read |
                                                      std::filesystem::perms::group_exec |
                                                      std::filesystem::perms::others_read |
                                                      std::filesystem::perms::others_exec);
}

}  // namespace tern::tools
