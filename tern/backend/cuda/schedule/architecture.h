// SPDX-License-Identifier: Apache-2.0
//
// The generations of NVIDIA's GPUs that code is made for.
#ifndef TERN_BACKEND_CUDA_SCHEDULE_ARCHITECTURE_H_
#define TERN_BACKEND_CUDA_SCHEDULE_ARCHITECTURE_H_

#include <map>
#include <string>
#include <vector>

#include "tern/target/target.h"

namespace tern::backend::cuda {

// Where a target names none: the first with bfloat16 and asynchronous copies.
inline constexpr const char* kBaselineArchitecture = "sm_80";

// "sm_70" to "sm_121a"; a letter at the end: instructions of this chip alone.
std::vector<std::string> Architectures();
// 90 for sm_90a.
int ArchitectureNumber(const target::Target& target);
// Names of chips, as "nvidia/h200".
std::map<std::string, std::string> Tags();

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_SCHEDULE_ARCHITECTURE_H_
