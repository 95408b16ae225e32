// SPDX-License-Identifier: Apache-2.0
//
// Where others have a say in the code of a device: the global functions
// `tern.callback.<kind>.postproc(code) -> code`, other code of the same form, and
// `tern.callback.<kind>.compile(code) -> code`, what another compiler makes of it;
// `tern.callback.postproc` and `tern.callback.compile` are asked for kinds that have none of their
// own. They take the code alone, and find the target by `target.Current()`. docs/hooks.md says what
// form the code of each kind has.
#ifndef TERN_CODEGEN_DEVICE_HOOKS_H_
#define TERN_CODEGEN_DEVICE_HOOKS_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace tern::codegen {

// What hooks are given: a text, or bytes.
enum class CodeForm { kText, kBinary };

// The code itself where there is no hook.
std::string PostProcess(const std::string& kind, const std::string& code,
                        CodeForm form = CodeForm::kText);
// Null where there is no hook.
std::optional<std::string> CompileByHook(const std::string& kind, const std::string& code,
                                         CodeForm form = CodeForm::kText);

// The hook of a shared library (hook_api.h), there for all kinds as long as this object. The
// library stays loaded.
class HookLibrary {
 public:
  enum class Part { kPostproc, kCompile };
  // Throws with the path and the reason.
  HookLibrary(Part part, const std::string& path);
  ~HookLibrary();
  HookLibrary(const HookLibrary&) = delete;
  HookLibrary& operator=(const HookLibrary&) = delete;

  // How often it was asked.
  int calls() const { return *calls_; }

 private:
  std::string name_;
  std::shared_ptr<std::atomic<int>> calls_;
};

// Registers `target.Current() -> Target`, or none.
void RegisterTargetCurrent();

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_DEVICE_HOOKS_H_
