// SPDX-License-Identifier: Apache-2.0
//
// The device: its memory, and the machine that runs kernels.
#ifndef EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_MACHINE_H_
#define EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_MACHINE_H_

#include <mutex>
#include <vector>

#include "runtime/kernel.h"

namespace emu {

// Memory that only the device can address: the host has numbers that are no pointers.
class Memory {
 public:
  // Throws where there is no room.
  uint64_t Allocate(uint64_t bytes);
  void Free(uint64_t address);
  // `bytes` bytes from an address on; throws where that is not all in one allocation.
  char* At(uint64_t address, uint64_t bytes);

  uint64_t size() const { return kBytes; }
  uint64_t free();

 private:
  static constexpr uint64_t kBytes = uint64_t{1} << 30;

  std::mutex mutex_;
  std::vector<std::vector<char>> allocations_;
  std::vector<bool> live_;
  uint64_t used_ = 0;
};

// Runs a kernel to its end on all threads; `args` are the first registers. Throws what it faults
// with.
void Run(const Kernel& kernel, Memory& memory, const uint32_t grid[3], const uint32_t block[3],
         const std::vector<uint64_t>& args);
// An argument of that type as a register.
uint64_t ReadArgument(Type type, const void* value);

}  // namespace emu

#endif  // EXAMPLES_OUT_OF_TREE_BACKEND_RUNTIME_MACHINE_H_
