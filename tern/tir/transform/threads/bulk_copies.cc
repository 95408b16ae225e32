// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/transform/threads/bulk_copies.h"

#include <algorithm>
#include <map>

#include "tern/arith/linear.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/conjuncts.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/analyzed_mutator.h"
#include "tern/tir/bulk_intrinsics.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/transform/threads/pipeline_loops.h"
#include "tern/tir/visitor.h"

namespace tern::tir {
namespace {

// Of rows of a block in shared memory, and of what strides and addresses are multiples.
constexpr int64_t kRowBytes = 128, kStrideBytes = 16;

bool IsZero(const Expr& expr) {
  const auto* number = expr.As<ir::FloatImmNode>();
  return number ? number->value == 0 : ir::IsConst(expr, 0);
}

class CopyMatcher {
 public:
  CopyMatcher(const Stmt& copy, const arith::Analyzer& analyzer)
      : copy_(copy), analyzer_(analyzer) {}

  Stmt Run() { return TakeApart() && FindTensor() && FindBox() ? WriteOut() : Stmt(); }
  const Buffer& source() const { return load_->buffer; }
  std::string why;

 private:
  bool Fail(const std::string& reason) {
    why = reason;
    return false;
  }

  bool TakeApart() {
    Stmt inner = copy_;
    while (const auto* loop = inner.As<ForNode>()) {
      std::optional<int64_t> extent = ir::AsConstInt(loop->extent);
      if (!extent || !ir::IsConst(loop->min, 0)) return Fail("a loop of the copy is not constant");
      iterations_ *= *extent;
      loops_.push_back(loop);
      inner = loop->body;
    }
    block_ = inner.As<BlockNode>();
    if (!block_ || block_->predicate.get() || block_->init.get())
      return Fail("it is not one whole block");
    store_ = block_->body.As<BufferStoreNode>();
    load_ = store_ ? CopiedOrConstant(store_->value) : nullptr;
    if (!load_ || store_->predicate.get() || load_->predicate.get() ||
        !IsSharedScope(store_->buffer->scope) || load_->buffer->scope != StorageScope::kGlobal)
      return Fail("it computes what it copies");
    return true;
  }

  // Axes of the block that have one value in the box, as that of the part of K.
  void FindFixedAxes() {
    arith::Analyzer inside = analyzer_;
    for (const ForNode* loop : loops_) inside.BindRange(loop->var, loop->min, loop->extent);
    for (const BlockIter& iter : block_->iters) {
      Expr value = inside.Simplify(iter.binding);
      if (std::none_of(loops_.begin(), loops_.end(),
                       [&](const ForNode* loop) { return ir::UsesVar(value, loop->var.node()); }))
        fixed_[iter.var.node()] = value;
    }
  }
  // An index of the tensor: an axis of the block, or one from a place on that is the same for the
  // whole box.
  const VarNode* AxisOf(size_t d) {
    const Expr& index = load_->indices[d];
    if (const auto* axis = index.As<VarNode>()) return axis;
    for (const BlockIter& iter : block_->iters) {
      const VarNode* axis = iter.var.node();
      auto linear = fixed_.count(axis) ? std::nullopt : arith::AsLinear(index, axis);
      if (!linear || linear->coefficient != 1) continue;
      Expr start = ir::Substitute(linear->rest, fixed_);
      if (std::any_of(block_->iters.begin(), block_->iters.end(),
                      [&](const BlockIter& other) { return ir::UsesVar(start, other.var.node()); }))
        continue;
      start_[d] = start;
      return axis;
    }
    return nullptr;
  }

  // Its axes are those of the block; zeros begin where it ends.
  bool FindTensor() {
    FindFixedAxes();
    const Buffer& tensor = load_->buffer;
    // Tensor maps are made of whole tensors.
    if (tensor->offset.get() && !ir::IsConst(tensor->offset, 0))
      return Fail(tensor->name + " begins inside of other memory");
    int64_t stride = 1;
    copied_.strides.resize(tensor->shape.size());
    for (size_t d = tensor->shape.size(); d-- > 0;) {
      std::optional<int64_t> extent = ir::AsConstInt(tensor->shape[d]);
      std::optional<int64_t> given =
          tensor->strides.empty() ? std::optional(stride) : ir::AsConstInt(tensor->strides[d]);
      bool is_rows = d == 0 && tensor->shape[d].As<VarNode>();  // no stride depends on them
      if (!given || (!extent && !is_rows))
        return Fail(tensor->name + " has sizes that are not constant");
      bool is_last = d + 1 == tensor->shape.size();
      if (is_last ? *given != 1 : *given * tensor->dtype.bytes() % kStrideBytes != 0)
        return Fail("a stride of " + tensor->name + " is no multiple of " +
                    std::to_string(kStrideBytes) + " bytes");
      copied_.strides[d] = Expr(*given);
      stride = *given * extent.value_or(1);
      const VarNode* axis = AxisOf(d);
      auto is_axis = [&](const BlockIter& iter) { return iter.var.node() == axis; };
      auto iter = std::find_if(block_->iters.begin(), block_->iters.end(), is_axis);
      if (iter == block_->iters.end() || !dimension_.emplace(axis, d).second)
        return Fail("it does not copy along the axes of " + tensor->name);
    }
    for (const BlockIter& iter : block_->iters)
      if (!dimension_.count(iter.var.node()) && !(fixed_.count(iter.var.node()) && !start_.empty()))
        return Fail("it copies elements more than once");
    copied_.shape = tensor->shape;
    copied_.first = ir::BufferLoadNode::Make(
        tensor, std::vector<Expr>(tensor->shape.size(), Expr(int64_t{0})), store_->span);
    for (Expr value = store_->value; const auto* select = value.As<ir::SelectNode>();
         value = select->true_value) {
      if (!IsZero(select->false_value)) return Fail("it is filled up with other than zeros");
      for (const Expr& bound : Conjuncts(select->condition)) {
        const auto* less = bound.As<ir::LTNode>();
        size_t d = 0;
        while (less && d < load_->indices.size() && !IsIndex(less->a, d)) ++d;
        if (!less || d == load_->indices.size() || !analyzer_.CanProve(less->b == tensor->shape[d]))
          return Fail("zeros do not begin where " + tensor->name + " ends");
      }
    }
    return true;
  }

  bool IsIndex(const Expr& expr, size_t d) const {
    const Expr& index = load_->indices[d];
    return expr.same(index) || (start_.count(d) && analyzer_.CanProve(expr == index));
  }

  // An iteration is an element of it, as many as there are.
  bool FindBox() {
    ir::VarMap start;
    for (const ForNode* loop : loops_)
      start[loop->var.node()] = ir::IntImmNode::Make(loop->var.dtype(), 0);
    arith::Analyzer inside = analyzer_;
    for (const ForNode* loop : loops_) inside.BindRange(loop->var, loop->min, loop->extent);
    copied_.at.resize(dimension_.size());
    extents_.resize(dimension_.size());
    int64_t elements = 1;
    for (const BlockIter& iter : block_->iters) {
      if (!dimension_.count(iter.var.node())) continue;
      size_t d = dimension_.at(iter.var.node());
      Expr first = analyzer_.Simplify(ir::Substitute(iter.binding, start));
      copied_.at[d] = first;
      arith::ConstBounds bounds = inside.Bounds(inside.Simplify(iter.binding - first));
      if (bounds.lo != 0 || bounds.hi == arith::ConstBounds::kPosInf)
        return Fail("its box has no constant size");
      elements *= extents_[d] = bounds.hi + 1;
    }
    return elements == iterations_ || Fail("it is not a box");
  }

  Stmt WriteOut() {
    const Buffer& target = store_->buffer;
    size_t rows = extents_.size(), columns = extents_.size() - 1;
    for (size_t d = 0; d < columns; ++d) {
      if (extents_[d] == 1) continue;
      if (rows != extents_.size()) return Refused("its box has more than rows and columns");
      rows = d;
    }
    if (rows == extents_.size()) return Refused("its box has no rows");
    std::optional<int64_t> size = ir::AsConstInt(target->shape.back());
    int64_t width = kRowBytes / target->dtype.bytes();
    if (!size || *size % width != 0) return Refused("shared memory has no rows of 128 bytes");
    int64_t height = *size / width;
    if (extents_[rows] % height != 0 || extents_[columns] % width != 0)
      return Refused("its box is not whole blocks of shared memory");

    Var row("row", DataType::Int(64)), column("column", DataType::Int(64));
    arith::Analyzer inside = analyzer_;
    inside.BindRange(row, Expr(int64_t{0}), Expr(height));
    inside.BindRange(column, Expr(int64_t{0}), Expr(width));
    std::vector<Stmt> stores;
    for (int64_t c = 0; c < extents_[columns]; c += width)
      for (int64_t r = 0; r < extents_[rows]; r += height) {
        BulkCopy box = copied_;
        box.box.assign(extents_.size(), 1);
        box.box[rows] = height;
        box.box[columns] = width;
        box.at[rows] = analyzer_.Simplify(box.at[rows] + r);
        box.at[columns] = analyzer_.Simplify(box.at[columns] + c);
        ir::VarMap element = fixed_;
        for (const auto& [axis, d] : dimension_)
          element[axis] = d == rows      ? box.at[d] + row
                          : d == columns ? box.at[d] + column
                                         : box.at[d];
        std::vector<Expr> place;
        for (size_t i = 0; i < store_->indices.size(); ++i) {
          Expr index = inside.Simplify(ir::Substitute(store_->indices[i], element));
          if (i + 1 == store_->indices.size()) {
            if (!inside.CanProve(index == row * width + column))
              return Refused("a block of shared memory is not written row by row");
            index = ir::RampNode::Make(Expr(int64_t{0}), Expr(int64_t{1}), *size);
          } else if (!ir::AsConstInt(index)) {
            return Refused("a block of shared memory has parts of several boxes");
          }
          place.push_back(index);
        }
        for (const auto& [d, start] : start_) box.at[d] = analyzer_.Simplify(box.at[d] + start);
        stores.push_back(
            BufferStoreNode::Make(target, place, box.MakeCall(store_->span), store_->span));
      }
    return ByFirstThread(SeqNode::Make(std::move(stores), store_->span));
  }
  Stmt Refused(const std::string& reason) {
    Fail(reason);
    return {};
  }

  Stmt ByFirstThread(Stmt body) const {
    Expr condition;
    std::vector<const ForNode*> threads;
    for (const ForNode* loop : loops_)
      if (loop->for_kind == ForKind::kThread) threads.push_back(loop);
    std::vector<Var> vars;
    for (const ForNode* loop : threads) {
      vars.emplace_back(loop->var.name(), loop->var.dtype(), loop->span);
      Expr is_first = Expr(vars.back()) == ir::IntImmNode::Make(loop->var.dtype(), 0);
      condition = condition ? condition && is_first : is_first;
    }
    if (condition) body = IfThenElseNode::Make(condition, body, {}, store_->span);
    for (size_t i = threads.size(); i-- > 0;)
      body = ForNode::Make(vars[i], threads[i]->min, threads[i]->extent, ForKind::kThread, body,
                           threads[i]->thread, threads[i]->span);
    return body;
  }

  const Stmt& copy_;
  const arith::Analyzer& analyzer_;
  std::vector<const ForNode*> loops_;
  int64_t iterations_ = 1;
  const BlockNode* block_ = nullptr;
  const BufferStoreNode* store_ = nullptr;
  const ir::BufferLoadNode* load_ = nullptr;
  ir::VarMap fixed_;                            // axes of the block, by their value in the box
  std::map<const VarNode*, size_t> dimension_;  // of the tensor, of each axis of the block
  std::map<size_t, Expr> start_;                // of a dimension, where the axis is 0; else 0
  BulkCopy copied_;
  std::vector<int64_t> extents_;
};

// What a nest of loops around one block alone writes to in shared memory; null for others.
const BufferStoreNode* SharedStoreOf(Stmt nest) {
  while (const auto* loop = nest.As<ForNode>()) nest = loop->body;
  const auto* block = nest.As<BlockNode>();
  const auto* store = block ? block->body.As<BufferStoreNode>() : nullptr;
  return store && IsSharedScope(store->buffer->scope) ? store : nullptr;
}

// Of loops with roles, and around them.
class BulkMaker : public AnalyzedMutator {
 public:
  std::vector<Buffer> sources;
  std::string why;

 private:
  using AnalyzedMutator::MutateNode;
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    if (!node->annotations.count(pipeline::kRoles))
      return SharedStoreOf(self) ? MakeBulk(self) : AnalyzedMutator::MutateNode(node, self);
    analyzer_.BindRange(node->var, node->min, node->extent);
    std::vector<const AllocateNode*> allocations;
    Stmt inner = node->body;
    while (const auto* allocation = inner.As<AllocateNode>()) {
      allocations.push_back(allocation);
      inner = allocation->body;
    }
    const auto* row = inner.As<SeqNode>();
    if (!row || !node->annotations.count(pipeline::kStages)) {
      why = "the loop has no stages";
      return self;
    }
    auto stages = node->annotations.at(pipeline::kStages).As<ffi::Array>();
    std::vector<Stmt> stmts;
    for (size_t i = 0; i < row->stmts.size(); ++i) {
      bool copies = (*stages)[i].As<int64_t>() == 0;
      stmts.push_back(copies ? MakeBulk(row->stmts[i]) : row->stmts[i]);
    }
    if (!why.empty()) return self;
    Stmt body = SeqNode::Make(std::move(stmts), node->span);
    for (size_t i = allocations.size(); i-- > 0;)
      body = AllocateNode::Make(allocations[i]->buffer, body, allocations[i]->span);
    ir::Attrs annotations = {{pipeline::kRoles, node->annotations.at(pipeline::kRoles)}};
    return ForNode::Make(node->var, node->min, node->extent, ForKind::kSerial, body, "", node->span,
                         std::move(annotations));
  }
  Stmt MakeBulk(const Stmt& copy) {
    if (!why.empty()) return copy;
    CopyMatcher matcher(copy, analyzer_);
    Stmt made = matcher.Run();
    why = matcher.why;
    if (made) sources.push_back(matcher.source());
    return made;
  }
};

}  // namespace

bool TakesBulkCopies(const PrimFunc& function) {
  auto it = function->attrs.find(attr::kTarget);
  if (it == function->attrs.end()) return false;
  Expr wait = ir::CallNode::Make(intrinsic::kThreadRegisters, {Expr(int64_t{0})}, DataType::Void());
  return IsKept(wait.As<ir::CallNode>(), it->second.As<target::Target>());
}

BulkCopies MakeCopiesBulk(const Stmt& kernel) {
  BulkMaker maker;
  Stmt made = maker.Mutate(kernel);
  if (!maker.why.empty()) return {{}, {}, maker.why};
  Expr condition;
  for (const Buffer& source : maker.sources) {
    if (source->alignment >= kStrideBytes) continue;
    Expr aligned = ir::CallNode::Make(intrinsic::kIsAligned, {source->data, Expr(kStrideBytes)},
                                      DataType::Void(), source->span);
    condition = condition ? condition && aligned : aligned;
  }
  return {made, condition, ""};
}

}  // namespace tern::tir
