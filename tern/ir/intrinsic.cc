// SPDX-License-Identifier: Apache-2.0
#include "tern/ir/intrinsic.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace tern::ir {
namespace {

struct Table {
  std::shared_mutex mutex;
  std::map<std::string, Intrinsic, std::less<>> intrinsics;
  NamespaceFinder finder;

  // Entries are never removed.
  const Intrinsic* Find(std::string_view name) {
    std::shared_lock lock(mutex);
    auto it = intrinsics.find(name);
    return it == intrinsics.end() ? nullptr : &it->second;
  }
};
Table& GetTable() {
  static Table* table = new Table;
  return *table;
}

}  // namespace

void RegisterIntrinsic(Intrinsic intrinsic) {
  Table& table = GetTable();
  std::unique_lock lock(table.mutex);
  std::string name = intrinsic.name;
  bool added = table.intrinsics.emplace(name, std::move(intrinsic)).second;
  TERN_ICHECK(added) << "intrinsic " << name << " is registered twice";
}

const Intrinsic* FindIntrinsic(std::string_view name) {
  Table& table = GetTable();
  if (const Intrinsic* found = table.Find(name)) return found;
  size_t dot = name.find('.');
  if (dot == std::string_view::npos) return nullptr;
  NamespaceFinder finder;
  {
    std::shared_lock lock(table.mutex);
    finder = table.finder;
  }
  if (finder) finder(name.substr(0, dot));
  return table.Find(name);
}

void SetNamespaceFinder(NamespaceFinder finder) {
  std::unique_lock lock(GetTable().mutex);
  GetTable().finder = std::move(finder);
}

std::vector<std::string> IntrinsicNames() {
  Table& table = GetTable();
  std::shared_lock lock(table.mutex);
  std::vector<std::string> names;
  for (const auto& [name, intrinsic] : table.intrinsics) names.push_back(name);
  return names;
}

const CallNode* AsIfThenElse(const Expr& expr) {
  const auto* call = expr.As<CallNode>();
  return call && call->name == kIfThenElse ? call : nullptr;
}

}  // namespace tern::ir
