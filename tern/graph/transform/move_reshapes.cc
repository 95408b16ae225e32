// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "tern/graph/builder.h"
#include "tern/graph/node_facts.h"
#include "tern/graph/transform/passes.h"

namespace tern::graph {
namespace {

bool SameShape(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameExtent);
}

class ReshapeMover : public Rewriter {
 public:
  explicit ReshapeMover(const Function& function) {
    auto leave = [&](const Value& value) { kept_.insert(value.get()); };
    ForEachNode(function, [&](const Node& node) {
      for (const Value& input : node->inputs)
        if (input && !input->constant) readers_[input.get()].push_back(node);
      for (const ir::BaseFunc& region : node->regions)
        for (const Value& result : AsGraph(region)->results) leave(result);
    });
    for (const Value& result : function->results) leave(result);
  }

 protected:
  std::vector<Value> Rewrite(Builder& builder, const Node& node,
                             const std::vector<Value>& inputs) override {
    std::vector<Value> outputs = Moved(builder, node, inputs);
    if (outputs.empty()) outputs = Made(builder, builder.Copy(node, inputs));
    return outputs;
  }

 private:
  // Remembers the node that was added last.
  std::vector<Value> Made(const Builder& builder, std::vector<Value> outputs) {
    if (!builder.nodes().empty())
      for (const Value& output : outputs) makers_[output.get()] = builder.nodes().back();
    return outputs;
  }
  Node MakerOf(const Value& value) const {
    auto it = value ? makers_.find(value.get()) : makers_.end();
    return it == makers_.end() ? Node() : it->second;
  }

  // The node before a reshape of one of its inputs, and the reshape; none where it has to stay.
  std::vector<Value> Moved(Builder& builder, const Node& node, const std::vector<Value>& inputs) {
    // Axes are counted in the shape that it has now.
    if (node->outputs.size() != 1 || node->outputs[0]->content || !node->op->compute ||
        node->op->is_view || node->attrs.contains("axis") || node->attrs.contains("perm"))
      return {};
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value& input = inputs[i];
      Node view = MakerOf(input);
      if (!view || !view->op->is_view || !input->type.dtype.is_float() ||
          !IsReadByElement(node->inputs[i]))
        continue;
      const Value& from = view->inputs[0];
      if (!IsComputed(MakerOf(from)) ||
          !SameShape(input->type.shape, node->outputs[0]->type.shape) ||
          SameShape(input->type.shape, from->type.shape))
        continue;
      std::optional<std::vector<Value>> operands = Operands(builder, inputs, input, from);
      if (!operands) continue;
      // The name is that of a result of the model, it may be.
      const std::string& name = node->outputs[0]->name;
      std::vector<Value> results =
          Made(builder, builder.Add(*node->op, *operands, node->attrs,
                                    {node->label, {name + "_before"}, node->span, {}, {}}));
      std::vector<Value> rest = view->inputs;
      rest[0] = results[0];
      return Made(builder, builder.Add(*view->op, rest, view->attrs,
                                       {view->label, {name}, view->span, {}, {}}));
    }
    return {};
  }

  // Whether nodes alone read a value that compute by element: a normalization of rows, which reads
  // them twice, keeps its shape. Of the old graph.
  bool IsReadByElement(const Value& value) {
    if (kept_.contains(value.get())) return false;
    const std::vector<Node>& readers = readers_[value.get()];
    return std::all_of(readers.begin(), readers.end(), [&](const Node& reader) {
      auto [it, is_new] = elementwise_.try_emplace(reader.get(), false);
      if (is_new)
        it->second = reader->op->compute && !reader->op->is_view && FactsOf(reader).elementwise;
      return it->second;
    });
  }

  // By a kernel, to which what follows can be an epilogue.
  static bool IsComputed(const Node& node) {
    if (!node || !node->op->compute || node->op->is_view || node->outputs.size() != 1) return false;
    NodeFacts facts = FactsOf(node);
    return facts.views.empty() && !facts.chooses;
  }

  // All inputs for the shape of `from`; none where one has no such form.
  std::optional<std::vector<Value>> Operands(Builder& builder, const std::vector<Value>& inputs,
                                             const Value& to, const Value& from) {
    std::vector<Value> operands;
    for (const Value& input : inputs) {
      operands.push_back(input ? Operand(builder, input, to, from) : Value());
      if (input && !operands.back()) return {};
    }
    return operands;
  }

  // An operand beside `to`, of which `from` is the content in the shape before; null where it has
  // no such form.
  Value Operand(Builder& builder, const Value& value, const Value& to, const Value& from) {
    if (value.same(to)) return from;
    const std::vector<Expr>&shape = value->type.shape, &before = from->type.shape,
          &after = to->type.shape;
    if (SameShape(shape, after)) {
      // Without going there and back.
      Node view = MakerOf(value);
      if (view && view->op->is_view && SameShape(view->inputs[0]->type.shape, before))
        return view->inputs[0];
      return Made(builder, {builder.Add("reshape", {value, builder.Add("shape", {from})})})[0];
    }
    // Along the last axes, which both shapes have.
    size_t ones = 0;
    while (ones < shape.size() && ir::IsConst(shape[ones], 1)) ++ones;
    size_t wide = shape.size() - ones;
    if (wide > before.size() || wide > after.size() ||
        !std::equal(before.end() - static_cast<std::ptrdiff_t>(wide), before.end(),
                    after.end() - static_cast<std::ptrdiff_t>(wide), SameExtent))
      return {};
    if (shape.size() <= before.size()) return value;
    std::vector<int64_t> axes;
    for (size_t i = 0; i < ones; ++i) axes.push_back(static_cast<int64_t>(i));
    return Made(builder, {builder.Add("squeeze", {value, builder.Ints(axes, "axes")})})[0];
  }

  std::unordered_map<const ValueNode*, std::vector<Node>> readers_;
  std::unordered_set<const ValueNode*> kept_;  // results
  std::unordered_map<const NodeNode*, bool> elementwise_;
  std::unordered_map<const ValueNode*, Node> makers_;  // of values of the new graph
};

}  // namespace

Function MoveReshapes(const Function& function) {
  return RemoveDeadNodes(ReshapeMover(function).Run(function));
}

}  // namespace tern::graph
