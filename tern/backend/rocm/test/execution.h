// SPDX-License-Identifier: Apache-2.0
//
// A launch on the fake driver: checked against the code object, then interpreted.
#ifndef TERN_BACKEND_ROCM_TEST_EXECUTION_H_
#define TERN_BACKEND_ROCM_TEST_EXECUTION_H_

#include <functional>
#include <string>

#include "tern/backend/rocm/test/code_object.h"
#include "tern/ir/module.h"

namespace tern::backend::rocm::test {

struct Launch {
  unsigned grid[3], block[3];
  unsigned dynamic_shared = 0;
  void** args = nullptr;
};

// How many bytes of device memory there are from the pointer on; 0: it points to none.
using BytesAt = std::function<uint64_t(const void*)>;

// Throws where the launch is not what the kernel's metadata and text say. `module` is the text of
// the code object.
void Execute(const ir::IRModule& module, const std::string& name, const KernelMetadata& metadata,
             const Launch& launch, const BytesAt& bytes_at);

}  // namespace tern::backend::rocm::test

#endif  // TERN_BACKEND_ROCM_TEST_EXECUTION_H_
