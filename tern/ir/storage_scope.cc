// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/storage_scope.h"

#include "tern/ffi/text.h"

namespace tern::ir {
namespace {

struct ScopeInfo {
  StorageScope scope;
  const char* name;
  ScopeOwner owner;
};

constexpr ScopeInfo kScopes[] = {
    {StorageScope::kGlobal, "global", ScopeOwner::kGrid},
    {StorageScope::kTexture, "texture", ScopeOwner::kGrid},
    {StorageScope::kShared, "shared", ScopeOwner::kBlock},
    {StorageScope::kSharedDynamic, "shared.dynamic", ScopeOwner::kBlock},
    {StorageScope::kWarp, "warp", ScopeOwner::kWarp},
    {StorageScope::kFragmentA, "fragment.a", ScopeOwner::kWarp},
    {StorageScope::kFragmentB, "fragment.b", ScopeOwner::kWarp},
    {StorageScope::kFragmentAccumulator, "fragment.accumulator", ScopeOwner::kWarp},
    {StorageScope::kLocal, "local", ScopeOwner::kThread},
};

constexpr const ScopeInfo& InfoOf(StorageScope scope) {
  return kScopes[static_cast<size_t>(scope)];
}

// The table is in the order of the enumeration.
constexpr bool IsInOrder() {
  for (size_t i = 0; i < std::size(kScopes); ++i)
    if (static_cast<size_t>(kScopes[i].scope) != i) return false;
  return true;
}
static_assert(IsInOrder());

}  // namespace

ScopeOwner OwnerOf(StorageScope scope) { return InfoOf(scope).owner; }

const char* StorageScopeName(StorageScope scope) { return InfoOf(scope).name; }

std::optional<StorageScope> FindStorageScope(std::string_view name) {
  for (const ScopeInfo& info : kScopes)
    if (info.name == name) return info.scope;
  return {};
}

std::string NoStorageScope(std::string_view name) {
  std::vector<std::string> names;
  for (const ScopeInfo& info : kScopes) names.emplace_back(info.name);
  return "there is no scope " + std::string(name) + ffi::DidYouMean(name, names) +
         "; the scopes are " + ffi::Join(names);
}

std::string StorageScopeNames(const std::vector<StorageScope>& scopes) {
  std::vector<std::string> names;
  for (StorageScope scope : scopes) names.emplace_back(StorageScopeName(scope));
  return ffi::Join(names);
}

}  // namespace tern::ir
