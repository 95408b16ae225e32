// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/c_module.h"

#include <algorithm>

#include "tern/backend/cpu/codegen/c_compiler.h"
#include "tern/backend/cpu/codegen/c_host.h"
#include "tern/backend/cpu/codegen/ffi_host.h"
#include "tern/ffi/registry.h"
#include "tern/target/target.h"
#include "tern/tir/intrinsic_rules.h"

namespace tern::backend::cpu {

ffi::Function CSourceModule::GetFunction(std::string_view name) {
  if (std::find(function_names_.begin(), function_names_.end(), name) == function_names_.end())
    return {};
  TERN_THROW(RuntimeError) << name
                           << ": c source is not runnable as it is: export it or use tern run";
}

std::string CSourceModule::InspectSource(std::string_view format) const {
  if (format.empty() || format == "c") return source_;
  return LinkableModule::InspectSource(format);
}

std::string CSourceModule::triple() const { return CCompiler(compiler_).Triple(); }

std::string CSourceModule::LinkSharedObject(std::string_view section) const {
  return CCompiler(compiler_).MakeSharedObject({source_, WriteFfiHostC(function_names_)}, section);
}

namespace {

ffi::Module BuildC(const ir::IRModule& module, const target::Target& target) {
  std::vector<std::string> names;
  for (const auto& [name, function] : module->functions)
    if (tir::CallingConventionOf(tir::AsPrimFunc(function)) == "packed") names.push_back(name);
  return ffi::Module(
      ffi::Make<CSourceModule>(WriteC(module), std::move(names), target->GetString("cc", "")));
}

}  // namespace

void RegisterC() {
  target::TargetKind kind;
  kind.name = "c";
  kind.role = target::Role::kHost;
  kind.description =
      "C99 source for any CPU, compiled by the system's C compiler where it has to run";
  kind.module_kind = "c";
  kind.device = "cpu";
  kind.host_rank = 1;
  kind.vectors = false;
  kind.attrs["cc"] = {
      .type = target::AttrSpec::Type::kString,
      .help = "the C compiler, a program with its first arguments; default: $CC, cc, gcc or clang"};
  target::RegisterTargetKind(std::move(kind));
  tir::KeepIntrinsics("c", {"sqrt", "copysign", "abs"}, tir::IsWideFloat);
  ffi::RegisterGlobal("target.build.c", ffi::Function::FromTyped("target.build.c", BuildC));
}

}  // namespace tern::backend::cpu
