// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/gemm_versions.h"

#include "tern/arith/analyzer.h"
#include "tern/ir/visitor.h"
#include "tern/schedule/rules/block_kind.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Up to so many are few, and taken as so many.
constexpr int64_t kFew = 32, kLikelyFew = 16;

// The product of the extents of a GEMM's M or N axes; null where all are static.
Expr DynamicSide(const BlockInfo& block, AxisRole role) {
  Expr product;
  bool dynamic = false;
  for (const BlockAxis& axis : block.axes) {
    if (axis.role != role) continue;
    dynamic |= !ir::AsConstInt(axis.extent);
    product = product ? product * axis.extent : axis.extent;
  }
  return dynamic ? product : Expr();
}

// That all such sides are short; null where there is none.
Expr AllAreFew(const std::vector<BlockInfo>& blocks, AxisRole role,
               const std::set<const VarNode*>& known) {
  Expr when;
  for (const BlockInfo& block : blocks) {
    Expr side = block.kind == BlockKind::kMatmul ? DynamicSide(block, role) : Expr();
    if (!side) continue;
    bool is_known = true;
    ir::ForEachExpr(side, [&](const Expr& part) {
      const auto* var = part.As<VarNode>();
      is_known &= !part.As<ir::BufferLoadNode>() && (!var || known.count(var));
    });
    if (!is_known) return {};
    Expr few = ir::LENode::Make(side, ir::MakeConst(side.dtype(), kFew));
    when = when ? when && few : few;
  }
  return when ? arith::Analyzer().Simplify(when) : when;
}

}  // namespace

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
  if (!target.has_shared_memory()) return {};
  std::vector<BlockInfo> blocks = DescribeBlocks(function);
  std::set<const VarNode*> known = CallersVars(function);
  std::vector<GemmVersion> versions;
  if (Expr when = AllAreFew(blocks, AxisRole::kM, known)) {
    versions.push_back({when, target});
    versions.back().target.likely_m = kLikelyFew;
  }
  if (Expr when = AllAreFew(blocks, AxisRole::kN, known)) {
    versions.push_back({when, target});
    versions.back().target.likely_n = kLikelyFew;
  }
  return versions;
}

}  // namespace tern::schedule
