// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/llvm_kind.h"

#include "tern/runtime/artifact/artifact.h"

namespace tern::backend::cpu {

target::TargetKind LLVMKind() {
  using Type = target::AttrSpec::Type;
  target::TargetKind kind;
  kind.name = "llvm";
  kind.role = target::Role::kHost;
  kind.description = "CPUs, through LLVM: runs in this process or is linked for another machine";
  kind.module_kind = "llvm";
  kind.device = "cpu";
  kind.device_type = kTernDeviceCpu;
  kind.host_rank = 10;
  kind.masked_accesses = true;
  kind.attrs["mtriple"] = {Type::kString, runtime::HostTriple(),
                           "the machine, like aarch64-linux-gnu; by default this one", nullptr};
  kind.attrs["mcpu"] = {
      Type::kString, "generic",
      "the CPU, by LLVM's name; 'generic': any CPU of the architecture, 'native': "
      "this machine's",
      nullptr};
  kind.attrs["mattr"] = {Type::kString, ffi::Any(),
                         "features to add and remove, by LLVM's names: +avx2,-fma", nullptr};
  kind.attrs["g"] = {Type::kBool, false,
                     "debug information: debuggers and profilers show the lines of the program",
                     nullptr};
  target::AddMachineAttrs(&kind);
  return kind;
}

}  // namespace tern::backend::cpu
