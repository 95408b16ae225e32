// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/gemm_versions.h"

#include <algorithm>

#include "tern/arith/analyzer.h"
#include "tern/ir/visitor.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/block_kind.h"
#include "tern/schedule/rules/gemm.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Up to `most` are few, and taken as `likely`; a single one is known to be one.
struct Side {
  AxisRole role;
  int64_t most, likely;
};
// The tiles of a device are large.
constexpr int64_t kFewRows = 32;
std::vector<Side> OfDevices() {
  return {{AxisRole::kM, 1, 1},
          {AxisRole::kN, 1, 1},
          {AxisRole::kM, kFewRows, 16},
          {AxisRole::kN, kFewRows, 16}};
}
// Results of a device's GEMV: up to so many, taken as so many, have their sums in parts.
constexpr int64_t kFewColumns = 8192, kLikelyColumns = 2048;
// Their sums, where those are short: a warp's.
constexpr int64_t kLikelyWarp = 64;
// On hosts rows up to here are one tile. Where M is one extent, each number of them has a version
// of its own: a tile whose rows are predicated loads B again for each of them.
constexpr int64_t kOneTileOfHosts = 8;
// On a host, very few columns are dot products; B is not packed for few rows, or, of low precision,
// by the thread that needs it; one column or row is a GEMV; threads share the rows where there are
// few columns.
std::vector<Side> OfHosts(bool low_precision) {
  std::vector<Side> sides = {
      {AxisRole::kN, 1, 1}, {AxisRole::kN, 7, 4}, {AxisRole::kM, 1, 1}, {AxisRole::kM, 3, 3}};
  for (int64_t few :
       low_precision ? std::vector<int64_t>{16, 32} : std::vector<int64_t>{kOneTileOfHosts, 16})
    sides.push_back({AxisRole::kM, few, few});
  sides.push_back({AxisRole::kN, 64, 16});
  return sides;
}
// Up to so many results, of so many steps at least, large tiles are too few for a device. M and N
// are taken as `side`, down to `least_side`, K as `steps`: of few it is not split. The last ones
// have an own version where one side is static, which has fewer versions.
struct Tiles {
  int64_t results, least_steps, side, least_side, steps;
  bool is_rare = false, is_beside_static = false;
};
constexpr int64_t kLikelyLong = 4096;
constexpr Tiles kTiles[] = {{int64_t{1} << 18, 1024, 256, 64, kLikelyLong},
                            {int64_t{1} << 19, 1, 512, 128, 512},
                            {int64_t{1} << 21, 1, 1024, 1024, 2048, true},
                            {int64_t{3} << 20, 1, 1773, 1773, 2048, true, true},
                            {int64_t{1} << 22, 1, 1920, 1920, 2048, true, true}};
// Of few rows, or columns, the same: so many of the other side, and steps.
constexpr int64_t kFewOthers = 2048, kLikelyOthers = 1024;
// Sums of so few steps, taken as so many, take less time than to store the results.
constexpr int64_t kFewSteps = 64, kLikelyFew = 16;
// A dynamic K up to here is short: no parts of it are summed by themselves.
constexpr int64_t kShortSum = 512, kLikelyShort = 256;
// Up to so many rows or columns are dot products on hosts, unless K is dynamic and shorter than
// this.
constexpr int64_t kMostDots = 7, kLeastDotSteps = 24;
// The same on hosts, where K decides whether threads share a GEMM of few results; and long ones.
constexpr int64_t kShortOfHosts = 256, kLikelyShortOfHosts = 128;
constexpr int64_t kLongOfHosts = 1024, kLikelyLongOfHosts = 2048;
// Keys of attention on hosts that are few: a vector of them. Tiles of more have enough
// accumulators.
constexpr int64_t kFewKeys = 16;

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
  const auto* most = when.get() ? when.As<ir::LENode>() : nullptr;
  bool is_empty = most && ir::AsConstInt(most->b).value_or(1) <= 0;  // rows of four are no three
  return when.get() && !ir::IsConst(when, 0) && !is_empty ? when : Expr();
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

// The variable that is M (or N) of all GEMMs where that is dynamic; null for none. On devices it is
// nothing else: other extents may be sums with it, as keys are of queries and those before.
Var SideOfAll(const std::vector<BlockInfo>& blocks, AxisRole role, const TargetInfo& target) {
  Var found;
  for (const BlockInfo& block : blocks) {
    if (block.kind != BlockKind::kMatmul || !IsDynamic(block, role)) continue;
    Expr side = SizeOf(block, {role});
    if (!side.As<VarNode>() || (found.get() && found.get() != side.get())) return {};
    found = Var(side.As<VarNode>());
    for (const BlockAxis& axis : block.axes)
      if (target.is_device && axis.role != role && axis.extent.get() == found.get()) return {};
  }
  return found;
}

// The batch of the one GEMM or convolution, where nothing else of it is dynamic; null for none.
Var BatchOf(const std::vector<BlockInfo>& blocks, const std::set<const VarNode*>& known) {
  Var found;
  for (const BlockInfo& block : blocks) {
    if (block.kind != BlockKind::kMatmul && block.kind != BlockKind::kConvolution) continue;
    if (found.get()) return {};
    for (const BlockAxis& axis : block.axes) {
      if (ir::AsConstInt(axis.extent)) continue;
      const auto* extent = axis.extent.As<VarNode>();
      if (found.get() || axis.role != AxisRole::kBatch || !extent || !known.count(extent))
        return {};
      found = Var(extent);
    }
    if (!found.get()) return {};
  }
  return found;
}

// That results of dynamic sizes are no more than this, each a sum of at least so many steps.
Expr HasFewTiles(const BlockInfo& block, int64_t most, int64_t least_steps) {
  Expr results = SizeOf(block, {AxisRole::kM, AxisRole::kN, AxisRole::kBatch}),
       steps = SizeOf(block, {AxisRole::kK});
  bool dynamic = IsDynamic(block, AxisRole::kM) || IsDynamic(block, AxisRole::kN);
  if (!results || !steps || !dynamic) return {};
  Expr few = ir::LENode::Make(results, ir::MakeConst(results.dtype(), double(most)));
  if (least_steps <= 1) return few;
  return few && ir::GENode::Make(steps, ir::MakeConst(steps.dtype(), double(least_steps)));
}

// M or N of all matrices, where it is static; 0 where it is not. A dynamic batch counts as one.
int64_t StaticSide(const BlockInfo& block, AxisRole role) {
  for (const std::vector<AxisRole>& roles : {std::vector{role, AxisRole::kBatch}, {role}}) {
    Expr side = SizeOf(block, roles);
    if (auto known = side ? ir::AsConstInt(arith::Analyzer().Simplify(side)) : std::nullopt)
      return *known;
  }
  return 0;
}
// So many of the dynamic side make as many results as a square of this side has. Fewer have
// versions of their own.
int64_t OtherSide(int64_t side, int64_t known) {
  return std::max(side * side / known, kFewRows + 1);
}

// That a dynamic K of otherwise static sizes is short.
Expr HasFewSteps(const BlockInfo& block, int64_t most) {
  for (AxisRole role : {AxisRole::kM, AxisRole::kN, AxisRole::kBatch})
    if (IsDynamic(block, role)) return {};
  return IsFew(block, AxisRole::kK, most);
}

// Whether versions before have all that one is for: few keys are few queries, too.
bool IsTaken(const std::vector<FunctionVersion>& versions, const Expr& when) {
  arith::Analyzer others;
  for (const FunctionVersion& version : versions) others.Assume(ir::NotNode::Make(version.when));
  return ir::IsConst(others.Simplify(when), 0);
}

bool IsLowPrecision(const BlockInfo& block) {
  return std::any_of(block.accesses.begin(), block.accesses.end(),
                     [](const BlockAccess& access) { return access.buffer->dtype.bits() < 32; });
}

// That results of dynamic sizes are sums of few steps of wide elements: narrow ones go through
// matrix instructions, which need the same tiles.
Expr StoresMost(const BlockInfo& block) {
  bool dynamic = IsDynamic(block, AxisRole::kM) || IsDynamic(block, AxisRole::kN);
  if (!dynamic || IsLowPrecision(block)) return {};
  return IsFew(block, AxisRole::kK, kFewSteps);
}

// Whether a GEMM has an operand that is packed before the first call, once for all sizes.
bool HasConstants(const Schedule& schedule, const std::vector<BlockInfo>& blocks) {
  return std::any_of(blocks.begin(), blocks.end(), [&](const BlockInfo& block) {
    return (block.kind == BlockKind::kMatmul || block.kind == BlockKind::kConvolution) &&
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
    if (auto gemm = DescribeBatchedGemm(nodes[i], blocks[i])) blocks[i] = *gemm;
  }
  return blocks;
}

// The versions of a device where an extent is 1, its results and steps dynamic or not: few results
// of long sums, short sums, and others.
std::vector<FunctionVersion> VersionsOfOne(const std::vector<BlockInfo>& blocks,
                                           const std::set<const VarNode*>& known, const Var& one,
                                           const TargetInfo& target) {
  ir::VarMap single = {{one.node(), ir::MakeConst(one.dtype(), 1)}};
  // Of all GEMMs, where it is dynamic beside the extent that is 1.
  auto limit = [&](const std::vector<AxisRole>& roles, int64_t most) {
    return AllOf(blocks, known, [&](const BlockInfo& block) -> Expr {
      Expr size = SizeOf(block, roles);
      if (!size) return {};
      size = arith::Analyzer().Simplify(ir::Substitute(size, single));
      if (ir::AsConstInt(size)) return {};
      return ir::LENode::Make(size, ir::MakeConst(size.dtype(), static_cast<double>(most)));
    });
  };
  Expr is_one = Expr(one) == ir::MakeConst(one.dtype(), 1);
  Expr few = limit({AxisRole::kM, AxisRole::kN, AxisRole::kBatch}, kFewColumns);
  Expr is_short = limit({AxisRole::kK}, kShortSum);
  std::vector<FunctionVersion> versions;
  if (few) {
    Expr is_long = is_short ? few && arith::Analyzer().Simplify(ir::NotNode::Make(is_short)) : few;
    versions.push_back({is_one && is_long, target, one});
    versions.back().target.likely_results = kLikelyColumns;
  }
  if (is_short) {
    versions.push_back({is_one && is_short, target, one});
    versions.back().target.likely_steps = kLikelyWarp;
  }
  versions.push_back({is_one, target, one});
  return versions;
}

}  // namespace

FunctionView WithFixedExtent(const PrimFunc& function, const Var& extent, int64_t value) {
  FunctionView made;
  ir::VarMap fixed = {{extent.node(), ir::MakeConst(extent.dtype(), static_cast<double>(value))}};
  auto single = ffi::Make<PrimFuncNode>(*function);
  for (Param& param : single->params) {
    if (!param.is_tensor()) continue;
    auto tensor = ffi::Make<ir::BufferNode>(*param.buffer);
    for (auto* exprs : {&tensor->shape, &tensor->strides})
      for (Expr& expr : *exprs) expr = ir::Substitute(expr, fixed);
    made.tensors.emplace_back(tensor.get());
    single->body = ReplaceBuffer(single->body, param.buffer, made.tensors.back());
    param.buffer = made.tensors.back();
  }
  single->body = Substitute(single->body, fixed);
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

Var FindVersionedBatch(const PrimFunc& function, const TargetInfo& target) {
  if (!target.is_host_with_vectors()) return {};
  std::vector<BlockInfo> blocks = DescribeBlocks(function);
  return HasConstants(Schedule(function), blocks) ? Var() : BatchOf(blocks, CallersVars(function));
}

std::vector<FunctionVersion> FindGemmVersions(const PrimFunc& function, const TargetInfo& target) {
  if (!target.has_shared_memory() && !target.is_host_with_vectors()) return {};
  std::vector<BlockInfo> blocks = DescribeGemms(function, target);
  if (!target.is_device && HasConstants(Schedule(function), blocks)) return {};
  std::set<const VarNode*> known = CallersVars(function);
  std::vector<FunctionVersion> versions;
  if (Var batch = FindVersionedBatch(function, target); batch.get()) {
    auto number = [&](int64_t value) {
      return ir::MakeConst(batch.dtype(), static_cast<double>(value));
    };
    versions.push_back({.when = Expr(batch) == number(1), .target = target, .fixed = batch});
    versions.push_back(
        {.when = ir::LENode::Make(batch, number(kLeastBatchOfHosts - 1)), .target = target});
    versions.back().target.least_batch = 1;
    return versions;
  }
  // Few rows (or columns) of long sums, and not many of the others: too few tiles.
  auto add_long = [&](AxisRole role, int64_t likely) {
    AxisRole other = role == AxisRole::kM ? AxisRole::kN : AxisRole::kM;
    Expr when = AllOf(blocks, known, [&](const BlockInfo& block) -> Expr {
      Expr few = IsFew(block, role, kFewRows), others = SizeOf(block, {other, AxisRole::kBatch}),
           steps = SizeOf(block, {AxisRole::kK});
      if (!few || !others || !steps) return {};
      return few && ir::LENode::Make(others, ir::MakeConst(others.dtype(), kFewOthers)) &&
             ir::GENode::Make(steps, ir::MakeConst(steps.dtype(), kFewOthers));
    });
    if (!when) return;
    versions.push_back({.when = when, .target = target, .is_few = true});
    TargetInfo& guess = versions.back().target;
    (role == AxisRole::kM ? guess.likely_m : guess.likely_n) = likely;
    (role == AxisRole::kM ? guess.likely_n : guess.likely_m) = kLikelyOthers;
    guess.likely_k = kLikelyLong;
    guess.likely_batch = 1;
  };
  // Two GEMMs are attention's, which has rules for all of it, whatever the number of keys is.
  auto is_gemm = [](const BlockInfo& block) { return block.kind == BlockKind::kMatmul; };
  bool is_alone = std::count_if(blocks.begin(), blocks.end(), is_gemm) == 1;
  bool low_precision = std::any_of(blocks.begin(), blocks.end(), [&](const BlockInfo& block) {
    return is_gemm(block) && IsLowPrecision(block);
  });
  int64_t last_fixed = 0;  // rows up to here have a version each
  for (auto [role, most, likely] : target.is_device ? OfDevices() : OfHosts(low_precision)) {
    if (!target.is_device && !is_alone && role == AxisRole::kN) most = std::min(most, kFewKeys);
    Expr when =
        AllOf(blocks, known, [&](const BlockInfo& block) { return IsFew(block, role, most); });
    if (!when) continue;
    Var one;
    if (most == 1) {
      one = SideOfAll(blocks, role, target);
      if (!one || !known.count(one.node())) continue;
      when = Expr(one) == ir::MakeConst(one.dtype(), 1);
    }
    if (one.get() && target.is_device && is_alone) {
      TargetInfo guess = target;
      (role == AxisRole::kM ? guess.likely_m : guess.likely_n) = likely;
      for (FunctionVersion& version : VersionsOfOne(blocks, known, one, guess))
        versions.push_back(std::move(version));
      continue;
    }
    if (!one && target.is_device) add_long(role, likely);
    if (most > 1 && most <= last_fixed && role == AxisRole::kM) continue;
    Expr is_long = !target.is_device && is_alone && most <= kMostDots
                       ? AllOf(blocks, known, IsLongDot)
                       : Expr();
    if (is_long) when = when && is_long;
    if (IsTaken(versions, when)) continue;
    versions.push_back({.when = when, .target = target, .fixed = one, .is_few = !one});
    TargetInfo& guess = versions.back().target;
    if (one.get() && target.is_device) guess.likely_results = kLikelyColumns;
    (role == AxisRole::kM ? guess.likely_m : guess.likely_n) = likely;
    if (target.is_device || !is_alone || low_precision || role != AxisRole::kM || !one) continue;
    for (last_fixed = 1; last_fixed < kOneTileOfHosts;) {
      FunctionVersion rows = versions.back();
      rows.value = ++last_fixed;
      rows.when = Expr(one) == ir::MakeConst(one.dtype(), static_cast<double>(last_fixed));
      if (is_long) rows.when = rows.when && is_long;
      versions.push_back(std::move(rows));
    }
  }
  auto few_steps = [&](int64_t most) {
    return AllOf(blocks, known, [&](const BlockInfo& block) { return HasFewSteps(block, most); });
  };
  if (!target.is_device) {
    Expr is_short = few_steps(kShortOfHosts), is_not_long = few_steps(kLongOfHosts);
    auto add = [&](const Expr& when, int64_t k) {
      versions.push_back({.when = when, .target = target});
      versions.back().target.likely_k = k;
    };
    if (is_short) add(is_short, kLikelyShortOfHosts);
    if (is_not_long)
      add(arith::Analyzer().Simplify(ir::NotNode::Make(is_not_long)), kLikelyLongOfHosts);
    return versions;
  }
  for (const Tiles& tiles : kTiles) {
    Expr when = AllOf(blocks, known, [&](const BlockInfo& block) {
      return HasFewTiles(block, tiles.results, tiles.least_steps);
    });
    TargetInfo guess = target;
    guess.likely_m = guess.likely_n = tiles.side;
    guess.least_m = guess.least_n = tiles.least_side;
    bool is_beside_static = false;
    for (const BlockInfo& block : blocks) {
      if (!is_gemm(block)) continue;
      int64_t m = StaticSide(block, AxisRole::kM), n = StaticSide(block, AxisRole::kN);
      is_beside_static |= m > 0 || n > 0;
      if (n > 0) guess.likely_m = OtherSide(tiles.side, n);
      if (n > 0) guess.least_m = OtherSide(tiles.least_side, n);
      if (m > 0) guess.likely_n = OtherSide(tiles.side, m);
      if (m > 0) guess.least_n = OtherSide(tiles.least_side, m);
    }
    if (!when || (tiles.is_beside_static && !is_beside_static)) continue;
    guess.likely_k = tiles.steps;
    guess.likely_batch = 1;
    versions.push_back({when, guess, {}, tiles.is_rare});
  }
  if (Expr when = AllOf(blocks, known, StoresMost)) {
    versions.push_back({when, target, {}});
    versions.back().target.likely_k = kLikelyFew;
  }
  if (Expr when = few_steps(kShortSum)) {
    versions.push_back({when, target, {}});
    versions.back().target.likely_k = kLikelyShort;
  }
  return versions;
}

}  // namespace tern::schedule
