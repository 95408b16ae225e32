// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_BACKEND_CPU_CODEGEN_LLVM_HOST_CPU_H_
#define TERN_BACKEND_CPU_CODEGEN_LLVM_HOST_CPU_H_

#include <string>

namespace tern::backend::cpu {

// This machine's CPU by LLVM's name, and the features in which it differs from what that name
// promises, as in mattr: some may be turned off here, or be newer than the name.
struct HostCpu {
  std::string name, features;
};
HostCpu DescribeHostCpu();

}  // namespace tern::backend::cpu

#endif  // TERN_BACKEND_CPU_CODEGEN_LLVM_HOST_CPU_H_
