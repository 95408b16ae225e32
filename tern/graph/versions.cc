// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/versions.h"

#include <algorithm>
#include <functional>
#include <map>

#include "tern/graph/dim_ranges.h"
#include "tern/graph/op.h"

namespace tern::graph {
namespace {

size_t NumConstantExtents(const Function& function) {
  size_t count = 0;
  for (const Value& param : function->params)
    for (const Expr& extent : param->type.shape) count += ir::AsConstInt(extent).has_value();
  return count;
}

void CheckFits(const Function& version, const Function& function) {
  bool fits = version->params.size() == function->params.size();
  for (size_t i = 0; fits && i < version->params.size(); ++i) {
    const TensorType &of = version->params[i]->type, &general = function->params[i]->type;
    fits = of.dtype == general.dtype && of.rank() == general.rank() &&
           version.InputName(i) == function.InputName(i);
    for (size_t axis = 0; fits && axis < of.rank(); ++axis)
      fits =
          general.shape[axis].As<ir::VarNode>() || SameExtent(general.shape[axis], of.shape[axis]);
  }
  TERN_CHECK(fits) << "graph " << version->name << " is no version of " << function->name
                   << ": its parameters are others";
}

bool SameContent(const ir::ConstantNode& a, const ir::ConstantNode& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.is_splat == b.is_splat &&
         (a.data().data() == b.data().data() || a.data() == b.data());
}

// Finds the first of those that are equal. What is equal has mostly the same place in the file.
class ConstantTable {
 public:
  ir::Constant Share(const ir::Constant& constant) {
    const char* place = constant->data().data();
    if (ir::Constant* found = Find(&by_place_, std::hash<const void*>()(place), constant))
      return *found;
    size_t hash = std::hash<std::string_view>()(constant->data());
    ir::Constant* found = Find(&by_hash_, hash, constant);
    ir::Constant shared = found ? *found : by_hash_.emplace(hash, constant)->second;
    by_place_.emplace(std::hash<const void*>()(place), shared);
    return shared;
  }

 private:
  using Table = std::multimap<size_t, ir::Constant>;
  static ir::Constant* Find(Table* table, size_t key, const ir::Constant& constant) {
    for (auto [it, end] = table->equal_range(key); it != end; ++it)
      if (SameContent(*it->second, *constant)) return &it->second;
    return nullptr;
  }
  Table by_place_, by_hash_;
};

// The function with other constants; values that are equal stay one.
class ConstantReplacer {
 public:
  explicit ConstantReplacer(ConstantTable* table) : table_(*table) {}

  Function Run(const Function& function) {
    std::vector<Node> nodes;
    for (const Node& node : function->nodes) {
      auto copy = ffi::Make<NodeNode>(*node);
      for (Value& input : copy->inputs) input = Replace(input);
      for (ir::BaseFunc& region : copy->regions) region = Run(AsGraph(region));
      nodes.emplace_back(copy);
    }
    std::vector<Value> results = function->results;
    for (Value& result : results) result = Replace(result);
    return Function::Make(function->name, function->params, std::move(nodes), std::move(results),
                          function->attrs, function->span);
  }

 private:
  Value Replace(const Value& value) {
    if (!value || !value->constant) return value;
    auto [it, is_new] = values_.try_emplace(value.get());
    if (!is_new) return it->second;
    ir::Constant shared = table_.Share(value->constant);
    if (shared.same(value->constant)) return it->second = value;
    auto copy = ffi::Make<ValueNode>(*value);
    copy->name = shared->name;
    copy->constant = shared;
    return it->second = copy;
  }

  ConstantTable& table_;
  std::map<const ValueNode*, Value> values_;
};

}  // namespace

std::string VersionOf(const Function& function) {
  auto it = function->attrs.find(attr::kVersionOf);
  return it == function->attrs.end() ? "" : it->second.As<std::string>();
}

bool IsVersionsOnly(const Function& function) {
  return function->attrs.find(attr::kVersionsOnly) != function->attrs.end();
}

std::vector<Function> VersionsOf(const ir::IRModule& module, const Function& function) {
  std::vector<Function> versions;
  for (const auto& [name, other] : module->functions)
    if (Function graph = AsGraph(other); graph && VersionOf(graph) == function->name)
      versions.push_back(graph);
  for (const Function& version : versions) CheckFits(version, function);
  std::stable_sort(versions.begin(), versions.end(), [](const Function& a, const Function& b) {
    return NumConstantExtents(a) > NumConstantExtents(b);
  });
  TERN_CHECK(!IsVersionsOnly(function) || !versions.empty())
      << "graph " << function->name << " has versions alone, and there is none";
  return versions;
}

Expr ConditionOf(const Function& version, const Function& function) {
  Expr condition;
  std::map<const ir::VarNode*, bool> done;
  auto add = [&](const Expr& part) { condition = condition ? condition && part : part; };
  DimRanges ranges = DimRangesOf(version->params, version->attrs);
  for (size_t i = 0; i < version->params.size(); ++i) {
    const TensorType &of = version->params[i]->type, &general = function->params[i]->type;
    for (size_t axis = 0; axis < of.rank(); ++axis) {
      const auto* dim = general.shape[axis].As<ir::VarNode>();
      if (!dim || done[dim]) continue;
      done[dim] = true;
      if (ir::AsConstInt(of.shape[axis])) {
        add(general.shape[axis] == of.shape[axis]);
      } else if (const auto* open = of.shape[axis].As<ir::VarNode>()) {
        auto range = ranges.find(open->name);
        if (range == ranges.end()) continue;
        if (range->second.lo > 0)
          add(ir::LENode::Make(Expr(range->second.lo), general.shape[axis]));
        if (range->second.hi != arith::ConstBounds::kPosInf)
          add(ir::LENode::Make(general.shape[axis], Expr(range->second.hi)));
      }
    }
  }
  return condition ? condition : ir::MakeConst(DataType::Bool(), 1);
}

ir::IRModule ShareConstants(const ir::IRModule& module) {
  ConstantTable table;
  ir::IRModule result = module;
  // One by one, and without names in between: an equal constant keeps the first one's.
  std::vector<Function> graphs;
  std::vector<ir::BaseFunc> others;
  for (const auto& [name, function] : module->functions) {
    if (Function graph = AsGraph(function))
      graphs.push_back(ConstantReplacer(&table).Run(graph));
    else
      others.push_back(function);
  }
  result = ir::IRModule::Make(others);
  for (const Function& graph : graphs) result = WithGraph(result, graph);
  return result;
}

}  // namespace tern::graph
