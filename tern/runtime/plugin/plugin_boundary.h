// SPDX-License-Identifier: Apache-2.0
//
// The runtime's side of the boundary that plugin_api.h describes: what is done around every call
// into a plugin, whichever table it is in.
#ifndef TERN_RUNTIME_PLUGIN_PLUGIN_BOUNDARY_H_
#define TERN_RUNTIME_PLUGIN_PLUGIN_BOUNDARY_H_

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>

#include "tern/ffi/function.h"
#include "tern/runtime/plugin_api.h"

namespace tern::runtime {

// A plugin's table as this runtime knows it: what the plugin's size has, and null for what it is
// too old to have. Nothing beyond its size is read.
template <class Table>
Table WholeTable(const Table* table) {
  Table whole{};
  std::memcpy(&whole, table, std::min<size_t>(table->size, sizeof whole));
  return whole;
}

// In a handler of whatever a plugin threw: throws it as an Error, "WHERE threw: ...". The
// exception's own type may be code of a library that is about to be closed.
[[noreturn]] void ThrowForeign(const std::string& where);
// The same of a member of a kind's table.
[[noreturn]] void ThrowForeign(const std::string& kind, const char* member);

// Whose process the driver behind a plugin lives in. Drivers have threads, locks and connections
// that a fork does not copy, so a child cannot use what its parent has begun to.
class DriverProcess {
 public:
  DriverProcess();
  // Takes the driver for this process, if it is nobody's. Throws if it is a parent's. `kind` is for
  // the message.
  void Enter(const std::string& kind) {
    if (owner_.load(std::memory_order_relaxed) != generation.load(std::memory_order_relaxed))
        [[unlikely]]
      EnterFirst(kind);
  }
  // Whether it is a parent's.
  bool IsInherited() const;
  // There turned out to be no driver: it is nobody's again.
  void Leave() { owner_ = kNobody; }

 private:
  void EnterFirst(const std::string& kind);

  static constexpr uint32_t kNobody = 0;
  // The forks between the first process and this one, from 1.
  static std::atomic<uint32_t> generation;
  std::atomic<uint32_t> owner_{kNobody};
};

// One per plugin, as its tables stand before one driver. Null: what the host does itself, which
// every process has.
using DriverRef = std::shared_ptr<DriverProcess>;

// Calls a function of a plugin's table and throws what it raised.
template <class Function, class... Args>
void CallPlugin(const std::string& kind, const DriverRef& driver, const char* member,
                Function function, Args... args) {
  if (driver) driver->Enter(kind);
  int code = 0;
  try {
    code = function(args...);
  } catch (...) {
    ThrowForeign(kind, member);
  }
  ffi::CheckCall(code);
}

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_PLUGIN_PLUGIN_BOUNDARY_H_
