// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/device_hooks.h"

#include "tern/ffi/registry.h"
#include "tern/target/target.h"

namespace tern::codegen {
namespace {

std::optional<std::string> Call(const std::string& kind, const char* hook,
                                const std::string& source) {
  std::string name = "tern.callback." + kind + "." + hook;
  ffi::Function function = ffi::FindGlobal(name);
  if (!function) return std::nullopt;
  ffi::Any result = function(source);
  if (auto text = result.TryAs<std::string>()) return text;
  if (auto bytes = result.TryAs<ffi::Bytes>()) return bytes->data;
  TERN_THROW(TypeError) << name << ": expected a text or bytes, got "
                        << ffi::Describe(result.raw());
}

}  // namespace

std::string PostProcess(const std::string& kind, const std::string& source) {
  return Call(kind, "postproc", source).value_or(source);
}

std::optional<std::string> CompileByHook(const std::string& kind, const std::string& source) {
  return Call(kind, "compile", source);
}

void RegisterTargetCurrent() {
  ffi::RegisterGlobal("target.Current", ffi::Function::FromPacked([](ffi::Args args) {
                        TERN_CHECK(args.empty()) << "target.Current takes no arguments";
                        target::Target current = target::CurrentTarget();
                        return current.get() ? ffi::Any(current) : ffi::Any();
                      }));
}

}  // namespace tern::codegen
