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
    BufferRef scores = scores_.c;
    size_t rank = scores_.c->shape.size();

    schedule_.SetScope(scores, StorageScope::kShared);
    std::vector<RowBlock> between = RowBlocks();
    for (const RowBlock& block : between)
      if (!block.reduces) schedule_.SetScope(block.result, StorageScope::kShared);
    CopyRef v_shared = CopyToShared(parts_.last, values_.b, last.Name("bs")),
            k_shared = CopyToShared(parts_.first, scores_.b, first.Name("bs")),
            q_shared = CopyToShared(parts_.first, scores_.a, first.Name("as"));
    BlockRef epilogue = values_.epilogue;
    BufferRef sums = values_.c;
    if (epilogue.empty()) {
      CopyRef copy =
          schedule_.CacheWrite(parts_.last, sums, StorageScope::kShared, last.Name("result"));
      epilogue = copy;
      sums = copy;
    }
    CopyRef total_sums = schedule_.CacheWrite(parts_.last, sums, StorageScope::kFragmentAccumulator,
                                              last.Name("acc"));
    Tile(&first, &last, between);
    schedule_.ReverseComputeAt(total_sums, last.At("ib"), last.Own("c", "i", "j"));
    LoopRefs read = schedule_.ReverseComputeAt(epilogue, last.At("ib"), last.Own("r", "i", "j"));
    schedule_.Roll(first.At("jo"), last.At("jo"));
    ShareRowBuffers(between);
    schedule_.SetScope(sums, StorageScope::kShared);
    BindGrid(last.At("ib"), plan_.tile_m);

    CopyRef acc = schedule_.CacheWrite(parts_.first, scores, StorageScope::kFragmentAccumulator,
                                       first.Name("acc"));
    CopyRef q = first.ReadFragment(scores_.a, q_shared),
            k = first.ReadFragment(scores_.b, k_shared),
            p = last.ReadFragment(values_.a, values_.a.buffer),
            v = last.ReadFragment(values_.b, v_shared);
    BlockRef init = schedule_.DecomposeReduction(parts_.first, first.At("lk"), first.Name("init"));
    // What is done to the sums, one after the other.
    struct OfSums {
      BlockRef block;
      std::string intrinsic;
    };
    std::vector<OfSums> of_sums;
    for (const char* what : {"fill", "scale", "", "divide"}) {
      bool is_product = !*what, is_fill = std::string(what) == "fill";
      BlockRef block = is_product
                           ? parts_.last
                           : MadeOf(parts_.last, is_fill ? "_init" : std::string("_") + what);
      if (block) of_sums.push_back({block, is_product ? last.Multiply() : last.Intrinsic(what)});
    }
    schedule_.Bind(first.At("iw"), "threadIdx.y");
    for (const OfSums& one : of_sums) schedule_.Bind(last.At(one.block, "iw"), "threadIdx.y");
    const LoopRef& jo = last.At("jo");
    LoopRefs qf = schedule_.ComputeAt(q, first.At("lk"), first.Own("af", "i", "k")),
             kf = schedule_.ComputeAt(k, first.At("lk"), first.Own("bf", "j", "k")),
             qs = schedule_.ComputeAt(q_shared, last.At("ib").Of(parts_.first),
                                      first.Own("as", "i", "k")),
             ks = schedule_.ComputeAt(k_shared, jo.Of(parts_.first), first.Own("bs", "j", "k")),
             pf = schedule_.ComputeAt(p, last.At("lk"), last.Own("af", "i", "k")),
             vf = schedule_.ComputeAt(v, last.At("lk"), last.Own("bf", "k", "j")),
             vs = schedule_.ComputeAt(v_shared, jo, last.Own("bs", "k", "j"));
    first.SetLayout(acc, rank, Fragment::kAccumulator, false);
    last.SetLayout(total_sums, rank, Fragment::kAccumulator, false);
    first.SetLayout(q, scores_.a);
    first.SetLayout(k, scores_.b);
    last.SetLayout(p, values_.a);
    last.SetLayout(v, values_.b);
    Align(first, scores, rank, 4, plan_.tile_n);
    for (const RowBlock& block : between)
      if (!block.reduces)
        Align(first, block.result, rank, block.result->dtype.bytes(), plan_.tile_n);
    Align(first, q_shared, scores_.a, plan_.tile_m, head());
    Align(first, k_shared, scores_.b, plan_.tile_n, head());
    Align(last, v_shared, values_.b, columns(), plan_.tile_n);
    first.ShareAmongThreads(q_shared, qs, "as");
    first.ShareAmongThreads(k_shared, ks, "bs");
    last.ShareAmongThreads(v_shared, vs, "bs");
    last.ShareAmongThreads(epilogue, read, "r");
    for (size_t i = 0; i < between.size(); ++i)
      ShareRows(parts_.between[i], rows_[i], between[i].reduces);

    for (const LoopRef& loop : {first.At(init, "jt"), first.At("lk"), first.At("jt")})
      schedule_.Unroll(loop);
    for (const OfSums& one : of_sums) schedule_.Unroll(last.At(one.block, "dt"));
    schedule_.Unroll(last.At("lk"));
    schedule_.Tensorize(first.At(init, "ii"), first.Intrinsic("fill"));
    schedule_.Tensorize(first.At("ii"), first.Multiply());
    for (const OfSums& one : of_sums) schedule_.Tensorize(last.At(one.block, "ii"), one.intrinsic);
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

  void Tile(MatrixSteps* first, MatrixSteps* last, const std::vector<RowBlock>& between) {
    auto loops = [](const MatrixSteps& of, const std::vector<const char*>& what) {
      LoopRefs all;
      for (const char* one : what) all.push_back(of.At(one));
      return all;
    };
    int64_t keys = plan_.tile_n / tile();
    first->Split(scores_.loops.m, {warps(), tile()}, {"ib", "iw", "ii"});
    first->Split(scores_.loops.n, {keys, tile()}, {"jo", "jt", "ji"});
    first->Split(scores_.loops.k, {tile()}, {"lk", "li"});
    Order(parts_.first, scores_.loops.batch,
          loops(*first, {"ib", "jo", "iw", "lk", "jt", "ii", "ji", "li"}));
    TileRows(between, plan_.tile_m, plan_.tile_n);
    last->Split(values_.loops.m, {warps(), tile()}, {"ib", "iw", "ii"});
    last->Split(values_.loops.k, {keys, tile()}, {"jo", "lk", "li"});
    last->Split(values_.loops.n, {tile()}, {"dt", "di"});
    Order(parts_.last, values_.loops.batch,
          loops(*last, {"ib", "jo", "iw", "lk", "dt", "ii", "di", "li"}));
    FuseNests();
  }

  // Whether a block that is none of some touches a buffer.
  bool IsReadBeside(const Buffer& buffer, const BlockRefs& own) const {
    std::vector<const BlockNode*> blocks = BlocksIn(schedule_.function()->body);
    return std::any_of(blocks.begin(), blocks.end(), [&](const BlockNode* block) {
      return !Contains(own, schedule_.RefTo(block)) && Touches(AsStmt(block), buffer);
    });
  }

  // Results of rows, and what roll keeps of them: in registers, where a row's lane alone needs it.
  void ShareRowBuffers(const std::vector<RowBlock>& between) {
    for (size_t i = 0; i < between.size(); ++i) {
      if (!between[i].reduces) continue;
      const BlockRef& block = parts_.between[i];
      BlockRefs own = {block};
      for (const char* suffix : kRowSuffixes)
        if (BlockRef made = MadeOf(block, suffix)) own.push_back(made);
      std::vector<Buffer> buffers = {schedule_.BufferAt(between[i].result)};
      for (const char* suffix : {"_before", "_now", "_change"})
        for (const AllocateNode* made : schedule_.tree().AllocationsNamed(block + suffix))
          buffers.push_back(made->buffer);
      for (const Buffer& buffer : buffers)
        schedule_.SetScope(
            buffer, IsReadBeside(buffer, own) ? StorageScope::kShared : StorageScope::kLocal);
    }
  }

  static void Align(MatrixSteps& steps, const BufferRef& buffer, size_t rank, int64_t bytes,
                    int64_t row) {
    steps.AlignRows(buffer, rank, bytes, row);
  }
  // `own` of M or N, and `steps` of K.
  static void Align(MatrixSteps& of, const BufferRef& buffer, const GemmOperand& operand,
                    int64_t own, int64_t steps) {
    of.AlignRows(buffer, operand.rank, operand.bytes(), operand.k_contiguous() ? steps : own);
  }

  // A warp has its rows: of elements lanes along the keys, of others a lane for each.
  void ShareRows(const BlockRef& block, const NamedLoops& loops, bool reduces) {
    const LoopRef &rows = loops.At("ii"), &keys = loops.At("ji");
    if (!reduces) return ShareElements(block, rows, keys);
    ShareRow(block, rows);
    for (const char* suffix : kRowSuffixes)
      if (BlockRef made = MadeOf(block, suffix)) ShareRow(made, rows);
    schedule_.Unroll(keys);
  }
  void ShareRow(const BlockRef& block, const LoopRef& rows) {
    auto [y, r] =
        schedule_.Split(LoopAround(schedule_, block, rows), {tile()}, {block + "_y", block + "_r"});
    auto [q, x] = schedule_.Split(r.Of(block), {machine_.lanes}, {block + "_q", block + "_x"},
                                  TailStrategy::kGuard);
    schedule_.Bind(y.Of(block), "threadIdx.y");
    schedule_.Bind(x.Of(block), "threadIdx.x");
  }
  void ShareElements(const BlockRef& block, const LoopRef& rows, const LoopRef& keys) {
    int64_t vector = std::max<int64_t>(1, plan_.tile_n / machine_.lanes);
    while (vector < 4 && plan_.tile_n % (vector * 2) == 0) vector *= 2;
    int64_t across = plan_.tile_n / vector, at_once = std::max<int64_t>(1, machine_.lanes / across);
    at_once = std::min(at_once, tile());
    auto [y, r, p] = schedule_.Split(rows.Of(block), {tile() / at_once, at_once},
                                     {block + "_y", block + "_r", block + "_p"});
    auto [q, v] = schedule_.Split(keys.Of(block), {vector}, {block + "_q", block + "_v"});
    LoopRef lanes = FuseLoops(&schedule_, block, {p, q});
    schedule_.Bind(y.Of(block), "threadIdx.y");
    schedule_.Bind(lanes.Of(block), "threadIdx.x");
    schedule_.Vectorize(v.Of(block));
    schedule_.Unroll(r.Of(block));
  }

  // Fragments of sums to shared memory.
  void Store(const MatrixSteps& of, const BlockRef& block) {
    LoopRefs loops = LoopsOfAxes(schedule_, block);
    const LoopRef &rows = loops[loops.size() - 2], &columns = loops.back();
    LoopRefs i = schedule_.Split(rows.Of(block), {tile()}, {of.Name("cy"), of.Name("cr")}),
             j = schedule_.Split(columns.Of(block), {tile()}, {of.Name("ct"), of.Name("cv")});
    schedule_.Reorder(LoopRefs{i[0], j[0], i[1], j[1]}.Of(block));
    schedule_.Bind(i[0].Of(block), "threadIdx.y");
    schedule_.Unroll(j[0].Of(block));
    schedule_.Tensorize(i[1].Of(block), of.Intrinsic("store_f32"));
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
  for (const BlockRef& name : parts.between) {
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
