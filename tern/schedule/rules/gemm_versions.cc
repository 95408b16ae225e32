// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/gemm_versions.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/ir/visitor.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/block_kind.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/row_chains.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Up to `most` are few, and taken as `likely`; a single one is known to be one.
struct Side {
  AxisRole role;
  int64_t most, likely;
};
// The tiles of a device are large.
std::vector<Side> OfDevices() {
  return {
      {AxisRole::kM, 1, 1}, {AxisRole::kN, 1, 1}, {AxisRole::kM, 32, 16}, {AxisRole::kN, 32, 16}};
}
// Results of a device's GEMV.
constexpr int64_t kLikelyColumns = 2048;
// On a host, very few columns are dot products; B is not packed for few rows; one column or row is
// a GEMV; threads share the rows where there are few columns.
std::vector<Side> OfHosts() {
  return {{AxisRole::kN, 1, 1}, {AxisRole::kN, 7, 4}, {AxisRole::kM, 1, 1},
          {AxisRole::kM, 3, 3}, {AxisRole::kM, 8, 8}, {AxisRole::kN, 64, 16}};
}
// Up to so many rows or columns are dot products there, unless K is dynamic and shorter than this.
constexpr int64_t kMostDots = 7, kLeastDotSteps = 24;
// So many results of sums of so many steps are too few tiles for a device, unless K is split.
constexpr int64_t kFewResults = 512 * 512, kLongSum = 1024, kLikelySide = 256, kLikelyLong = 4096;

// The product of the extents of a block's axes of some roles; null where there is none.
Expr SizeOf(const BlockInfo& block, const std::vector<AxisRole>& roles) {
  Expr product;
  for (const BlockAxis& axis : block.axes)
    if (std::count(roles.begin(), roles.end(), axis.role) > 0)
      product = product ? product * axis.extent : axis.extent;
  return product;
}
bool IsDynamic(const BlockInfo& block, AxisRole role) {
  return std::any_of(block.axes.begin(), block.axes.end(), [&](const BlockAxis& axis) {
    return axis.role == role && !ir::AsConstInt(axis.extent);
  });
}

// That something holds of all GEMMs that it is a question for, `of` (null: it is none). Null where
// there is no such GEMM, where it never holds, or where what it depends on is not known before the
// loops.
template <class Of>
Expr AllOf(const std::vector<BlockInfo>& blocks, const std::set<const VarNode*>& known,
           const Of& of) {
  Expr when;
  for (const BlockInfo& block : blocks) {
    Expr one = block.kind == BlockKind::kMatmul ? of(block) : Expr();
    if (!one) continue;
    bool is_known = true;
    ir::ForEachExpr(one, [&](const Expr& part) {
      const auto* var = part.As<VarNode>();
      is_known &= !part.As<ir::BufferLoadNode>() && (!var || known.count(var));
    });
    if (!is_known) return {};
    when = when ? when && one : one;
  }
  if (when) when = arith::Analyzer().Simplify(when);
  return when.get() && !ir::IsConst(when, 0) ? when : Expr();
}

// That a dynamic M or N is short.
Expr IsFew(const BlockInfo& block, AxisRole role, int64_t most) {
  if (!IsDynamic(block, role)) return {};
  Expr side = SizeOf(block, {role});
  return ir::LENode::Make(side, ir::MakeConst(side.dtype(), static_cast<double>(most)));
}

// That a dynamic K is long enough for dot products.
Expr IsLongDot(const BlockInfo& block) {
  if (!IsDynamic(block, AxisRole::kK)) return {};
  Expr steps = SizeOf(block, {AxisRole::kK});
  return ir::GENode::Make(steps, ir::MakeConst(steps.dtype(), kLeastDotSteps));
}

// The variable that is M (or N), and nothing else, of all GEMMs where that is dynamic; null for
// none.
Var SideOfAll(const std::vector<BlockInfo>& blocks, AxisRole role) {
  Var found;
  for (const BlockInfo& block : blocks) {
    if (block.kind != BlockKind::kMatmul || !IsDynamic(block, role)) continue;
    Expr side = SizeOf(block, {role});
    if (!side.As<VarNode>() || (found.get() && found.get() != side.get())) return {};
    found = Var(side.As<VarNode>());
    for (const BlockAxis& axis : block.axes)
      if (axis.role != role && ir::UsesVar(axis.extent, found.node())) return {};
  }
  return found;
}

// That results of dynamic sizes are a few tiles, of long sums.
Expr HasFewTiles(const BlockInfo& block) {
  Expr results = SizeOf(block, {AxisRole::kM, AxisRole::kN, AxisRole::kBatch}),
       steps = SizeOf(block, {AxisRole::kK});
  bool dynamic = IsDynamic(block, AxisRole::kM) || IsDynamic(block, AxisRole::kN);
  if (!results || !steps || !dynamic) return {};
  return ir::LENode::Make(results, ir::MakeConst(results.dtype(), kFewResults)) &&
         ir::GENode::Make(steps, ir::MakeConst(steps.dtype(), kLongSum));
}

// Whether a GEMM has an operand that is packed before the first call, once for all sizes.
bool HasConstants(const Schedule& schedule, const std::vector<BlockInfo>& blocks) {
  return std::any_of(blocks.begin(), blocks.end(), [&](const BlockInfo& block) {
    return block.kind == BlockKind::kMatmul &&
           std::any_of(block.accesses.begin(), block.accesses.end(),
                       [&](const BlockAccess& access) {
                         return !access.store && IsConstant(schedule, access.buffer->name);
                       });
  });
}

// Every block; products whose heads share an operand, which devices take as GEMMs, are GEMMs too.
std::vector<BlockInfo> DescribeGemms(const PrimFunc& function, const TargetInfo& target) {
  std::vector<BlockInfo> blocks = DescribeBlocks(function);
  std::vector<const BlockNode*> nodes = BlocksIn(function->body);
  for (size_t i = 0; target.is_device && i < blocks.size(); ++i) {
    if (blocks[i].kind != BlockKind::kReduction) continue;
    std::optional<RowProduct> product = MatchRowProduct(nodes[i], blocks[i]);
    if (!product) continue;
    blocks[i].kind = BlockKind::kMatmul;
    for (size_t axis : product->batch) blocks[i].axes[axis].role = AxisRole::kBatch;
    blocks[i].axes[product->m].role = AxisRole::kM;
    blocks[i].axes[product->n].role = AxisRole::kN;
    blocks[i].axes[product->k].role = AxisRole::kK;
  }
  return blocks;
}

}  // namespace

FunctionView WithSingleExtent(const PrimFunc& function, const Var& extent) {
  FunctionView made;
  ir::VarMap one = {{extent.node(), ir::MakeConst(extent.dtype(), 1)}};
  auto single = ffi::Make<PrimFuncNode>(*function);
  for (Param& param : single->params) {
    if (!param.is_tensor()) continue;
    auto tensor = ffi::Make<ir::BufferNode>(*param.buffer);
    for (auto* exprs : {&tensor->shape, &tensor->strides})
      for (Expr& expr : *exprs) expr = ir::Substitute(expr, one);
    made.tensors.emplace_back(tensor.get());
    single->body = ReplaceBuffer(single->body, param.buffer, made.tensors.back());
    param.buffer = made.tensors.back();
  }
  single->body = Substitute(single->body, one);
  made.function = PrimFunc(single);
  return made;
}

std::set<const VarNode*> CallersVars(const PrimFunc& function) {
  std::set<const VarNode*> vars;
  for (const Param& param : function->params) {
    if (!param.is_tensor()) vars.insert(param.var.node());
    if (!param.is_tensor()) continue;
    for (const auto* exprs : {&param.buffer->shape, &param.buffer->strides})
      for (const Expr& expr : *exprs)
        if (const auto* var = expr.As<VarNode>()) vars.insert(var);
  }
  return vars;
}

std::vector<GemmVersion> FindGemmVersions(const PrimFunc& function, const TargetInfo& target) {
  if (!target.has_shared_memory() && !target.is_host_with_vectors()) return {};
  std::vector<BlockInfo> blocks = DescribeGemms(function, target);
  if (!target.is_device && HasConstants(Schedule(function), blocks)) return {};
  std::set<const VarNode*> known = CallersVars(function);
  std::vector<GemmVersion> versions;
  for (const auto& [role, most, likely] : target.is_device ? OfDevices() : OfHosts()) {
    Expr when =
        AllOf(blocks, known, [&](const BlockInfo& block) { return IsFew(block, role, most); });
    if (!when) continue;
    Var one;
    if (most == 1) {
      one = SideOfAll(blocks, role);
      if (!one || !known.count(one.node())) continue;
      when = Expr(one) == ir::MakeConst(one.dtype(), 1);
    }
    Expr is_long =
        !target.is_device && most <= kMostDots ? AllOf(blocks, known, IsLongDot) : Expr();
    if (is_long) when = when && is_long;
    versions.push_back({when, target, role == AxisRole::kM ? Few::kRows : Few::kColumns, one});
    TargetInfo& guess = versions.back().target;
    if (one.get() && target.is_device) guess.likely_results = kLikelyColumns;
    (role == AxisRole::kM ? guess.likely_m : guess.likely_n) = likely;
  }
  Expr few_tiles = target.is_device ? AllOf(blocks, known, HasFewTiles) : Expr();
  if (few_tiles) {
    versions.push_back({few_tiles, target, Few::kTiles});
    TargetInfo& guess = versions.back().target;
    guess.likely_m = guess.likely_n = kLikelySide;
    guess.likely_k = kLikelyLong;
    guess.likely_batch = 1;
  }
  return versions;
}

}  // namespace tern::schedule
