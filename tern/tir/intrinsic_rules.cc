// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/intrinsic_rules.h"

#include <map>
#include <mutex>
#include <shared_mutex>

namespace tern::tir {
namespace {

using Key = std::pair<std::string, std::string>;  // intrinsic, kind

struct Table {
  std::shared_mutex mutex;
  std::map<Key, std::vector<LoweringRule>> rules;
};
Table& GetTable() {
  static Table* table = new Table;
  return *table;
}

std::vector<LoweringRule> FindRules(std::string_view intrinsic, std::string_view kind) {
  Table& table = GetTable();
  std::shared_lock lock(table.mutex);
  std::vector<LoweringRule> found;
  auto add = [&](std::string_view of) {
    auto it = table.rules.find({std::string(intrinsic), std::string(of)});
    if (it != table.rules.end()) found.insert(found.end(), it->second.rbegin(), it->second.rend());
  };
  if (!kind.empty()) add(kind);
  add("");
  return found;
}

}  // namespace

void RegisterLoweringRule(const std::string& intrinsic, const std::string& kind,
                          LoweringRule rule) {
  Table& table = GetTable();
  std::unique_lock lock(table.mutex);
  table.rules[{intrinsic, kind}].push_back(std::move(rule));
}

LoweringRule KeepingRule(std::function<bool(DataType operand)> takes) {
  return [takes = std::move(takes)](const ir::CallNode* call) {
    return takes(call->args[0].dtype()) ? ir::Expr(ffi::Ref<const ir::CallNode>(call)) : ir::Expr();
  };
}

void KeepIntrinsics(const std::string& kind, const std::vector<std::string>& intrinsics,
                    const std::function<bool(DataType operand)>& takes) {
  for (const std::string& intrinsic : intrinsics)
    RegisterLoweringRule(intrinsic, kind, KeepingRule(takes));
}

ir::Expr ApplyLoweringRules(const ir::CallNode* call, std::string_view kind) {
  for (const LoweringRule& rule : FindRules(call->name, kind))
    if (ir::Expr result = rule(call)) return result;
  return {};
}

bool HasLoweringRule(std::string_view intrinsic, std::string_view kind) {
  return !FindRules(intrinsic, kind).empty();
}

bool IsKept(const ir::CallNode* call, const target::Target& target) {
  target::TargetScope scope(target);
  return ApplyLoweringRules(call, target->kind->name).get() == call;
}

}  // namespace tern::tir
