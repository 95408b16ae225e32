// SPDX-License-Identifier: Apache-2.0
//
// An executor as the host sees it: memory, and functions in it.
#ifndef TERN_BACKEND_HEXAGON_RUNTIME_EXECUTOR_H_
#define TERN_BACKEND_HEXAGON_RUNTIME_EXECUTOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "tern/backend/hexagon/runtime/protocol.h"
#include "tern/backend/hexagon/runtime/transport.h"

namespace tern::backend::hexagon {

// The program that is one, for the oldest machine there is code for.
std::string_view ExecutorProgram();

// Any thread may call it; requests are made one after another. Throws what the transport throws,
// and MemoryError; after the former it is dead.
class Executor {
 public:
  // Waits for its hello.
  explicit Executor(std::unique_ptr<Transport> transport);

  // Aligned to a page of the executor's system.
  uint32_t Alloc(uint64_t bytes, bool is_code = false);
  void Free(uint32_t address);
  void Write(uint32_t address, const void* data, uint64_t bytes);
  void Read(uint32_t address, void* data, uint64_t bytes);
  void Copy(uint32_t to, uint32_t from, uint64_t bytes);
  // Calls int function(const void* arguments).
  uint32_t Call(uint32_t function, const std::vector<char>& arguments);

  bool is_dead() const;

 private:
  // Sends the request and `bytes` behind it; `answer` gets what is behind the answer.
  uint32_t Request(const TernRequest& request, const void* data, uint64_t bytes, void* answer,
                   uint64_t answer_bytes);
  // Throws unless all of it lies in one piece that was allocated.
  void CheckInside(uint32_t address, uint64_t bytes);

  mutable std::mutex mutex_;
  std::unique_ptr<Transport> transport_;
  bool dead_ = false;
  std::map<uint32_t, uint32_t> sizes_;  // of what is allocated, by address
};

}  // namespace tern::backend::hexagon

#endif  // TERN_BACKEND_HEXAGON_RUNTIME_EXECUTOR_H_
