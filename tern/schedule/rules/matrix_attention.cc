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
// What is between the two products are elements of any kind (masks, scales, caps), of which there
// are a tile at a time, and reductions of their rows. Sizes that are no whole tiles are padded
// (pad_einsum, pad_block): zeros in the copies, and elements that no reduction counts. Declines
// what roll declines; a single query; heads so long that no tile fits in shared memory.
#include <algorithm>
#include <cmath>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"
#include "tern/schedule/rules/matrix_fragments.h"
#include "tern/schedule/rules/register_tiles.h"
#include "tern/schedule/rules/row_chains.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

using Names = Schedule::Names;

// Cycles of a multiprocessor, for the cost model: FMAs and bytes copied in one; what a step and an
// element between the products take, and how long a thread block waits in a step for memory and at
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

int64_t SizeOf(const BlockAxis& axis, int64_t likely, bool* dynamic) {
  std::optional<int64_t> extent = ir::AsConstInt(axis.extent);
  *dynamic |= !extent;
  return extent ? *extent : likely;
}

// One of the two products, where heads may share an operand.
Gemm ProductOf(const Schedule& schedule, const std::string& name, const TargetInfo& target) {
  const BlockNode* node = FindBlockNamed(schedule, name);
  BlockInfo block = DescribeBlock(node);
  std::optional<RowProduct> product = MatchRowProduct(node, block);
  if (!product) Refuse("block " + name + " is no product of matrices in the last two dimensions");
  for (const BlockAxis& axis : block.axes)
    if (axis.loop.empty()) Refuse("an axis of block " + name + " has no loop of its own");
  Gemm gemm;
  for (size_t axis : product->batch) {
    gemm.loops.batch.push_back(block.axes[axis].loop);
    gemm.batch *= SizeOf(block.axes[axis], target.likely_batch, &gemm.dynamic_batch);
  }
  const BlockAxis &m = block.axes[product->m], &n = block.axes[product->n],
                  &k = block.axes[product->k];
  gemm.loops.m = m.loop;
  gemm.loops.n = n.loop;
  gemm.loops.k = k.loop;
  gemm.m = SizeOf(m, target.likely_m, &gemm.dynamic_m);
  gemm.n = SizeOf(n, target.likely_n, &gemm.dynamic_n);
  gemm.k = SizeOf(k, target.likely_k, &gemm.dynamic_k);
  auto operand = [&](const BlockAccess& access, const BlockAxis& own, bool is_a) {
    size_t rank = access.indices.size();
    bool own_last = access.indices.back().same(own.var);
    return GemmOperand{access.buffer->name,       access.buffer->dtype,      rank,
                       rank - (own_last ? 1 : 2), rank - (own_last ? 2 : 1), is_a};
  };
  gemm.a = operand(*product->a, m, true);
  gemm.b = operand(*product->b, n, false);
  gemm.c = block.accesses[0].buffer;
  gemm.c_m_dim = gemm.c->shape.size() - 2;
  gemm.epilogue = FindEpilogue(schedule, name, gemm.c);
  return gemm;
}

// The blocks of attention, in their order.
struct Parts {
  std::string first, last;  // the products
  Names between;
};
Parts PartsOf(const Schedule& schedule, const BlockInfo& block) {
  Parts parts;
  parts.last = block.name;
  for (const std::string& member : block.members) {
    const BlockNode* node = FindBlockNamed(schedule, member);
    if (parts.first.empty() && MatchRowProduct(node, DescribeBlock(node)))
      parts.first = member;
    else
      parts.between.push_back(member);
  }
  if (parts.first.empty()) Refuse("there is no product of matrices before it");
  return parts;
}

// A block between the products: the loops of its rows, and that along the keys.
struct RowBlock {
  Names rows;
  std::string keys;
  bool reduces = false;
  Buffer result;
};
RowBlock RowsOf(const Schedule& schedule, const std::string& name, size_t rows) {
  BlockInfo block = DescribeBlock(FindBlockNamed(schedule, name));
  const BlockAccess& store = block.accesses[0];
  RowBlock result;
  result.result = store.buffer;
  std::vector<const BlockAxis*> keys;
  for (size_t i = 0; i < block.axes.size(); ++i) {
    const BlockAxis& axis = block.axes[i];
    if (axis.loop.empty()) Refuse("an axis of block " + name + " has no loop of its own");
    bool is_row = std::find(store.axes.begin(), store.axes.begin() + long(rows), i) !=
                  store.axes.begin() + long(rows);
    if (!is_row) keys.push_back(&axis);
  }
  if (keys.size() != 1) Refuse("block " + name + " is not over the keys of rows");
  for (size_t i = 0; i < rows; ++i) result.rows.push_back(block.axes[store.axes[i]].loop);
  result.keys = keys[0]->loop;
  result.reduces = keys[0]->kind == IterKind::kReduce;
  return result;
}

int64_t RoundTo(int64_t size, int64_t multiple) { return CeilDiv(size, multiple) * multiple; }

// Of the blocks that roll makes for a reduction of rows.
constexpr const char* kRowSuffixes[] = {"_init", "_before", "_now", "_change", "_scale", "_divide"};

class MatrixAttention {
 public:
  MatrixAttention(Schedule* schedule, const Parts& parts, const P& plan, const TargetInfo& target,
                  const MatrixInstructions& machine)
      : schedule_(*schedule), parts_(parts), plan_(plan), target_(target), machine_(machine) {
    tiles_.tile_m = plan.tile_m;
    tiles_.tile_n = plan.tile_n;
  }

  void Run() {
    Pad();
    scores_ = ProductOf(schedule_, parts_.first, target_);
    values_ = ProductOf(schedule_, parts_.last, target_);
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
    std::string v_shared = CopyToShared(last, values_.b), k_shared = CopyToShared(first, scores_.b),
                q_shared = CopyToShared(first, scores_.a);
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
    BindGrid(last);

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
    first.SetLayout(acc, rank, Fragment::kSum, false);
    last.SetLayout(total_sums, rank, Fragment::kSum, false);
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
  int64_t head() const { return RoundTo(scores_.k, tile()); }
  int64_t columns() const { return RoundTo(values_.n, tile()); }

  bool Exists(const std::string& block) const {
    return !schedule_.tree().BlocksNamed(block).empty();
  }
  void Bind(const std::string& block, const std::string& loop, const char* axis) {
    schedule_.Bind(LoopOf(block, loop), std::string("threadIdx.") + axis);
  }

  std::vector<RowBlock> RowBlocks() const {
    std::vector<RowBlock> blocks;
    for (const std::string& name : parts_.between)
      blocks.push_back(RowsOf(schedule_, name, values_.c->shape.size() - 1));
    return blocks;
  }

  // What pads an operand copies it, too.
  std::string CopyToShared(MatrixSteps& of, const GemmOperand& operand) {
    if (!Contains(padded_, operand.name)) return of.CopyToShared(operand);
    schedule_.SetScope(operand.name, StorageScope::kShared);
    FusePrologue(&schedule_, operand.name, Producers::kCheap);
    return operand.name;
  }

  // Whole tiles of queries, keys and head sizes.
  void Pad() {
    PadProduct(parts_.first, {plan_.tile_m, plan_.tile_n, tile()});
    for (const std::string& name : parts_.between) {
      BlockInfo block = DescribeBlock(FindBlockNamed(schedule_, name));
      const BlockAccess& store = block.accesses[0];
      size_t rows = ProductOf(schedule_, parts_.last, target_).c->shape.size() - 1;
      std::vector<int64_t> factors(block.axes.size(), 1);
      bool pads = false;
      for (size_t i = 0; i < block.axes.size(); ++i) {
        auto at = std::find(store.axes.begin(), store.axes.end(), i) - store.axes.begin();
        if (at + 1 < static_cast<int64_t>(rows)) continue;
        factors[i] = at + 1 == static_cast<int64_t>(rows) ? plan_.tile_m : plan_.tile_n;
        pads |= !Divides(factors[i], block.axes[i].extent);
      }
      if (pads) schedule_.PadBlock(name, factors);
    }
    PadProduct(parts_.last, {plan_.tile_m, tile(), plan_.tile_n});
  }
  void PadProduct(const std::string& name, const GemmMultiples& multiples) {
    const BlockNode* node = FindBlockNamed(schedule_, name);
    BlockInfo block = DescribeBlock(node);
    RowProduct product = *MatchRowProduct(node, block);
    std::vector<int64_t> factors(block.axes.size(), 1);
    factors[product.m] = multiples.m;
    factors[product.n] = multiples.n;
    factors[product.k] = multiples.k;
    bool pads = false;
    for (size_t i = 0; i < factors.size(); ++i) pads |= !Divides(factors[i], block.axes[i].extent);
    if (!pads) return;
    std::string result = block.accesses[0].buffer->name;
    schedule_.PadEinsum(name, factors);
    for (const BlockAccess* operand : {product.a, product.b})
      if (std::string copy = operand->buffer->name + "_pad"; Exists(copy)) padded_.push_back(copy);
    Try(&schedule_, [&](Schedule* attempt) { attempt->ComputeInline(result + "_pad"); });
  }

  void Tile(const MatrixSteps& first, const MatrixSteps& last,
            const std::vector<RowBlock>& between) {
    struct Nested {
      std::string block;
      Names outer;  // the batch, ib
    };
    std::vector<Nested> nests;
    auto split = [&](const std::string& block, const std::string& loop,
                     const std::vector<int64_t>& factors,
                     const Names& names) { schedule_.Split(LoopOf(block, loop), factors, names); };
    auto order = [&](const std::string& block, const Names& batch, const Names& loops) {
      Names all = batch;
      all.insert(all.end(), loops.begin(), loops.end());
      schedule_.Reorder(Around(block, all));
      Nested nested{block, batch};
      nested.outer.push_back(loops[0]);
      nests.push_back(nested);
    };
    auto names = [](const MatrixSteps& of, const std::vector<const char*>& what) {
      Names all;
      for (const char* one : what) all.push_back(of.Name(one));
      return all;
    };
    int64_t keys = plan_.tile_n / tile();
    split(parts_.first, scores_.loops.m, {warps(), tile()}, names(first, {"ib", "iw", "ii"}));
    split(parts_.first, scores_.loops.n, {keys, tile()}, names(first, {"jo", "jt", "ji"}));
    split(parts_.first, scores_.loops.k, {tile()}, names(first, {"lk", "li"}));
    order(parts_.first, scores_.loops.batch,
          names(first, {"ib", "jo", "iw", "lk", "jt", "ii", "ji", "li"}));
    for (size_t i = 0; i < between.size(); ++i) {
      const std::string& block = parts_.between[i];
      Names batch = between[i].rows, own;
      for (const char* one : {"_ib", "_ii", "_jo", "_ji"}) own.push_back(block + one);
      split(block, batch.back(), {plan_.tile_m}, {own[0], own[1]});
      split(block, between[i].keys, {plan_.tile_n}, {own[2], own[3]});
      batch.pop_back();
      order(block, batch, {own[0], own[2], own[1], own[3]});
    }
    split(parts_.last, values_.loops.m, {warps(), tile()}, names(last, {"ib", "iw", "ii"}));
    split(parts_.last, values_.loops.k, {keys, tile()}, names(last, {"jo", "lk", "li"}));
    split(parts_.last, values_.loops.n, {tile()}, names(last, {"dt", "di"}));
    order(parts_.last, values_.loops.batch,
          names(last, {"ib", "jo", "iw", "lk", "dt", "ii", "di", "li"}));
    for (size_t level = 0; level < nests[0].outer.size(); ++level)
      for (size_t i = 1; i < nests.size(); ++i)
        schedule_.FuseSiblings(LoopOf(nests[i - 1].block, nests[i - 1].outer[level]),
                               LoopOf(nests[i].block, nests[i].outer[level]));
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

  void BindGrid(const MatrixSteps& last) {
    Names batch = values_.loops.batch;
    if (batch.size() > 2) {
      std::string outer = FuseLoops(&schedule_, parts_.last, {batch.begin(), batch.end() - 1});
      batch = {outer, batch.back()};
    }
    for (size_t i = 0; i < batch.size(); ++i)
      schedule_.Bind(LoopOf(parts_.last, batch[i]),
                     i + 1 == batch.size() ? "blockIdx.y" : "blockIdx.z");
    // One tile of queries needs no index, unless there is no other.
    bool is_one = !values_.dynamic_m && values_.m <= plan_.tile_m;
    if (!is_one || batch.empty()) schedule_.Bind(last.At("ib"), "blockIdx.x");
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

  Schedule& schedule_;
  const Parts& parts_;
  const P& plan_;
  const TargetInfo& target_;
  const MatrixInstructions& machine_;
  DeviceGemmPlan tiles_;
  Gemm scores_, values_;
  Names padded_;  // operands that pad_einsum copies
};

// Of a thread block, at most.
int64_t SharedBytes(const Schedule& schedule, const Parts& parts, const Gemm& scores,
                    const Gemm& values, const P& plan, int64_t tile) {
  auto rows = [](int64_t count, int64_t row, int64_t bytes) {
    return count * PaddedRow(row, bytes) * bytes;
  };
  int64_t head = RoundTo(scores.k, tile), columns = RoundTo(values.n, tile);
  int64_t all = rows(plan.tile_m, head, scores.a.bytes()) +
                rows(plan.tile_n, head, scores.b.bytes()) +
                rows(plan.tile_n, columns, values.b.bytes()) + rows(plan.tile_m, plan.tile_n, 4) +
                rows(plan.tile_m, columns, 4);
  for (const std::string& name : parts.between) {
    RowBlock block = RowsOf(schedule, name, values.c->shape.size() - 1);
    int64_t bytes = block.result->dtype.bytes();
    all += block.reduces ? 4 * plan.tile_m * bytes : rows(plan.tile_m, plan.tile_n, bytes);
  }
  return all;
}

std::vector<P> Plans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                     const MatrixInstructions& machine, const Wanted<P>& want) {
  Parts parts = PartsOf(*schedule, block);
  Gemm scores = ProductOf(*schedule, parts.first, target),
       values = ProductOf(*schedule, parts.last, target);
  if (MatrixTypeOf(scores, target, machine) != MatrixTypeOf(values, target, machine))
    Refuse("the operands of the two products are of different types");
  if (!HasFlag(schedule->function(), attr::kReassociate))
    Refuse("matrix instructions sum in another order, and the function does not say reassociate");
  if (scores.dynamic_k || values.dynamic_n) Refuse("the size of a head is dynamic");
  if (!values.dynamic_m && values.m == 1) Refuse("there is a single query");
  if (!values.dynamic_batch && values.batch > target.most_grid_blocks)
    Refuse("a grid has room for " + std::to_string(target.most_grid_blocks) + " heads, not " +
           std::to_string(values.batch));
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
  RegisterRule(
      {.name = instructions.attention,
       .description = "one pass over the keys, both products by matrix instructions",
       .kinds = {BlockKind::kAttention},
       .fits = instructions.fits,
       .priority = 100,
       .planned = Planned<P>(
           [instructions](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          const Wanted<P>& want) {
             return Plans(schedule, block, target, instructions, want);
           },
           [instructions](Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                          const P& plan) {
             MatrixAttention(schedule, PartsOf(*schedule, block), plan, target, instructions).Run();
           })});
}

}  // namespace tern::schedule
