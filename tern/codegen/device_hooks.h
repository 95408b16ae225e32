// SPDX-License-Identifier: Apache-2.0
//
// Where others have a say in the code of a device: the global functions
// `tern.callback.<kind>.postproc(code) -> code`, another text, and
// `tern.callback.<kind>.compile(code) -> code`, what another compiler makes of it. They take the
// code alone, and find the target by `target.Current()`.
#ifndef TERN_CODEGEN_DEVICE_HOOKS_H_
#define TERN_CODEGEN_DEVICE_HOOKS_H_

#include <optional>
#include <string>

namespace tern::codegen {

// The source itself where there is no hook.
std::string PostProcess(const std::string& kind, const std::string& source);
// Null where there is no hook.
std::optional<std::string> CompileByHook(const std::string& kind, const std::string& source);

// Registers `target.Current() -> Target`, or none.
void RegisterTargetCurrent();

}  // namespace tern::codegen

#endif  // TERN_CODEGEN_DEVICE_HOOKS_H_
