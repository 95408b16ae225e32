// SPDX-License-Identifier: Apache-2.0
//
// Where memory lives, and who shares it.
#ifndef TERN_IR_STORAGE_SCOPE_H_
#define TERN_IR_STORAGE_SCOPE_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace tern::ir {

enum class StorageScope : uint8_t {
  kGlobal,         // memory of the device or host
  kTexture,        // memory of the device, read through its image units
  kShared,         // on-chip memory, its size known when the kernel is compiled
  kSharedDynamic,  // on-chip memory, its size given at the launch: a kernel has one piece at most
  kWarp,           // registers of a warp, read across its lanes
  kFragmentA,      // left operand of a matrix unit
  kFragmentB,      // right operand of a matrix unit
  kFragmentAccumulator,  // result of a matrix unit
  kLocal,                // registers or stack of a thread
};

// Who sees one piece of the memory.
enum class ScopeOwner : uint8_t { kGrid, kBlock, kWarp, kThread };
ScopeOwner OwnerOf(StorageScope scope);

// Whether the threads of a block share memory of this scope.
inline bool IsSharedScope(StorageScope scope) { return OwnerOf(scope) == ScopeOwner::kBlock; }

// The text form: global, texture, shared, shared.dynamic, warp, fragment.a, fragment.b,
// fragment.accumulator, local.
const char* StorageScopeName(StorageScope scope);
std::optional<StorageScope> FindStorageScope(std::string_view name);
// That there is none of this name, with those that there are.
std::string NoStorageScope(std::string_view name);
// "global, shared"
std::string StorageScopeNames(const std::vector<StorageScope>& scopes);
inline std::ostream& operator<<(std::ostream& out, StorageScope scope) {
  return out << StorageScopeName(scope);
}

}  // namespace tern::ir

#endif  // TERN_IR_STORAGE_SCOPE_H_
