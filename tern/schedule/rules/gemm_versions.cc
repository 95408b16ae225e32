// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/gemm_versions.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/ir/visitor.h"
#include "tern/schedule/rules/block_kind.h"
#include "tern/schedule/rules/gemm.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Up to `most` are few, and taken as `likely`.
struct Few {
  AxisRole role;
  int64_t most, likely;
};
// The tiles of a device are large.
std::vector<Few> OfDevices() { return {{AxisRole::kM, 32, 16}, {AxisRole::kN, 32, 16}}; }
// On a host, very few columns are dot products; B is not packed for few rows; threads share the
// rows where there are few columns.
std::vector<Few> OfHosts() {
  return {{AxisRole::kN, 7, 4}, {AxisRole::kM, 3, 3}, {AxisRole::kN, 64, 16}};
}

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
Expr AllAreFew(const std::vector<BlockInfo>& blocks, AxisRole role, int64_t most,
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
    Expr few = ir::LENode::Make(side, ir::MakeConst(side.dtype(), most));
    when = when ? when && few : few;
  }
  return when ? arith::Analyzer().Simplify(when) : when;
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
  if (!target.has_shared_memory() && !target.is_host_with_vectors()) return {};
  std::vector<BlockInfo> blocks = DescribeBlocks(function);
  if (!target.is_device && HasConstants(Schedule(function), blocks)) return {};
  std::set<const VarNode*> known = CallersVars(function);
  std::vector<GemmVersion> versions;
  for (const auto& [role, most, likely] : target.is_device ? OfDevices() : OfHosts()) {
    Expr when = AllAreFew(blocks, role, most, known);
    if (!when) continue;
    versions.push_back({when, target});
    TargetInfo& guess = versions.back().target;
    (role == AxisRole::kM ? guess.likely_m : guess.likely_n) = likely;
  }
  return versions;
}

}  // namespace tern::schedule
