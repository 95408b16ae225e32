// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/short_rows.h"

#include <algorithm>

#include "tern/ir/structural.h"
#include "tern/ir/visitor.h"
#include "tern/schedule/rules/block_kind.h"
#include "tern/schedule/rules/device_transpose.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Up to so many elements are a short row, taken as so many.
constexpr int64_t kShortRow = 128, kLikelyRow = 8;
// The same on a host, of vectors along the rows' number.
constexpr int64_t kShortRowOfHosts = 8, kLikelyRowOfHosts = 4;

bool IsElementwise(const BlockInfo& block) {
  using K = BlockKind;
  return block.kind == K::kElementwise || block.kind == K::kBroadcast ||
         block.kind == K::kInjective || block.kind == K::kGather;
}

}  // namespace

std::vector<FunctionVersion> FindShortRowVersions(const PrimFunc& function,
                                                  const TargetInfo& target) {
  bool is_host = target.is_host_with_vectors() && target.masked_vectors;
  if (!target.has_shared_memory() && !is_host) return {};
  std::vector<BlockInfo> blocks = DescribeBlocks(function);
  if (!std::all_of(blocks.begin(), blocks.end(), IsElementwise)) return {};
  std::set<const VarNode*> known = CallersVars(function);
  std::vector<Expr> conditions;
  // Where the extent is dynamic, and known before the loops.
  auto add = [&](const Expr& extent, const Expr& when) {
    bool is_known = !ir::AsConstInt(extent);
    ir::ForEachExpr(extent, [&](const Expr& part) {
      const auto* var = part.As<VarNode>();
      is_known &= !part.As<ir::BufferLoadNode>() && (!var || known.count(var));
    });
    auto is_same = [&](const Expr& one) { return ir::StructuralEqual(one, when); };
    if (is_known && std::none_of(conditions.begin(), conditions.end(), is_same))
      conditions.push_back(when);
  };
  auto constant = [](const Expr& extent, int64_t value) {
    return ir::MakeConst(extent.dtype(), static_cast<double>(value));
  };
  for (const BlockInfo& block : blocks) {
    if (block.axes.size() < 2 || block.accesses.empty() || block.accesses[0].axes.empty()) continue;
    if (is_host && block.kind != BlockKind::kBroadcast) continue;
    std::optional<Transposition> across;
    if (!is_host) across = FindTransposition(block);
    if (across) {
      for (size_t axis : {across->written, across->read}) {
        const Expr& side = block.axes[axis].extent;
        add(side, side < constant(side, kLeastTransposed));
        add(side, ir::GTNode::Make(side, constant(side, kLeastTile * target.most_grid_blocks)));
      }
    } else {
      const Expr& row = block.axes[block.accesses[0].axes.back()].extent;
      add(row, ir::LENode::Make(row, constant(row, is_host ? kShortRowOfHosts : kShortRow)));
    }
  }
  if (conditions.empty()) return {};
  Expr when = conditions[0];
  for (size_t i = 1; i < conditions.size(); ++i) when = when || conditions[i];
  FunctionVersion version{when, target, {}};
  version.target.likely_columns = is_host ? kLikelyRowOfHosts : kLikelyRow;
  return {version};
}

}  // namespace tern::schedule
