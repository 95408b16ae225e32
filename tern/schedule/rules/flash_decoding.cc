// SPDX-License-Identifier: Apache-2.0
//
// flash_decoding: attention of few queries, as a step of a decoder is: bound by the reading of keys
// and values, which heads of a group share. Two kernels:
//
//   for batch, heads of keys and tiles of rows (blockIdx.z, .y), part / warps (blockIdx.x; heads
//   and
//       parts change places where there may be more heads than a grid has blocks along z)
//     for part in warps                        threadIdx.y: keys of its own
//       Q_local = rows
//       for jo                                 one pass over the keys of the part (roll_parts)
//         K_local, V_local = keys at a time    vector loads; a lane (threadIdx.x) has some columns
//         for rows, keys: scores = Q_local * K_local      added up by shuffles: all lanes have them
//         largest, powers, totals              by each lane
//         for rows, keys: sums = sums * change + powers * V_local
//       largest, totals, sums of the part
//   for batch, heads, queries (blockIdx.x), columns (threadIdx.x)
//     for parts (threadIdx.y): sums += those of the part * its weight
//     O = epilogue(sums)
//
// Rows are queries, and the heads that share keys. Keys
// are padded to whole steps of all parts, and heads to vectors of all lanes; what is beyond is not
// loaded. Where there are no warps, a lane has all columns.
//
// There are as many parts as keep the device busy. Cycles: reading, and what waits for it; or the
// instructions of a key.
// Declines what roll declines; more than 8 queries; more rows that share keys than a thread has
// registers for, which are more instructions than memory hides; so few heads of many keys that the
// combination takes long; keys that are not contiguous along a head.
// Rules for matrix instructions are asked before, and take several queries of 16 bits.
#include <algorithm>
#include <cmath>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/attention_parts.h"
#include "tern/schedule/rules/default_schedules.h"
#include "tern/schedule/rules/device_threads.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/register_tiles.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Queries of a head; rows that a thread has at a time, and their sums.
constexpr int64_t kMostQueries = 8, kMostSums = 32;
// The same where no other lane shares a key.
constexpr int64_t kMostSumsOfThread = 128;
// Threads of a block; keys that a lane loads at a time, by the elements of one that it has.
constexpr int64_t kThreads = 128, kLeastThreads = 32, kElementsAtOnce = 32, kMostKeys = 8;
// Thread blocks for a multiprocessor, and steps of a part that are worth its combination. Beyond so
// many parts their combination takes longer than it saves.
constexpr int64_t kBlocksPerCore = 4, kLeastSteps = 4, kMostParts = 128;
// Of so many bytes of keys and values; a launch takes longer than others.
constexpr double kManyBytes = 4 << 20;
// Parts for each thread that combines them.
constexpr int64_t kPartsOfThread = 32;
// What a dynamic number of keys is taken for, and of heads of keys in a dynamic batch: parts for 64
// heads keep the device half busy where there are 8, and take up to a sixth longer with a thousand.
constexpr int64_t kLikelyKeys = 4096, kLikelyHeads = 64;
// Parts that a thread combines at once, and threads of a block that does so.
constexpr int64_t kUnrolledParts = 8, kCombineThreads = 512;
// Instructions of a multiprocessor in a cycle, and bytes from memory; instructions of a score.
constexpr double kIssued = 128, kBytesPerCycle = 20, kScoreWork = 24;

struct DecodingPlan : PlanCost {
  static const std::vector<PlanField<DecodingPlan>>& Fields() {
    using P = DecodingPlan;
    static const std::vector<PlanField<P>> fields = {{"lanes", &P::lanes},
                                                     {"warps", &P::warps},
                                                     {"keys", &P::keys},
                                                     {"rows", &P::rows},
                                                     {"parts", &P::parts}};
    return fields;
  }
  int64_t lanes = 1;  // that share a key
  int64_t warps = 1;  // parts of a thread block
  int64_t keys = 1;   // at a time
  int64_t rows = 1;   // at most, that read a key together
  int64_t parts = 1;  // of the keys, a multiple of `warps`
};
using P = DecodingPlan;

// A loop over rows: how many of its iterations are of another operand, of another tile, and of one.
struct RowAxis {
  Expr extent;
  int64_t shared = 1;  // neighbours that read the same keys; 0: all do
  int64_t tile = 1;
};

// The loops of a block of attention.
struct BlockLoops {
  LoopRefs rows;
  LoopRef keys, columns;  // none: it has none
};

struct Decoding {
  BlockRef first, last;  // the GEMMs
  BlockRefs between;
  std::vector<RowAxis> rows;
  Expr keys;
  int64_t head = 0, columns = 0;           // of keys, and of values
  int64_t key_bytes = 0, value_bytes = 0;  // of an element
};

// The axis of a GEMM that is neither of the rows nor of the keys, and that of the keys.
struct GemmAxes {
  size_t keys, columns;
};
GemmAxes AxesOf(const BlockInfo& gemm, size_t rows, bool is_last) {
  const std::vector<size_t>& axes = gemm.accesses[0].axes;
  std::vector<size_t> reduced;
  for (size_t i = 0; i < gemm.axes.size(); ++i) {
    if (gemm.axes[i].loop.empty())
      Refuse("an axis of block " + gemm.name + " has no loop of its own");
    if (gemm.axes[i].kind == IterKind::kReduce) reduced.push_back(i);
  }
  if (axes.size() != rows + 1 || reduced.size() != 1 || gemm.axes.size() != rows + 2)
    Refuse("block " + gemm.name + " is not a GEMM of rows, keys and columns");
  return is_last ? GemmAxes{reduced[0], axes[rows]} : GemmAxes{axes[rows], reduced[0]};
}

// The operand that is read along an axis, where the other one is not.
const BlockAccess& OperandAlong(const BlockInfo& gemm, size_t axis) {
  const BlockAccess* found = nullptr;
  for (const BlockAccess& access : gemm.accesses) {
    if (access.store || access.buffer.same(gemm.accesses[0].buffer) ||
        std::count(access.axes.begin(), access.axes.end(), axis) == 0)
      continue;
    if (found) Refuse("both operands of block " + gemm.name + " are read along one axis");
    found = &access;
  }
  if (!found)
    Refuse("no operand of block " + gemm.name + " is read along axis " +
           gemm.axes[axis].var.name());
  return *found;
}

// How many neighbours along a row axis read the same of an operand; 0: all of them.
int64_t SharedAlong(const BlockAccess& operand, const Var& axis) {
  int64_t shared = 0;
  for (const Expr& index : operand.indices) {
    if (!ir::UsesVar(index, axis.node())) continue;
    const auto* quotient = index.As<ir::FloorDivNode>();
    std::optional<int64_t> members =
        quotient && quotient->a.same(axis) ? ir::AsConstInt(quotient->b) : std::nullopt;
    shared = shared == 0 && members ? *members : 1;
  }
  return shared;
}

// Loops of rows that share keys become tiles of no more than `most` rows.
void TileRows(std::vector<RowAxis>* rows, int64_t most) {
  for (size_t i = rows->size(); i-- > 0;) {
    RowAxis& row = (*rows)[i];
    int64_t count = row.shared == 0 ? *ir::AsConstInt(row.extent) : row.shared;
    for (row.tile = std::min(count, most); count % row.tile != 0;) --row.tile;
    most /= row.tile;
  }
}

Decoding Match(const Schedule& schedule, const BlockInfo& block) {
  Decoding found;
  found.last = block.ref;
  size_t rows = block.rows.size();
  for (const BlockRef& member : block.member_refs) {
    BlockInfo info = DescribeBlock(schedule, member);
    bool reduces = std::any_of(info.axes.begin(), info.axes.end(), [](const BlockAxis& axis) {
      return axis.kind == IterKind::kReduce;
    });
    if (found.first.empty() && reduces && info.accesses[0].axes.size() == rows + 1)
      found.first = member;
    else
      found.between.push_back(member);
  }
  if (found.first.empty()) Refuse("there is no GEMM before it");
  RequireReassociate(schedule);
  BlockInfo first = DescribeBlock(schedule, found.first),
            last = DescribeBlock(schedule, found.last);
  GemmAxes first_axes = AxesOf(first, rows, false), last_axes = AxesOf(last, rows, true);
  found.head = ConstExtent(first.axes[first_axes.columns]);
  found.columns = ConstExtent(last.axes[last_axes.columns]);
  if (found.head == 0 || found.columns == 0) Refuse("the size of a head is dynamic");
  found.keys = first.axes[first_axes.keys].extent;
  const BlockAccess &keys = OperandAlong(first, first_axes.keys),
                    &values = OperandAlong(last, last_axes.columns);
  for (auto [operand, info, axis] : {std::tuple(&keys, &first, first_axes.columns),
                                     std::tuple(&values, &last, last_axes.columns)})
    if (operand->indices.empty() || !operand->indices.back().same(info->axes[axis].var))
      Refuse(operand->buffer->name + " is not contiguous along a head");
  found.key_bytes = keys.buffer->dtype.bytes();
  found.value_bytes = values.buffer->dtype.bytes();
  int64_t queries = 1;
  for (size_t i = 0; i < rows; ++i) {
    const BlockAxis &of_first = first.axes[first.accesses[0].axes[i]],
                    &of_last = last.axes[last.accesses[0].axes[i]];
    RowAxis row{of_first.extent};
    int64_t a = SharedAlong(keys, of_first.var), b = SharedAlong(values, of_last.var);
    row.shared = a == 0 ? b : b == 0 ? a : a == b ? a : 1;
    std::optional<int64_t> extent = ir::AsConstInt(row.extent);
    if (row.shared == 0 && !extent) Refuse("the number of queries is dynamic");
    if (row.shared == 0) queries *= *extent;
    if (row.shared > 1 && (!extent || *extent % row.shared != 0)) row.shared = 1;
    found.rows.push_back(row);
  }
  if (queries > kMostQueries)
    Refuse("there are " + std::to_string(queries) + " queries; expected up to " +
           std::to_string(kMostQueries));
  return found;
}

// Elements that a lane has of a row of so many.
int64_t ElementsOfLane(int64_t count, int64_t bytes, int64_t lanes, const TargetInfo& target) {
  int64_t vector = std::max<int64_t>(1, target.vector_bytes / bytes);
  return RoundUp(CeilDiv(count, lanes), vector);
}

class FlashDecoding {
 public:
  FlashDecoding(Schedule* schedule, Decoding found, const P& plan, const TargetInfo& target)
      : schedule_(*schedule),
        found_(std::move(found)),
        plan_(plan),
        target_(target),
        first_(found_.first),
        last_(found_.last) {}

  void Run() {
    TileRows(&found_.rows, plan_.rows);
    Pad();
    Buffer result = ResultOf(found_.last);
    BufferRef sums = result;
    if (!AllocationOf(schedule_.tree(), result))
      sums = schedule_.CacheWrite(found_.last, result, StorageScope::kLocal, Name("sums"));
    CopyRef k = CopyOf(found_.first, Along(found_.first, false)),
            v = CopyOf(found_.last, Along(found_.last, true)), q = CopyOf(found_.first, Query());
    Tile();
    schedule_.RollParts(first_.At("p"), last_.At("p"));
    SetScopes(sums);
    LoopRef warps = BindGrid();
    const LoopRef& jo = last_.At("jo");
    LoopRefs ks = schedule_.ComputeAt(k, jo.Of(found_.first)), vs = schedule_.ComputeAt(v, jo),
             qs = schedule_.ComputeAt(q, warps.Of(found_.first));
    SpreadOverLanes(k, ks, key_elements(), found_.key_bytes);
    SpreadOverLanes(v, vs, value_elements(), found_.value_bytes);
    SpreadOverLanes(q, qs, key_elements(), 0);
    for (const char* suffix : {"", "_init", "_scale", "_parts"})
      if (BlockRef block = MadeOf(found_.last, suffix))
        schedule_.Bind(LoopAround(schedule_, block, last_.At("x")), kThreadX);
    schedule_.Bind(first_.At("x"), kThreadX);
    UnrollLoops(warps);
    Combine(schedule_.tree().AllocationsNamed(sums.name() + "_all").at(0)->buffer);
  }

 private:
  int64_t key_elements() const {
    return ElementsOfLane(found_.head, found_.key_bytes, plan_.lanes, target_);
  }
  int64_t value_elements() const {
    return ElementsOfLane(found_.columns, found_.value_bytes, plan_.lanes, target_);
  }
  std::string Name(const std::string& what) const { return found_.last + "_" + what; }
  // What roll_parts made of a block, with a suffix behind its name; none where it made no such.
  BlockRef MadeOf(const BlockRef& block, const std::string& suffix) const {
    return FindBlock(schedule_, block + suffix);
  }
  Buffer ResultOf(const BlockRef& block) const {
    return DescribeBlock(schedule_, block).accesses[0].buffer;
  }
  // The keys, or the values.
  Buffer Along(const BlockRef& gemm, bool is_last) const {
    BlockInfo info = DescribeBlock(schedule_, gemm);
    GemmAxes axes = AxesOf(info, found_.rows.size(), is_last);
    return OperandAlong(info, is_last ? axes.columns : axes.keys).buffer;
  }
  Buffer Query() const {
    BlockInfo info = DescribeBlock(schedule_, found_.first);
    Buffer keys = Along(found_.first, false);
    for (const BlockAccess& access : info.accesses)
      if (!access.buffer.same(info.accesses[0].buffer) && access.buffer->name != keys->name)
        return access.buffer;
    Refuse("block " + found_.first.name() + " reads one tensor");
  }

  // ---- Whole steps of keys, and whole vectors of heads

  void Pad() {
    int64_t keys = plan_.keys * plan_.parts;
    PadBlock(found_.first, keys, key_elements() * plan_.lanes, false);
    for (const BlockRef& block : found_.between) {
      BlockInfo info = DescribeBlock(schedule_, block);
      const std::vector<size_t>& store = info.accesses[0].axes;
      std::vector<int64_t> factors(info.axes.size(), keys);
      for (size_t i = 0; i < found_.rows.size(); ++i) factors[store[i]] = 1;
      if (Pads(info, factors)) schedule_.PadBlock(block, factors);
    }
    PadBlock(found_.last, keys, value_elements() * plan_.lanes, true);
  }
  static bool Pads(const BlockInfo& info, const std::vector<int64_t>& factors) {
    for (size_t i = 0; i < factors.size(); ++i)
      if (!Divides(factors[i], info.axes[i].extent)) return true;
    return false;
  }
  void PadBlock(const BlockRef& gemm, int64_t keys, int64_t columns, bool is_last) {
    BlockInfo info = DescribeBlock(schedule_, gemm);
    GemmAxes axes = AxesOf(info, found_.rows.size(), is_last);
    std::vector<int64_t> factors(info.axes.size(), 1);
    factors[axes.keys] = keys;
    factors[axes.columns] = columns;
    if (!Pads(info, factors)) return;
    PaddedEinsum padded = schedule_.PadEinsum(gemm, factors);
    padded_.insert(padded_.end(), padded.operands.begin(), padded.operands.end());
    if (padded.result)
      Try(&schedule_, [&](Schedule* attempt) { attempt->ComputeInline(padded.result); });
  }

  // ---- The nest

  // A copy of an operand in registers. What pads an operand copies it, too.
  CopyRef CopyOf(const BlockRef& block, const Buffer& operand) {
    auto padded = std::find_if(padded_.begin(), padded_.end(),
                               [&](const CopyRef& copy) { return copy.buffer().Is(operand); });
    CopyRef copy;
    if (padded != padded_.end()) {
      copy = *padded;
      schedule_.SetScope(copy, StorageScope::kLocal);
    } else {
      copy = schedule_.CacheRead(block, operand, StorageScope::kLocal, Name(operand->name));
    }
    FusePrologue(&schedule_, copy, Producers::kCheap);
    return copy;
  }

  BlockLoops LoopsFor(const BlockRef& block) const {
    size_t rows = found_.rows.size();
    BlockLoops loops;
    if (block != found_.first && block != found_.last) {
      RowBlock found = AttentionRows(schedule_, block, rows);
      return {found.rows, found.keys, {}};
    }
    BlockInfo info = DescribeBlock(schedule_, block);
    GemmAxes axes = AxesOf(info, rows, block == found_.last);
    for (size_t i = 0; i < rows; ++i)
      loops.rows.push_back(info.axes[info.accesses[0].axes[i]].loop);
    loops.keys = info.axes[axes.keys].loop;
    loops.columns = info.axes[axes.columns].loop;
    return loops;
  }

  void Tile() {
    BlockRefs blocks = {found_.first};
    blocks.insert(blocks.end(), found_.between.begin(), found_.between.end());
    blocks.push_back(found_.last);
    std::vector<LoopRefs> outer;
    for (const BlockRef& block : blocks) {
      NamedLoops own(block);
      outer.push_back(TileBlock(block, block == found_.first  ? &first_
                                       : block == found_.last ? &last_
                                                              : &own));
    }
    for (size_t level = 0; level < outer[0].size(); ++level)
      for (size_t i = 1; i < blocks.size(); ++i)
        schedule_.FuseSiblings(outer[i - 1][level].Of(blocks[i - 1]),
                               outer[i][level].Of(blocks[i]));
    // What is left of a row that is cut is no axis, and has a dimension of the grid of its own.
    for (const LoopRef& loop : outer.back())
      (Contains(cut_, loop) ? tiles_ : grid_).push_back(loop);
    if (tiles_.size() > 1) Refuse("rows are cut along several axes");
  }
  // Returns the loops over other rows than those of one tile.
  LoopRefs TileBlock(const BlockRef& block, NamedLoops* own) {
    BlockLoops loops = LoopsFor(block);
    LoopRefs outer, tiles;
    for (size_t i = 0; i < loops.rows.size(); ++i) {
      const LoopRef& row = loops.rows[i];
      std::optional<int64_t> extent = ir::AsConstInt(found_.rows[i].extent);
      bool is_whole = extent == found_.rows[i].tile;
      if (is_whole || found_.rows[i].tile == 1) {
        (is_whole ? tiles : outer).push_back(row);
        continue;
      }
      std::string number = std::to_string(i);
      LoopRefs split =
          own->Split(&schedule_, row, {found_.rows[i].tile}, {"r" + number, "t" + number});
      outer.push_back(split[0]);
      cut_.push_back(split[0]);
      tiles.push_back(split[1]);
    }
    // Those that are fused are neighbours.
    std::stable_partition(outer.begin(), outer.end(),
                          [&](const LoopRef& loop) { return !Contains(cut_, loop); });
    own->Split(&schedule_, loops.keys, {plan_.parts, plan_.keys}, {"jo", "p", "jt"});
    LoopRefs order = outer;
    order.insert(order.end(), {own->At("p"), own->At("jo")});
    order.insert(order.end(), tiles.begin(), tiles.end());
    order.push_back(own->At("jt"));
    if (!loops.columns.empty()) {
      int64_t elements = block == found_.first ? key_elements() : value_elements();
      own->Split(&schedule_, loops.columns, {elements}, {"x", "v"});
      order.insert(order.end(), {own->At("x"), own->At("v")});
    }
    schedule_.Reorder(order.Of(block));
    return outer;
  }

  // All but K and V: in registers.
  void SetScopes(const BufferRef& sums) {
    std::vector<std::string> buffers = {ResultOf(found_.first)->name, sums.name()};
    for (const BlockRef& block : found_.between) {
      buffers.push_back(ResultOf(block)->name);
      for (const char* suffix : {"_before", "_now", "_change"}) buffers.push_back(block + suffix);
    }
    for (const std::string& buffer : buffers)
      for (const AllocateNode* made : schedule_.tree().AllocationsNamed(buffer)) {
        schedule_.SetScope(made->buffer, StorageScope::kLocal);
        break;
      }
  }

  // A row of a copy, the innermost loop: each lane has some elements, in vectors of `bytes` each.
  void SpreadOverLanes(const BlockRef& block, const LoopRefs& loops, int64_t elements,
                       int64_t bytes) {
    auto [x, v] = schedule_.Split(loops.back().Of(block), {elements}, {block + "_x", block + "_v"});
    schedule_.Bind(x.Of(block), kThreadX);
    if (bytes > 0) Vectorize(block, v, elements, target_.vector_bytes / bytes);
    if (bytes == 0) schedule_.Unroll(v.Of(block));
    for (size_t i = 0; i + 1 < loops.size(); ++i) schedule_.Unroll(loops[i].Of(block));
  }
  void Vectorize(const BlockRef& block, const LoopRef& loop, int64_t elements, int64_t lanes) {
    if (lanes < 2) return schedule_.Unroll(loop.Of(block));
    LoopRef inner = loop;
    if (elements > lanes) {
      LoopRefs parts = schedule_.Split(loop.Of(block), {lanes}, {loop + "o", loop + "i"});
      schedule_.Unroll(parts[0].Of(block));
      inner = parts[1];
    }
    schedule_.Vectorize(inner.Of(block));
  }

  // All that is inside of the loop over steps, and of a part, but for threads and vectors.
  void UnrollLoops(const LoopRef& warps) {
    LoopRefs unrolled;
    for (const BlockNode* block : BlocksIn(schedule_.At(warps)->body))
      for (const ForNode* loop : NestOf(schedule_.tree(), block).loops)
        if (loop->for_kind == ForKind::kSerial)
          unrolled.push_back(LoopRef(loop).Of(schedule_.RefTo(block)));
    for (const LoopRef& loop : unrolled) schedule_.Unroll(loop);
  }

  // Returns the loop over the warps of a thread block.
  LoopRef BindGrid() {
    LoopRefs parts = last_.Split(&schedule_, last_.At("p"), {plan_.warps}, {"pb", "y"});
    // Rows are along blockIdx.x where they may be too many for z. Otherwise parts are: then
    // neighbouring blocks are parts of one row.
    int64_t rows = 1;
    for (const LoopRef& loop : grid_) {
      int64_t too_many = target_.most_grid_blocks + 1,
              extent = ir::AsConstInt(schedule_.At(loop)->extent).value_or(too_many);
      rows = std::min(rows * std::min(extent, too_many), too_many);
    }
    bool may_exceed_z = rows > target_.most_grid_blocks;
    const char *of_rows = may_exceed_z ? kBlockX : "blockIdx.z",
               *of_parts = may_exceed_z ? "blockIdx.z" : kBlockX;
    // The outermost first: what is bound inside is no longer looked at.
    if (!grid_.empty()) {
      LoopRef blocks = grid_[0];
      if (grid_.size() > 1) blocks = FuseLoops(&schedule_, found_.last, grid_);
      schedule_.Bind(blocks.Of(found_.last), of_rows);
    }
    if (!tiles_.empty()) schedule_.Bind(tiles_[0].Of(found_.last), "blockIdx.y");
    schedule_.Bind(parts[0].Of(found_.last), of_parts);
    schedule_.Bind(parts[1].Of(found_.last), kThreadY);
    return parts[1].Of(found_.last);
  }

  // ---- The second kernel

  // Blocks that read a buffer, but for those that write it.
  BlockRefs ReadersOf(const Buffer& buffer) const {
    BlockRefs readers;
    for (const BlockNode* block : BlocksIn(schedule_.function()->body)) {
      BlockInfo info = DescribeBlock(block);
      bool reads = false, writes = false;
      for (const BlockAccess& access : info.accesses)
        if (access.buffer->name == buffer->name) (access.store ? writes : reads) = true;
      if (reads && !writes) readers.push_back(schedule_.RefTo(block));
    }
    return readers;
  }

  // What is made of the combined sums, in one kernel; a thread has a column.
  void Combine(Buffer sums) {
    BlockRefs made;  // blocks over all parts, in their order
    for (const BlockRef& block : found_.between) {
      if (BlockRef weight = MadeOf(block, "_weight")) schedule_.ComputeInline(weight);
      if (BlockRef all = MadeOf(block, "_all")) made.push_back(all);
    }
    for (const char* suffix : {"_all", "_divide"})
      if (BlockRef block = MadeOf(found_.last, suffix)) made.push_back(block);
    BlockRef top = made.back();
    BlockRefs readers = ReadersOf(sums);
    if (readers.size() == 1 && MayEnd(DescribeBlock(schedule_, readers[0]), sums))
      made.push_back(top = readers[0]);
    BlockInfo info = DescribeBlock(schedule_, top);
    LoopRefs rows;
    LoopRef columns = ColumnsOf(info, sums);
    for (const BlockAxis& axis : info.axes)
      if (axis.loop != columns) rows.push_back(axis.loop);
    LoopRefs order = rows;
    order.push_back(columns);
    schedule_.Reorder(order.Of(top));
    LoopRef row = rows[0];
    if (rows.size() > 1) row = FuseLoops(&schedule_, top, rows);
    Lanes split = SplitLanes(&schedule_, top, columns, combined_columns(), TailStrategy::kGuard);
    for (size_t i = 0; i + 1 < made.size(); ++i)
      schedule_.SetScope(ResultOf(made[i]), StorageScope::kLocal);
    schedule_.Bind(row.Of(top), kBlockX);
    schedule_.Bind(split.inner.Of(top), kThreadX);
    int64_t threads = std::min(std::min(kCombineThreads, target_.max_threads) / combined_columns(),
                               plan_.parts / kPartsOfThread);
    for (size_t i = made.size() - 1; i-- > 0;) {
      schedule_.ComputeAt(made[i], split.inner.Of(top));
      ShareParts(made[i], PowerIn(plan_.parts, std::max<int64_t>(1, threads)));
    }
  }
  int64_t combined_columns() const {
    return std::min({kMostColumns, found_.columns, target_.max_threads});
  }
  // Threads (threadIdx.y) share the parts; each loads several at once.
  void ShareParts(const BlockRef& block, int64_t threads) {
    BlockInfo info = DescribeBlock(schedule_, block);
    for (const BlockAxis& axis : info.axes) {
      if (axis.kind != IterKind::kReduce || axis.loop.empty()) continue;
      LoopRefs parts = schedule_.Split(axis.loop.Of(block),
                                       {PowerIn(plan_.parts / threads, kUnrolledParts), threads},
                                       {axis.loop + "_o", axis.loop + "_i", axis.loop + "_y"});
      schedule_.Unroll(parts[1].Of(block));
      if (threads > 1) schedule_.Bind(parts[2].Of(block), kThreadY);
    }
  }
  // The loop of a block that runs along the columns of sums.
  static LoopRef ColumnsOf(const BlockInfo& info, const Buffer& sums) {
    for (const BlockAccess& access : info.accesses)
      if (access.buffer->name == sums->name && access.by_axes && !access.axes.empty())
        return info.axes[access.axes.back()].loop;
    return {};
  }
  // Whether an epilogue may be computed with the sums: each of its elements is of one.
  bool MayEnd(const BlockInfo& info, const Buffer& sums) const {
    bool spatial = std::all_of(info.axes.begin(), info.axes.end(), [](const BlockAxis& axis) {
      return axis.kind == IterKind::kSpatial && !axis.loop.empty();
    });
    if (!spatial || info.accesses.empty() || !info.accesses[0].store) return false;
    for (const BlockAccess& access : info.accesses)
      if (access.buffer->name == sums->name &&
          (!access.by_axes || access.axes.size() != found_.rows.size() + 1))
        return false;
    return info.axes.size() == found_.rows.size() + 1 && !ColumnsOf(info, sums).empty() &&
           NestOf(schedule_.tree(), schedule_.At(info.ref)).around.empty();
  }

  static constexpr int64_t kMostColumns = 256;  // of a thread block

  Schedule& schedule_;
  Decoding found_;
  const P& plan_;
  const TargetInfo& target_;
  NamedLoops first_, last_;      // of the GEMMs
  CopyRefs padded_;              // operands that pad_einsum copies
  LoopRefs grid_, tiles_, cut_;  // over rows: whole axes, and what is left of those that are cut
};

std::vector<P> Plans(Schedule* schedule, const BlockInfo& block, const TargetInfo& target,
                     const Wanted<P>& want) {
  Decoding found = Match(*schedule, block);
  int64_t longest = std::max(found.head, found.columns),
          bytes = std::max(found.key_bytes, found.value_bytes),
          vector = std::max<int64_t>(1, target.vector_bytes / bytes);
  auto wanted_or = [&](int64_t P::* field, int64_t value) {
    int64_t number = want.Or(field, value);
    if (number < 1) Refuse("every number of its plans is at least 1");
    return number;
  };
  P plan;
  plan.lanes = wanted_or(
      &P::lanes, target.warp_size > 0 ? PowerFor(CeilDiv(longest, vector), target.warp_size) : 1);
  int64_t elements = std::max(ElementsOfLane(found.head, found.key_bytes, plan.lanes, target),
                              ElementsOfLane(found.columns, found.value_bytes, plan.lanes, target));
  int64_t sharing = 1, sums = target.warp_size > 0 ? kMostSums : kMostSumsOfThread;
  for (const RowAxis& row : found.rows)
    sharing *= row.shared == 0 ? *ir::AsConstInt(row.extent) : row.shared;
  if (!want.is_asked() && sharing * elements > sums)
    Refuse(std::to_string(sharing) + " rows share keys; a thread has sums for " +
           std::to_string(sums / elements));
  plan.rows = wanted_or(&P::rows, sharing);
  TileRows(&found.rows, plan.rows);
  int64_t tile = 1, blocks = 1;
  for (const RowAxis& row : found.rows) {
    tile *= row.tile;
    blocks *= CeilDiv(ir::AsConstInt(row.extent).value_or(1), row.tile);
  }
  bool is_dynamic = std::any_of(found.rows.begin(), found.rows.end(),
                                [](const RowAxis& row) { return !ir::AsConstInt(row.extent); });
  if (is_dynamic) blocks = std::max(blocks, kLikelyHeads);
  // The conditions of a dynamic number of keys take registers.
  int64_t at_once = kElementsAtOnce / elements / (ir::AsConstInt(found.keys) ? 1 : 2);
  plan.keys = wanted_or(&P::keys, at_once > 1 ? PowerIn(at_once, kMostKeys) : 1);
  int64_t keys = ir::AsConstInt(found.keys).value_or(kLikelyKeys),
          useful = PowerFor(CeilDiv(keys, plan.keys), kThreads),
          most_warps = std::max<int64_t>(1, std::min(kThreads, target.max_threads) / plan.lanes),
          least_warps = std::max<int64_t>(1, kLeastThreads / plan.lanes);
  plan.warps = wanted_or(&P::warps, std::min(most_warps, std::max(least_warps, useful)));
  int64_t wanted = CeilDiv(kBlocksPerCore * target.busy_blocks, blocks) * plan.warps,
          most = CeilDiv(keys, plan.keys * kLeastSteps);
  double bytes_of_all =
      static_cast<double>(blocks * keys) *
      static_cast<double>(found.head * found.key_bytes + found.columns * found.value_bytes);
  if (!want.is_asked() && !is_dynamic && std::min(wanted, most) > kMostParts &&
      bytes_of_all > kManyBytes)
    Refuse("there are few heads and many keys: parts would take long to combine");
  int64_t parts = std::max<int64_t>(1, std::min({wanted, most, kMostParts}));
  plan.parts = wanted_or(&P::parts, RoundUp(parts, plan.warps));
  if (plan.parts % plan.warps != 0)
    Refuse("the parts of the keys are no multiple of those of a thread block");
  double work = static_cast<double>(blocks * keys * plan.lanes) *
                (static_cast<double>(tile) * (2.0 * static_cast<double>(elements) + kScoreWork) +
                 2.0 * static_cast<double>(elements));
  plan.cycles = std::max(bytes_of_all / kBytesPerCycle, work / kIssued) /
                static_cast<double>(target.busy_blocks);
  plan.limit = bytes_of_all / kBytesPerCycle / static_cast<double>(target.busy_blocks);
  return {plan};
}

}  // namespace

void RegisterFlashDecoding() {
  RegisterRule({.name = "flash_decoding",
                .description = "few queries: one pass over the keys in parts, which are combined",
                .kinds = {BlockKind::kAttention},
                .fits = IsDevice,
                .priority = 90,
                .planned = Planned<P>(Plans, [](Schedule* schedule, const BlockInfo& block,
                                                const TargetInfo& target, const P& plan) {
                  FlashDecoding(schedule, Match(*schedule, block), plan, target).Run();
                })});
}

}  // namespace tern::schedule
