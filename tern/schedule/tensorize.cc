// SPDX-License-Identifier: Apache-2.0
//
// The steps that treat a loop and all below it as one thing.
#include <algorithm>
#include <optional>

#include "tern/arith/linear_sum.h"
#include "tern/ffi/text.h"
#include "tern/ir/structural.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/schedule/tensor_intrinsic.h"
#include "tern/tir/attributes.h"
#include "tern/tir/copy_with_fresh_defs.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// An axis as tile * size + place, where loops inside of a nest choose the place.
struct Tile {
  BlockIter outer;  // its variable is null where there is one tile alone
  Expr value;       // of the axis
};

Tile TileOf(const BlockIter& iter, const std::vector<const ForNode*>& inside,
            const std::vector<const ForNode*>& outside) {
  std::string name = "axis " + iter.var.name();
  arith::Analyzer analyzer;
  ir::VarMap starts;
  for (const ForNode* loop : inside) {
    starts[loop->var.node()] = ir::IntImmNode::Make(loop->var.dtype(), 0);
    analyzer.BindRange(loop->var, loop->min, loop->extent);
  }
  for (const ForNode* loop : outside) analyzer.BindRange(loop->var, loop->min, loop->extent);
  Expr start = analyzer.Simplify(ir::Substitute(iter.binding, starts));
  Expr place = analyzer.Simplify(iter.binding - start);
  if (UsesAnyOf(place, outside)) Refuse(name + " is not a tile index plus an offset in the tile");
  arith::ConstBounds bounds = analyzer.Bounds(place);
  if (bounds.lo != 0 || bounds.hi == arith::ConstBounds::kPosInf)
    Refuse(name + " has no constant extent in a tile");
  if (ir::IsConst(start, 0)) return {{}, place};
  DataType dtype = iter.var.dtype();
  Expr size = ir::IntImmNode::Make(dtype, bounds.hi + 1), zero = ir::IntImmNode::Make(dtype, 0);
  if (!analyzer.CanProve(ir::FloorMod(start, size) == zero))
    Refuse(name + " has tiles that do not start at multiples of their size");
  Tile tile;
  tile.outer = {analyzer.Simplify(ir::CeilDiv(iter.extent, size)),
                analyzer.Simplify(ir::FloorDiv(start, size)), Var(iter.var.name() + "o", dtype),
                iter.kind};
  Expr first = bounds.hi == 0 ? Expr(tile.outer.var) : tile.outer.var * size;
  tile.value = ir::IsConst(place, 0) ? first : first + place;
  return tile;
}

// Finds a description in a program: which loops and buffers stand for which.
class Matcher {
 public:
  struct Place {
    Buffer buffer;
    std::vector<Expr> offsets;  // of the program's buffer, in every dimension
    std::vector<size_t> dims;   // of it that are the described, in their order
  };

  Matcher(std::vector<const ForNode*> inner) : inner_(std::move(inner)) {}
  const Place& PlaceOf(const Buffer& described) const { return places_.at(described.get()); }
  bool Knows(const Buffer& described) const { return places_.count(described.get()) > 0; }

  // Refuses with what differs.
  void Match(const Stmt& described, const Stmt& program) {
    if (const auto* loop = described.As<ForNode>()) {
      const auto* other = program.As<ForNode>();
      if (!other) Refuse("it has fewer loops than the intrinsic");
      std::optional<int64_t> m = ir::AsConstInt(loop->extent), n = ir::AsConstInt(other->extent);
      if (!m || !n || *m != *n || !ir::IsConst(other->min, 0))
        Refuse("loop " + other->var.name() + " does not run over 0.." + std::to_string(m ? *m : 0) +
               ", as that of the intrinsic does");
      vars_[loop->var.node()] = other->var;
      return Match(loop->body, other->body);
    }
    const auto *store = described.As<BufferStoreNode>(), *other = program.As<BufferStoreNode>();
    if (!store || !other)
      Refuse(
          "it does not have the one statement of the intrinsic; a reduction is decomposed first");
    if (other->predicate.get() ||
        !MatchAccess(store->buffer, store->indices, other->buffer, other->indices) ||
        !MatchExpr(store->value, other->value))
      Refuse("its statement is not that of the intrinsic");
  }

 private:
  bool MatchAccess(const Buffer& described, const std::vector<Expr>& indices, const Buffer& buffer,
                   const std::vector<Expr>& at) {
    if (described->dtype != buffer->dtype || indices.size() > at.size()) return false;
    arith::Analyzer analyzer;
    for (const ForNode* loop : inner_) analyzer.BindRange(loop->var, loop->min, loop->extent);
    std::vector<Expr> offsets;
    for (const Expr& index : at) offsets.push_back(analyzer.Simplify(arith::AsInt64(index)));
    std::vector<size_t> dims = DimensionsOf(offsets, indices.size());
    for (size_t i = 0; i < dims.size(); ++i)
      offsets[dims[i]] = offsets[dims[i]] - arith::AsInt64(ir::Substitute(indices[i], vars_));
    for (Expr& offset : offsets) {
      offset = analyzer.Simplify(offset);
      if (UsesAnyOf(offset, inner_)) return false;
    }
    auto [it, fresh] = places_.emplace(described.get(), Place{buffer, offsets, dims});
    if (fresh) return true;
    if (!it->second.buffer.same(buffer) || it->second.dims != dims) return false;
    return std::equal(offsets.begin(), offsets.end(), it->second.offsets.begin(),
                      [&](const Expr& a, const Expr& b) { return analyzer.CanProve(a == b); });
  }

  // The dimensions along which the loops run, where these are as many; else the last ones.
  std::vector<size_t> DimensionsOf(const std::vector<Expr>& at, size_t count) const {
    std::vector<size_t> dims;
    for (size_t d = 0; d < at.size(); ++d)
      if (UsesAnyOf(at[d], inner_)) dims.push_back(d);
    if (dims.size() == count) return dims;
    dims.clear();
    for (size_t d = at.size() - count; d < at.size(); ++d) dims.push_back(d);
    return dims;
  }

  bool MatchExpr(const Expr& described, const Expr& program) {
    if (described.get()->kind != program.get()->kind || described.dtype() != program.dtype())
      return false;
    if (const auto* load = described.As<ir::BufferLoadNode>()) {
      const auto* other = program.As<ir::BufferLoadNode>();
      return !other->predicate &&
             MatchAccess(load->buffer, load->indices, other->buffer, other->indices);
    }
    if (const auto* cast = described.As<ir::CastNode>())
      return MatchExpr(cast->value, program.As<ir::CastNode>()->value);
    if (const auto* sum = described.As<ir::AddNode>())
      return MatchEitherWay(sum, program.As<ir::AddNode>());
    if (const auto* product = described.As<ir::MulNode>())
      return MatchEitherWay(product, program.As<ir::MulNode>());
    if (const auto* most = described.As<ir::MaxNode>())
      return MatchEitherWay(most, program.As<ir::MaxNode>());
    if (const auto* quotient = described.As<ir::DivNode>()) {
      const auto* other = program.As<ir::DivNode>();
      return MatchExpr(quotient->a, other->a) && MatchExpr(quotient->b, other->b);
    }
    return ir::StructuralEqual(ir::Substitute(described, vars_), program);
  }

  template <class T>
  bool MatchEitherWay(const T* described, const T* program) {
    auto before = places_;
    if (MatchExpr(described->a, program->a) && MatchExpr(described->b, program->b)) return true;
    places_ = before;
    return MatchExpr(described->a, program->b) && MatchExpr(described->b, program->a);
  }

  std::vector<const ForNode*> inner_;
  ir::VarMap vars_;
  std::map<const BufferNode*, Place> places_;
};

Expr Shifted(const Expr& index, const Expr& offset) {
  if (ir::IsConst(offset, 0)) return index;
  if (ir::IsConst(index, 0)) return offset;
  if (const auto* ramp = index.As<ir::RampNode>())
    return ir::RampNode::Make(Shifted(ramp->base, offset), ramp->stride, ramp->lanes);
  if (index.dtype().is_scalar()) return offset + arith::AsInt64(index);
  return ir::BroadcastNode::Make(offset, index.dtype().lanes()) + index;
}

Expr StrideOf(const Buffer& buffer, size_t dimension) {
  if (!buffer->strides.empty()) return buffer->strides[dimension];
  Expr stride = 1;
  for (size_t d = dimension + 1; d < buffer->shape.size(); ++d)
    stride = stride * arith::AsInt64(buffer->shape[d]);
  return arith::Analyzer().Simplify(stride);
}

bool GivesAddress(const PrimFunc& function, const Buffer& buffer) {
  struct Scan : StmtVisitor {
    using StmtVisitor::VisitNode;
    void VisitNode(const ir::CallNode* node) override {
      if (node->name == intrinsic::kAddressOf)
        found |= node->args[0].As<ir::BufferLoadNode>()->buffer.same(buffer);
      VisitChildren(node);
    }
    Buffer buffer;
    bool found = false;
  } scan;
  scan.buffer = buffer;
  scan.Visit(function->body);
  return scan.found;
}

// The implementation, on the memory that was matched.
Stmt Implement(const TensorIntrinsic& intrinsic, const Matcher& match) {
  std::map<const BufferNode*, Matcher::Place> places;
  ir::VarMap strides;
  for (size_t i = 0; i < intrinsic.description->params.size(); ++i) {
    const Buffer& described = intrinsic.description->params[i].buffer;
    const Buffer& own = intrinsic.implementation->params[i].buffer;
    if (!match.Knows(described)) continue;
    const Matcher::Place& place = match.PlaceOf(described);
    for (size_t d = 0; d < own->strides.size(); ++d) {
      Expr stride = StrideOf(place.buffer, place.dims[d]);
      if (const auto* var = own->strides[d].As<VarNode>())
        strides[var] = stride;
      else if (!arith::Analyzer().CanProve(stride == own->strides[d]))
        Refuse("elements of " + place.buffer->name + " do not have the layout of the intrinsic");
    }
    // The tile of an address is one of the last dimensions.
    size_t leading = place.buffer->shape.size() - own->shape.size();
    for (size_t d = 0; d < own->shape.size(); ++d)
      if (place.dims[d] != leading + d && GivesAddress(intrinsic.implementation, own))
        Refuse("the last dimensions of " + place.buffer->name + " are not those of the intrinsic");
    places[own.get()] = place;
  }
  auto at = [&](const Matcher::Place& place, const std::vector<Expr>& indices) {
    std::vector<Expr> result = place.offsets;
    for (size_t i = 0; i < indices.size(); ++i)
      result[place.dims[i]] = Shifted(indices[i], place.offsets[place.dims[i]]);
    return result;
  };
  AccessRewrite rewrite;
  rewrite.load = [&](const Buffer& buffer, const std::vector<Expr>& indices) -> Expr {
    auto it = places.find(buffer.get());
    return it == places.end()
               ? Expr()
               : ir::BufferLoadNode::Make(it->second.buffer, at(it->second, indices));
  };
  rewrite.store = [&](const Buffer& buffer, const std::vector<Expr>& indices,
                      const Expr& value) -> Stmt {
    auto it = places.find(buffer.get());
    return it == places.end()
               ? Stmt()
               : BufferStoreNode::Make(it->second.buffer, at(it->second, indices), value);
  };
  return RewriteAccesses(CopyWithFreshDefs(OpenBlocks(intrinsic.implementation->body), strides),
                         rewrite);
}

}  // namespace

BlockRef Schedule::Blockize(const LoopRef& loop_ref, std::string name) {
  return Do("blockize", {TextOf(loop_ref)}, [&] {
    const ForNode* loop = At(loop_ref);
    std::vector<const BlockNode*> below = BlocksIn(loop->body);
    if (below.size() != 1) Refuse("there is more or less than one block in loop " + loop_ref.str());
    const BlockNode* block = below[0];
    Nest nest = NestOf(tree(), block);
    if (!nest.Has(loop))
      Refuse("loop " + loop_ref.str() + " is not one of block " + block->name + " alone");
    name = Or(name, block->name + "_o");
    CheckNewBlock(name);
    BlockFacts facts = FactsOf(block);
    // A part of what is no reduction may have tiles, too.
    bool known = facts.bounded || (!block->predicate && !block->init);
    if (!facts.affine || !known)
      Refuse("block " + block->name + " does not run over all of its axes");
    auto first = std::find(nest.loops.begin(), nest.loops.end(), loop);
    std::vector<const ForNode*> inside(first, nest.loops.end()), outside = nest.around;
    outside.insert(outside.end(), nest.loops.begin(), first);
    if (block->predicate.get() && UsesAnyOf(block->predicate, inside))
      Refuse("the last tile is smaller than the others; pad the block first");

    std::vector<BlockIter> axes;
    ir::VarMap values;
    bool reduces = false;
    for (const BlockIter& iter : block->iters) {
      Tile tile = TileOf(iter, inside, outside);
      values[iter.var.node()] = tile.value;
      if (!tile.outer.var) continue;
      axes.push_back(tile.outer);
      reduces |= iter.kind == IterKind::kReduce;
    }
    Stmt body = WrapLoops(inside, Substitute(block->body, values)), init;
    if (block->init) {
      std::vector<const ForNode*> loops;
      for (const ForNode* inner : inside) {
        AxisUse use = UseOf(block, inner->var.node());
        if (use.reduce && (use.spatial || use.other))
          Refuse("loop " + inner->var.name() + " runs along axes of several kinds");
        if (!use.reduce) loops.push_back(inner);
      }
      init = CopyWithFreshDefs(WrapLoops(loops, Substitute(block->init, values)));
    }
    if (init && !reduces) body = SeqNode::Make({std::exchange(init, Stmt()), body});
    Stmt made = BlockNode::Make(name, axes, init, body, block->span);
    auto tiles = ffi::Make<BlockNode>(*made.As<BlockNode>());
    tiles->predicate = block->predicate;
    tiles->annotations = block->annotations;
    ReplaceStmt(loop, Stmt(tiles));
    SetFacts(name, facts);
    return BlockNamed(name);
  });
}

void Schedule::Tensorize(const LoopRef& loop_ref, const std::string& intrinsic_name) {
  Do("tensorize", {TextOf(loop_ref), intrinsic_name}, [&] {
    const TensorIntrinsic* intrinsic = FindTensorIntrinsic(intrinsic_name);
    if (!intrinsic) {
      std::vector<std::string> names = TensorIntrinsicNames();
      Refuse("there is no tensor intrinsic " + intrinsic_name +
             ffi::DidYouMean(intrinsic_name, names) + "; there are " + ffi::Join(names));
    }
    if (HasFlag(intrinsic->implementation, attr::kAllowTf32) &&
        !HasFlag(function_, attr::kAllowTf32))
      Refuse(intrinsic_name +
             " reads 10 bits of mantissa of float32; the attribute allow_tf32 of the function says "
             "that it may");
    if (HasFlag(intrinsic->implementation, attr::kReassociate) &&
        !HasFlag(function_, attr::kReassociate))
      Refuse(intrinsic_name +
             " sums in an order of its own; the attribute reassociate of the function says that it "
             "may");
    const ForNode* loop = At(loop_ref);
    // What is in a block is one thing with the block's own loops; else it becomes a block.
    Schedule tiled = *this;
    BlockRef made;
    if (!BlocksIn(loop->body).empty()) {
      made = tiled.Blockize(loop_ref, BlocksIn(loop->body)[0]->name + "_o");
      loop = tiled.At(made)->body.As<ForNode>();
      if (!loop) Refuse("it is not one nest of loops; a reduction is decomposed first");
    }
    Matcher matcher(LoopsIn(AsStmt(loop)));
    matcher.Match(OpenBlocks(intrinsic->description->body), AsStmt(loop));
    tiled.ReplaceStmt(loop, Implement(*intrinsic, matcher));
    SetBody(tiled.function_->body);
    if (made) SetFacts(made.name(), tiled.tree().FactsOf(made.name()));
  });
}

}  // namespace tern::schedule
