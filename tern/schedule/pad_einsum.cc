// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// The loads that a product is made of. Refuses what is no product of loads.
void CollectFactors(const Expr& expr, std::vector<const ir::BufferLoadNode*>* loads) {
  if (const auto* product = expr.As<ir::MulNode>()) {
    CollectFactors(product->a, loads);
    CollectFactors(product->b, loads);
  } else if (const auto* cast = expr.As<ir::CastNode>()) {
    CollectFactors(cast->value, loads);
  } else if (const auto* load = expr.As<ir::BufferLoadNode>()) {
    loads->push_back(load);
  } else {
    Refuse("what is summed is not a product of loads");
  }
}

using Extents = std::map<const VarNode*, std::pair<Expr, Expr>>;  // of axes: as it is, padded

// One buffer with its dimensions along padded axes extended.
struct Padded {
  Buffer whole, padded;
  std::vector<Expr> indices;  // axes of the block
  bool changes = false;
};

Padded Pad(const Buffer& buffer, const std::vector<Expr>& indices, const Extents& extents) {
  Padded result{buffer, {}, indices};
  std::vector<Expr> shape;
  for (const Expr& index : indices) {
    auto it = extents.find(index.As<VarNode>());
    if (it == extents.end())
      Refuse(buffer->name + " is accessed at an index that is no axis of the block");
    shape.push_back(it->second.second);
    result.changes |= !it->second.second.same(it->second.first);
  }
  result.padded = BufferNode::Make(buffer->name + "_pad", buffer->dtype, shape);
  return result;
}

// Elements of one copied to the other: into the padded one with zeros around, or out of it.
Stmt CopyPadded(const Padded& pad, const Extents& extents, bool in) {
  FreshLoops loops;
  std::vector<BlockIter> iters;
  std::vector<Expr> at;
  Expr inside;
  for (size_t d = 0; d < pad.indices.size(); ++d) {
    const auto& [extent, padded] = extents.at(pad.indices[d].As<VarNode>());
    loops.vars.emplace_back(pad.padded->name + "_" + std::to_string(d));
    loops.extents.push_back(in ? padded : extent);
    Var axis("v" + std::to_string(d));
    iters.push_back({loops.extents.back(), loops.vars.back(), axis, IterKind::kSpatial});
    at.push_back(axis);
    if (!padded.same(extent)) inside = And(inside, axis < extent);
  }
  const Buffer &from = in ? pad.whole : pad.padded, &to = in ? pad.padded : pad.whole;
  Expr value = ir::BufferLoadNode::Make(from, at);
  if (in) value = ir::SelectNode::Make(inside, value, ir::MakeConst(from->dtype, 0));
  return loops.Around(
      BlockNode::Make(pad.padded->name, iters, {}, BufferStoreNode::Make(to, at, value)));
}

}  // namespace

void Schedule::PadEinsum(const std::string& block_name, const std::vector<int64_t>& factors) {
  Names args = {block_name};
  for (int64_t factor : factors) args.push_back(std::to_string(factor));
  Do("pad_einsum", args, [&]() -> Names {
    const BlockNode* block = FindBlock(block_name);
    Nest nest = NestOf(tree(), block);
    if (factors.size() != block->iters.size())
      Refuse("block " + block_name + " has " + std::to_string(block->iters.size()) +
             " axes, each of which has a factor; got " + std::to_string(factors.size()));
    std::optional<ReductionUpdate> update = PlainUpdate(block);
    bool plain = update && update->lets.empty() && block->init.get();
    if (!plain || update->op != ExprKind::kAdd)
      Refuse("block " + block_name + " is not a sum of products with an init");
    if (!FactsOf(block).complete || block->predicate.get() || !nest.around.empty())
      Refuse("block " + block_name + " does not run over all of its axes; pad it first");
    SoleResult(block);
    Extents extents;
    arith::Analyzer analyzer;
    std::vector<const ir::BufferLoadNode*> loads;
    CollectFactors(update->value, &loads);
    auto copy = CopyBlock(block);
    for (size_t i = 0; i < factors.size(); ++i) {
      BlockIter& iter = copy->iters[i];
      CheckFactor("the factor of axis " + iter.var.name(), factors[i]);
      CheckRoundsUp(iter.extent, factors[i]);
      if (!iter.binding.As<VarNode>() || iter.var.dtype() != DataType::Int(64))
        Refuse("axis " + iter.var.name() + " is not bound to a loop of its own; pad it first");
      Expr factor(factors[i]);
      bool whole = analyzer.CanProve(ir::FloorMod(iter.extent, factor) == Expr(0));
      Expr padded =
          whole ? iter.extent : analyzer.Simplify(ir::CeilDiv(iter.extent, factor) * factor);
      extents[iter.var.node()] = {iter.extent, padded};
      // Zeros that are multiplied with what another factor has beyond its end.
      for (const auto* load : loads) {
        bool uses = std::any_of(load->indices.begin(), load->indices.end(),
                                [&](const Expr& index) { return index.same(iter.var); });
        if (iter.kind == IterKind::kReduce && !whole && !uses)
          Refuse("axis " + iter.var.name() + " is summed, and " + load->buffer->name +
                 " does not have it");
      }
      iter.extent = padded;
    }
    std::vector<Padded> pads;
    for (const auto* load : loads) pads.push_back(Pad(load->buffer, load->indices, extents));
    pads.push_back(Pad(update->store->buffer, update->store->indices, extents));
    std::erase_if(pads, [](const Padded& pad) { return !pad.changes; });
    for (size_t i = 0; i < pads.size(); ++i) {
      CheckNewBuffer(pads[i].padded->name);
      CheckNewBlock(pads[i].padded->name);
      for (size_t k = 0; k < i; ++k)
        if (pads[k].whole.same(pads[i].whole))
          Refuse(pads[i].whole->name + " is accessed in two ways");
    }
    Stmt main = Stmt(copy);
    for (size_t i = nest.loops.size(); i-- > 0;) {
      Expr extent = nest.loops[i]->extent;
      for (const BlockIter& iter : copy->iters)
        if (iter.binding.same(nest.loops[i]->var)) extent = iter.extent;
      main = nest.loops[i]->With(nest.loops[i]->min, extent, main);
    }
    std::vector<Stmt> row, after;
    for (const Padded& pad : pads) {
      main = ReplaceBuffer(main, pad.whole, pad.padded);
      bool result = pad.whole.same(update->store->buffer);
      (result ? after : row).push_back(CopyPadded(pad, extents, !result));
      facts_[pad.padded->name] = {true, true, true};
    }
    row.push_back(main);
    row.insert(row.end(), after.begin(), after.end());
    std::vector<Buffer> buffers;
    for (const Padded& pad : pads) buffers.push_back(pad.padded);
    SetBody(ReplaceByRow(tree(), nest.top().get(), std::move(row), buffers));
    return {};
  });
}

}  // namespace tern::schedule
