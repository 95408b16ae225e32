// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/transpose_tiles.h"

#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/gemm.h"
#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Axes along which neighbours are read, and written; the sizes of the two.
struct Turn {
  LoopRef read, written;
  int64_t read_size = 0, written_size = 0;
};

std::optional<Turn> TurnOf(const BlockInfo& block) {
  if (block.conditional || block.accesses.size() != 2) return {};
  Turn turn;
  for (const BlockAccess& access : block.accesses) {
    if (!access.by_axes || access.indices.empty() || access.buffer->dtype != DataType::Float(32))
      return {};
    auto last = std::find_if(block.axes.begin(), block.axes.end(), [&](const BlockAxis& axis) {
      return axis.var.get() == access.indices.back().get();
    });
    std::optional<int64_t> size =
        last == block.axes.end() ? std::nullopt : ir::AsConstInt(last->extent);
    if (!size || !last->loop) return {};
    (access.store ? turn.written : turn.read) = last->loop;
    (access.store ? turn.written_size : turn.read_size) = *size;
  }
  if (turn.read == turn.written) return {};
  return turn;
}

constexpr int64_t kLeastTile = 4, kMostTile = 16;

bool HasTiles(const Turn& turn, const TargetInfo& target) {
  return target.vector_bytes / 4 >= kLeastTile && turn.read_size >= kLeastTile &&
         turn.written_size >= kLeastTile;
}

// The tile that takes least time, of those that divide what is read; the least one where none does.
// An element takes so many cycles in a tile, of which larger ones read whole cache lines, and by
// itself.
int64_t TileFor(const Turn& turn, const TargetInfo& target) {
  constexpr double kSingleCycles = 2;
  auto cycles = [&](int64_t tile) {
    double in_tile = tile == 16 ? 0.3 : tile == 8 ? 0.4 : 0.6;
    int64_t single = turn.written_size % tile;
    return in_tile * static_cast<double>(turn.written_size - single) +
           kSingleCycles * static_cast<double>(single);
  };
  int64_t best = kLeastTile;
  for (int64_t tile = std::min(target.vector_bytes / 4, kMostTile); tile > kLeastTile; tile /= 2)
    if (turn.read_size % tile == 0 && turn.written_size >= tile && cycles(tile) < cycles(best))
      best = tile;
  return best;
}

// The iterations of a loop around a block that fill no tile are left to another block.
void CutOff(Schedule* schedule, const BlockRef& block, int64_t tile, int64_t size, LoopRef* loop) {
  if (size % tile == 0) return;
  LoopRefs order = {*loop};
  for (const ForNode* other : NestOf(schedule->tree(), schedule->At(block)).loops)
    if (LoopRef(other) != *loop) order.emplace_back(other);
  if (order.size() > 1) schedule->Reorder(order.Of(block));
  *loop = schedule->LoopPartition(loop->Of(block), size / tile * tile)[0];
}

// Two loops of a loop, named after it.
LoopsMade<2> SplitInTwo(Schedule* schedule, const BlockRef& block, const LoopRef& loop,
                        int64_t factor) {
  return schedule->Split(
      loop.Of(block), {factor},
      {FreshLoopName(*schedule, loop + "_o"), FreshLoopName(*schedule, loop + "_i")});
}

// Splits and orders the loops that are turned, so that the two innermost are a tile. The outer one
// of them.
LoopRef SplitTiles(Schedule* schedule, const BlockRef& block, Turn turn, int64_t tile) {
  CutOff(schedule, block, tile, turn.read_size, &turn.read);
  CutOff(schedule, block, tile, turn.written_size, &turn.written);
  LoopRefs rows = SplitInTwo(schedule, block, turn.read, tile),
           columns = SplitInTwo(schedule, block, turn.written, tile), order;
  for (const ForNode* loop : NestOf(schedule->tree(), schedule->At(block)).loops)
    if (!Contains(rows, LoopRef(loop)) && !Contains(columns, LoopRef(loop)))
      order.emplace_back(loop);
  for (size_t i = 0; i < 2; ++i) order.insert(order.end(), {rows[i], columns[i]});
  schedule->Reorder(order.Of(block));
  return rows[1];
}

std::string IntrinsicOf(int64_t tile) { return "f32_transpose_" + std::to_string(tile); }

// The loop of another block's axis that reads the dimension of the copy's result which the copy
// writes along a loop of its own; none where there is none.
LoopRef LoopAtSameDim(const BlockInfo& copy, const LoopRef& loop, const BlockInfo& reader) {
  const BlockAccess& store = copy.accesses[0];
  auto axis_of = [](const BlockInfo& block, const Expr& index) {
    return std::find_if(block.axes.begin(), block.axes.end(),
                        [&](const BlockAxis& axis) { return axis.var.get() == index.get(); });
  };
  for (const BlockAccess& access : reader.accesses) {
    if (access.store || !access.buffer.same(store.buffer)) continue;
    for (size_t d = 0; d < store.indices.size(); ++d) {
      auto own = axis_of(copy, store.indices[d]), other = axis_of(reader, access.indices[d]);
      if (own != copy.axes.end() && own->loop == loop)
        return other == reader.axes.end() ? LoopRef() : other->loop;
    }
  }
  return {};
}

// The loop right around another one of a block.
LoopRef LoopOutside(const Schedule& schedule, const BlockRef& block, const LoopRef& inner) {
  Nest nest = NestOf(schedule.tree(), schedule.At(block));
  for (size_t i = 1; i < nest.loops.size(); ++i)
    if (LoopRef(nest.loops[i]) == inner) return LoopRef(nest.loops[i - 1]).Of(block);
  Refuse("there is no loop around " + inner.name());
}

// Whether the axis of one loop comes before that of another.
bool IsBefore(const BlockInfo& block, const LoopRef& first, const LoopRef& second) {
  for (const BlockAxis& axis : block.axes)
    if (axis.loop == first || axis.loop == second) return axis.loop == first;
  return false;
}

}  // namespace

bool TransposeTiles(Schedule* schedule, const BlockRef& block, const TargetInfo& target) {
  std::optional<Turn> turn = TurnOf(DescribeBlock(*schedule, block));
  return turn && HasTiles(*turn, target) && Try(schedule, [&](Schedule* attempt) {
           int64_t work = WorkOf(*attempt, block);
           LoopRef tile = SplitTiles(attempt, block, *turn, TileFor(*turn, target));
           ParallelizeOuter(attempt, block, work, target);
           if (!attempt->tree().Has(tile)) Refuse("threads have the loops of a tile");
           attempt->Tensorize(tile.Of(block), IntrinsicOf(TileFor(*turn, target)));
         });
}

bool TransposeTilesFor(Schedule* schedule, const BlockRef& epilogue, const BlockRef& block,
                       const TargetInfo& target) {
  BlockInfo copy = DescribeBlock(*schedule, block), reader = DescribeBlock(*schedule, epilogue);
  std::optional<Turn> turn = TurnOf(copy);
  if (!turn || !HasTiles(*turn, target)) return false;
  LoopRef rows = LoopAtSameDim(copy, turn->read, reader),
          columns = LoopAtSameDim(copy, turn->written, reader);
  int64_t tile = TileFor(*turn, target);
  if (!rows || !columns || turn->read_size % tile != 0) return false;
  int64_t chunk = turn->written_size;
  while (chunk > tile &&
         (tile * chunk * 4 > target.l1_bytes / 2 || turn->written_size % chunk != 0))
    --chunk;
  return Try(schedule, [&](Schedule* attempt) {
    int64_t work = WorkOf(*attempt, epilogue);
    LoopRefs order, split = SplitInTwo(attempt, epilogue, rows, tile);
    LoopRef inner = columns;
    for (const ForNode* loop : NestOf(attempt->tree(), attempt->At(epilogue)).loops)
      if (!Contains(split, LoopRef(loop)) && LoopRef(loop) != columns) order.emplace_back(loop);
    order.push_back(split[0]);
    if (chunk < turn->written_size) {
      auto [chunks, in_chunk] = SplitInTwo(attempt, epilogue, columns, chunk);
      order.push_back(chunks);
      inner = in_chunk;
    }
    order.insert(order.end(), {split[1], inner});
    attempt->Reorder(order.Of(epilogue));
    // Before the copy is in these loops: of what it writes in fused ones less can be proven.
    ParallelizeOuter(attempt, epilogue, work, target);
    LoopRefs made = attempt->ComputeAt(block, LoopOutside(*attempt, epilogue, split[1]));
    if (made.size() != 2) Refuse("its tile has not two dimensions");
    attempt->SetScope(copy.accesses[0].buffer, StorageScope::kLocal);
    if (IsBefore(copy, turn->written, turn->read)) std::swap(made[0], made[1]);
    Turn part{made[0], made[1], tile, chunk};
    attempt->Tensorize(SplitTiles(attempt, block, part, tile).Of(block), IntrinsicOf(tile));
    VectorizeRow(attempt, epilogue);
  });
}

bool TransposeResult(Schedule* schedule, const BlockRef& copy, const TargetInfo& target) {
  const Buffer result = DescribeBlock(*schedule, copy).accesses[0].buffer;
  BlockRef epilogue = FindReader(*schedule, copy, result);
  return (epilogue && TransposeTilesFor(schedule, epilogue, copy, target)) ||
         TransposeTiles(schedule, copy, target);
}

CopyRef TransposeChannelsLast(Schedule* schedule, const BlockRef& block, const std::string& name) {
  BlockInfo info = DescribeBlock(*schedule, block);
  if (info.accesses.size() != 2) return {};
  const BlockAccess& read = info.accesses[1];
  const Var& channel = info.axes.back().var;
  auto dim = std::find_if(read.indices.begin(), read.indices.end(),
                          [&](const Expr& index) { return index.get() == channel.get(); });
  if (dim == read.indices.end() || dim + 1 == read.indices.end()) return {};
  CopyRef copy;
  bool done = Try(schedule, [&](Schedule* attempt) {
    copy = attempt->CacheRead(block, read.buffer, StorageScope::kGlobal, name);
    std::string from, to;
    auto last = static_cast<size_t>(dim - read.indices.begin());
    for (size_t d = 0; d < read.indices.size(); ++d) {
      std::string index = "d" + std::to_string(d);
      from += (d ? ", " : "") + index;
      if (d != last) to += index + ", ";
    }
    attempt->TransformLayout(
        copy, IndexMap::Parse("(" + from + ") -> (" + to + "d" + std::to_string(last) + ")"));
  });
  return done ? copy : CopyRef();
}

}  // namespace tern::schedule
