// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "tern/graph/builder.h"
#include "tern/graph/op.h"
#include "tern/graph/transform/passes.h"

namespace tern::graph {
namespace {

using Perm = std::vector<int64_t>;

Perm PermOf(const Node& transpose) {
  Perm perm;
  if (auto given = transpose->attrs.find("perm"); given != transpose->attrs.end()) {
    for (const ffi::Any& axis : *given->second.As<ffi::Array>()) perm.push_back(axis.As<int64_t>());
    return perm;
  }
  for (size_t i = transpose->outputs[0]->type.rank(); i-- > 0;)
    perm.push_back(static_cast<int64_t>(i));
  return perm;
}

bool IsIncreasing(const Perm& perm) {
  return std::adjacent_find(perm.begin(), perm.end(), std::greater_equal<>()) == perm.end();
}

class TransposeCanceller : public Rewriter {
 protected:
  std::vector<Value> Rewrite(Builder& builder, const Node& node,
                             const std::vector<Value>& inputs) override {
    bool is_transpose = node->op->name == "transpose";
    if (is_transpose)
      if (Value moved = Moved(builder, node, inputs[0])) return {moved};
    std::vector<Value> outputs = builder.Copy(node, inputs);
    if (is_transpose || node->op->is_concat) makers_[outputs[0].get()] = builder.nodes().back();
    return outputs;
  }

 private:
  // What a transpose reads, with its permutation. Where that value is a transpose itself: what that
  // one reads, with both permutations composed.
  struct Source {
    Value value;
    Perm perm;
  };
  Source SourceOf(const Value& value, const Perm& perm) const {
    auto maker = makers_.find(value.get());
    if (maker == makers_.end() || maker->second->op->name != "transpose") return {value, perm};
    Perm inner = PermOf(maker->second), total;
    for (int64_t axis : perm) total.push_back(inner[static_cast<size_t>(axis)]);
    return {maker->second->inputs[0], total};
  }

  // Whether elements stay in their order: axes that change places have extent 1.
  static bool KeepsOrder(const Source& source) {
    Perm moved;
    for (int64_t axis : source.perm)
      if (!ir::IsConst(source.value->type.shape[static_cast<size_t>(axis)], 1))
        moved.push_back(axis);
    return IsIncreasing(moved);
  }

  Value Transposed(Builder& builder, const Source& source, const Builder::Options& options) {
    if (IsIncreasing(source.perm)) return source.value;
    std::vector<ffi::Any> perm(source.perm.begin(), source.perm.end());
    Value result = builder.Add("transpose", {source.value},
                               {{"perm", ffi::Any(ffi::MakeArray(std::move(perm)))}}, options);
    makers_[result.get()] = builder.nodes().back();
    return result;
  }

  // The transposition without one before it, or before the concat that it is of; null where it
  // stays as it is.
  Value Moved(Builder& builder, const Node& node, const Value& input) {
    Perm perm = PermOf(node);
    Builder::Options options{node->label, {node->outputs[0]->name}, node->span};
    Source whole = SourceOf(input, perm);
    if (!whole.value.same(input)) return Transposed(builder, whole, options);
    auto maker = makers_.find(input.get());
    if (maker == makers_.end()) return {};
    const Node concat = maker->second;
    std::vector<Source> sources;
    for (const Value& part : concat->inputs) sources.push_back(SourceOf(part, perm));
    bool cancels = std::any_of(sources.begin(), sources.end(),
                               [](const Source& one) { return IsIncreasing(one.perm); });
    if (!cancels || !std::all_of(sources.begin(), sources.end(), KeepsOrder)) return {};
    std::vector<Value> parts;
    for (const Source& source : sources)
      parts.push_back(Transposed(builder, source, {node->label, {}, node->span}));
    int64_t axis = concat->attrs.at("axis").As<int64_t>();
    if (axis < 0) axis += static_cast<int64_t>(perm.size());
    int64_t moved = std::find(perm.begin(), perm.end(), axis) - perm.begin();
    Value result = builder.Add("concat", parts, {{"axis", ffi::Any(moved)}}, options);
    makers_[result.get()] = builder.nodes().back();
    return result;
  }

  std::unordered_map<const ValueNode*, Node> makers_;  // transpositions and concats
};

}  // namespace

Function CancelTransposes(const Function& function) { return TransposeCanceller().Run(function); }

}  // namespace tern::graph
