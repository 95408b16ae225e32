// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/cpu/codegen/llvm/host_cpu.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>

#include <set>

#include "tern/codegen/llvm/llvm_target.h"

namespace tern::backend::cpu {

HostCpu DescribeHostCpu() {
  HostCpu cpu{llvm::sys::getHostCPUName().str(), ""};
  codegen::LLVMTarget named(target::Target::Parse("llvm -mcpu=" + cpu.name));
  std::set<std::string> known, different;
  for (const auto& feature : named.machine().getMCSubtargetInfo()->getAllProcessorFeatures())
    known.emplace(feature.Key);
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    std::string name = feature.first().str();
    if (known.contains(name) && named.HasFeature(name.c_str()) != feature.second)
      different.insert((feature.second ? "+" : "-") + name);
  }
  for (const std::string& feature : different)
    cpu.features += (cpu.features.empty() ? "" : ",") + feature;
  return cpu;
}

}  // namespace tern::backend::cpu
