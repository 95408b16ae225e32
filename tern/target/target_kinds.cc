// SPDX-License-Identifier: Apache-2.0
//
// The table of target kinds and their tags.
#include <mutex>
#include <shared_mutex>

#include "tern/ffi/text.h"
#include "tern/target/target.h"

namespace tern::target {
namespace {

// Filled by Initialize and by code generators from outside; entries are never removed.
struct Table {
  std::shared_mutex mutex;
  std::map<std::string, TargetKind, std::less<>> kinds;
  KindFinder finder;
};
Table& GetTable() {
  static Table* table = new Table;
  return *table;
}

const std::string* FindTagIn(const Table& table, std::string_view name) {
  for (const auto& [kind_name, kind] : table.kinds)
    if (auto it = kind.tags.find(std::string(name)); it != kind.tags.end()) return &it->second;
  return nullptr;
}

// Gives the finder its chance where the name is neither a kind nor a tag.
void LookOutside(std::string_view name) {
  if (HasTargetKindOrTag(name)) return;
  KindFinder finder;
  {
    std::shared_lock lock(GetTable().mutex);
    finder = GetTable().finder;
  }
  if (finder) finder(name);
}

[[noreturn]] void ThrowUnknownKind(std::string_view name) {
  std::vector<std::string> kinds, all;
  for (const TargetKind* kind : TargetKinds()) {
    kinds.push_back(kind->name);
    for (const auto& [tag, text] : kind->tags) all.push_back(tag);
  }
  bool has_tags = !all.empty();
  all.insert(all.end(), kinds.begin(), kinds.end());
  // There are more tags than a message has room for; the near ones are in it.
  TERN_THROW(ValueError) << "unknown target '" << name << "'" << ffi::DidYouMean(name, all)
                         << "; the kinds are: " << ffi::Join(kinds)
                         << (has_tags ? "; `tern targets` lists the tags too" : "");
}

}  // namespace

void RegisterTargetKind(TargetKind kind) {
  Table& table = GetTable();
  std::unique_lock lock(table.mutex);
  for (const auto& [tag, text] : kind.tags)
    TERN_ICHECK(!FindTagIn(table, tag)) << "tag " << tag << " is registered twice";
  std::string name = kind.name;
  bool added = table.kinds.emplace(name, std::move(kind)).second;
  TERN_ICHECK(added) << "target kind " << name << " is registered twice";
}

void SetKindFinder(KindFinder finder) {
  std::unique_lock lock(GetTable().mutex);
  GetTable().finder = std::move(finder);
}

bool HasTargetKindOrTag(std::string_view name) {
  Table& table = GetTable();
  std::shared_lock lock(table.mutex);
  return table.kinds.contains(name) || FindTagIn(table, name);
}

std::optional<std::string> FindTag(std::string_view name) {
  LookOutside(name);
  Table& table = GetTable();
  std::shared_lock lock(table.mutex);
  const std::string* tag = FindTagIn(table, name);
  return tag ? std::optional<std::string>(*tag) : std::nullopt;
}

const TargetKind& GetTargetKind(std::string_view name) {
  LookOutside(name);
  Table& table = GetTable();
  std::shared_lock lock(table.mutex);
  auto it = table.kinds.find(name);
  if (it != table.kinds.end()) return it->second;
  lock.unlock();
  ThrowUnknownKind(name);
}

std::vector<const TargetKind*> TargetKinds() {
  Table& table = GetTable();
  std::shared_lock lock(table.mutex);
  std::vector<const TargetKind*> kinds;
  for (const auto& [name, kind] : table.kinds) kinds.push_back(&kind);
  return kinds;
}

}  // namespace tern::target
