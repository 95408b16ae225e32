// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/reduction_versions.h"

#include <algorithm>
#include <string>

#include "tern/arith/analyzer.h"
#include "tern/ir/visitor.h"
#include "tern/schedule/rules/block_kind.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Up to a limit results are taken as so many.
struct Guess {
  int64_t limit, likely;
};
constexpr Guess kGuesses[] = {{16, 4}, {512, 128}, {8192, 2048}};

// Up to so many steps, or elements of a row, are few, and taken as so many.
constexpr Guess kFewSteps = {512, 64};
// The same on a host: vectors that are masked, all but a few lanes, cost what whole ones do.
constexpr Guess kFewStepsOfHosts = {64, 16};

// The product of the extents of the axes that count; null where it is static.
template <class Counts>
Expr DynamicSize(const BlockInfo& block, const Counts& counts) {
  Expr product;
  bool dynamic = false;
  for (size_t a = 0; a < block.axes.size(); ++a) {
    if (!counts(a)) continue;
    const Expr& extent = block.axes[a].extent;
    dynamic |= !ir::AsConstInt(extent);
    product = product ? product * extent : extent;
  }
  return dynamic ? product : Expr();
}

// The number of results of a reduction.
Expr DynamicResults(const BlockInfo& block) {
  if (block.kind != BlockKind::kReduction) return {};
  return DynamicSize(block, [&](size_t a) { return block.axes[a].kind == IterKind::kSpatial; });
}

// The steps of a reduction, or the elements of a row of several blocks.
Expr DynamicSteps(const BlockInfo& block) {
  bool rows = block.kind == BlockKind::kSoftmax || block.kind == BlockKind::kNormalization;
  if (rows)
    return DynamicSize(
        block, [&](size_t a) { return std::count(block.rows.begin(), block.rows.end(), a) == 0; });
  if (block.kind != BlockKind::kReduction) return {};
  return DynamicSize(block, [&](size_t a) { return block.axes[a].kind == IterKind::kReduce; });
}

// Versions of products are many kernels to compile each, and their time is that of the products.
bool HasProducts(const PrimFunc& function) {
  std::vector<BlockInfo> blocks = DescribeBlocks(function);
  return std::any_of(blocks.begin(), blocks.end(), [](const BlockInfo& block) {
    return block.kind == BlockKind::kMatmul || block.kind == BlockKind::kConvolution;
  });
}

// Of all blocks that are no part of a row chain; none where one is not known before the loops.
std::vector<Expr> DynamicSizes(const PrimFunc& function, Expr (*size)(const BlockInfo&)) {
  std::vector<BlockInfo> blocks = DescribeBlocks(function);
  std::set<std::string> members;
  for (const BlockInfo& block : blocks) members.insert(block.members.begin(), block.members.end());
  std::set<const VarNode*> known = CallersVars(function);
  std::vector<Expr> sizes;
  for (const BlockInfo& block : blocks) {
    Expr count = members.count(block.name) ? Expr() : size(block);
    if (!count) continue;
    bool is_known = true;
    ir::ForEachExpr(count, [&](const Expr& part) {
      const auto* var = part.As<VarNode>();
      is_known &= !part.As<ir::BufferLoadNode>() && (!var || known.count(var));
    });
    if (!is_known) return {};
    sizes.push_back(count);
  }
  return sizes;
}

// That none of the sizes is above a limit.
Expr AreFew(const std::vector<Expr>& sizes, int64_t limit) {
  Expr when;
  for (const Expr& size : sizes) {
    Expr few = ir::LENode::Make(size, ir::MakeConst(size.dtype(), static_cast<double>(limit)));
    when = when ? when && few : few;
  }
  return arith::Analyzer().Simplify(when);
}

}  // namespace

std::vector<GemmVersion> FindReductionVersions(const PrimFunc& function, const TargetInfo& target) {
  bool is_host = target.is_host_with_vectors() && target.masked_vectors;
  if (!target.has_shared_memory() && !is_host) return {};
  const Guess& few = is_host ? kFewStepsOfHosts : kFewSteps;
  std::vector<GemmVersion> versions;
  std::vector<Expr> steps;
  if (!HasProducts(function)) steps = DynamicSizes(function, DynamicSteps);
  if (!steps.empty()) {
    versions.push_back({AreFew(steps, few.limit), target});
    versions.back().target.likely_steps = few.likely;
  }
  if (is_host) return versions;
  if (std::vector<Expr> results = DynamicSizes(function, DynamicResults); !results.empty())
    for (const Guess& guess : kGuesses) {
      versions.push_back({AreFew(results, guess.limit), target});
      versions.back().target.likely_results = guess.likely;
    }
  return versions;
}

}  // namespace tern::schedule
