// SPDX-License-Identifier: Apache-2.0
//
// Runs a grid of a compiled kernel: a fiber for each thread of a block that waits for others.
#ifndef TERN_BACKEND_CUDA_TEST_EXECUTION_H_
#define TERN_BACKEND_CUDA_TEST_EXECUTION_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tern/backend/cuda/test/device_abi.h"

namespace tern::cuda::standin {

using tern_standin::AccessKind;
using tern_standin::Index;

struct Grid {
  const tern_standin::Module* module;
  const tern_standin::Kernel* kernel;
  Index grid, block;
  size_t dynamic_shared_bytes;
  void** args;
  const char *image_begin, *image_end;                         // of the module
  std::vector<std::pair<const char*, const char*>> constants;  // what of it kernels read
  // Whether a kernel may touch these bytes of global memory; otherwise why not.
  std::function<std::string(const void* address, size_t bytes)> check_global;
};

struct KernelError {
  int code = 0;  // of the driver; 0: none
  std::string text;
};

// One grid at a time. With TERN_STANDIN_ORDER=reverse the last block and thread come first.
KernelError RunGrid(const Grid& grid);

const tern_standin::Host& KernelHost();

}  // namespace tern::cuda::standin

#endif  // TERN_BACKEND_CUDA_TEST_EXECUTION_H_
