// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/device_gemm.h"

#include <algorithm>
#include <cmath>

#include "tern/arith/linear.h"
#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/tir/analysis/vector_move.h"
#include "tern/tir/visitor.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Bytes that a thread block gets from L2 in a cycle while all others do too.
constexpr double kL2BytesPerCycle = 32;
// The part of the shorter of multiplying and copying that the longer does not hide.
constexpr double kNotHidden = 0.25;
// Cycles until a copy from memory is there.
constexpr double kMemoryLatency = 1000;
// Cycles before the first tile is there, and after the last one.
constexpr double kStartCycles = 1500;
// Of the whole device, to and from memory; and until the second of two kernels runs.
constexpr double kMemoryBytesPerCycle = 2400, kLaunchCycles = 4000;
// A part of K has at least so many tiles, and there are no more parts than this.
constexpr int64_t kLeastSteps = 4, kMostParts = 32;
// Thread blocks of small tiles that a multiprocessor runs at a time.
constexpr int64_t kResidentBlocks = 8;
// Threads of a block that adds up parts.
constexpr int64_t kThreads = 256;
// Elements that a thread copies at once where it copies no vectors.
constexpr int64_t kUnrolledElements = 32;

// Loads of a block, and the conditions that choose between values.
struct LoadFinder : StmtVisitor {
  using StmtVisitor::VisitNode;
  void VisitNode(const ir::BufferLoadNode* node) override {
    loads.push_back(node);
    VisitChildren(node);
  }
  void VisitNode(const ir::SelectNode* node) override {
    conditions.push_back(node->condition);
    VisitChildren(node);
  }
  std::vector<const ir::BufferLoadNode*> loads;
  std::vector<Expr> conditions;
};

int64_t TilesOf(const Gemm& gemm, const DeviceGemmPlan& plan) {
  return gemm.batch * CeilDiv(gemm.m, plan.tile_m) * CeilDiv(gemm.n, plan.tile_n);
}

// The second kernel: a thread for each element of C, with its epilogue where `fuses`.
void AddUpParts(Schedule* schedule, const BlockRef& block, const Gemm& gemm,
                const TargetInfo& target, bool fuses) {
  LoopsByKind loops = RequireLoops(*schedule, DescribeBlock(*schedule, block));
  LoopRefs order = loops.spatial;
  order.insert(order.end(), loops.reduce.begin(), loops.reduce.end());
  schedule->Reorder(order.Of(block));
  // Of dynamic sizes a row and a column are not divided again: a grid of both, unless a row is
  // known to leave most of the threads idle.
  bool is_short = !gemm.dynamic_n && gemm.n * 2 <= kThreads;
  bool in_rows = (gemm.is_dynamic() || gemm.dynamic_batch) && !is_short;
  LoopRefs rows = in_rows ? loops.spatial : LoopRefs{};
  if (in_rows) rows.pop_back();
  Lanes split = SplitLanes(
      schedule, block, in_rows ? loops.spatial.back() : FuseLoops(schedule, block, loops.spatial),
      std::min(kThreads, target.max_threads));
  if (fuses) {
    schedule->SetScope(gemm.c, StorageScope::kLocal);
    schedule->ReverseComputeAt(gemm.epilogue, split.inner.Of(block));
  }
  if (!rows.empty()) schedule->Bind(FuseLoops(schedule, block, rows).Of(block), "blockIdx.x");
  if (!split.outer.empty())
    schedule->Bind(split.outer.Of(block), rows.empty() ? "blockIdx.x" : "blockIdx.y");
  schedule->Bind(split.inner.Of(block), "threadIdx.x");
}

}  // namespace

bool DeviceGemmPlan::PadsResult(const Gemm& gemm) const {
  return gemm.dynamic_m || gemm.dynamic_n || gemm.m % tile_m != 0 || gemm.n % tile_n != 0;
}
bool DeviceGemmPlan::PadsK(const Gemm& gemm) const {
  return gemm.dynamic_k || gemm.k % tile_k != 0;
}

Gemm RequireDeviceGemm(Schedule* schedule, const BlockRef& name, const TargetInfo& target) {
  BlockInfo block = DescribeBlock(*schedule, name);
  std::optional<Gemm> gemm = MatchGemm(*schedule, block, Sizes::kDynamic);
  if (!gemm) {
    MakeChannelsInnermost(schedule, block);
    CopyRefs made = schedule->Im2col(name, SharedAxes(block));
    FuseEpilogue(schedule, made[2], block.accesses[0].buffer);
    for (const CopyRef& operand : {made[0], made[1]})
      PutContiguousLast(schedule, operand, target.vector_bytes);
    gemm = RequireGemm(*schedule, name, Sizes::kDynamic);
  }
  if (block.kind == BlockKind::kMatmul && (gemm->m == 1 || gemm->n == 1))
    Refuse("M or N is 1: it is a reduction");
  GuessDeviceSizes(&*gemm, target);
  return *gemm;
}

void GuessDeviceSizes(Gemm* gemm, const TargetInfo& target) {
  GuessSizes(gemm, target);
  if (gemm->dynamic_batch) gemm->batch = CeilDiv(gemm->batch, kUnknownExtent) * target.likely_batch;
}

bool IsMultiple(const Expr& extent, int64_t factor) {
  arith::ModularSet set = arith::Analyzer().Modular(extent);
  return set.knows_remainder(factor) && set.base % factor == 0;
}

bool UnpacksInCopies(const Schedule& schedule, const Gemm& gemm, const DeviceGemmPlan& plan) {
  bool pads_b = gemm.dynamic_n || gemm.n % plan.tile_n != 0 || plan.PadsK(gemm);
  if (gemm.dynamic_m || gemm.m > plan.tile_m || pads_b) return false;
  for (const BlockNode* block : BlocksIn(schedule.function()->body)) {
    BlockInfo info = DescribeBlock(block);
    if (info.accesses.empty() || info.accesses[0].buffer->name != gemm.b.name) continue;
    const Buffer& result = info.accesses[0].buffer;
    return !ProducerOf(schedule, result).empty() &&
           std::any_of(info.accesses.begin(), info.accesses.end(), [&](const BlockAccess& access) {
             return access.buffer->dtype.bits() < result->dtype.bits();
           });
  }
  return false;
}

std::vector<int64_t> SplitsOfK(const Schedule& schedule, const Gemm& gemm,
                               const DeviceGemmPlan& plan, const TargetInfo& target,
                               int64_t wanted) {
  std::vector<int64_t> splits = {1};
  bool in_order = gemm.c->dtype.is_float() && !HasFlag(schedule.function(), attr::kReassociate);
  if (UnpacksInCopies(schedule, gemm, plan)) wanted = kResidentBlocks;
  if (in_order || TilesOf(gemm, plan) * 2 > wanted * target.busy_blocks) return splits;
  for (int64_t parts = 2; parts <= kMostParts; parts *= 2)
    if (gemm.k >= parts * plan.tile_k * kLeastSteps) splits.push_back(parts);
  return splits;
}

GemmPart SplitK(Schedule* schedule, const BlockRef& block, const DeviceGemmPlan& plan,
                const TargetInfo& target) {
  Gemm gemm = RequireDeviceGemm(schedule, block, target);
  if (plan.split_k == 1) return {block, gemm};
  int64_t multiple = plan.split_k * plan.tile_k;
  if (gemm.dynamic_k || gemm.k % multiple != 0)
    gemm = PadGemm(schedule, DescribeBlock(*schedule, block), {.k = multiple}, Sizes::kDynamic);
  LoopRef part;
  if (gemm.dynamic_k) {
    // Each part has every so many-th tile.
    auto [outer, middle, inner] =
        schedule->Split(gemm.loops.k.Of(block), {plan.split_k, plan.tile_k},
                        {block + "_ko", block + "_part", block + "_ki"});
    part = middle;
    schedule->Reorder(LoopRefs{part, outer, inner}.Of(block));
  } else {
    part = schedule->Split(gemm.loops.k.Of(block), {gemm.k / plan.split_k},
                           {block + "_part", block + "_k"})[0];
  }
  CopyRef parts = schedule->Rfactor(part.Of(block), block + "_parts");
  // The results of a part are side by side.
  std::string from;
  for (size_t d = 0; d < gemm.c->shape.size(); ++d) from += "d" + std::to_string(d) + ", ";
  schedule->TransformLayout(parts, IndexMap::Parse("(" + from + "part) -> (part, " +
                                                   from.substr(0, from.size() - 2) + ")"));
  // An epilogue that stores in another order may not be known to be independent.
  bool fused = !gemm.epilogue.empty() && Try(schedule, [&](Schedule* attempt) {
    AddUpParts(attempt, block, gemm, target, true);
  });
  if (!fused) AddUpParts(schedule, block, gemm, target, false);
  return {parts, RequireDeviceGemm(schedule, parts, target)};
}

Gemm PadToTiles(Schedule* schedule, const GemmPart& part, const DeviceGemmPlan& plan) {
  if (!plan.PadsResult(part.gemm) && !plan.PadsK(part.gemm)) return part.gemm;
  return PadGemm(schedule, DescribeBlock(*schedule, part.block),
                 {plan.tile_m, plan.tile_n, plan.tile_k}, Sizes::kDynamic);
}

double DeviceGemmCycles(const Gemm& gemm, const DeviceGemmPlan& plan, const TileCycles& tile,
                        const TargetInfo& target) {
  int64_t k = CeilDiv(gemm.k, plan.split_k);
  auto steps = static_cast<double>(CeilDiv(k, plan.tile_k));
  double copy = tile.bytes / kL2BytesPerCycle;
  double both = std::max(tile.multiply, copy) + kNotHidden * std::min(tile.multiply, copy);
  auto cycles_of = [&](int64_t m, int64_t n) {
    int64_t tiles = gemm.batch * CeilDiv(m, plan.tile_m) * CeilDiv(n, plan.tile_n);
    auto waves = static_cast<double>(CeilDiv(tiles * plan.split_k, target.busy_blocks));
    // A step waits for the copy that was started some stages before.
    double ahead = tile.waits ? std::min<double>(waves, kResidentBlocks)
                              : static_cast<double>(std::max<int64_t>(plan.stages - 1, 1));
    double waited = kMemoryLatency / ahead;
    double step = std::max(both, waited) + (tile.waits ? kNotHidden * std::min(both, waited) : 0);
    auto results = static_cast<double>(gemm.batch * m) * static_cast<double>(n);
    double cycles =
        waves * steps * step + kStartCycles + results * tile.stored / kMemoryBytesPerCycle;
    if (plan.split_k == 1) return cycles;
    auto parts = results * static_cast<double>(plan.split_k * gemm.c->dtype.bytes());
    return cycles + 2 * parts / kMemoryBytesPerCycle + kLaunchCycles;
  };
  double likely = cycles_of(gemm.m, gemm.n);
  int64_t least_m = gemm.dynamic_m && target.least_m > 0 ? target.least_m : gemm.m,
          least_n = gemm.dynamic_n && target.least_n > 0 ? target.least_n : gemm.n;
  if (least_m >= gemm.m && least_n >= gemm.n) return likely;
  return std::sqrt(likely * cycles_of(std::min(least_m, gemm.m), std::min(least_n, gemm.n)));
}

double LeastDeviceCycles(const Gemm& gemm, double fmas_per_cycle, const TargetInfo& target) {
  auto m = static_cast<double>(gemm.m), n = static_cast<double>(gemm.n),
       k = static_cast<double>(gemm.k), batch = static_cast<double>(gemm.batch);
  double bytes = m * k * static_cast<double>(gemm.a.bytes()) +
                 k * n * static_cast<double>(gemm.b.bytes()) + m * n * gemm.c->dtype.bytes();
  return batch * std::max(m * n * k / (fmas_per_cycle * static_cast<double>(target.busy_blocks)),
                          bytes / kMemoryBytesPerCycle);
}

LoopRef DeviceGemmScheduler::OrderLoops(const std::vector<const char*>& order, int64_t rows) {
  LoopRefs loops = gemm_.loops.batch.Of(block_);
  for (const char* loop : {"ib", "jb", "lo"}) loops.push_back(At(loop));
  for (const char* loop : order) loops.push_back(At(loop));
  schedule_.Reorder(loops);
  if (!gemm_.loops.batch.empty())
    schedule_.Bind(FuseLoops(&schedule_, block_, gemm_.loops.batch).Of(block_), "blockIdx.z");
  LoopRef last = At("jb");
  if (rows > 1) {
    Split(At("ib"), {rows}, {"io", "ir"});
    LoopRefs tiles = {At("io"), At("jb"), At("ir")};
    schedule_.Reorder(tiles);
    last = schedule_.Fuse(tiles, Name("tile")).Of(block_);
  } else {
    schedule_.Bind(At("ib"), "blockIdx.y");
  }
  schedule_.Bind(last, "blockIdx.x");
  return last;
}

CopyRef DeviceGemmScheduler::CopyToShared(const GemmOperand& operand) {
  CopyRef copy = schedule_.CacheRead(block_, operand.buffer, StorageScope::kShared,
                                     Name(operand.is_a ? "as" : "bs"));
  // Where the other side is one tile, each element is copied, and so computed, once. What is
  // padded is a kernel's: the copies of its whole vectors are not under conditions.
  bool is_one_tile = operand.is_a ? !gemm_.dynamic_n && gemm_.n <= tiles_.tile_n
                                  : !gemm_.dynamic_m && gemm_.m <= tiles_.tile_m;
  FusePrologue(&schedule_, copy, Producers::kCheap);
  if (is_one_tile && !DescribeBlock(schedule_, copy).conditional)
    FusePrologue(&schedule_, copy, Producers::kOwn);
  return copy;
}

// How many iterations of a block's innermost loop load a vector each: of neighbours, at a multiple
// of its size, and all under one condition. Several of them may share an element, as two do a byte
// of packed weights, or all of them a scale. 1 where they do not.
int64_t DeviceGemmScheduler::CopyLanes(const BlockRef& name, const LoopRef& loop) const {
  const BlockNode* block = schedule_.At(name);
  Nest nest = NestOf(schedule_.tree(), block);
  auto at = std::find_if(nest.loops.begin(), nest.loops.end(),
                         [&](const ForNode* one) { return LoopRef(one) == loop; });
  // Without its lets.
  Stmt body = block->body;
  for (const auto* let = body.As<LetStmtNode>(); let; let = body.As<LetStmtNode>())
    body = Substitute(let->body, {{let->var.node(), let->value}});
  const auto* store = body.As<BufferStoreNode>();
  std::optional<int64_t> extent =
      at == nest.loops.end() ? std::nullopt : ir::AsConstInt((*at)->extent);
  if (!extent || !store) return 1;
  LoadFinder finder;
  finder.Visit(body);
  ir::VarMap axes;
  for (const BlockIter& iter : block->iters) axes[iter.var.node()] = iter.binding;
  int64_t bytes = store->buffer->dtype.bytes();
  for (const auto* load : finder.loads)
    bytes = std::max<int64_t>(bytes, load->buffer->dtype.bytes());
  for (int64_t lanes = copy_bytes_ / bytes; lanes > 1; lanes /= 2) {
    if (*extent % lanes != 0) continue;
    // The loop's variable is vector * lanes + lane.
    DataType dtype = (*at)->var.dtype();
    Var vector("vector", dtype), lane("lane", dtype);
    arith::Analyzer analyzer;
    auto bind = [&](const Var& var, int64_t size) {
      analyzer.BindRange(var, ir::MakeConst(dtype, 0), ir::MakeConst(dtype, double(size)));
    };
    for (const auto* loops : {&nest.around, &nest.loops})
      for (const ForNode* one : *loops) analyzer.BindRange(one->var, one->min, one->extent);
    bind(vector, *extent / lanes);
    bind(lane, lanes);
    ir::VarMap split = {{(*at)->var.node(), vector * ir::MakeConst(dtype, double(lanes)) + lane}};
    auto value_at = [&](const Expr& expr) {
      return analyzer.Simplify(ir::Substitute(ir::Substitute(expr, axes), split));
    };
    // Whether so many lanes in a row share an element.
    auto is_vector_of = [&](const ir::BufferLoadNode* load, int64_t sharing) {
      Var group("group", dtype), member("member", dtype);
      arith::Analyzer within = analyzer;
      for (const auto& [var, size] : {std::pair(group, lanes / sharing), {member, sharing}})
        within.BindRange(var, ir::MakeConst(dtype, 0), ir::MakeConst(dtype, double(size)));
      Expr number =
          sharing == 1 ? Expr(group) : group * ir::MakeConst(dtype, double(sharing)) + member;
      std::vector<Expr> first;
      for (size_t d = 0; d < load->indices.size(); ++d) {
        Expr index = ir::Substitute(value_at(load->indices[d]), {{lane.node(), number}});
        if (sharing > 1) index = within.Simplify(index);
        auto linear = arith::AsLinear(index, group.node());
        bool is_last = d + 1 == load->indices.size();
        if (!linear || ir::UsesVar(index, member.node()) ||
            linear->coefficient != (is_last && sharing < lanes ? 1 : 0))
          return false;
        first.push_back(linear->rest);
      }
      return IsAlignedPlace(load->buffer, first, lanes / sharing * load->buffer->dtype.bytes(),
                            analyzer);
    };
    auto is_vector = [&](const ir::BufferLoadNode* load) {
      int64_t sharing = 1;
      while (sharing <= lanes && !is_vector_of(load, sharing)) sharing *= 2;
      return sharing <= lanes;
    };
    bool one_condition =
        std::none_of(finder.conditions.begin(), finder.conditions.end(),
                     [&](const Expr& one) { return ir::UsesVar(value_at(one), lane.node()); });
    if (one_condition && std::all_of(finder.loads.begin(), finder.loads.end(), is_vector))
      return lanes;
  }
  return 1;
}

void DeviceGemmScheduler::ShareAmongThreads(const BlockRef& block, const LoopRefs& loops,
                                            const std::string& prefix) {
  int64_t lanes = CopyLanes(block, loops.back());
  LoopRef all = FuseLoops(&schedule_, block, loops);
  std::vector<int64_t> factors;
  Schedule::Names names = {Name(prefix + "n")};
  for (const ThreadAxis& axis : threads_) {
    factors.push_back(axis.extent);
    names.push_back(Name(prefix + axis.name.back()));
  }
  if (lanes > 1) {
    factors.push_back(lanes);
    names.push_back(Name(prefix + "v"));
  }
  // Element by element there are many, and long code.
  if (lanes == 1) {
    factors.insert(factors.begin(), kUnrolledElements);
    names.insert(names.begin(), Name(prefix + "m"));
  }
  LoopRefs made = schedule_.Split(all.Of(block), factors, names);
  if (lanes == 1) made.erase(made.begin());
  schedule_.Unroll(made[0].Of(block));
  for (size_t i = 0; i < threads_.size(); ++i)
    schedule_.Bind(made[i + 1].Of(block), threads_[i].name);
  if (lanes > 1) schedule_.Vectorize(made.back().Of(block));
}

void DeviceGemmScheduler::PipelineCopies() {
  int64_t stages =
      gemm_.dynamic_k ? tiles_.stages : std::min(tiles_.stages, CeilDiv(gemm_.k, tiles_.tile_k));
  if (stages > 1)
    Try(&schedule_,
        [&](Schedule* attempt) { attempt->Pipeline(loops_.Bare("lo"), {0, 0, stages - 1}, {0}); });
}

}  // namespace tern::schedule
