// SPDX-License-Identifier: Apache-2.0
//
// Kernels in the Metal Shading Language, compiled for this machine's CPU.
#ifndef TERN_BACKEND_METAL_TEST_MSL_PROGRAM_H_
#define TERN_BACKEND_METAL_TEST_MSL_PROGRAM_H_

#include <map>
#include <memory>
#include <string>

#include "tern/backend/metal/test/msl_source.h"
#include "tern/runtime/test_standin/execution.h"

namespace tern::backend::metal::standin {

struct MslOptions {
  bool fast_math = true;
  unsigned version = 310;
};

struct MslProgram {
  struct Kernel {
    MslKernel source;
    tern_standin::Kernel code;
  };
  std::unique_ptr<tern::standin::Image> image;
  std::map<std::string, Kernel> kernels;
};

// Null with the compiler's words in `log`.
std::shared_ptr<MslProgram> CompileMsl(const std::string& source, const MslOptions& options,
                                       std::string* log);

}  // namespace tern::backend::metal::standin

#endif  // TERN_BACKEND_METAL_TEST_MSL_PROGRAM_H_
