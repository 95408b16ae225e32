// SPDX-License-Identifier: Apache-2.0
//
// pad_einsum and pad_block: axes that are longer than what is computed, so that tiles are whole.
#include <algorithm>

#include "tern/ir/structural.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/block_op.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

bool IsZero(const Expr& expr) {
  const auto* number = expr.As<ir::FloatImmNode>();
  return number ? number->value == 0 : ir::IsConst(expr, 0);
}

// The loads that a product is made of; of a window that reaches beyond an image, each or 0. Refuses
// what is no product of loads.
void CollectFactors(const Expr& expr, std::vector<const ir::BufferLoadNode*>* loads) {
  if (const auto* product = expr.As<ir::MulNode>()) {
    CollectFactors(product->a, loads);
    CollectFactors(product->b, loads);
  } else if (const auto* cast = expr.As<ir::CastNode>()) {
    CollectFactors(cast->value, loads);
  } else if (const auto* load = expr.As<ir::BufferLoadNode>()) {
    loads->push_back(load);
  } else if (const auto* select = expr.As<ir::SelectNode>();
             select && IsZero(select->false_value)) {
    CollectFactors(select->true_value, loads);
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

bool IsPadded(const std::pair<Expr, Expr>& extents) { return !extents.second.same(extents.first); }

// The dimensions at other indices, of axes that are not padded, stay as they are: heads that share
// an operand, as K[h // 4, j, l].
Padded Pad(const Buffer& buffer, const std::vector<Expr>& indices, const Extents& extents) {
  Padded result{buffer, {}, indices};
  std::vector<Expr> shape;
  for (const Expr& index : indices) {
    auto it = extents.find(index.As<VarNode>());
    bool is_axis = it != extents.end();
    for (const auto& [axis, both] : extents)
      if (!is_axis && IsPadded(both) && ir::UsesVar(index, axis))
        Refuse(buffer->name + " is accessed at an index that is no axis of the block");
    shape.push_back(is_axis ? it->second.second : buffer->shape[shape.size()]);
    result.changes |= is_axis && IsPadded(it->second);
  }
  result.padded = BufferNode::Make(buffer->name + "_pad", buffer->dtype, shape);
  return result;
}

// Whether the block that writes a buffer makes it as long as it would be padded (pad_block), with
// zeros beyond the extents along axes that are summed.
bool HasZerosBeyond(const Stmt& body, const Padded& pad, const BlockNode* sum,
                    const Extents& extents) {
  for (const BlockNode* block : BlocksIn(body)) {
    const auto* store = block->body.As<BufferStoreNode>();
    if (!store || !store->buffer.same(pad.whole)) continue;
    const auto* select = store->value.As<ir::SelectNode>();
    std::vector<Expr> inside;
    if (select && IsZero(select->false_value)) inside = Conjuncts(select->condition);
    for (size_t d = 0; d < pad.indices.size(); ++d) {
      if (!ir::StructuralEqual(pad.whole->shape[d], pad.padded->shape[d])) return false;
      for (const BlockIter& iter : sum->iters) {
        const auto& [extent, padded] = extents.at(iter.var.node());
        if (!pad.indices[d].same(iter.var) || iter.kind != IterKind::kReduce || padded.same(extent))
          continue;
        Expr wanted = store->indices[d] < extent;
        if (std::none_of(inside.begin(), inside.end(),
                         [&](const Expr& one) { return ir::StructuralEqual(one, wanted); }))
          return false;
      }
    }
    return true;
  }
  return false;
}

// Whether blocks that read a buffer sum, or reduce otherwise, along one of its dimensions.
bool IsReducedAlong(const Stmt& body, const Buffer& buffer, size_t dim) {
  for (const BlockNode* block : BlocksIn(body))
    for (const Access& access : AccessesOf(AsStmt(block))) {
      if (access.store || !access.buffer.same(buffer)) continue;
      for (const BlockIter& iter : block->iters)
        if (iter.kind == IterKind::kReduce && ir::UsesVar(access.indices[dim], iter.var.node()))
          return true;
    }
  return false;
}

// Whether all that a block reads at an axis is there beyond the end of that, too.
bool ReadsBeyond(const BlockNode* block, const Buffer& own, const BlockIter& iter,
                 const Expr& padded) {
  const auto* store = block->body.As<BufferStoreNode>();
  if (!store) return false;
  bool divides = false;  // integers, which faults
  ir::ForEachExpr(store->value, [&](const Expr& e) {
    divides |= e.dtype().is_integer() && ir::DispatchExpr(e.get(), [](auto* node) {
                 using T = std::remove_const_t<std::remove_pointer_t<decltype(node)>>;
                 return T::kKind >= ExprKind::kTruncDiv && T::kKind <= ExprKind::kFloorMod;
               });
  });
  if (divides) return false;
  for (const Access& access : AccessesOf(AsStmt(block))) {
    if (access.store || access.buffer.same(own)) continue;
    for (size_t d = 0; d < access.indices.size(); ++d)
      if (ir::UsesVar(access.indices[d], iter.var.node()) &&
          !(access.indices[d].same(iter.var) &&
            ir::StructuralEqual(access.buffer->shape[d], padded)))
        return false;
  }
  return true;
}

// Elements of one copied to the other: into the padded one with zeros around, or out of it.
Stmt CopyPadded(const Padded& pad, const Extents& extents, bool in, const std::string& op) {
  FreshLoops loops;
  std::vector<BlockIter> iters;
  std::vector<Expr> at;
  Expr inside;
  for (size_t d = 0; d < pad.indices.size(); ++d) {
    auto it = extents.find(pad.indices[d].As<VarNode>());
    auto [extent, padded] =
        it != extents.end() ? it->second : std::pair(pad.whole->shape[d], pad.whole->shape[d]);
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
  Stmt block = BlockNode::Make(pad.padded->name, iters, {}, BufferStoreNode::Make(to, at, value));
  return loops.Around(WithOp(block, op));
}

// Extends the axes of a block to multiples of the factors.
Extents PadAxes(BlockNode* block, const std::vector<int64_t>& factors) {
  if (factors.size() != block->iters.size())
    Refuse("block " + block->name + " has " + std::to_string(block->iters.size()) +
           " axes, each of which has a factor; got " + std::to_string(factors.size()));
  arith::Analyzer analyzer;
  Extents extents;
  for (size_t i = 0; i < factors.size(); ++i) {
    BlockIter& iter = block->iters[i];
    CheckFactor("the factor of axis " + iter.var.name(), factors[i]);
    CheckRoundsUp(iter.extent, factors[i]);
    if (!iter.binding.As<VarNode>() || iter.var.dtype() != DataType::Int(64))
      Refuse("axis " + iter.var.name() + " is not bound to a loop of its own; pad it first");
    Expr factor(factors[i]);
    bool whole = analyzer.CanProve(ir::FloorMod(iter.extent, factor) == Expr(0));
    Expr padded =
        whole ? iter.extent : analyzer.Simplify(ir::CeilDiv(iter.extent, factor) * factor);
    extents[iter.var.node()] = {iter.extent, padded};
    iter.extent = padded;
  }
  return extents;
}

// A block in its loops, which are as long as its axes.
Stmt InLoops(const Nest& nest, const ffi::Ref<BlockNode>& block) {
  Stmt stmt(block);
  for (size_t i = nest.loops.size(); i-- > 0;) {
    Expr extent = nest.loops[i]->extent;
    for (const BlockIter& iter : block->iters)
      if (iter.binding.same(nest.loops[i]->var)) extent = iter.extent;
    stmt = nest.loops[i]->With(nest.loops[i]->min, extent, stmt);
  }
  return stmt;
}

// The store of a block without its lets.
const BufferStoreNode* PlainStore(Stmt* body) {
  for (const auto* let = body->As<LetStmtNode>(); let; let = body->As<LetStmtNode>())
    *body = Substitute(let->body, {{let->var.node(), let->value}});
  return body->As<BufferStoreNode>();
}

}  // namespace

void Schedule::PadBlock(const BlockRef& block_ref, const std::vector<int64_t>& factors) {
  Names args = {TextOf(block_ref)};
  for (int64_t factor : factors) args.push_back(std::to_string(factor));
  Do("pad_block", args, [&] {
    const BlockNode* block = At(block_ref);
    std::string named = "block " + block_ref.name();
    Nest nest = NestOf(tree(), block);
    if (!FactsOf(block).complete || block->predicate.get() || !nest.around.empty())
      Refuse(named + " does not run over all of its axes; pad it first");
    std::optional<ReductionUpdate> update = PlainUpdate(block);
    Stmt body = block->body;
    const BufferStoreNode* store = update ? update->store : PlainStore(&body);
    if (!store || update.has_value() != (block->init.get() != nullptr) ||
        (!update && Touches(EvaluateNode::Make(store->value), store->buffer)))
      Refuse(named + " is neither one store nor a reduction with an init, by one operator");
    const Buffer old = SoleResult(block);
    Temporary(old);
    if (!old->strides.empty()) Refuse(old->name + " has strides; pad it before");
    auto copy = CopyBlock(block);
    Extents extents = PadAxes(copy.get(), factors);
    std::vector<Expr> shape = old->shape;
    Expr inside;
    bool pads = false;
    for (const BlockIter& iter : block->iters) {
      const auto& [extent, padded] = extents.at(iter.var.node());
      if (padded.same(extent)) continue;
      if (iter.kind == IterKind::kReduce) {
        inside = And(inside, iter.var < extent);
        continue;
      }
      auto uses = [&](const Expr& index) { return ir::UsesVar(index, iter.var.node()); };
      auto at = std::find_if(store->indices.begin(), store->indices.end(), uses);
      size_t d = static_cast<size_t>(at - store->indices.begin());
      if (std::count_if(at, store->indices.end(), uses) != 1 || !at->same(iter.var) ||
          !ir::StructuralEqual(shape[d], extent))
        Refuse(named + " does not store at axis " + iter.var.name() + ", along all of " +
               old->name);
      shape[d] = padded;
      pads = true;
      if (!ReadsBeyond(block, old, iter, padded) || IsReducedAlong(function_->body, old, d))
        inside = And(inside, iter.var < extent);
    }
    if (!inside && !pads) return;
    Expr value = update ? update->value : store->value,
         none = update ? IdentityOf(update->op, value.dtype()) : ir::MakeConst(value.dtype(), 0);
    if (inside) value = ir::SelectNode::Make(inside, value, none);
    if (update)
      value = CombineValues(update->op, ir::BufferLoadNode::Make(old, store->indices), value);
    copy->body = BufferStoreNode::Make(old, store->indices, value);
    ReplaceStmt(nest.top().get(), InLoops(nest, copy));
    SetBody(
        ReplaceBuffer(function_->body, old,
                      BufferNode::Make(old->name, old->dtype, shape, {}, old->scope, old->data)));
  });
}

PaddedEinsum Schedule::PadEinsum(const BlockRef& block_ref, const std::vector<int64_t>& factors) {
  Names args = {TextOf(block_ref)};
  for (int64_t factor : factors) args.push_back(std::to_string(factor));
  PaddedEinsum made;
  Do("pad_einsum", args, [&] {
    const BlockNode* block = At(block_ref);
    if (Stmt body = block->body; body.As<LetStmtNode>() && PlainStore(&body)) {
      ReplaceStmt(block, block->With(block->init, body));
      block = At(block_ref);
    }
    Nest nest = NestOf(tree(), block);
    std::optional<ReductionUpdate> update = PlainUpdate(block);
    bool plain = update && update->lets.empty() && block->init.get();
    if (!plain || update->op != ExprKind::kAdd)
      Refuse("block " + block_ref.name() + " is not a sum of products with an init");
    if (!FactsOf(block).complete || block->predicate.get() || !nest.around.empty())
      Refuse("block " + block_ref.name() + " does not run over all of its axes; pad it first");
    SoleResult(block);
    std::vector<const ir::BufferLoadNode*> loads;
    CollectFactors(update->value, &loads);
    auto copy = CopyBlock(block);
    Extents extents = PadAxes(copy.get(), factors);
    // Zeros that are multiplied with what another factor has beyond its end.
    for (const BlockIter& iter : block->iters)
      for (const auto* load : loads) {
        bool uses = std::any_of(load->indices.begin(), load->indices.end(),
                                [&](const Expr& index) { return index.same(iter.var); });
        if (iter.kind == IterKind::kReduce && IsPadded(extents.at(iter.var.node())) && !uses)
          Refuse("axis " + iter.var.name() + " is summed, and " + load->buffer->name +
                 " does not have it");
      }
    // Instances beyond the end have elements of their own.
    for (const BlockIter& iter : block->iters) {
      const std::vector<Expr>& at = update->store->indices;
      bool has = std::any_of(at.begin(), at.end(), [&](const Expr& e) { return e.same(iter.var); });
      if (iter.kind == IterKind::kSpatial && IsPadded(extents.at(iter.var.node())) && !has)
        Refuse("axis " + iter.var.name() + " is no axis of " + update->store->buffer->name);
    }
    std::vector<Padded> pads;
    for (const auto* load : loads) pads.push_back(Pad(load->buffer, load->indices, extents));
    pads.push_back(Pad(update->store->buffer, update->store->indices, extents));
    for (Padded& pad : pads)
      pad.changes = pad.changes && !HasZerosBeyond(function_->body, pad, block, extents);
    // All accesses of a buffer become accesses of the padded one.
    for (size_t i = 0; i < pads.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        if (pads[k].whole.same(pads[i].whole) && (pads[k].changes || pads[i].changes))
          Refuse(pads[i].whole->name + " is accessed in two ways");
    std::erase_if(pads, [](const Padded& pad) { return !pad.changes; });
    for (const Padded& pad : pads) {
      CheckNewBuffer(pad.padded->name);
      CheckNewBlock(pad.padded->name);
    }
    Stmt main = InLoops(nest, copy);
    std::vector<Stmt> row, after;
    for (const Padded& pad : pads) {
      main = ReplaceBuffer(main, pad.whole, pad.padded);
      bool result = pad.whole.same(update->store->buffer);
      (result ? after : row).push_back(CopyPadded(pad, extents, !result, OpOf(block)));
      SetFacts(pad.padded->name, {true, true, true});
    }
    row.push_back(main);
    row.insert(row.end(), after.begin(), after.end());
    // A result is beside the one without padding, so that what reads that one may read it.
    std::vector<Buffer> buffers, beside;
    for (const Padded& pad : pads) {
      bool result = pad.whole.same(update->store->buffer);
      (result && AllocationOf(function_->body, pad.whole) ? beside : buffers).push_back(pad.padded);
    }
    Buffer result = update->store->buffer;
    SetBody(ReplaceByRow(tree(), nest.top().get(), std::move(row), buffers));
    for (const Buffer& padded : beside) {
      const AllocateNode* whole = AllocationOf(function_->body, result);
      ReplaceStmt(whole, AllocateNode::Make(result, AllocateNode::Make(padded, whole->body)));
    }
    for (const Padded& pad : pads)
      if (pad.whole.same(result))
        made.result = MadeAs(pad.padded->name);
      else
        made.operands.push_back(MadeAs(pad.padded->name));
  });
  return made;
}

}  // namespace tern::schedule
