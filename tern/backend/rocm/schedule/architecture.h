// SPDX-License-Identifier: Apache-2.0
//
// The generations of AMD's GPUs that code is made for.
#ifndef TERN_BACKEND_ROCM_SCHEDULE_ARCHITECTURE_H_
#define TERN_BACKEND_ROCM_SCHEDULE_ARCHITECTURE_H_

#include <map>
#include <string>
#include <vector>

#include "tern/target/target.h"

namespace tern::backend::rocm {

inline constexpr const char* kDefaultArchitecture = "gfx90a";

// By LLVM's names, "gfx906" to "gfx1201".
std::vector<std::string> Architectures();
// The threads of a wave: 64 of the ones for computing, 32 of the ones for graphics since gfx10.
int64_t WaveSize(const std::string& architecture);
// The instructions that multiply matrices of 16-bit floats.
enum class MatrixCores { kNone, kMfma, kWmma };
MatrixCores MatrixCoresOf(const std::string& architecture);
// Names of chips, as "amd/mi300x".
std::map<std::string, std::string> Tags();

}  // namespace tern::backend::rocm

#endif  // TERN_BACKEND_ROCM_SCHEDULE_ARCHITECTURE_H_
