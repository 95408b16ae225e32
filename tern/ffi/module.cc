// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/module.h"

#include <mutex>
#include <set>

#include "tern/ffi/registry.h"
#include "tern/ffi/text.h"

namespace tern::ffi {
namespace {

// Whether `target` is `from` or below it. Modules may be shared, so each is visited once.
bool Reaches(const ModuleObj* from, const ModuleObj* target, std::set<const ModuleObj*>* seen) {
  if (from == target) return true;
  if (!seen->insert(from).second) return false;
  for (const Module& import : from->imports())
    if (Reaches(import.get(), target, seen)) return true;
  return false;
}

}  // namespace

std::string ModuleObj::SaveToBytes() const {
  TERN_THROW(ValueError) << "a module of kind " << kind() << " cannot be saved to bytes";
  return {};
}

std::string ModuleObj::InspectSource(std::string_view format) const {
  TERN_THROW(ValueError) << "a module of kind " << kind() << " has no source"
                         << (format.empty() ? "" : " in format ") << format << "; it has "
                         << Join(SourceFormats());
  return {};
}

void ModuleObj::Import(Module module) {
  TERN_ICHECK(module) << "a null module is imported";
  std::set<const ModuleObj*> seen;
  TERN_CHECK(!Reaches(module.get(), this, &seen))
      << "the module of kind " << kind() << " cannot import one of kind " << module->kind()
      << " that imports it: that would be a cycle";
  imports_.push_back(std::move(module));
}

Function ModuleObj::FindFunction(std::string_view name) {
  if (Function function = GetFunction(name)) return function;
  for (const Module& import : imports_)
    if (Function function = import->FindFunction(name)) return function;
  return {};
}

Function ModuleObj::FindCallee(std::string_view name) {
  {
    std::shared_lock lock(callees_mutex_);
    if (auto it = callees_.find(name); it != callees_.end()) return it->second;
  }
  // The lookup runs outside the lock, as it may load a plugin. Functions of the registry are not
  // remembered: they may be replaced.
  for (const Module& import : imports_)
    if (Function function = import->FindFunction(name)) {
      std::unique_lock lock(callees_mutex_);
      return callees_.try_emplace(std::string(name), std::move(function)).first->second;
    }
  return FindGlobal(name);
}

}  // namespace tern::ffi
