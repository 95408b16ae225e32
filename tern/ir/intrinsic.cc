// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/intrinsic.h"

#include <mutex>

#include "tern/ffi/registry_table.h"

namespace tern::ir {
namespace {

ffi::RegistryTable<Intrinsic>& Intrinsics() {
  static auto* intrinsics = new ffi::RegistryTable<Intrinsic>("intrinsic");
  return *intrinsics;
}

// Guards the finder.
struct Outside {
  std::mutex mutex;
  NamespaceFinder finder;
};
Outside& GetOutside() {
  static auto* outside = new Outside;
  return *outside;
}

}  // namespace

void RegisterIntrinsic(Intrinsic intrinsic) {
  std::string name = intrinsic.name;
  Intrinsics().Add(name, std::move(intrinsic));
}

const Intrinsic* FindIntrinsic(std::string_view name) {
  if (const Intrinsic* found = Intrinsics().Find(name)) return found;
  size_t dot = name.find('.');
  if (dot == std::string_view::npos) return nullptr;
  NamespaceFinder finder;
  {
    std::lock_guard lock(GetOutside().mutex);
    finder = GetOutside().finder;
  }
  if (finder) finder(name.substr(0, dot));
  return Intrinsics().Find(name);
}

void SetNamespaceFinder(NamespaceFinder finder) {
  std::lock_guard lock(GetOutside().mutex);
  GetOutside().finder = std::move(finder);
}

std::vector<std::string> IntrinsicNames() { return Intrinsics().Names(); }

const CallNode* AsIfThenElse(const Expr& expr) {
  const auto* call = expr.As<CallNode>();
  return call && call->name == kIfThenElse ? call : nullptr;
}

}  // namespace tern::ir
