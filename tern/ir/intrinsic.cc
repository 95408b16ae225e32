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
  std::shared_lock lock(table.mutex);
  auto it = table.intrinsics.find(name);
  return it == table.intrinsics.end() ? nullptr : &it->second;
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
