// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/interpreter/async_accesses.h"

namespace tern::tir {

std::vector<AsyncAccess> AsyncGroups::Wait(int64_t count) {
  std::vector<AsyncAccess> done;
  for (; static_cast<int64_t>(groups_.size()) - 1 > count; ++first_) {
    done.insert(done.end(), groups_.front().begin(), groups_.front().end());
    groups_.pop_front();
  }
  return done;
}

bool AsyncGroups::Has(const AsyncAccess& access) const {
  if (access.group < first_ || access.group > open()) return false;
  for (const AsyncAccess& own : groups_[access.group - first_])
    if (own.address == access.address && own.is_write == access.is_write) return true;
  return false;
}

// Of a thread that reads, or writes, an element in several groups, the last one counts.
void AsyncMemory::Begin(const AsyncAccess& access) {
  auto [first, last] = accesses_.equal_range(access.address);
  for (auto it = first; it != last; ++it)
    if (it->second.task == access.task && it->second.is_write == access.is_write) {
      it->second = access;
      return;
    }
  accesses_.emplace(access.address, access);
}

bool AsyncMemory::End(const AsyncAccess& access) {
  auto [first, last] = accesses_.equal_range(access.address);
  for (auto it = first; it != last; ++it)
    if (it->second.task == access.task && it->second.is_write == access.is_write) {
      if (it->second.group == access.group) accesses_.erase(it);
      return true;
    }
  return false;
}

const AsyncAccess* AsyncMemory::Find(const char* address, size_t bytes, bool is_write) const {
  if (accesses_.empty()) return nullptr;
  for (auto it = accesses_.lower_bound(address - kMostBytes);
       it != accesses_.end() && it->first < address + bytes; ++it)
    if (it->first + it->second.bytes > address && (is_write || it->second.is_write))
      return &it->second;
  return nullptr;
}

}  // namespace tern::tir
