// SPDX-License-Identifier: Apache-2.0
//
// What all registries are: entries by name, added and looked up by any thread.
#ifndef TERN_FFI_REGISTRY_TABLE_H_
#define TERN_FFI_REGISTRY_TABLE_H_

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/error.h"
#include "tern/ffi/text.h"

namespace tern::ffi {

// Entries do not move; pointers to them are valid until they are removed. A registry is leaked, as
// `static auto* table = new RegistryTable<Pass>("pass")`: it may be used while the process exits.
template <class T>
class RegistryTable {
 public:
  // `what` an entry is, in messages: "pass".
  explicit RegistryTable(std::string what) : what_(std::move(what)) {}
  RegistryTable(const RegistryTable&) = delete;
  RegistryTable& operator=(const RegistryTable&) = delete;

  // Throws ValueError where the name is taken. `check` may throw for each entry that is there, of
  // what else may not be twice.
  void Add(const std::string& name, T entry, const std::function<void(const T&)>& check = {}) {
    std::unique_lock lock(mutex_);
    TERN_CHECK(!entries_.contains(name)) << what_ << " " << name << " is already registered";
    if (check)
      for (const T* other : order_) check(*other);
    auto it = entries_.emplace(name, std::move(entry)).first;
    order_.push_back(&it->second);
  }
  // The entry that was there: the caller destroys it, outside of the lock.
  std::optional<T> Remove(std::string_view name) {
    std::unique_lock lock(mutex_);
    auto it = entries_.find(name);
    if (it == entries_.end()) return {};
    std::erase(order_, &it->second);
    std::optional<T> removed(std::move(it->second));
    entries_.erase(it);
    return removed;
  }

  // Null where there is none.
  const T* Find(std::string_view name) const {
    std::shared_lock lock(mutex_);
    auto it = entries_.find(name);
    return it == entries_.end() ? nullptr : &it->second;
  }
  // A copy, for entries that may be removed.
  std::optional<T> Copy(std::string_view name) const {
    std::shared_lock lock(mutex_);
    auto it = entries_.find(name);
    return it == entries_.end() ? std::nullopt : std::optional<T>(it->second);
  }
  // Throws ValueError where there is none, with the names that there are.
  const T& Get(std::string_view name) const {
    if (const T* entry = Find(name)) return *entry;
    std::vector<std::string> names = Names();
    TERN_THROW(ValueError) << "unknown " << what_ << " '" << name << "'" << DidYouMean(name, names)
                           << "; the " << what_ << (what_.ends_with('s') ? "es" : "s")
                           << " are: " << Join(names);
    __builtin_unreachable();
  }

  // In their order.
  std::vector<std::string> Names() const {
    std::shared_lock lock(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_) names.push_back(name);
    return names;
  }
  // As they were added.
  std::vector<const T*> All() const {
    std::shared_lock lock(mutex_);
    return order_;
  }

 private:
  std::string what_;
  mutable std::shared_mutex mutex_;
  std::map<std::string, T, std::less<>> entries_;
  std::vector<const T*> order_;
};

}  // namespace tern::ffi

#endif  // TERN_FFI_REGISTRY_TABLE_H_
