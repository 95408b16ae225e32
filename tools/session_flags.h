// SPDX-License-Identifier: Apache-2.0
//
// How a session runs a model, as `tern run` and `tern-run` are told.
#ifndef TOOLS_SESSION_FLAGS_H_
#define TOOLS_SESSION_FLAGS_H_

#include <string>
#include <vector>

#include "tern/runtime/vm/session.h"

namespace tern::tools {

// Options that are for models alone.
inline constexpr const char* kModelFlags =
    "--profile, --trace, --threads, --cpus, --denormals, --timeout, --select, --device, "
    "--graphs and --state";

struct SessionFlags {
  int threads = 0;                  // 0: as many as can run at once
  std::string cpus;                 // "0-3,6", or ""
  std::string denormals;            // "flush", "keep", or "": as this thread has it
  double timeout = 0;               // seconds for a run; 0: no limit
  std::vector<std::string> select;  // outputs, by name; empty: all
  std::vector<std::string> states;  // "past=present": inputs that are outputs of the run before
  int device = 0;                   // number of the device
  std::string graphs;               // "on", "off", or "": on

  bool any() const {
    return threads != 0 || !cpus.empty() || !denormals.empty() || timeout != 0 || !select.empty() ||
           device != 0 || !graphs.empty() || !states.empty();
  }
};

// Throws with the option's name where a value is not legal.
runtime::vm::SessionOptions MakeSessionOptions(const SessionFlags& flags);
// Of a run that begins now.
runtime::vm::RunOptions MakeRunOptions(const SessionFlags& flags);

}  // namespace tern::tools

#endif  // TOOLS_SESSION_FLAGS_H_
