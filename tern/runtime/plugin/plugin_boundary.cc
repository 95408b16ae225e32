// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/plugin/plugin_boundary.h"

#include <pthread.h>

namespace tern::runtime {

std::atomic<uint32_t> DriverProcess::generation{1};

void ThrowForeign(const std::string& kind, const char* member) {
  ThrowForeign("the " + kind + " runtime: " + member);
}

void ThrowForeign(const std::string& where) {
  std::string thrown;
  try {
    throw;
  } catch (const std::exception& error) {
    thrown = std::string(": ") + error.what();
  } catch (...) {
    thrown = " what is no std::exception";
  }
  throw Error("RuntimeError", where + " threw" + thrown);
}

DriverProcess::DriverProcess() {
  static const int registered = pthread_atfork(nullptr, nullptr, [] { ++generation; });
  TERN_ICHECK(registered == 0) << "pthread_atfork";
}

bool DriverProcess::IsInherited() const {
  uint32_t owner = owner_.load(std::memory_order_relaxed);
  return owner != kNobody && owner != generation.load(std::memory_order_relaxed);
}

void DriverProcess::EnterFirst(const std::string& kind) {
  uint32_t owner = owner_.load(std::memory_order_relaxed),
           self = generation.load(std::memory_order_relaxed);
  if (owner == self) return;
  if (owner == kNobody &&
      (owner_.compare_exchange_strong(owner, self, std::memory_order_relaxed) || owner == self))
    return;
  TERN_THROW(RuntimeError)
      << "cannot use " << kind
      << " devices: this process was forked after its parent had used them, and a driver does not "
         "survive a fork; use them first in the child, or start the child by exec";
}

}  // namespace tern::runtime
