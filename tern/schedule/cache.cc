// SPDX-License-Identifier: Apache-2.0
//
// The steps that say where values are kept.
#include <algorithm>

#include "tern/arith/linear_sum.h"
#include "tern/ffi/text.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/analysis/access_regions.h"
#include "tern/tir/analysis/memory_effects.h"
#include "tern/tir/block_op.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

std::string DefaultName(const std::string& buffer, StorageScope scope) {
  std::string name = StorageScopeName(scope);
  std::replace(name.begin(), name.end(), '.', '_');
  return buffer + "_" + name;
}

Buffer FindAccessed(const BlockNode* block, const BufferRef& buffer, bool store) {
  std::vector<std::string> names;
  for (const Access& access : AccessesOf(AsStmt(block))) {
    if (access.store != store) continue;
    if (buffer.Is(access.buffer)) return access.buffer;
    if (std::find(names.begin(), names.end(), access.buffer->name) == names.end())
      names.push_back(access.buffer->name);
  }
  Refuse("block " + block->name + (store ? " writes no " : " reads no ") + buffer.name() + "; it " +
         (store ? "writes " : "reads ") + ffi::Join(names));
}

// Loads of a buffer in a block: B[i] -> streamed(B[i]).
class Streamer : public StmtMutator {
 public:
  Streamer(const BlockNode* block, const Buffer& buffer) : block_(block), buffer_(buffer) {}

 private:
  using StmtMutator::MutateNode;
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    if (node != block_) return MutateChildren(node, self);
    is_inside_ = true;
    Stmt changed = MutateChildren(node, self);
    is_inside_ = false;
    return changed;
  }
  Expr MutateNode(const ir::CallNode* node, const Expr& self) override {
    return node->name == "streamed" ? self : MutateChildren(node, self);
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    bool streams = is_inside_ && node->buffer.same(buffer_);
    return streams ? ir::CallNode::Make("streamed", {self}) : MutateChildren(node, self);
  }

  const BlockNode* block_;
  Buffer buffer_;
  bool is_inside_ = false;
};

// Indices that count from the start of a box.
std::vector<Expr> From(const std::vector<Range>& box, const std::vector<Expr>& indices,
                       const arith::Analyzer& analyzer) {
  std::vector<Expr> result;
  for (size_t d = 0; d < box.size(); ++d)
    result.push_back(ir::IsConst(box[d].min, 0)
                         ? indices[d]
                         : analyzer.Simplify(arith::AsInt64(indices[d]) - box[d].min));
  return result;
}

// A box of `outer` and all of `inner`, which has its shape, one copied to the other.
struct Copy {
  Stmt stmt;
  bool conditional = false;  // some of it is left out
};
Copy CopyBox(const std::string& name, const std::string& op, const Buffer& outer,
             const Buffer& inner, const std::vector<Range>& box, const Expr& condition,
             bool inwards, const arith::Analyzer& outside) {
  FreshLoops loops;
  std::vector<BlockIter> iters;
  std::vector<Expr> there, here;
  Expr predicate;
  arith::Analyzer analyzer = outside;
  for (size_t d = 0; d < box.size(); ++d) {
    loops.vars.emplace_back(name + "_" + std::to_string(d));
    loops.extents.push_back(box[d].extent);
    Var axis("v" + std::to_string(d));
    analyzer.BindRange(axis, 0, box[d].extent);
    iters.push_back({box[d].extent, loops.vars.back(), axis, IterKind::kSpatial});
    Expr at = ir::IsConst(box[d].min, 0) ? Expr(axis) : box[d].min + axis;
    // A box may be more than what is accessed of it.
    if (!arith::ProveLessEqual(analyzer, Expr(0), at)) predicate = And(predicate, at >= Expr(0));
    Expr end = arith::AsInt64(outer->shape[d]);
    if (!arith::ProveLessEqual(analyzer, at + Expr(1), end)) predicate = And(predicate, at < end);
    there.push_back(at);
    here.push_back(axis);
  }
  Stmt body = inwards ? BufferStoreNode::Make(inner, here, ir::BufferLoadNode::Make(outer, there))
                      : BufferStoreNode::Make(outer, there, ir::BufferLoadNode::Make(inner, here));
  Stmt copy = BlockNode::Make(name, iters, {}, body);
  auto block = ffi::Make<BlockNode>(*copy.As<BlockNode>());
  block->predicate = And(predicate, condition);
  SetOp(block.get(), op);
  return {loops.Around(Stmt(block)), predicate.get() != nullptr};
}

// What a parameter does not have is not read, though a border may look so.
void ClipTo(const Buffer& buffer, std::vector<Range>* ranges) {
  for (size_t d = 0; d < ranges->size(); ++d) {
    Range& range = (*ranges)[d];
    std::optional<int64_t> min = ir::AsConstInt(range.min), extent = ir::AsConstInt(range.extent),
                           size = ir::AsConstInt(buffer->shape[d]);
    if (!min || !extent || !size) continue;
    int64_t first = std::clamp<int64_t>(*min, 0, *size),
            end = std::clamp<int64_t>(*min + *extent, first, *size);
    range = {Expr(first), Expr(end - first)};
  }
}

bool IsIndexedBy(const BlockNode* block, const Buffer& buffer, const Var& var) {
  std::vector<Access> accesses = AccessesOf(AsStmt(block), buffer);
  return std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
    return std::any_of(access.indices.begin(), access.indices.end(),
                       [&](const Expr& index) { return ir::UsesVar(index, var.node()); });
  });
}

}  // namespace

Schedule::Box Schedule::BoxOf(const Nest& nest, const Buffer& buffer, bool writes) const {
  const BlockNode* block = nest.block;
  Path path = PathTo(tree(), nest.top().get());
  path.pop_back();
  arith::Analyzer analyzer = AnalyzerAt(function_, path);
  bool own_loops =
      std::none_of(block->iters.begin(), block->iters.end(),
                   [&](const BlockIter& iter) { return UsesAnyOf(iter.binding, nest.around); });
  Stmt stmt = nest.top();
  Box result;
  if (FactsOf(block).complete && own_loops) {
    // Its axes run over their domains, whatever loops do that.
    stmt = block->init ? SeqNode::Make({block->init, block->body}) : block->body;
    for (const BlockIter& iter : block->iters) {
      Expr zero = ir::IntImmNode::Make(iter.var.dtype(), 0), extent = iter.extent;
      if (writes && iter.kind == IterKind::kReduce && !analyzer.CanProve(zero < extent)) {
        // A reduction of nothing writes what its init does.
        if (!block->init) result.condition = And(result.condition, zero < extent);
        extent = ir::IntImmNode::Make(iter.var.dtype(), 1);
      }
      // How often the same elements are read does not matter. Where that is never, nothing reads
      // the copy.
      if (!writes && !IsIndexedBy(block, buffer, iter.var) && !analyzer.CanProve(zero < extent))
        extent = ir::IntImmNode::Make(iter.var.dtype(), 1);
      stmt = ForNode::Make(iter.var, zero, extent, ForKind::kSerial, stmt);
    }
    for (const Expr& part : Conjuncts(block->predicate))
      if (!UsesAnyOf(part, nest.loops)) result.condition = And(result.condition, part);
  }
  AccessRegions regions = FindAccessRegions(stmt, buffer, analyzer);
  const AccessRegion* box = writes ? regions.Writes(buffer) : regions.Reads(buffer);
  // What is read of a parameter is there; of other memory only what was written.
  bool is_there = !writes && !AllocationOf(tree(), buffer);
  if (!box || regions.opaque.count(buffer->data.node()) || (!box->exact && !is_there))
    Refuse("what block " + block->name + (writes ? " writes of " : " reads of ") + buffer->name +
           " is no box, or not known");
  result.ranges = box->ranges;
  if (is_there) ClipTo(buffer, &result.ranges);
  for (Range& range : result.ranges)
    if (!arith::ProveLessEqual(analyzer, Expr(0), range.extent))
      range.extent = ir::MaxNode::Make(range.extent, Expr(0));
  return result;
}

void Schedule::CheckStartsWithInit(const Nest& nest, const Buffer& buffer) const {
  const BlockNode* block = nest.block;
  std::vector<Access> accesses = AccessesOf(AsStmt(block), buffer);
  if (std::all_of(accesses.begin(), accesses.end(), [](const Access& a) { return a.store; }))
    return;
  bool whole = block->init.get() && FactsOf(block).bounded;
  for (const BlockIter& iter : block->iters)
    whole &= iter.kind != IterKind::kReduce || !UsesAnyOf(iter.binding, nest.around);
  if (!whole)
    Refuse("block " + block->name + " goes on with what is in " + buffer->name + " already");
}

CopyRef Schedule::Cache(const BlockRef& block_ref, const BufferRef& buffer_ref, StorageScope scope,
                        std::string name, bool writes) {
  const BlockNode* block = At(block_ref);
  Buffer buffer = FindAccessed(block, buffer_ref, writes);
  CheckPlainMemory(function_, buffer);
  name = Or(name, DefaultName(buffer->name, scope));
  CheckNewBuffer(name);
  CheckNewBlock(name);
  Nest nest = NestOf(tree(), block);
  if (writes) {
    CheckStartsWithInit(nest, buffer);
  } else {
    MemoryEffects effects(function_);
    if (effects.WritesOf(nest.top()).Contain(effects.PlaceOf(buffer)))
      Refuse("block " + block_ref.name() + " may write what it reads of " + buffer->name);
  }
  auto [box, condition] = BoxOf(nest, buffer, writes);
  arith::Analyzer analyzer = AnalyzerAt(function_, PathTo(tree(), nest.top().get()));
  std::vector<Expr> shape;
  for (const Range& range : box) shape.push_back(range.extent);
  Buffer cache = BufferNode::Make(name, buffer->dtype, shape, {}, scope);
  Copy copy = CopyBox(name, OpOf(block), buffer, cache, box, condition, !writes, analyzer);
  AccessRewrite rewrite;
  rewrite.load = [&, &box = box](const Buffer& loaded, const std::vector<Expr>& indices) {
    return loaded.same(buffer) ? ir::BufferLoadNode::Make(cache, From(box, indices, analyzer))
                               : Expr();
  };
  rewrite.store = [&, &box = box](const Buffer& stored, const std::vector<Expr>& indices,
                                  const Expr& value) {
    return stored.same(buffer) ? BufferStoreNode::Make(cache, From(box, indices, analyzer), value)
                               : Stmt();
  };
  std::vector<Stmt> row = {copy.stmt};
  row.insert(writes ? row.begin() : row.end(), RewriteAccesses(nest.top(), rewrite));
  ReplaceStmt(nest.top().get(), AllocateNode::Make(cache, SeqNode::Make(std::move(row))));
  SetFacts(name, {true, !copy.conditional, !copy.conditional});
  return {tree().RefTo(tree().BlocksNamed(name)[0]), cache};
}

CopyRef Schedule::CacheRead(const BlockRef& block, const BufferRef& buffer, StorageScope scope,
                            std::string name) {
  return Do("cache_read", {TextOf(block), buffer.name(), StorageScopeName(scope)},
            [&] { return Cache(block, buffer, scope, name, false); });
}

CopyRef Schedule::CacheWrite(const BlockRef& block, const BufferRef& buffer, StorageScope scope,
                             std::string name) {
  return Do("cache_write", {TextOf(block), buffer.name(), StorageScopeName(scope)},
            [&] { return Cache(block, buffer, scope, name, true); });
}

void Schedule::ReuseCache(const BlockRef& block_ref, const CopyRef& copy_ref) {
  Do("reuse_cache", {TextOf(block_ref), TextOf(copy_ref)}, [&] {
    const BlockNode* block = At(block_ref);
    const BlockNode* copy = At(copy_ref);
    const AllocateNode* allocation = Temporary(copy_ref);
    const Buffer cache = allocation->buffer;
    const auto* store = copy->body.As<BufferStoreNode>();
    const auto* load = store ? store->value.As<ir::BufferLoadNode>() : nullptr;
    if (!load || !store->buffer.same(cache) || copy->predicate.get())
      Refuse("block " + copy_ref.name() + " is not a copy as cache_read makes it");
    const Buffer buffer = load->buffer;
    FindAccessed(block, buffer, false);
    Nest nest = NestOf(tree(), block), copy_nest = NestOf(tree(), copy);
    if (!nest.around.empty() || !copy_nest.around.empty())
      Refuse("blocks " + block_ref.name() + " and " + copy_ref.name() +
             " stand in loops with others; share before they are moved");
    std::vector<const BlockNode*> order = BlocksIn(function_->body);
    if (std::find(order.begin(), order.end(), block) < std::find(order.begin(), order.end(), copy))
      Refuse("block " + block_ref.name() + " comes before " + copy_ref.name());
    // Who writes it writes all of it before the copy, and is a block.
    MemoryEffects effects(function_);
    auto place = effects.PlaceOf(buffer);
    size_t in_blocks = 0;
    bool is_old = false;
    for (auto it = order.begin(); it != order.end(); ++it) {
      in_blocks += AccessesOf(AsStmt(*it), buffer).size();
      is_old |= it > std::find(order.begin(), order.end(), copy) &&
                effects.WritesOf(AsStmt(*it)).Contain(place);
    }
    bool is_written = effects.WritesOf(function_->body).Contain(place);
    if (is_old || (is_written && in_blocks != AccessesOf(function_->body, buffer).size()))
      Refuse(buffer->name + " is written, so that the copy may be old");

    // The copy holds all that the block reads.
    Box copied = BoxOf(copy_nest, buffer, false), read = BoxOf(nest, buffer, false);
    arith::Analyzer analyzer = AnalyzerAt(function_, {});
    for (size_t d = 0; d < copied.ranges.size(); ++d)
      if (!analyzer.CanProve(copied.ranges[d].min == read.ranges[d].min) ||
          !analyzer.CanProve(copied.ranges[d].extent == read.ranges[d].extent))
        Refuse("block " + block_ref.name() + " reads another part of " + buffer->name + " than " +
               copy_ref.name() + " holds");
    AccessRewrite rewrite;
    rewrite.load = [&](const Buffer& loaded, const std::vector<Expr>& indices) {
      return loaded.same(buffer)
                 ? ir::BufferLoadNode::Make(cache, From(copied.ranges, indices, analyzer))
                 : Expr();
    };
    // The memory lives long enough for both; place_allocations says how long.
    ReplaceStmt(nest.top().get(), RewriteAccesses(nest.top(), rewrite));
    const AllocateNode* old = AllocationOf(tree(), cache);
    ReplaceStmt(old, old->body);
    SetBody(AllocateNode::Make(cache, function_->body));
  });
}

void Schedule::Prefetch(const BlockRef& block_ref, const BufferRef& buffer) {
  Do("prefetch", {TextOf(block_ref), buffer.name()}, [&] {
    const BlockNode* block = At(block_ref);
    SetBody(Streamer(block, FindAccessed(block, buffer, false)).Mutate(function_->body));
  });
}

void Schedule::SetScope(const BufferRef& of, StorageScope scope) {
  Do("set_scope", {of.name(), StorageScopeName(scope)}, [&] {
    const AllocateNode* allocation = Temporary(of);
    for (const ForNode* loop : LoopsIn(allocation->body))
      if (loop->for_kind == ForKind::kThread && Touches(loop->body, allocation->buffer))
        Refuse(of.name() + " is used on threads already; say where it is before");
    auto buffer = ffi::Make<BufferNode>(*allocation->buffer);
    buffer->scope = scope;
    SetBody(ReplaceBuffer(function_->body, allocation->buffer, Buffer(buffer.get())));
  });
}

void Schedule::StorageAlign(const BufferRef& of, int64_t dimension, int64_t factor,
                            int64_t offset) {
  Do("storage_align",
     {of.name(), std::to_string(dimension), std::to_string(factor), std::to_string(offset)}, [&] {
       const AllocateNode* allocation = Temporary(of);
       auto buffer = ffi::Make<BufferNode>(*allocation->buffer);
       auto rank = static_cast<int64_t>(buffer->shape.size());
       if (dimension < 0 || dimension >= rank)
         Refuse(of.name() + " has " + std::to_string(rank) + " dimensions, counted from 0");
       CheckFactor("the factor", factor);
       if (offset < 0 || offset >= factor)
         Refuse("the offset is " + std::to_string(offset) + "; expected 0 to " +
                std::to_string(factor - 1) + ", below the factor");
       arith::Analyzer analyzer;
       std::vector<Expr> strides(rank);
       for (int64_t d = rank; d-- > 0;) {
         Expr stride = d + 1 == rank ? Expr(1) : strides[d + 1] * buffer->shape[d + 1];
         if (!buffer->strides.empty()) stride = buffer->strides[d];
         // Outer dimensions step over the gaps.
         if (d < dimension && !buffer->strides.empty())
           stride = strides[d + 1] * buffer->shape[d + 1];
         if (d == dimension) stride = stride + ir::FloorMod(Expr(offset) - stride, Expr(factor));
         strides[d] = analyzer.Simplify(stride);
       }
       buffer->strides = strides;
       SetBody(ReplaceBuffer(function_->body, allocation->buffer, Buffer(buffer.get())));
     });
}

}  // namespace tern::schedule
