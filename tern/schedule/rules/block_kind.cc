// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/block_kind.h"

#include <algorithm>
#include <optional>

#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/new_block.h"
#include "tern/schedule/rules/row_chains.h"
#include "tern/schedule/schedule.h"
#include "tern/tir/block_op.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Each let may double what is written in its place.
constexpr int kMaxLets = 8;
constexpr int64_t kCallCost = 16;

bool ReadsMemory(const Expr& expr) {
  bool reads = false;
  ir::ForEachExpr(expr, [&](const Expr& e) { reads |= e.As<ir::BufferLoadNode>() != nullptr; });
  return reads;
}

// Whether every load of an expression is inside of its tensor, under any condition.
bool StaysInside(const Expr& expr, const arith::Analyzer& analyzer) {
  bool inside = true;
  ir::ForEachExpr(expr, [&](const Expr& e) {
    const auto* load = e.As<ir::BufferLoadNode>();
    for (size_t d = 0; load && inside && d < load->indices.size(); ++d) {
      const Expr& index = load->indices[d];
      inside = d < load->buffer->shape.size() && arith::IsIndexType(index.dtype()) &&
               analyzer.CanProve(index >= ir::MakeConst(index.dtype(), 0)) &&
               analyzer.CanProve(index < load->buffer->shape[d]);
    }
  });
  return inside;
}

// What a body consists of. Only stores, definitions and conditions are followed.
struct BodyScan : StmtVisitor {
  using StmtVisitor::VisitNode;
  explicit BodyScan(const arith::Analyzer& analyzer) : analyzer(analyzer) {}
  void VisitNode(const LetStmtNode* node) override {
    ++lets;
    VisitChildren(node);
  }
  void VisitNode(const BufferStoreNode* node) override {
    ++operations;
    VisitChildren(node);
  }
  void VisitNode(const ForNode*) override { others = true; }
  void VisitNode(const WhileNode*) override { others = true; }
  void VisitNode(const AllocateNode*) override { others = true; }
  void VisitNode(const DeclBufferNode*) override { others = true; }
  void VisitNode(const EvaluateNode*) override { others = true; }
  void VisitNode(const AssertNode*) override { others = true; }
  void VisitNode(const BlockNode*) override { others = true; }
  void VisitNode(const IfThenElseNode* node) override {
    branches = true;
    VisitChildren(node);
  }
  void VisitNode(const ir::SelectNode* node) override {
    if (!StaysInside(node->true_value, analyzer) || !StaysInside(node->false_value, analyzer))
      conditions.push_back(node->condition);
    VisitChildren(node);
  }
  void VisitNode(const ir::CallNode* node) override {
    operations += kCallCost - 1;
    VisitChildren(node);
  }
  void Visit(const Expr& expr) override {
    ++operations;
    StmtVisitor::Visit(expr);
  }
  using StmtVisitor::Visit;
  const arith::Analyzer& analyzer;
  int lets = 0;
  bool others = false, branches = false;
  std::vector<Expr> conditions;  // of accesses in selects that may be outside otherwise
  int64_t operations = 0;
};

// A body with the values of its definitions in their places.
struct LetInliner : StmtMutator {
  using StmtMutator::MutateNode;
  Stmt MutateNode(const LetStmtNode* node, const Stmt&) override {
    return Mutate(Substitute(node->body, {{node->var.node(), node->value}}));
  }
};

class Describer {
 public:
  explicit Describer(const BlockNode* block) : block_(block) {
    info_.name = block->name;
    info_.op = OpOf(block);
    for (const BlockIter& iter : block->iters) {
      const auto* loop = iter.binding.As<VarNode>();
      info_.axes.push_back({iter.var, iter.extent, iter.kind, RoleOf(iter.kind),
                            loop ? LoopRef(ir::Var(loop)) : LoopRef()});
      analyzer_.BindRange(iter.var, ir::MakeConst(iter.var.dtype(), 0), iter.extent);
    }
  }

  BlockInfo Run() {
    BodyScan scan(analyzer_);
    scan.Visit(block_->body);
    info_.operations = scan.operations;
    bool followed = scan.lets <= kMaxLets;
    body_ = followed ? LetInliner().Mutate(block_->body) : block_->body;
    FindDecidingAxes(scan, followed);
    for (bool stores : {true, false})
      for (const Access& access : AccessesOf(body_))
        if (access.store == stores) info_.accesses.push_back(Describe(access));
    info_.kind = scan.others || Has(IterKind::kOpaque) ? BlockKind::kOpaque : Kind(followed);
    return std::move(info_);
  }

 private:
  static AxisRole RoleOf(IterKind kind) {
    switch (kind) {
      case IterKind::kSpatial:
        return AxisRole::kSpatial;
      case IterKind::kReduce:
        return AxisRole::kReduce;
      case IterKind::kScan:
        return AxisRole::kScan;
      default:
        return AxisRole::kOpaque;
    }
  }

  void FindDecidingAxes(const BodyScan& written, bool followed) {
    BodyScan scan(analyzer_);
    scan.Visit(followed ? body_ : block_->body);
    info_.conditional = written.branches || !scan.conditions.empty();
    for (size_t a = 0; a < info_.axes.size(); ++a)
      info_.axes[a].decides =
          scan.branches || (!followed && !scan.conditions.empty()) ||
          std::any_of(scan.conditions.begin(), scan.conditions.end(),
                      [&](const Expr& condition) { return Uses(condition, a); });
  }

  bool Has(IterKind kind) const {
    return std::any_of(info_.axes.begin(), info_.axes.end(),
                       [&](const BlockAxis& axis) { return axis.kind == kind; });
  }
  bool Uses(const Expr& expr, size_t axis) const {
    return ir::UsesVar(expr, info_.axes[axis].var.node());
  }

  BlockAccess Describe(const Access& access) const {
    BlockAccess result{access.buffer, access.indices, access.store, {}, true};
    for (const Expr& index : access.indices)
      for (size_t a = 0; a < info_.axes.size(); ++a) {
        if (!Uses(index, a)) continue;
        bool again = std::count(result.axes.begin(), result.axes.end(), a) > 0;
        result.by_axes &= !again && index.get() == info_.axes[a].var.get();
        if (!again) result.axes.push_back(a);
      }
    for (const Expr& index : access.indices) result.by_axes &= !ReadsMemory(index);
    return result;
  }

  BlockKind Kind(bool followed) {
    if (info_.accesses.empty() || !info_.accesses[0].store) return BlockKind::kOpaque;
    if (Has(IterKind::kScan)) return BlockKind::kScan;
    bool reduces = Has(IterKind::kReduce);
    if (!followed) return reduces ? BlockKind::kReduction : BlockKind::kInjective;
    bool gathers = false;
    for (const BlockAccess& access : info_.accesses)
      for (const Expr& index : access.indices) {
        if (access.store && ReadsMemory(index)) return BlockKind::kScatter;
        gathers |= ReadsMemory(index);
      }
    if (reduces) return ReductionKind();
    return gathers ? BlockKind::kGather : SpatialKind();
  }

  // ---- Without reductions

  BlockKind SpatialKind() const {
    const BlockAccess& result = info_.accesses[0];
    BlockKind kind = BlockKind::kElementwise;
    for (const BlockAccess& access : info_.accesses) {
      if (!access.by_axes) return BlockKind::kInjective;
      if (access.axes == result.axes) continue;
      // The axes that it has are in the order of the result's.
      auto at = result.axes.begin();
      for (size_t axis : access.axes) {
        at = std::find(at, result.axes.end(), axis);
        if (at == result.axes.end() || access.store) return BlockKind::kInjective;
      }
      kind = BlockKind::kBroadcast;
    }
    return kind;
  }

  // ---- With reductions

  // The load that an expression is, but for conversions and a border of constants.
  const ir::BufferLoadNode* Factor(const Expr& expr) const {
    if (const auto* cast = expr.As<ir::CastNode>()) return Factor(cast->value);
    if (const auto* select = expr.As<ir::SelectNode>()) {
      if (!ReadsMemory(select->false_value) && !ReadsMemory(select->condition))
        return Factor(select->true_value);
      return nullptr;
    }
    return expr.As<ir::BufferLoadNode>();
  }

  BlockAccess AccessOf(const ir::BufferLoadNode* load) const {
    return Describe({load->buffer, load->indices, false});
  }

  // The spatial and the reduction axis of an index like y * 2 + dy - 1; of a window of one element,
  // as in y * 2, there is no second one.
  struct Window {
    size_t position;
    std::optional<size_t> inside;
  };
  std::optional<Window> WindowOf(const Expr& index) const {
    std::optional<size_t> position, inside;
    for (size_t a = 0; a < info_.axes.size(); ++a) {
      if (!Uses(index, a)) continue;
      auto& found = info_.axes[a].kind == IterKind::kSpatial ? position : inside;
      auto linear = arith::IsIndexType(index.dtype())
                        ? arith::AsLinear(index, info_.axes[a].var.node())
                        : std::nullopt;
      if (found || !linear || linear->coefficient == 0) return {};
      found = a;
    }
    if (!position || index.get() == info_.axes[*position].var.get()) return {};
    return Window{*position, inside};
  }

  // Notes the axes of the windows of an access; whether there are any, of one element too where
  // that is said, and its other indices are axes.
  bool NoteWindows(const BlockAccess& access, bool of_one) {
    bool any = false;
    for (const Expr& index : access.indices) {
      if (std::optional<Window> window = WindowOf(index)) {
        any |= of_one || window->inside;
        info_.axes[window->position].role = AxisRole::kPixel;
        if (window->inside) info_.axes[*window->inside].role = AxisRole::kWindow;
        continue;
      }
      for (size_t a = 0; a < info_.axes.size(); ++a)
        if (Uses(index, a) && index.get() != info_.axes[a].var.get()) return false;
    }
    return any;
  }

  void ForgetRoles() {
    for (BlockAxis& axis : info_.axes) axis.role = RoleOf(axis.kind);
  }

  BlockKind ReductionKind() {
    const auto* store = body_.As<BufferStoreNode>();
    if (!store || !info_.accesses[0].by_axes) return BlockKind::kReduction;
    Stmt bare = block_->With(block_->init, body_);
    std::optional<ReductionUpdate> update = PlainUpdate(bare.As<BlockNode>());
    if (!update) return BlockKind::kReduction;
    Expr value = update->value;
    while (const auto* cast = value.As<ir::CastNode>()) value = cast->value;
    const auto* product = value.As<ir::MulNode>();
    const auto* a = product ? Factor(product->a) : nullptr;
    const auto* b = product ? Factor(product->b) : nullptr;
    if (a && b && update->op == ExprKind::kAdd) {
      BlockAccess first = AccessOf(a), second = AccessOf(b);
      if (IsMatmul(first, second)) return BlockKind::kMatmul;
      ForgetRoles();
      if (IsConvolution(first, second) || IsConvolution(second, first))
        return BlockKind::kConvolution;
      ForgetRoles();
      return BlockKind::kReduction;
    }
    const ir::BufferLoadNode* load = Factor(value);
    if (load && !EndsInReduction(AccessOf(load)) && NoteWindows(AccessOf(load), false))
      return BlockKind::kPooling;
    ForgetRoles();
    return BlockKind::kReduction;
  }

  // Rows are reduced: groups of channels with all of their pixels are no windows.
  bool EndsInReduction(const BlockAccess& access) const {
    return !access.indices.empty() &&
           std::any_of(info_.axes.begin(), info_.axes.end(), [&](const BlockAxis& axis) {
             return axis.kind == IterKind::kReduce && access.indices.back().get() == axis.var.get();
           });
  }

  static bool Contains(const BlockAccess& access, size_t axis) {
    return std::count(access.axes.begin(), access.axes.end(), axis) > 0;
  }

  bool IsMatmul(BlockAccess a, BlockAccess b) {
    if (!a.by_axes || !b.by_axes) return false;
    const std::vector<size_t>& result = info_.accesses[0].axes;
    // The last axis of the result is a column.
    if (!result.empty() && Contains(a, result.back()) && !Contains(b, result.back()))
      std::swap(a, b);
    bool sums = false, apart = false;
    for (size_t i = 0; i < info_.axes.size(); ++i) {
      BlockAxis& axis = info_.axes[i];
      bool in_a = Contains(a, i), in_b = Contains(b, i);
      if (axis.kind == IterKind::kReduce) {
        if (!in_a || !in_b) return false;
        axis.role = AxisRole::kK;
        sums = true;
      } else {
        if (!in_a && !in_b) return false;
        axis.role = in_a && in_b ? AxisRole::kBatch : in_a ? AxisRole::kM : AxisRole::kN;
        apart |= in_a != in_b;
      }
    }
    SplitBatch(AxisRole::kM, a);
    SplitBatch(AxisRole::kN, b);
    return sums && apart;
  }

  // Of several M or N axes the dynamic ones beside static ones are a batch, and of dynamic ones
  // that are apart in the operand all but the last: an index of them fused would be divided.
  void SplitBatch(AxisRole role, const BlockAccess& operand) {
    std::vector<size_t> axes;
    std::vector<Expr> extents;
    for (size_t i = 0; i < info_.axes.size(); ++i) {
      if (info_.axes[i].role != role) continue;
      axes.push_back(i);
      extents.push_back(info_.axes[i].extent);
    }
    for (size_t i : DynamicBesideStatic(extents)) info_.axes[axes[i]].role = AxisRole::kBatch;
    std::vector<size_t> fused;  // in the order of the result
    for (size_t i : info_.accesses[0].axes)
      if (info_.axes[i].role == role) fused.push_back(i);
    bool dynamic = std::any_of(fused.begin(), fused.end(),
                               [&](size_t i) { return !ir::AsConstInt(info_.axes[i].extent); });
    if (!dynamic || fused.size() < 2 ||
        std::search(operand.axes.begin(), operand.axes.end(), fused.begin(), fused.end()) !=
            operand.axes.end())
      return;
    fused.pop_back();
    for (size_t i : fused) info_.axes[i].role = AxisRole::kBatch;
  }

  bool IsConvolution(const BlockAccess& input, const BlockAccess& weights) {
    ForgetRoles();
    if (!weights.by_axes || !NoteWindows(input, true)) return false;
    for (size_t i = 0; i < info_.axes.size(); ++i) {
      BlockAxis& axis = info_.axes[i];
      bool in_input = Contains(input, i), in_weights = Contains(weights, i);
      if (axis.role == AxisRole::kPixel) {
        if (in_weights) return false;
      } else if (axis.kind == IterKind::kReduce) {
        if (!in_input || !in_weights) return false;
        if (axis.role != AxisRole::kWindow) axis.role = AxisRole::kK;
      } else {
        if (!in_input && !in_weights) return false;
        axis.role = !in_weights ? AxisRole::kBatch : in_input ? AxisRole::kGroup : AxisRole::kN;
      }
    }
    return true;
  }

  const BlockNode* block_;
  Stmt body_;
  arith::Analyzer analyzer_;  // knows the axes
  BlockInfo info_;
};

}  // namespace

bool IsOfSeveralBlocks(BlockKind kind) { return kind >= BlockKind::kSoftmax; }

const char* BlockKindName(BlockKind kind) {
  static constexpr const char* kNames[] = {
      "elementwise", "broadcast", "injective", "gather", "reduction", "pooling",       "matmul",
      "convolution", "scatter",   "scan",      "opaque", "softmax",   "normalization", "attention"};
  return kNames[static_cast<int>(kind)];
}

const char* AxisRoleName(AxisRole role) {
  static constexpr const char* kNames[] = {"spatial", "reduce", "scan",  "opaque", "batch", "M",
                                           "N",       "K",      "pixel", "window", "group"};
  return kNames[static_cast<int>(role)];
}

std::string BlockInfo::str() const {
  std::string text = BlockKindName(kind);
  if (!op.empty() && op != name) text += " of " + op;
  for (size_t i = 0; i < axes.size(); ++i)
    text += (i ? ", " : ": ") + std::string(AxisRoleName(axes[i].role)) + " " + axes[i].var.name();
  for (size_t i = 0; i < members.size(); ++i) text += (i ? ", " : "; with ") + members[i];
  return text;
}

void BlockInfo::AddMembers(const std::vector<BlockInfo>& blocks, const std::set<size_t>& others) {
  std::string before;
  for (size_t other : others) {
    members.push_back(blocks[other].name);
    if (blocks[other].ref) member_refs.push_back(blocks[other].ref);
    before = JoinOps(before, blocks[other].op);
  }
  op = JoinOps(before, op);
}

BlockInfo DescribeBlock(const BlockNode* block) { return Describer(block).Run(); }

BlockInfo DescribeBlock(const Schedule& schedule, const BlockRef& block) {
  BlockInfo info = DescribeBlock(schedule.At(block));
  info.ref = schedule.RefTo(schedule.At(block));
  return info;
}

std::optional<BlockInfo> DescribeBatchedGemm(const BlockNode* node, const BlockInfo& block) {
  std::optional<ReductionUpdate> update = PlainUpdate(node);
  const BlockAccess* store = block.accesses.empty() ? nullptr : &block.accesses[0];
  Expr summand = update ? Bare(update->value) : Expr();
  if (!update || update->op != ExprKind::kAdd || !summand.As<ir::MulNode>() || block.conditional ||
      !store->by_axes || store->axes.size() != store->indices.size() || store->axes.size() < 2 ||
      block.axes.size() != store->axes.size() + 1)
    return {};
  BlockInfo gemm = block;
  gemm.kind = BlockKind::kMatmul;
  gemm.is_batched = true;
  for (BlockAxis& axis : gemm.axes)
    axis.role = axis.kind == IterKind::kReduce ? AxisRole::kK : AxisRole::kBatch;
  gemm.axes[store->axes[store->axes.size() - 2]].role = AxisRole::kM;
  gemm.axes[store->axes.back()].role = AxisRole::kN;
  bool has_a = false, has_b = false;
  for (const BlockAccess& load : gemm.accesses) {
    if (load.buffer.same(store->buffer)) continue;
    // Batch axes in the dimensions before the last two, which are K and M of A, or N of B.
    bool has_k = false, has_m = false, has_n = false;
    size_t rank = load.indices.size();
    for (size_t d = 0; d < rank; ++d)
      for (const BlockAxis& axis : gemm.axes) {
        if (!ir::UsesVar(load.indices[d], axis.var.node())) continue;
        bool is_batch = axis.role == AxisRole::kBatch;
        if (is_batch != (d + 2 < rank) || (!is_batch && !load.indices[d].same(axis.var))) return {};
        has_k |= axis.role == AxisRole::kK;
        has_m |= axis.role == AxisRole::kM;
        has_n |= axis.role == AxisRole::kN;
      }
    if (!has_k || has_m == has_n || (has_m ? has_a : has_b)) return {};
    (has_m ? has_a : has_b) = true;
  }
  if (!has_a || !has_b) return {};
  return gemm;
}

std::vector<BlockInfo> DescribeBlocks(const PrimFunc& function) {
  std::vector<BlockInfo> blocks;
  for (const BlockNode* block : BlocksIn(function->body)) blocks.push_back(DescribeBlock(block));
  JoinRowChains(function, &blocks);
  return blocks;
}

std::vector<BlockInfo> DescribeBlocks(const Schedule& schedule) {
  std::vector<BlockInfo> blocks;
  for (const BlockNode* block : BlocksIn(schedule.function()->body)) {
    blocks.push_back(DescribeBlock(block));
    blocks.back().ref = schedule.RefTo(block);
  }
  JoinRowChains(schedule.function(), &blocks);
  return blocks;
}

}  // namespace tern::schedule
