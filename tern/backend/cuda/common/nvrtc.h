// SPDX-License-Identifier: Apache-2.0
//
// NVRTC, opened at first use: for the plugin, which compiles where programs run, and for the code
// generator, where machine code is asked for.
#ifndef TERN_BACKEND_CUDA_COMMON_NVRTC_H_
#define TERN_BACKEND_CUDA_COMMON_NVRTC_H_

#include <string>

namespace tern::backend::cuda {

enum class NvrtcOutput { kPtx, kCubin };

// CUDA C++ compiled for an architecture ("sm_90"). Throws with the log where it does not compile,
// and with what was looked for where there is no NVRTC. No products and sums are contracted
// (docs/numerics.md).
std::string CompileSource(const std::string& source, const std::string& architecture,
                          NvrtcOutput output);

// "NVRTC 13.0 --fmad=false ...": what the result depends on besides. Throws where there is none.
std::string NvrtcDescription();
// Whether it knows the architectures of one chip alone, like sm_90a.
bool NvrtcHasSpecificArchitectures();

}  // namespace tern::backend::cuda

#endif  // TERN_BACKEND_CUDA_COMMON_NVRTC_H_
