// SPDX-License-Identifier: Apache-2.0
//
// Calls that another process makes, one after another, so that what is called may crash or hang and
// the rest goes on. The process says on its standard output where it is:
//
//   call 3 begins
//   call 3 ok           or "call 3 ok: NOTE"
//   call 3 failed: WHY  and where that has more lines, "call 3 adds: LINE" for each
//
// Calls are counted from 1 in each process. "call 0 failed: WHY": it can make none. Other lines are
// ignored.
#ifndef TOOLS_TERN_CTS_WORKER_H_
#define TOOLS_TERN_CTS_WORKER_H_

#include <functional>
#include <string>
#include <vector>

namespace tern::tools {

// What came of a call.
struct CallReport {
  std::string error;  // why it failed; empty: it did not
  std::string note;   // what else is said of one that did not
};

struct Worker {
  std::string name;  // in messages: "the runner"
  // The program and its arguments that make the calls from `first`, counted from 0, to the last.
  std::function<std::vector<std::string>(size_t first)> command;
  int timeout = 0;  // seconds for a call, and for the start; 0: no limit
};

// Starts the worker for all calls. Where it ends in a call, or takes too long for it, that call has
// failed, and it is started again for those behind. A call after which it ends by a signal, or with
// a status over 1, has failed too. Throws where it makes no call at all.
std::vector<CallReport> RunCalls(const Worker& worker, size_t count);

// The other side: reports on standard output. What else is printed there goes to standard error.
class CallReporter {
 public:
  // Of a process that ends with the one that started it.
  CallReporter();

  void Refuse(const std::string& why);
  void Begin();
  void End(const CallReport& report);

 private:
  void Write(const std::string& text) const;
  void WriteFailure(const std::string& why) const;

  int output_;
  size_t call_ = 0;
};

}  // namespace tern::tools

#endif  // TOOLS_TERN_CTS_WORKER_H_
