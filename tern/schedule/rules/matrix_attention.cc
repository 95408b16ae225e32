// SPDX-License-Identifier: Apache-2.0
//
// Attention on matrix instructions of warps, in one kernel and one pass over the keys (roll):
//
//   for batch, ib                            blockIdx.y, .x: tile_m queries
//     Q_shared = copy
//     for jo, tile_n keys
//       K_shared = copy
//       for iw { scores = Q_shared * K_shared }         a warp (threadIdx.y) for each row of tiles
//       largest, powers, totals of the rows             in shared memory, corrected as they change
//       V_shared = copy
//       for iw { sums = sums * change + powers * V_shared }
//     O = epilogue(sums)
//
// Between the two GEMMs are elementwise blocks (masks, scales, caps), a tile of them at a time, and
// reductions of rows. Sizes that are no whole tiles are padded
// (pad_einsum, pad_block): zeros in the copies, and elements that no reduction counts. Declines
// what roll declines; a single query; heads so long that no tile fits in shared memory.
#include <algorithm>
#include <cmath>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/attention_parts.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/matrix_fragments.h"
#include "tern/schedule/rules/register_tiles.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Cycles of a multiprocessor, for the cost model: FMAs and bytes copied in one; what a step and an
// element between the GEMMs take, and how long a thread block waits in a step for memory and at
// barriers, while others compute.
constexpr double kFmaPerCycle = 1024, kBytesPerCycle = 32, kStepCycles = 1500, kElementCycles = 1.1,
                 kStepLatency = 9000;
// What the thread blocks of a multiprocessor share.
constexpr int64_t kResidentThreads = 2048;
constexpr int64_t kMostResident = 4;

struct AttentionPlan : PlanCost {
  int64_t tile_m = 0, tile_n = 0;  // queries and keys at a time

  static const std::vector<PlanField<AttentionPlan>>& Fields() {
    using P = AttentionPlan;
    static const std::vector<PlanField<P>> fields = {{"tile_m", &P::tile_m},
                                                     {"tile_n", &P::tile_n}};
    return fields;
  }
};
using P = AttentionPlan;

class MatrixAttention : AttentionScheduler {
 public:
  MatrixAttention(Schedule* schedule, const AttentionParts& parts, const P& plan,
                  const TargetInfo& target, const MatrixInstructions& machine)
      : AttentionScheduler(schedule, parts, target), plan_(plan), machine_(machine) {
    tiles_.tile_m = plan.tile_m;
    tiles_.tile_n = plan.tile_n;
  }

  void Run() {
    Pad(plan_.tile_m, plan_.tile_n, tile());
    std::string type = MatrixTypeOf(values_, target_, machine_);
    std::vector<ThreadAxis> threads = {{"threadIdx.y", warps()}, {"threadIdx.x", machine_.lanes}};
    MatrixSteps first(&schedule_, parts_.first, scores_, type, tiles_, threads, machine_),
        last(&schedule_, parts_.last, values_, type, tiles_, threads, machine_);
    std::string scores = scores_.c->name, powers = values_.a.name;
    size_t rank = scores_.c->shape.size();

    schedule_.SetScope(scores, StorageScope::kShared);
    std::vector<RowBlock> between = RowBlocks();
    for (const RowBlock& block : between)
      if (!block.reduces) schedule_.SetScope(block.result->name, StorageScope::kShared);
    std::string v_shared = CopyToShared(parts_.last, values_.b, last.Name("bs")),
                k_shared = CopyToShared(parts_.first, scores_.b, first.Name("bs")),
                q_shared = CopyToShared(parts_.first, scores_.a, first.Name("as"));
    std::string epilogue = values_.epilogue, sums = values_.c->name;
    if (epilogue.empty())
      sums = epilogue =
          schedule_.CacheWrite(parts_.last, sums, StorageScope::kShared, last.Name("result"));
    std::string total_sums = schedule_.CacheWrite(
        parts_.last, sums, StorageScope::kFragmentAccumulator, last.Name("acc"));
    Tile(first, last, between);
    schedule_.ReverseComputeAt(total_sums, last.At("ib"), last.Own("c", "i", "j"));
    Names read = schedule_.ReverseComputeAt(epilogue, last.At("ib"), last.Own("r", "i", "j"));
    schedule_.Roll(first.At("jo"), last.At("jo"));
    ShareRowBuffers(between);
    schedule_.SetScope(sums, StorageScope::kShared);
    BindGrid(last.At("ib"), plan_.tile_m);

    std::string acc = schedule_.CacheWrite(parts_.first, scores, StorageScope::kFragmentAccumulator,
                                           first.Name("acc"));
    std::string q = first.ReadFragment(scores_.a, q_shared),
                k = first.ReadFragment(scores_.b, k_shared),
                p = last.ReadFragment(values_.a, powers),
                v = last.ReadFragment(values_.b, v_shared);
    std::string init =
        schedule_.DecomposeReduction(parts_.first, first.At("lk"), first.Name("init"));
    std::vector<std::string> of_sums;  // one after the other
    for (const char* suffix : {"_init", "_scale", "", "_divide"})
      if (Exists(parts_.last + suffix)) of_sums.push_back(parts_.last + suffix);
    Bind(parts_.first, first.Name("iw"), "y");
    for (const std::string& block : of_sums) Bind(block, last.Name("iw"), "y");
    std::string jo = last.Name("jo");
    Names qf = schedule_.ComputeAt(q, first.At("lk"), first.Own("af", "i", "k")),
          kf = schedule_.ComputeAt(k, first.At("lk"), first.Own("bf", "j", "k")),
          qs = schedule_.ComputeAt(q_shared, LoopOf(parts_.first, last.Name("ib")),
                                   first.Own("as", "i", "k")),
          ks = schedule_.ComputeAt(k_shared, LoopOf(parts_.first, jo), first.Own("bs", "j", "k")),
          pf = schedule_.ComputeAt(p, last.At("lk"), last.Own("af", "i", "k")),
          vf = schedule_.ComputeAt(v, last.At("lk"), last.Own("bf", "k", "j")),
          vs = schedule_.ComputeAt(v_shared, LoopOf(parts_.last, jo), last.Own("bs", "k", "j"));
    first.SetLayout(acc, rank, Fragment::kAccumulator, false);
    last.SetLayout(total_sums, rank, Fragment::kAccumulator, false);
    first.SetLayout(q, scores_.a);
    first.SetLayout(k, scores_.b);
    last.SetLayout(p, values_.a);
    last.SetLayout(v, values_.b);
    Align(first, scores, rank, 4, plan_.tile_n);
    for (const RowBlock& block : between)
      if (!block.reduces)
        Align(first, block.result->name, rank, block.result->dtype.bytes(), plan_.tile_n);
    Align(first, q_shared, scores_.a, plan_.tile_m, head());
    Align(first, k_shared, scores_.b, plan_.tile_n, head());
    Align(last, v_shared, values_.b, columns(), plan_.tile_n);
    first.ShareAmongThreads(q_shared, qs, "as");
    first.ShareAmongThreads(k_shared, ks, "bs");
    last.ShareAmongThreads(v_shared, vs, "bs");
    last.ShareAmongThreads(epilogue, read, "r");
    for (size_t i = 0; i < between.size(); ++i) ShareRows(parts_.between[i], between[i].reduces);

    for (const std::string& loop : {LoopOf(init, first.Name("jt")), first.At("lk"), first.At("jt")})
      schedule_.Unroll(loop);
    for (const std::string& block : of_sums) schedule_.Unroll(LoopOf(block, last.Name("dt")));
    schedule_.Unroll(last.At("lk"));
    schedule_.Tensorize(LoopOf(init, first.Name("ii")), first.Intrinsic("fill"));
    schedule_.Tensorize(first.At("ii"), first.Multiply());
    for (const std::string& block : of_sums) {
      std::string what = block.substr(parts_.last.size());
      schedule_.Tensorize(LoopOf(block, last.Name("ii")), what == "_init" ? last.Intrinsic("fill")
                                                          : what.empty()
                                                              ? last.Multiply()
                                                              : last.Intrinsic(what.substr(1)));
    }
    first.LoadTiles(k, kf, "bf", scores_.b);
    first.LoadTiles(q, qf, "af", scores_.a);
    last.LoadTiles(v, vf, "bf", values_.b);
    last.LoadTiles(p, pf, "af", values_.a);
    Store(first, acc);
    Store(last, total_sums);
  }

 private:
  int64_t tile() const { return machine_.tile; }
  int64_t warps() const { return plan_.tile_m / tile(); }
  int64_t head() const { return RoundUp(scores_.k, tile()); }
  int64_t columns() const { return RoundUp(values_.n, tile()); }

  void Bind(const std::string& block, const std::string& loop, const char* axis) {
    schedule_.Bind(LoopOf(block, loop), std::string("threadIdx.") + axis);
  }

  void Tile(const MatrixSteps& first, const MatrixSteps& last,
            const std::vector<RowBlock>& between) {
    auto split = [&](const std::string& block, const std::string& loop,
                     const std::vector<int64_t>& factors,
                     const Names& names) { schedule_.Split(LoopOf(block, loop), factors, names); };
    auto names = [](const MatrixSteps& of, const std::vector<const char*>& what) {
      Names all;
      for (const char* one : what) all.push_back(of.Name(one));
      return all;
    };
    int64_t keys = plan_.tile_n / tile();
    split(parts_.first, scores_.loops.m, {warps(), tile()}, names(first, {"ib", "iw", "ii"}));
    split(parts_.first, scores_.loops.n, {keys, tile()}, names(first, {"jo", "jt", "ji"}));
    split(parts_.first, scores_.loops.k, {tile()}, names(first, {"lk", "li"}));
    Order(parts_.first, scores_.loops.batch,
          names(first, {"ib", "jo", "iw", "lk", "jt", "ii", "ji", "li"}));
    TileRows(between, plan_.tile_m, plan_.tile_n);
    split(parts_.last, values_.loops.m, {warps(), tile()}, names(last, {"ib", "iw", "ii"}));
    split(parts_.last, values_.loops.k, {keys, tile()}, names(last, {"jo", "lk", "li"}));
    split(parts_.last, values_.loops.n, {tile()}, names(last, {"dt", "di"}));
    Order(parts_.last, values_.loops.batch,
          names(last, {"ib", "jo", "iw", "lk", "dt", "ii", "di", "li"}));
    FuseNests();
  }

  // Blocks that touch a buffer, but for some.
  Names ReadersOf(const Buffer& buffer, const Names& others) const {
    Names readers;
    for (const BlockNode* block : BlocksIn(schedule_.function()->body))
      if (!Contains(others, block->name) && Touches(AsStmt(block), buffer))
        readers.push_back(block->name);
    return readers;
  }

  // Results of rows, and what roll keeps of them: in registers, where a row's lane alone needs it.
  void ShareRowBuffers(const std::vector<RowBlock>& between) {
    for (size_t i = 0; i < between.size(); ++i) {
      if (!between[i].reduces) continue;
      const std::string& name = parts_.between[i];
      Names own = {name};
      for (const char* suffix : kRowSuffixes) own.push_back(name + suffix);
      Names buffers = {between[i].result->name};
      for (const char* suffix : {"_before", "_now", "_change"}) buffers.push_back(name + suffix);
      for (const std::string& buffer : buffers) {
        const AllocateNode* allocation = FindAllocation(schedule_.function()->body, buffer);
        if (!allocation) continue;
        bool is_own = ReadersOf(allocation->buffer, own).empty();
        schedule_.SetScope(buffer, is_own ? StorageScope::kLocal : StorageScope::kShared);
      }
    }
  }

  static void Align(MatrixSteps& steps, const std::string& buffer, size_t rank, int64_t bytes,
                    int64_t row) {
    steps.AlignRows(buffer, rank, bytes, row);
  }
  // `own` of M or N, and `steps` of K.
  static void Align(MatrixSteps& of, const std::string& buffer, const GemmOperand& operand,
                    int64_t own, int64_t steps) {
    of.AlignRows(buffer, operand.rank, operand.bytes(), operand.k_contiguous() ? steps : own);
  }

  // A warp has its rows: of elements lanes along the keys, of others a lane for each.
  void ShareRows(const std::string& name, bool reduces) {
    std::string rows = name + "_ii", keys = name + "_ji";
    if (!reduces) return ShareElements(name, rows, keys);
    ShareRow(name, rows);
    for (const char* suffix : kRowSuffixes)
      if (Exists(name + suffix)) ShareRow(name + suffix, rows);
    schedule_.Unroll(LoopOf(name, keys));
  }
  void ShareRow(const std::string& block, const std::string& rows) {
    Names parts = schedule_.Split(LoopOf(block, rows), {tile()}, {block + "_y", block + "_r"});
    Names lanes = schedule_.Split(LoopOf(block, parts[1]), {machine_.lanes},
                                  {block + "_q", block + "_x"}, TailStrategy::kGuard);
    Bind(block, parts[0], "y");
    Bind(block, lanes[1], "x");
  }
  void ShareElements(const std::string& name, const std::string& rows, const std::string& keys) {
    int64_t vector = std::max<int64_t>(1, plan_.tile_n / machine_.lanes);
    while (vector < 4 && plan_.tile_n % (vector * 2) == 0) vector *= 2;
    int64_t across = plan_.tile_n / vector, at_once = std::max<int64_t>(1, machine_.lanes / across);
    at_once = std::min(at_once, tile());
    schedule_.Split(LoopOf(name, rows), {tile() / at_once, at_once},
                    {name + "_y", name + "_r", name + "_p"});
    schedule_.Split(LoopOf(name, keys), {vector}, {name + "_q", name + "_v"});
    std::string lanes = FuseLoops(&schedule_, name, {name + "_p", name + "_q"});
    Bind(name, name + "_y", "y");
    Bind(name, lanes, "x");
    schedule_.Vectorize(LoopOf(name, name + "_v"));
    schedule_.Unroll(LoopOf(name, name + "_r"));
  }

  // Fragments of sums to shared memory.
  void Store(const MatrixSteps& of, const std::string& block) {
    Names loops = LoopsOfAxes(schedule_, block);
    const std::string &rows = loops[loops.size() - 2], &columns = loops.back();
    Names i = schedule_.Split(LoopOf(block, rows), {tile()}, {of.Name("cy"), of.Name("cr")}),
          j = schedule_.Split(LoopOf(block, columns), {tile()}, {of.Name("ct"), of.Name("cv")});
    schedule_.Reorder(Around(block, {i[0], j[0], i[1], j[1]}));
    Bind(block, i[0], "y");
    schedule_.Unroll(LoopOf(block, j[0]));
    schedule_.Tensorize(LoopOf(block, i[1]), of.Intrinsic("store_f32"));
  }

  const P& plan_;
  const MatrixInstructions& machine_;
  DeviceGemmPlan tiles_;
};

// Of a thread block, at most.
int64_t SharedBytes(const Schedule& schedule, const AttentionParts& parts, const Gemm& scores,
                    const Gemm& values, const P& plan, int64_t tile) {
  auto rows = [](int64_t count, int64_t row, int64_t bytes) {
    return count * PaddedRow(row, bytes) * bytes;
  };
  int64_t head = RoundUp(scores.k, tile), columns = RoundUp(values.n, tile);
  int64_t all = rows(plan.tile_m, head, scores.a.bytes()) +
                rows(plan.tile_n, head, scores.b.bytes()) +
                rows(plan.tile_n, columns, values.b.bytes()) + rows(plan.tile_m, plan.tile_n, 4) +
                rows(plan.tile_m, columns, 4);
  for (const std::string& name : parts.between) {
    RowBlock block = AttentionRows(schedule, name, values.c->shape.size() - 1);
    int64_t bytes = block.result->dtype.bytes();
    all += block.reduces ? 4 * plan.tile_m * bytes : rows(plan.tile_m, plan.tile_n, bytes);
  }
  return all;
}

std::vector<P> Plans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                     const MatrixInstructions& machine, const Wanted<P>& want) {
  AttentionParts parts = AttentionPartsOf(*schedule, block);
  Gemm scores = AttentionGemm(*schedule, parts.first, target),
       values = AttentionGemm(*schedule, parts.last, target);
  if (MatrixTypeOf(scores, target, machine) != MatrixTypeOf(values, target, machine))
    Refuse("the operands of the two GEMMs are of different types");
  CheckAttention(*schedule, scores, values, target);
  std::vector<P> plans;
  bool has_long = false;
  // Short tiles of keys wait more often, and 8 warps for each other: only where they are asked for,
  // or nothing else fits.
  for (int64_t keys : {64, 32})
    for (int64_t rows : {8, 4, 2, 1}) {
      if (!want.is_asked() && (rows == 8 || (keys == 32 && has_long))) continue;
      P plan;
      plan.tile_m = rows * machine.tile;
      plan.tile_n = keys;
      int64_t bytes = SharedBytes(*schedule, parts, scores, values, plan, machine.tile),
              threads = rows * machine.lanes;
      if (bytes > target.shared_bytes || threads > target.max_threads) continue;
      int64_t resident =
          std::min({target.shared_bytes / bytes, kResidentThreads / threads, kMostResident});
      auto blocks = static_cast<double>(values.batch * CeilDiv(values.m, plan.tile_m)),
           steps = static_cast<double>(CeilDiv(values.k, plan.tile_n)),
           heads = static_cast<double>(scores.k + values.n),
           elements = static_cast<double>(plan.tile_m * plan.tile_n);
      double work = kStepCycles + elements * heads / kFmaPerCycle + elements * kElementCycles +
                    static_cast<double>(plan.tile_n * scores.a.bytes()) * heads / kBytesPerCycle;
      double busy = std::ceil(blocks / static_cast<double>(target.busy_blocks));
      double waves = std::ceil(busy / static_cast<double>(resident));
      plan.cycles = steps * std::max(busy * work, waves * (work + kStepLatency));
      plans.push_back(plan);
      has_long |= keys == 64;
    }
  if (plans.empty()) Refuse("no tile fits in shared memory");
  return plans;
}

}  // namespace

void RegisterMatrixAttention(const MatrixInstructions& instructions) {
  RegisterRule({.name = instructions.attention,
                .description = "one pass over the keys, both GEMMs by matrix instructions",
                .kinds = {BlockKind::kAttention},
                .fits = instructions.fits,
                .priority = 100,
                .planned = Planned<P>(
                    [instructions](Schedule* schedule, const BlockInfo& block,
                                   const TargetInfo& target, const Wanted<P>& want) {
                      return Plans(schedule, block, target, instructions, want);
                    },
                    [instructions](Schedule* schedule, const BlockInfo& block,
                                   const TargetInfo& target, const P& plan) {
                      MatrixAttention(schedule, AttentionPartsOf(*schedule, block), plan, target,
                                      instructions)
                          .Run();
                    })});
}

}  // namespace tern::schedule
