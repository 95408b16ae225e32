// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/fuse_axes.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "tern/arith/analyzer.h"
#include "tern/ir/intrinsic.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/axis_uses.h"
#include "tern/schedule/rules/block_kind.h"
#include "tern/schedule/rules/gemm_versions.h"
#include "tern/schedule/rules/loops.h"
#include "tern/tir/analysis/preparation.h"
#include "tern/tir/intrinsics.h"
#include "tern/tir/text.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

struct Tensor : UsedTensor {
  std::vector<bool> fused;    // dimension d with the next one
  std::vector<bool> dropped;  // of extent 1, and never indexed
  bool changes() const {
    return std::count(fused.begin(), fused.end(), true) > 0 ||
           std::count(dropped.begin(), dropped.end(), true) > 0;
  }
};

struct Nested : NestedBlock {
  std::vector<bool> fused;  // loop l with the next one
};

struct Scan {
  explicit Scan(const PrimFunc& function) {
    AxisUses uses = FindAxisUses(function);
    for (NestedBlock& block : uses.blocks) blocks.push_back({std::move(block), {}});
    for (auto& [buffer, tensor] : uses.tensors) tensors[buffer] = {std::move(tensor), {}, {}};
  }
  std::vector<Nested> blocks;
  std::map<const BufferNode*, Tensor> tensors;
};

// Which axes may be fused.
enum class Uses {
  kIndices,    // those that are indices of neighbouring dimensions alone
  kRemainders  // rows of two GEMMs, as attention's: what else uses them uses remainders of the
               // fused
};

class Fuser {
 public:
  Fuser(const PrimFunc& function, const TargetInfo& target, Uses uses)
      : function_(function), target_(target), uses_(uses), scan_(function) {
    known_ = CallersVars(function);
    for (Nested& nested : scan_.blocks) nested.fused.assign(nested.loops.size(), false);
    for (auto& [buffer, tensor] : scan_.tensors) {
      tensor.fused.assign(buffer->shape.size(), !tensor.fixed);
      if (!tensor.fused.empty()) tensor.fused.back() = false;
      tensor.dropped.assign(buffer->shape.size(), false);
    }
    for (Nested& nested : scan_.blocks)
      for (size_t l = 0; l + 1 < nested.loops.size(); ++l) nested.fused[l] = MayFuse(nested, l);
    Narrow();
    KeepWanted();
    Narrow();
    DropDims();
  }

  bool any() const {
    return std::any_of(scan_.tensors.begin(), scan_.tensors.end(),
                       [](const auto& entry) { return entry.second.changes(); });
  }

  FusedAxes Run();

 private:
  const BlockIter& IterOf(const Nested& nested, size_t loop) const {
    return nested.block->iters[nested.axes[loop]];
  }

  // An extent that is known before the loops.
  bool IsKnown(const Expr& extent) const {
    bool known = true;
    ir::ForEachExpr(extent, [&](const Expr& part) {
      const auto* var = part.As<VarNode>();
      known &= !part.As<ir::BufferLoadNode>() && (!var || known_.count(var) > 0);
    });
    return known;
  }

  // Whether vectors of a block may be along an axis, as all its tensors that have it are contiguous
  // so: vectors of remainders are slow.
  bool IsContiguous(const Nested& nested, int axis) const {
    for (const auto& [buffer, tensor] : scan_.tensors)
      for (const TensorUse& use : tensor.uses) {
        if (use.block == kNoAxis || &scan_.blocks[use.block] != &nested) continue;
        bool has = std::count(use.axes.begin(), use.axes.end(), axis) > 0;
        if (has && use.axes.back() != axis) return false;
      }
    return true;
  }

  // As far as the block itself is concerned.
  bool MayFuse(const Nested& nested, size_t l) const {
    if (nested.axes[l] == kNoAxis || nested.axes[l + 1] == kNoAxis) return false;
    for (int axis : {nested.axes[l], nested.axes[l + 1]})
      if (nested.other[axis] && (uses_ == Uses::kIndices || IsContiguous(nested, axis)))
        return false;
    const BlockIter &outer = IterOf(nested, l), &inner = IterOf(nested, l + 1);
    // Indices of 64 bits hold what any tensor has of elements.
    return outer.kind == inner.kind &&
           (outer.kind == IterKind::kSpatial || outer.kind == IterKind::kReduce) &&
           outer.var.dtype() == DataType::Int(64) && inner.var.dtype() == DataType::Int(64) &&
           IsKnown(outer.extent) && IsKnown(inner.extent);
  }

  // Whether the indices of a use at dimension d and the next one are fused loops, all of them.
  bool IsFusedUse(const TensorUse& use, const Tensor& tensor, size_t d) const {
    if (use.block == kNoAxis || use.axes[d] == kNoAxis || use.axes[d + 1] == kNoAxis) return false;
    const Nested& nested = scan_.blocks[use.block];
    int loop = nested.LoopOf(use.axes[d]);
    if (loop == kNoAxis || !nested.fused[loop] || nested.axes[loop + 1] != use.axes[d + 1])
      return false;
    const std::vector<Expr>& shape = tensor.buffer->shape;
    return SameExtent(IterOf(nested, loop).extent, shape[d]) &&
           SameExtent(IterOf(nested, loop + 1).extent, shape[d + 1]);
  }

  // Whether a block that is no GEMM reads something at the inner of two loops alone, as a mask that
  // all heads share is read at the queries.
  bool ReadsAtInner(const TensorUse& use, const Nested& nested, size_t loop) const {
    auto has = [&](int axis) { return std::count(use.axes.begin(), use.axes.end(), axis) > 0; };
    return !use.stores && !has(nested.axes[loop]) && has(nested.axes[loop + 1]) &&
           DescribeBlock(nested.block).kind != BlockKind::kMatmul;
  }

  // Whether two fused loops are neighbours in every use of them.
  bool IsFusedLoop(int block, size_t loop) const {
    const Nested& nested = scan_.blocks[block];
    for (const auto& [buffer, tensor] : scan_.tensors)
      for (const TensorUse& use : tensor.uses) {
        if (use.block != block) continue;
        if (uses_ == Uses::kRemainders && ReadsAtInner(use, nested, loop)) continue;
        for (size_t d = 0; d < use.axes.size(); ++d) {
          if (use.axes[d] == nested.axes[loop] &&
              !(tensor.fused[d] && use.axes[d + 1] == nested.axes[loop + 1]))
            return false;
          if (use.axes[d] == nested.axes[loop + 1] &&
              !(d > 0 && tensor.fused[d - 1] && use.axes[d - 1] == nested.axes[loop]))
            return false;
        }
      }
    return true;
  }

  // Until all that is fused is so in every use.
  void Narrow() {
    bool changed = true;
    auto keep = [&](std::vector<bool>& fused, size_t i, bool holds) {
      if (!fused[i] || holds) return;
      fused[i] = false;
      changed = true;
    };
    while (std::exchange(changed, false)) {
      for (auto& [buffer, tensor] : scan_.tensors)
        for (size_t d = 0; d < tensor.fused.size(); ++d)
          keep(tensor.fused, d,
               !tensor.uses.empty() &&
                   std::all_of(tensor.uses.begin(), tensor.uses.end(), [&](const TensorUse& use) {
                     return !tensor.fused[d] || IsFusedUse(use, tensor, d);
                   }));
      for (size_t b = 0; b < scan_.blocks.size(); ++b)
        for (size_t l = 0; l < scan_.blocks[b].fused.size(); ++l)
          keep(scan_.blocks[b].fused, l,
               !scan_.blocks[b].fused[l] || IsFusedLoop(static_cast<int>(b), l));
    }
  }

  // Rules take static axes as they are, but for several of one role of a GEMM, and for contiguous
  // ones that are no whole vectors of a host.
  bool IsWanted(const Nested& nested, size_t l) const {
    if (uses_ == Uses::kRemainders) return AreRows(nested, l) && CountRows() > 1;
    if (!ir::AsConstInt(IterOf(nested, l).extent) || !ir::AsConstInt(IterOf(nested, l + 1).extent))
      return true;
    BlockInfo info = DescribeBlock(nested.block);
    if (info.kind == BlockKind::kConvolution || info.kind == BlockKind::kOpaque) return false;
    if (info.kind != BlockKind::kMatmul) return HasTail(info, nested.axes[l + 1]);
    AxisRole role = info.axes[nested.axes[l]].role;
    return role == info.axes[nested.axes[l + 1]].role &&
           (role == AxisRole::kM || role == AxisRole::kN || role == AxisRole::kK);
  }

  // Whether both axes are rows of a GEMM: of one of its operands, and not of the other.
  bool AreRows(const Nested& nested, size_t l) const {
    BlockInfo info = DescribeBlock(nested.block);
    if (info.kind != BlockKind::kMatmul) return false;
    int with = 0, without = 0;
    for (const BlockAccess& read : info.accesses) {
      if (read.store || read.buffer.same(info.accesses[0].buffer)) continue;
      auto has = [&](size_t loop) {
        return std::count(read.axes.begin(), read.axes.end(), size_t(nested.axes[loop])) > 0;
      };
      with += has(l) && has(l + 1);
      without += !has(l) && !has(l + 1);
    }
    return with == 1 && without == 1;
  }

  // How many GEMMs have two axes of rows that may be fused.
  int CountRows() const {
    int count = 0;
    for (const Nested& nested : scan_.blocks)
      for (size_t l = 0; l < nested.fused.size(); ++l)
        count += nested.fused[l] && AreRows(nested, l);
    return count;
  }

  // Whether elements are contiguous along an axis, and fill no whole number of vectors.
  bool HasTail(const BlockInfo& info, int axis) const {
    if (!target_.is_host_with_vectors()) return false;
    // Lanes of a vector along an axis of any length.
    BlockInfo any = info;
    any.axes[axis].extent = ir::MakeConst(DataType::Int(64), 1 << 16);
    int64_t lanes = LanesFor(any, axis, target_, 1);
    if (lanes == 0 || Divides(lanes, info.axes[axis].extent)) return false;
    return std::any_of(info.accesses.begin(), info.accesses.end(), [&](const BlockAccess& access) {
      return !access.indices.empty() && access.indices.back().get() == info.axes[axis].var.get();
    });
  }

  // Loops of which a part is wanted stay fused as a whole, wherever their tensors are used.
  void KeepWanted() {
    std::vector<std::vector<bool>> wanted;
    for (const Nested& nested : scan_.blocks) {
      wanted.emplace_back(nested.fused.size());
      for (size_t l = 0; l < nested.fused.size(); ++l)
        wanted.back()[l] = nested.fused[l] && IsWanted(nested, l);
    }
    bool changed = true;
    auto want = [&](size_t block, size_t loop) {
      changed |= !wanted[block][loop];
      wanted[block][loop] = true;
    };
    while (std::exchange(changed, false)) {
      for (size_t b = 0; b < wanted.size(); ++b)
        for (size_t l = 0; l + 1 < wanted[b].size(); ++l)
          if (scan_.blocks[b].fused[l] && scan_.blocks[b].fused[l + 1] &&
              (wanted[b][l] || wanted[b][l + 1]))
            want(b, l), want(b, l + 1);
      for (const auto& [buffer, tensor] : scan_.tensors)
        for (size_t d = 0; d < tensor.fused.size(); ++d) {
          if (!tensor.fused[d]) continue;
          auto loop_of = [&](const TensorUse& use) {
            return scan_.blocks[use.block].LoopOf(use.axes[d]);
          };
          bool any = std::any_of(tensor.uses.begin(), tensor.uses.end(), [&](const TensorUse& use) {
            return wanted[use.block][loop_of(use)];
          });
          for (const TensorUse& use : tensor.uses)
            if (any) want(use.block, loop_of(use));
        }
    }
    for (size_t b = 0; b < wanted.size(); ++b) scan_.blocks[b].fused = wanted[b];
  }

  // Of operands of GEMMs and reductions: a rule wants an axis for each dimension.
  void DropDims() {
    std::set<const BufferNode*> operands;
    for (const Nested& nested : scan_.blocks) {
      BlockInfo info = DescribeBlock(nested.block);
      if (info.kind != BlockKind::kMatmul && info.kind != BlockKind::kReduction) continue;
      for (const BlockAccess& access : info.accesses)
        if (!access.store) operands.insert(access.buffer.get());
    }
    for (const BufferNode* operand : operands) {
      Tensor& tensor = scan_.tensors[operand];
      if (tensor.fixed) continue;
      for (size_t d = 0; d < tensor.dropped.size(); ++d)
        tensor.dropped[d] = ir::IsConst(operand->shape[d], 1) &&
                            std::all_of(tensor.uses.begin(), tensor.uses.end(),
                                        [&](const TensorUse& use) { return use.zero[d]; });
    }
  }

  Expr FusedExtent(const std::vector<Expr>& extents);
  Buffer WithFusedDims(const Tensor& tensor);
  class Rewrite;

  const PrimFunc& function_;
  const TargetInfo& target_;
  const Uses uses_;
  Scan scan_;
  std::set<const VarNode*> known_;
  FusedAxes made_;
  std::map<std::string, std::string> told_;  // what is fused, and in which blocks
  std::map<std::string, Var> products_;      // dynamic extents, by their text
};

// n * m * 8 as n_m * 8: one dynamic extent is a variable, as rules look for.
Expr Fuser::FusedExtent(const std::vector<Expr>& extents) {
  int64_t factor = 1;
  Expr product;
  std::string name;
  int dynamic = 0;
  for (const Expr& extent : extents) {
    if (auto size = ir::AsConstInt(extent)) {
      factor *= *size;
      continue;
    }
    product = product ? product * extent : extent;
    const auto* var = extent.As<VarNode>();
    name += (name.empty() ? "" : "_") + (var ? var->name : "extent");
    ++dynamic;
  }
  Expr fixed = ir::MakeConst(DataType::Int(64), static_cast<double>(factor));
  if (!product) return fixed;
  if (dynamic > 1) {
    auto [it, is_new] = products_.try_emplace(Print(product), Var(name, DataType::Int(64)));
    if (is_new) made_.lets.emplace_back(it->second, product);
    product = it->second;
  }
  return factor == 1 ? product : product * fixed;
}

Buffer Fuser::WithFusedDims(const Tensor& tensor) {
  auto other = ffi::Make<ir::BufferNode>(*tensor.buffer);
  other->shape.clear();
  std::vector<Expr> run;
  for (size_t d = 0; d < tensor.fused.size(); ++d) {
    if (tensor.dropped[d]) continue;
    run.push_back(tensor.buffer->shape[d]);
    if (tensor.fused[d]) continue;
    other->shape.push_back(run.size() > 1 ? FusedExtent(run) : run[0]);
    run.clear();
  }
  return Buffer(other.get());
}

class Fuser::Rewrite : public StmtMutator {
 public:
  Rewrite(Fuser* fuser) : fuser_(*fuser) {
    for (Nested& nested : fuser_.scan_.blocks) Fuse(nested);
  }
  // Before anything that uses it.
  Buffer Replace(const Tensor& tensor) {
    return new_buffers_[tensor.buffer.get()] = fuser_.WithFusedDims(tensor);
  }
  Stmt Run(const Stmt& stmt) { return Mutate(stmt); }

 private:
  using StmtMutator::Mutate;
  using StmtMutator::MutateDef;
  using StmtMutator::MutateNode;

  void Fuse(const Nested& nested) {
    std::vector<BlockIter> iters = nested.block->iters;
    std::set<int> gone;
    for (size_t l = 0; l < nested.loops.size(); ++l) {
      if (!nested.fused[l]) continue;
      std::string loop_name, axis_name, axes;
      std::vector<Expr> extents;
      size_t first = l;
      for (bool more = true; more; ++l) {
        const BlockIter& iter = fuser_.IterOf(nested, l);
        more = nested.fused[l];
        bool begins = l == first;
        loop_name += (begins ? "" : "_") + nested.loops[l]->var.name();
        axis_name += (begins ? "" : "_") + iter.var.name();
        axes += (begins ? "" : ", ") + iter.var.name();
        extents.push_back(iter.extent);
        if (!begins) gone.insert(nested.axes[l]), loops_[nested.loops[l]] = {};
      }
      --l;
      Expr extent = fuser_.FusedExtent(extents);
      Var loop(loop_name, DataType::Int(64), nested.loops[first]->span);
      loops_[nested.loops[first]] = {loop, extent};
      BlockIter& fused = iters[nested.axes[first]];
      fused = {extent, loop, Var(axis_name, DataType::Int(64)), fused.kind};
      axes_[nested.block->iters[nested.axes[first]].var.node()] = fused.var;
      AddRemainders(nested, first, l + 1, fused.var);
      std::string& blocks = fuser_.told_["axes " + axes + " are one axis, " + axis_name];
      blocks += (blocks.empty() ? "" : ", ") + nested.block->name;
    }
    if (gone.empty()) return;
    std::vector<BlockIter> left;
    for (size_t i = 0; i < iters.size(); ++i)
      if (!gone.count(static_cast<int>(i))) left.push_back(iters[i]);
    blocks_[nested.block] = std::move(left);
  }

  // What the axes of loops are of the one that they are fused to.
  void AddRemainders(const Nested& nested, size_t first, size_t end, const Var& fused) {
    Expr whole = fused;
    for (size_t l = end; l-- > first;) {
      const BlockIter& iter = fuser_.IterOf(nested, l);
      remainders_[iter.var.node()] =
          l == first ? whole : ir::FloorModNode::Make(whole, iter.extent);
      whole = ir::FloorDivNode::Make(whole, iter.extent);
    }
  }
  Expr MutateNode(const VarNode* node, const Expr& self) override {
    auto it = remainders_.find(node);
    return it == remainders_.end() ? self : it->second;
  }

  std::vector<Expr> Indices(const Buffer& buffer, const std::vector<Expr>& indices) {
    const Tensor& tensor = fuser_.scan_.tensors.at(buffer.get());
    std::vector<Expr> result;
    for (size_t d = 0; d < indices.size(); ++d) {
      if (tensor.dropped[d] || (d > 0 && tensor.fused[d - 1])) continue;
      result.push_back(tensor.fused[d] ? Expr(axes_.at(indices[d].As<VarNode>()))
                                       : Mutate(indices[d]));
    }
    return result;
  }
  Expr MutateNode(const ir::BufferLoadNode* node, const Expr& self) override {
    if (!new_buffers_.count(node->buffer.get())) return MutateChildren(node, self);
    return ir::BufferLoadNode::Make(MutateUse(node->buffer), Indices(node->buffer, node->indices),
                                    node->span, MutateOptional(node->predicate));
  }
  Stmt MutateNode(const BufferStoreNode* node, const Stmt& self) override {
    if (!new_buffers_.count(node->buffer.get())) return MutateChildren(node, self);
    return BufferStoreNode::Make(MutateUse(node->buffer), Indices(node->buffer, node->indices),
                                 Mutate(node->value), node->span, MutateOptional(node->predicate));
  }
  Stmt MutateNode(const AllocateNode* node, const Stmt& self) override {
    const Tensor& tensor = fuser_.scan_.tensors.at(node->buffer.get());
    if (!tensor.changes()) return MutateChildren(node, self);
    Buffer buffer = Replace(tensor);
    return AllocateNode::Make(buffer, Mutate(node->body), node->span);
  }
  Stmt MutateNode(const ForNode* node, const Stmt& self) override {
    auto it = loops_.find(node);
    if (it == loops_.end()) return MutateChildren(node, self);
    Stmt body = Mutate(node->body);
    const auto& [var, extent] = it->second;
    return var.get() ? ForNode::Make(var, node->min, extent, ForKind::kSerial, body, "", node->span)
                     : body;
  }
  Stmt MutateNode(const BlockNode* node, const Stmt& self) override {
    Stmt changed = MutateChildren(node, self);
    auto it = blocks_.find(node);
    if (changed.same(self) && it == blocks_.end()) return self;
    auto copy = CopyBlock(changed.As<BlockNode>());
    if (it != blocks_.end()) copy->iters = it->second;
    return Stmt(copy);
  }

  Fuser& fuser_;
  std::unordered_map<const ForNode*, std::pair<Var, Expr>> loops_;  // null: it is in one before
  std::unordered_map<const VarNode*, Var> axes_;
  std::unordered_map<const VarNode*, Expr> remainders_;
  std::unordered_map<const BlockNode*, std::vector<BlockIter>> blocks_;
};

FusedAxes Fuser::Run() {
  Rewrite rewrite(this);
  auto fused = ffi::Make<PrimFuncNode>(*function_);
  for (Param& param : fused->params) {
    if (!param.is_tensor()) continue;
    const Tensor& tensor = scan_.tensors.at(param.buffer.get());
    if (!tensor.changes()) continue;
    param.buffer = rewrite.Replace(tensor);
    made_.tensors.push_back(param.buffer);
  }
  fused->body = rewrite.Run(function_->body);
  for (const auto& [var, value] : made_.lets) fused->params.push_back({var, {}});
  // Extents that no shape has any more are scalars, too.
  std::set<const VarNode*> left = CallersVars(PrimFunc(fused));
  for (const Param& param : function_->params)
    for (const Expr& extent : param.is_tensor() ? param.buffer->shape : std::vector<Expr>())
      if (const auto* var = extent.As<VarNode>(); var && left.insert(var).second)
        fused->params.push_back({Var(var), {}});
  for (const auto& [note, blocks] : told_) made_.notes.push_back(note + " (" + blocks + ")");
  made_.function = PrimFunc(fused);
  return std::move(made_);
}

}  // namespace

std::optional<FusedAxes> FuseAxes(const PrimFunc& function, const TargetInfo& target) {
  for (Uses uses : {Uses::kIndices, Uses::kRemainders}) {
    if (uses == Uses::kRemainders && !target.is_host_with_vectors()) break;
    if (Fuser fuser(function, target, uses); fuser.any()) return fuser.Run();
  }
  return {};
}

}  // namespace tern::schedule
