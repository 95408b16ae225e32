// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/registry.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>

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

// The number of insertions, deletions, replacements and swaps of neighbours that make `b` of `a`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
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

std::vector<std::string> NearNames(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  std::vector<std::pair<size_t, std::string>> near;
  for (const std::string& candidate : candidates) {
    size_t distance = EditDistance(name, candidate);
    // A third of the letters wrong is still a typing mistake; a name of which one is the start of
    // the other may be one cut short.
    bool starts = name.size() >= 3 && candidate.starts_with(name);
    if (distance <= std::max(name.size(), candidate.size()) / 3 || starts)
      near.emplace_back(distance, candidate);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < near.size() && i < 3; ++i) names.push_back(near[i].second);
  return names;
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  std::string text;
  for (const std::string& near : NearNames(name, candidates))
    text += (text.empty() ? " (did you mean " : ", ") + near;
  return text.empty() ? text : text + "?)";
}

}  // namespace tern::ffi
