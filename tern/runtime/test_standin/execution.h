// SPDX-License-Identifier: Apache-2.0
//
// Runs a grid of a compiled kernel: a fiber for each thread of a block that waits for others.
#ifndef TERN_RUNTIME_TEST_STANDIN_EXECUTION_H_
#define TERN_RUNTIME_TEST_STANDIN_EXECUTION_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tern/runtime/test_standin/device_abi.h"
#include "tern/runtime/test_standin/image.h"

namespace tern::standin {

using tern_standin::AccessKind;
using tern_standin::Index;

struct Grid {
  const Image* image;
  const tern_standin::Kernel* kernel;
  Index grid, block;
  size_t dynamic_shared_bytes;
  void** args;
  // Whether a kernel may touch these bytes of global memory; otherwise why not.
  std::function<std::string(const void* address, size_t bytes)> check_global;
};

// What was wrong with a kernel: a driver has its own codes for these.
enum class Fault { kNone, kAddress, kMisaligned, kInstruction, kStuck, kWrong };

struct Failure {
  Fault fault = Fault::kNone;
  std::string text;  // which thread did what
  explicit operator bool() const { return fault != Fault::kNone; }
};

// One grid at a time. With TERN_STANDIN_ORDER=reverse the last block and thread come first.
Failure RunGrid(const Grid& grid);

const tern_standin::Host& KernelHost();

}  // namespace tern::standin

#endif  // TERN_RUNTIME_TEST_STANDIN_EXECUTION_H_
