// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/storage_scope.h"

#include "tern/ffi/error.h"

namespace tern::tir {
namespace {

constexpr StorageScope kScopes[] = {
    {"global", ScopeOwner::kGrid, "memory of the device or host"},
    {"texture", ScopeOwner::kGrid, "memory of the device, read through its image units"},
    {"shared", ScopeOwner::kBlock, "on-chip memory, its size known when the kernel is compiled"},
    {"shared.dynamic", ScopeOwner::kBlock, "on-chip memory, its size given at the launch"},
    {"warp", ScopeOwner::kWarp, "registers of a warp, read across its lanes"},
    {"fragment.a", ScopeOwner::kWarp, "left operand of a matrix unit"},
    {"fragment.b", ScopeOwner::kWarp, "right operand of a matrix unit"},
    {"fragment.accumulator", ScopeOwner::kWarp, "result of a matrix unit"},
    {"local", ScopeOwner::kThread, "registers or stack of a thread"},
};

}  // namespace

const StorageScope* FindStorageScope(std::string_view name) {
  for (const StorageScope& scope : kScopes)
    if (scope.name == name) return &scope;
  return nullptr;
}

ScopeOwner OwnerOf(std::string_view name) {
  const StorageScope* scope = FindStorageScope(name);
  TERN_ICHECK(scope) << "unknown scope " << name;
  return scope->owner;
}

std::vector<std::string> StorageScopeNames() {
  std::vector<std::string> names;
  for (const StorageScope& scope : kScopes) names.emplace_back(scope.name);
  return names;
}

}  // namespace tern::tir
