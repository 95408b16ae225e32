// SPDX-License-Identifier: Apache-2.0
#include "tern/graph/node_facts.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "tern/arith/analyzer.h"
#include "tern/graph/builder.h"
#include "tern/graph/op.h"
#include "tern/schedule/rules/block_kind.h"
#include "tern/tir/transform/memory/flatten_buffers.h"
#include "tern/tir/visitor.h"

namespace tern::graph {
namespace {

// The block and the store of a function that has one of each; null otherwise.
struct OnlyStore : tir::StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitNode(const tir::BlockNode* node) override {
    ++count;
    block = node;
    VisitChildren(node);
  }
  void VisitNode(const tir::BufferStoreNode* node) override {
    ++count;
    store = node;
  }
  bool Find(const tir::PrimFunc& function) {
    Visit(function->body);
    return count == 2 && block && store && !block->predicate;
  }
  int count = 0;
  const tir::BlockNode* block = nullptr;
  const tir::BufferStoreNode* store = nullptr;
};

std::vector<tir::Argument> ArgumentsOf(const std::vector<tir::Tensor>& inputs,
                                       const tir::Tensor& result) {
  std::vector<tir::Argument> args;
  for (const tir::Tensor& input : inputs)
    if (input && tir::IsReadBy(input, {result})) args.emplace_back(input);
  args.emplace_back(result);
  for (const Var& scalar : tir::MissingScalars(args)) args.emplace_back(scalar);
  return args;
}

// The result as a view of one of the inputs, with an offset that is known.
std::optional<NodeFacts::View> AsView(const std::vector<tir::Tensor>& inputs,
                                      const tir::Tensor& result, const tir::PrimFunc& function) {
  OnlyStore only;
  if (!only.Find(function)) return std::nullopt;
  const auto* load = only.store->value.As<ir::BufferLoadNode>();
  if (!load) return std::nullopt;
  arith::Analyzer analyzer;
  for (const tir::BlockIter& iter : only.block->iters)
    analyzer.BindRange(iter.var, Expr(0), iter.extent);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || load->buffer->name != inputs[i].name()) continue;
    Expr offset = analyzer.Simplify(tir::FlatIndex(load->buffer, load->indices) -
                                    tir::FlatIndex(only.store->buffer, only.store->indices));
    std::optional<int64_t> known = ir::AsConstInt(offset);
    if (!known || *known * result.dtype().bytes() % kViewAlignment != 0) return std::nullopt;
    bool whole = SameExtent(NumElements(inputs[i].shape()), NumElements(result.shape()));
    return NodeFacts::View{i, *known, whole};
  }
  return std::nullopt;
}

// Whether the last axis of the result is that of the one tensor that is read.
bool MovesRows(const tir::PrimFunc& function) {
  OnlyStore only;
  if (!only.Find(function)) return false;
  const auto* load = only.store->value.As<ir::BufferLoadNode>();
  return load && !load->indices.empty() && !only.store->indices.empty() &&
         load->indices.back().same(only.store->indices.back());
}

}  // namespace

NodeFacts FactsOf(const Node& node) {
  NodeFacts facts;
  facts.read.resize(node->inputs.size(), false);
  if (node->op->control != Control::kNone || !node->op->program.empty()) {
    for (size_t i = 0; i < facts.read.size(); ++i)
      facts.read[i] = static_cast<bool>(node->inputs[i]);
    // How often a loop runs is known as an expression.
    if (node->op->control == Control::kLoop && !facts.read.empty()) facts.read[0] = false;
    if (node->op->control == Control::kRead || node->op->control == Control::kChecked)
      facts.views = {{0, 0, true}};
    return facts;
  }
  if (node->op->is_view) {
    facts.read[0] = true;
    facts.views = {{0, 0, true}};
    return facts;
  }
  std::vector<tir::Tensor> inputs = InputTensors(node);
  std::vector<tir::Tensor> results = ComputeNode(node, "y", inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    facts.read[i] = inputs[i] && tir::IsReadBy(inputs[i], results);
  for (const tir::Tensor& result : results) {
    tir::PrimFunc function = tir::MakeFunction("f", ArgumentsOf(inputs, result));
    std::optional<NodeFacts::View> view = AsView(inputs, result, function);
    if (view) facts.views.push_back(*view);
    if (results.size() != 1) {
      if (!view) break;
      continue;
    }
    std::vector<schedule::BlockInfo> blocks = schedule::DescribeBlocks(function);
    using schedule::BlockKind;
    auto is_elementwise = [](BlockKind kind) {
      return kind == BlockKind::kElementwise || kind == BlockKind::kBroadcast;
    };
    facts.reduces = !blocks.empty() && blocks[0].kind == BlockKind::kReduction &&
                    std::all_of(blocks.begin(), blocks.end(), [&](const auto& block) {
                      return block.kind == BlockKind::kReduction || is_elementwise(block.kind);
                    });
    if (blocks.size() != 1) continue;
    BlockKind kind = blocks[0].kind;
    facts.elementwise = is_elementwise(kind);
    facts.chooses =
        kind == BlockKind::kGather || (kind == BlockKind::kInjective && blocks[0].conditional);
    facts.moves_rows = kind == BlockKind::kInjective && MovesRows(function);
  }
  if (facts.views.size() != results.size()) facts.views.clear();
  return facts;
}

FactsMap FactsOfNodes(const Function& function) {
  FactsMap all;
  std::unordered_set<const ValueNode*> read;
  for (const Value& result : function->results) read.insert(result.get());
  for (size_t i = function->nodes.size(); i-- > 0;) {
    const Node& node = function->nodes[i];
    // One that reads extents from data is needed by all that has them.
    bool defines = node->op->control != Control::kNone && !node->dims.empty();
    if (!defines && std::none_of(node->outputs.begin(), node->outputs.end(),
                                 [&](const Value& output) { return read.contains(output.get()); }))
      continue;
    NodeFacts facts = FactsOf(node);
    for (size_t k = 0; k < facts.read.size(); ++k)
      if (facts.read[k]) read.insert(node->inputs[k].get());
    all.emplace(node.get(), std::move(facts));
  }
  // Constants are read as wholes: parts of them are copied.
  std::unordered_set<const ValueNode*> constant;
  for (const Node& node : function->nodes) {
    auto it = all.find(node.get());
    if (it == all.end() || it->second.views.empty()) continue;
    std::vector<NodeFacts::View>& views = it->second.views;
    const Value& input = node->inputs[views[0].input];
    if (!input->constant && !constant.contains(input.get())) continue;
    if (views.size() == 1 && views[0].whole)
      constant.insert(node->outputs[0].get());
    else
      views.clear();
  }
  return all;
}

}  // namespace tern::graph
