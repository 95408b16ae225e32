// SPDX-License-Identifier: Apache-2.0
//
// Extensions of instruction sets that host code may count on, by LLVM's names ("avx2", "dotprod").
#ifndef TERN_RUNTIME_HOST_CPU_FEATURES_H_
#define TERN_RUNTIME_HOST_CPU_FEATURES_H_

#include <string>
#include <string_view>
#include <vector>

namespace tern::runtime {

// Those that can be looked for on machines of an architecture ("x86_64"). Those that every such
// machine has are left out.
std::vector<std::string> CpuFeatureNames(std::string_view arch);

// Whether the CPU of this machine has it and the system lets it be used. Not where the name is not
// among CpuFeatureNames of this architecture.
bool HasCpuFeature(std::string_view name);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_HOST_CPU_FEATURES_H_
