// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/registry.h"

#include <map>
#include <mutex>
#include <shared_mutex>

#include "tern/ffi/text.h"

namespace tern::ffi {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::map<std::string, Function, std::less<>> functions;
};

// Leaked: functions may be looked up while the process exits, and may hold modules of unloaded
// libraries.
Registry& Global() {
  static Registry* registry = new Registry;
  return *registry;
}

}  // namespace

void RegisterGlobal(const std::string& name, Function function) {
  TERN_ICHECK(function) << name << " is registered without a function";
  Registry& registry = Global();
  std::unique_lock lock(registry.mutex);
  if (!registry.functions.try_emplace(name, std::move(function)).second)
    TERN_THROW(ValueError) << "global function " << name << " is already registered";
}

bool RemoveGlobal(std::string_view name) {
  Function removed;  // destroyed outside the lock: it may run foreign code
  Registry& registry = Global();
  std::unique_lock lock(registry.mutex);
  auto it = registry.functions.find(name);
  if (it == registry.functions.end()) return false;
  removed = std::move(it->second);
  registry.functions.erase(it);
  lock.unlock();
  return true;
}

Function FindGlobal(std::string_view name) {
  Registry& registry = Global();
  std::shared_lock lock(registry.mutex);
  auto it = registry.functions.find(name);
  return it == registry.functions.end() ? Function() : it->second;
}

Function GetGlobal(std::string_view name) {
  Function function = FindGlobal(name);
  if (!function)
    TERN_THROW(KeyError) << "no global function is named " << name
                         << DidYouMean(name, GlobalNames());
  return function;
}

std::vector<std::string> GlobalNames() {
  Registry& registry = Global();
  std::shared_lock lock(registry.mutex);
  std::vector<std::string> names;
  for (const auto& [name, function] : registry.functions) names.push_back(name);
  return names;
}

}  // namespace tern::ffi
