// SPDX-License-Identifier: Apache-2.0
//
// The device: an executor that is started by need, and again where it died.
#ifndef TERN_BACKEND_HEXAGON_RUNTIME_DEVICE_H_
#define TERN_BACKEND_HEXAGON_RUNTIME_DEVICE_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tern/backend/hexagon/runtime/executor.h"

namespace tern::backend::hexagon {

// How an executor is run on this machine. By default by qemu-hexagon, as a v67, which all of its
// versions know.
struct Runner {
  std::vector<std::string>
      command;          // the program with its path, and arguments; empty: there is none
  int version = 0;      // of the instruction set that it has; 0: not known
  std::string missing;  // why there is none
};
// From TERN_HEXAGON_RUNNER, else the default.
Runner FindRunner();
// How long the executor may take to answer a request: TERN_HEXAGON_TIMEOUT in seconds, else 30.
// Throws ValueError on text that is no such number.
std::chrono::milliseconds TimeLimit();

class Device {
 public:
  static Device& Get();

  // Which life of the executor: what one had in memory, the next has not.
  struct Life {
    uint32_t number = 0;  // from 1
    std::shared_ptr<Executor> executor;
    int version = 0;  // Runner::version
  };
  // Starts one where there is none.
  Life Alive();
  // The one there is. Throws where it is over, or has not begun.
  Life Current();
  // The life that a handle is memory of. Throws where it is over.
  Life LifeOf(const void* handle);

  // A handle of memory has the number of the life above the address, and so can be moved as an
  // address can.
  static void* HandleOf(uint32_t life, uint32_t address);
  static uint32_t AddressOf(const void* handle);

 private:
  std::mutex mutex_;
  Life life_;
};

}  // namespace tern::backend::hexagon

#endif  // TERN_BACKEND_HEXAGON_RUNTIME_DEVICE_H_
