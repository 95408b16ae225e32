// SPDX-License-Identifier: Apache-2.0
//
// The table of target kinds and their tags.
#include <mutex>

#include "tern/ffi/registry_table.h"
#include "tern/target/target.h"

namespace tern::target {
namespace {

// Filled by Initialize and by code generators from outside; entries are never removed.
ffi::RegistryTable<TargetKind>& Kinds() {
  static auto* kinds = new ffi::RegistryTable<TargetKind>("target kind");
  return *kinds;
}

struct Outside {
  std::mutex mutex;
  KindFinder finder;
};
Outside& GetOutside() {
  static auto* outside = new Outside;
  return *outside;
}

const std::string* FindKnownTag(std::string_view name) {
  for (const TargetKind* kind : Kinds().All())
    if (auto it = kind->tags.find(std::string(name)); it != kind->tags.end()) return &it->second;
  return nullptr;
}

// Gives the finder its chance where the name is neither a kind nor a tag.
void LookOutside(std::string_view name) {
  if (HasTargetKindOrTag(name)) return;
  KindFinder finder;
  {
    std::lock_guard lock(GetOutside().mutex);
    finder = GetOutside().finder;
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
  std::string name = kind.name;
  auto tags = kind.tags;
  Kinds().Add(name, std::move(kind), [&](const TargetKind& other) {
    for (const auto& [tag, text] : tags)
      TERN_CHECK(!other.tags.contains(tag)) << "target " << tag << " is already registered";
  });
}

void SetKindFinder(KindFinder finder) {
  std::lock_guard lock(GetOutside().mutex);
  GetOutside().finder = std::move(finder);
}

bool HasTargetKindOrTag(std::string_view name) { return Kinds().Find(name) || FindKnownTag(name); }

std::optional<std::string> FindTag(std::string_view name) {
  LookOutside(name);
  const std::string* tag = FindKnownTag(name);
  return tag ? std::optional<std::string>(*tag) : std::nullopt;
}

const TargetKind& GetTargetKind(std::string_view name) {
  LookOutside(name);
  if (const TargetKind* kind = Kinds().Find(name)) return *kind;
  ThrowUnknownKind(name);
}

std::vector<const TargetKind*> TargetKinds() {
  std::vector<const TargetKind*> kinds = Kinds().All();
  std::sort(kinds.begin(), kinds.end(),
            [](const TargetKind* a, const TargetKind* b) { return a->name < b->name; });
  return kinds;
}

}  // namespace tern::target
