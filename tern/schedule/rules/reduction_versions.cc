// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/reduction_versions.h"

#include <algorithm>
#include <string>

#include "tern/arith/analyzer.h"
#include "tern/ir/visitor.h"
#include "tern/schedule/rules/block_kind.h"
#include "tern/schedule/rules/device_reductions.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Up to a limit results are taken as so many.
struct Guess {
  int64_t limit, likely;
};
constexpr Guess kGuesses[] = {{16, 4}, {512, 128}, {8192, 2048}};

// Up to so many steps of neighbouring results are one thread's, of so many results.
constexpr Guess kThreadSteps = {32, 12};
constexpr int64_t kThreadResults = 1 << 20;

// Up to so many steps are few, and taken as so many: a warp's, or those of a thread block.
constexpr Guess kFewSteps[] = {{128, 64}, {1024, 512}, {8192, 4096}};
// The same of one result: more are in parts, which a second kernel reduces.
constexpr Guess kOnePart[] = {{1 << 15, 1 << 14}};
// Up to so many elements of a row of several blocks are in registers, or shared memory: the loops
// of a row have as many steps.
constexpr int64_t kKeptRows[] = {128, 512, 1024, 2048, 4096, 8192, 16384};

// The same of the steps of scans along rows: tiles of a thread block.
constexpr int64_t kScannedRows[] = {128, 512, 1056, 2112};

// Up to so many neighbouring results are few, and have so many threads, where others have a warp.
constexpr Guess kFewColumns = {16, 8};
// On a host, where vectors that are masked, all but a few lanes, cost what whole ones do: up to so
// many steps are one iteration of one accumulator or of several.
constexpr int64_t kFewStepsOfHosts[] = {16, 64};
// Of shorter rows LLVM makes vectors along the number of rows, where it knows the length.
constexpr int64_t kFixedStepsOfHosts[] = {1, 2, 3, 4, 5, 6, 7, 8}, kFixedRowsOfHosts[] = {1, 2};
// Without such vectors what fills none is scalar: a length that is known is all vectors, or none.
constexpr int64_t kFixedWithoutMasks[] = {1, 2, 3, 4, 5, 6, 7, 8, 16};
// And up to so many elements of a row of several blocks are in registers (host_rows.cc).
constexpr int64_t kKeptRowsOfHosts[] = {8, 16, 32, 64, 128, 160, 192, 224};
// Of a few more, several accumulators that take turns are mostly masked in their last iteration.
constexpr Guess kFewTurnsOfHosts[] = {{128, 80}, {256, 160}};
// The same of one result, of which others are reduced in parts for the threads: from half of a
// thread's start on.
constexpr Guess kOnePartOfHosts[] = {{3 << 13, 1 << 12}};

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

bool IsRow(const BlockInfo& block) {
  return block.kind == BlockKind::kSoftmax || block.kind == BlockKind::kNormalization;
}

// The steps of a reduction, or the elements of a row of several blocks.
Expr DynamicSteps(const BlockInfo& block) {
  if (IsRow(block))
    return DynamicSize(
        block, [&](size_t a) { return std::count(block.rows.begin(), block.rows.end(), a) == 0; });
  if (block.kind != BlockKind::kReduction) return {};
  return DynamicSize(block, [&](size_t a) { return block.axes[a].kind == IterKind::kReduce; });
}

// The steps of a scan.
Expr DynamicScan(const BlockInfo& block) {
  if (block.kind != BlockKind::kScan) return {};
  return DynamicSize(block, [&](size_t a) { return block.axes[a].kind == IterKind::kScan; });
}

// The results that are neighbours where a reduction reads them, and not all of its results.
Expr DynamicColumns(const BlockInfo& block) {
  if (block.kind != BlockKind::kReduction) return {};
  const BlockAccess* read = MainReadOf(block);
  if (!read) return {};
  size_t columns = *ContiguousAxis(block, *read);
  bool has_others = false;
  for (size_t a = 0; a < block.axes.size(); ++a)
    has_others |= a != columns && block.axes[a].kind == IterKind::kSpatial;
  if (!has_others || block.axes[columns].kind != IterKind::kSpatial) return {};
  return DynamicSize(block, [&](size_t a) { return a == columns; });
}

// Dynamic extents that, where they are 1, leave a reduction of other axes along other memory: the
// last one of a sum over the first and last of [n, m, p], whose neighbours are those along m then.
std::vector<Var> UnitSteps(const PrimFunc& function) {
  std::set<const VarNode*> known = CallersVars(function);
  std::vector<Var> vars;
  for (const BlockInfo& block : DescribeBlocks(function)) {
    const BlockAccess* read = block.kind == BlockKind::kReduction ? MainReadOf(block) : nullptr;
    if (!read) continue;
    size_t last = *ContiguousAxis(block, *read);
    auto is_other = [&](IterKind kind) {
      return [&, kind](const BlockAxis& axis) {
        return axis.kind == kind && axis.var.get() != block.axes[last].var.get();
      };
    };
    const auto* extent = block.axes[last].extent.As<VarNode>();
    bool fits = block.axes[last].kind == IterKind::kReduce && extent && known.count(extent) &&
                std::any_of(block.axes.begin(), block.axes.end(), is_other(IterKind::kReduce)) &&
                std::any_of(block.axes.begin(), block.axes.end(), is_other(IterKind::kSpatial));
    if (fits) vars.emplace_back(extent);
  }
  return vars;
}

// The one dynamic extent that rows have as their length, of several blocks or of reductions along
// contiguous memory; null where they have none, or others.
Var RowLength(const PrimFunc& function) {
  Var length;
  std::set<const VarNode*> known = CallersVars(function);
  for (const BlockInfo& block : DescribeBlocks(function)) {
    if (block.kind != BlockKind::kReduction) continue;
    const BlockAccess* read = MainReadOf(block);
    if (!read) return {};
    const BlockAxis& last = block.axes[*ContiguousAxis(block, *read)];
    const auto* extent = last.extent.As<VarNode>();
    if (last.kind != IterKind::kReduce || !extent || !known.count(extent)) return {};
    if (length.get() && length.node() != extent) return {};
    length = Var(extent);
  }
  return length;
}

// Whether every reduction is of one result.
bool HasOneResult(const PrimFunc& function) {
  std::vector<BlockInfo> blocks = DescribeBlocks(function);
  return std::all_of(blocks.begin(), blocks.end(), [](const BlockInfo& block) {
    auto is_one = [](const BlockAxis& axis) {
      return axis.kind == IterKind::kReduce || ir::IsConst(axis.extent, 1);
    };
    return !IsRow(block) && (block.kind != BlockKind::kReduction ||
                             std::all_of(block.axes.begin(), block.axes.end(), is_one));
  });
}

bool HasRows(const PrimFunc& function) {
  std::vector<BlockInfo> blocks = DescribeBlocks(function);
  return std::any_of(blocks.begin(), blocks.end(), IsRow);
}

// Whether a reduction has results that are neighbours where it reads them.
bool HasColumns(const PrimFunc& function) {
  std::vector<BlockInfo> blocks = DescribeBlocks(function);
  return std::any_of(blocks.begin(), blocks.end(), [](const BlockInfo& block) {
    if (block.kind != BlockKind::kReduction) return false;
    const BlockAccess* read = MainReadOf(block);
    return read && block.axes[*ContiguousAxis(block, *read)].kind == IterKind::kSpatial;
  });
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

// That none of the sizes is above a limit. What holds of no size is a constant.
Expr AreFew(const std::vector<Expr>& sizes, int64_t limit) {
  Expr when;
  arith::Analyzer analyzer;
  for (const Expr& size : sizes) {
    ir::ForEachExpr(size, [&](const Expr& part) {
      if (const auto* var = part.As<VarNode>()) analyzer.Bind(Var(var), {.lo = 1});
    });
    Expr few = ir::LENode::Make(size, ir::MakeConst(size.dtype(), static_cast<double>(limit)));
    when = when ? when && few : few;
  }
  return analyzer.Simplify(when);
}

// That none of them is 0, so that rows which are padded have a first step.
Expr AreSome(const std::vector<Expr>& sizes) {
  Expr when;
  for (const Expr& size : sizes) {
    Expr some = ir::GENode::Make(size, ir::MakeConst(size.dtype(), 1));
    when = when ? when && some : some;
  }
  return arith::Analyzer().Simplify(when);
}

}  // namespace

std::vector<FunctionVersion> FindReductionVersions(const PrimFunc& function,
                                                   const TargetInfo& target) {
  bool is_host = target.is_host_with_vectors();
  if (!target.has_shared_memory() && !is_host) return {};
  std::vector<FunctionVersion> versions;
  std::vector<Expr> steps, columns, results = DynamicSizes(function, DynamicResults);
  if (!HasProducts(function)) {
    steps = DynamicSizes(function, DynamicSteps);
    columns = DynamicSizes(function, DynamicColumns);
  }
  auto add_steps = [&](const auto& guesses) {
    for (const Guess& guess : guesses) {
      versions.push_back({AreFew(steps, guess.limit), target, {}});
      versions.back().target.likely_steps = guess.likely;
    }
  };
  auto add_bounded = [&](const std::vector<Expr>& sizes, const auto& limits, const Expr& where) {
    for (int64_t most : limits) {
      Expr few = AreFew(sizes, most);
      versions.push_back({.when = where ? few && where : few, .target = target, .bounds = true});
      versions.back().target.likely_steps = most;
    }
  };
  auto add_fixed = [&](const Var& extent, int64_t value) {
    Expr is_value = Expr(extent) == ir::MakeConst(extent.dtype(), static_cast<double>(value));
    versions.push_back({.when = is_value, .target = target, .fixed = extent, .value = value});
  };
  if (is_host) {
    if (target.masked_vectors)
      for (const Var& one : UnitSteps(function)) add_fixed(one, 1);
    if (steps.empty()) return versions;
    bool has_one = HasOneResult(function);
    Var length = has_one || !versions.empty() ? Var() : RowLength(function);
    if (!target.masked_vectors) {
      for (int64_t value : kFixedWithoutMasks)
        if (length) add_fixed(length, value);
      if (has_one) add_steps(kOnePartOfHosts);
      return versions;
    }
    auto add_short = [&](const auto& values, const auto& limits) {
      for (int64_t value : values)
        if (length) add_fixed(length, value);
      add_bounded(steps, limits, {});
    };
    if (HasRows(function))
      add_short(kFixedRowsOfHosts, kKeptRowsOfHosts);
    else
      add_short(kFixedStepsOfHosts, kFewStepsOfHosts);
    if (length.get() && !HasRows(function)) add_steps(kFewTurnsOfHosts);
    if (has_one) add_steps(kOnePartOfHosts);
    return versions;
  }
  if (!steps.empty() && HasColumns(function)) {
    versions.push_back({AreFew(steps, kThreadSteps.limit), target, {}});
    versions.back().target.likely_steps = kThreadSteps.likely;
    versions.back().target.likely_results = kThreadResults;
  }
  std::vector<Expr> scans = DynamicSizes(function, DynamicScan);
  if (!steps.empty() && HasRows(function)) {
    // Rows of floats are shared by threads where their order is free.
    if (HasFlag(function, attr::kReassociate)) add_bounded(steps, kKeptRows, AreSome(steps));
  } else if (!steps.empty()) {
    add_steps(kFewSteps);
    if (HasOneResult(function)) add_steps(kOnePart);
  } else if (!scans.empty()) {
    add_bounded(scans, kScannedRows, AreSome(scans));
  }
  auto add_results = [&](const TargetInfo& base, const Expr& where) {
    if (results.empty()) return;
    for (const Guess& guess : kGuesses) {
      Expr when = AreFew(results, guess.limit);
      versions.push_back({where ? where && when : when, base, {}});
      versions.back().target.likely_results = guess.likely;
    }
  };
  if (!columns.empty()) {
    TargetInfo few = target;
    few.likely_columns = kFewColumns.likely;
    Expr when = AreFew(columns, kFewColumns.limit);
    add_results(few, when);
    versions.push_back({when, few, {}});
  }
  add_results(target, {});
  return versions;
}

}  // namespace tern::schedule
