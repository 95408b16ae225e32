// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_BACKEND_CUDA_RUNTIME_NVRTC_H_
#define TERN_BACKEND_CUDA_RUNTIME_NVRTC_H_

#include <string>

namespace tern::cuda {

// CUDA C++ compiled for an architecture ("sm_90") by NVRTC, which is opened at first use: machine
// code for cuModuleLoadData. Throws with the log where it does not compile, and with what was
// looked for where there is no NVRTC. No products and sums are contracted (docs/numerics.md).
std::string CompileSource(const std::string& source, const std::string& architecture);

}  // namespace tern::cuda

#endif  // TERN_BACKEND_CUDA_RUNTIME_NVRTC_H_
