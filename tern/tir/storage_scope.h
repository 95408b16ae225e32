// SPDX-License-Identifier: Apache-2.0
//
// Where memory lives, and who shares it.
#ifndef TERN_TIR_STORAGE_SCOPE_H_
#define TERN_TIR_STORAGE_SCOPE_H_

#include <string>
#include <string_view>
#include <vector>

namespace tern::tir {

// Who sees one piece of the memory.
enum class ScopeOwner { kGrid, kBlock, kWarp, kThread };

struct StorageScope {
  std::string_view name;
  ScopeOwner owner;
  std::string_view description;
};

// global, texture, shared, shared.dynamic, warp, fragment.a, fragment.b, fragment.accumulator,
// local. Null for another name.
const StorageScope* FindStorageScope(std::string_view name);
std::vector<std::string> StorageScopeNames();

// Shared memory whose size the launch gives: a kernel has one piece of it at most. Among what a
// launch takes this is the size, in bytes.
inline constexpr const char* kDynamicShared = "shared.dynamic";

// Of one of the scopes.
ScopeOwner OwnerOf(std::string_view name);

// Whether the threads of a block share memory of this scope.
inline bool IsSharedScope(std::string_view name) {
  const StorageScope* scope = FindStorageScope(name);
  return scope && scope->owner == ScopeOwner::kBlock;
}

}  // namespace tern::tir

#endif  // TERN_TIR_STORAGE_SCOPE_H_
