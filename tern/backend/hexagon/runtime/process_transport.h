// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_BACKEND_HEXAGON_RUNTIME_PROCESS_TRANSPORT_H_
#define TERN_BACKEND_HEXAGON_RUNTIME_PROCESS_TRANSPORT_H_

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "tern/backend/hexagon/runtime/transport.h"

namespace tern::backend::hexagon {

// A process of this machine, by its standard input and output. It ends with this object at the
// latest. It belongs to the process that started it: in a forked child this object has none.
class ProcessTransport : public Transport {
 public:
  // Runs `command`, a program with its path and its arguments, and one more, which is the path of a
  // file with the bytes of `program`; none where that is empty. `limit` is for each Send and
  // Receive.
  ProcessTransport(std::vector<std::string> command, std::string_view program,
                   std::chrono::milliseconds limit);
  ~ProcessTransport() override;
  ProcessTransport(const ProcessTransport&) = delete;

  void Send(const void* data, size_t bytes) override;
  void Receive(void* data, size_t bytes) override;

 private:
  friend class Transports;
  // In a forked child: leaves the process and the connection to the parent.
  void Forget();
  // Waits until the socket is ready, or throws at the deadline.
  void Wait(short events, std::chrono::steady_clock::time_point deadline);
  // Ends the process. What became of it: "it ended with status 1".
  std::string End();
  [[noreturn]] void ThrowGone();

  std::vector<std::string> command_;
  std::chrono::milliseconds limit_;
  int socket_ = -1;
  pid_t process_ = -1;  // -1: has ended
};

}  // namespace tern::backend::hexagon

#endif  // TERN_BACKEND_HEXAGON_RUNTIME_PROCESS_TRANSPORT_H_
