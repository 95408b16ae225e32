// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/reduction_versions.h"

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

// The number of results; null where it is static.
Expr DynamicResults(const BlockInfo& block) {
  Expr product;
  bool dynamic = false;
  for (const BlockAxis& axis : block.axes) {
    if (axis.kind != IterKind::kSpatial) continue;
    dynamic |= !ir::AsConstInt(axis.extent);
    product = product ? product * axis.extent : axis.extent;
  }
  return dynamic ? product : Expr();
}

// Of all reductions that are no part of a row chain; none where one is not known before the loops.
std::vector<Expr> DynamicResults(const PrimFunc& function) {
  std::vector<BlockInfo> blocks = DescribeBlocks(function);
  std::set<std::string> members;
  for (const BlockInfo& block : blocks) members.insert(block.members.begin(), block.members.end());
  std::set<const VarNode*> known = CallersVars(function);
  std::vector<Expr> results;
  for (const BlockInfo& block : blocks) {
    if (block.kind != BlockKind::kReduction || members.count(block.name)) continue;
    Expr count = DynamicResults(block);
    if (!count) continue;
    bool is_known = true;
    ir::ForEachExpr(count, [&](const Expr& part) {
      const auto* var = part.As<VarNode>();
      is_known &= !part.As<ir::BufferLoadNode>() && (!var || known.count(var));
    });
    if (!is_known) return {};
    results.push_back(count);
  }
  return results;
}

}  // namespace

std::vector<GemmVersion> FindReductionVersions(const PrimFunc& function, const TargetInfo& target) {
  if (!target.has_shared_memory()) return {};
  std::vector<Expr> results = DynamicResults(function);
  if (results.empty()) return {};
  std::vector<GemmVersion> versions;
  for (const Guess& guess : kGuesses) {
    Expr when;
    for (const Expr& count : results) {
      Expr few = ir::LENode::Make(count, ir::MakeConst(count.dtype(), guess.limit));
      when = when ? when && few : few;
    }
    versions.push_back({arith::Analyzer().Simplify(when), target});
    versions.back().target.likely_results = guess.likely;
  }
  return versions;
}

}  // namespace tern::schedule
