// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/transpose_tiles.h"

#include <algorithm>

#include "tern/schedule/nest.h"
#include "tern/schedule/rules/loops.h"

namespace tern::schedule {

using namespace tern::tir;

namespace {

// Axes along which neighbours are read, and written; the sizes of the two.
struct Turn {
  std::string read, written;
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
    if (!size || last->loop.empty()) return {};
    (access.store ? turn.written : turn.read) = last->loop;
    (access.store ? turn.written_size : turn.read_size) = *size;
  }
  if (turn.read == turn.written) return {};
  return turn;
}

constexpr int64_t kLeastTile = 4, kMostTile = 16;

// The largest tile that divides both; the least one where none does.
int64_t TileFor(const Turn& turn, int64_t lanes) {
  for (int64_t tile = std::min(lanes, kMostTile); tile > kLeastTile; tile /= 2)
    if (turn.read_size % tile == 0 && turn.written_size % tile == 0) return tile;
  return kLeastTile;
}

// The iterations of a loop around a block that fill no tile are left to another block.
void CutOff(Schedule* schedule, const std::string& block, int64_t tile, int64_t size,
            std::string* loop) {
  if (size % tile == 0) return;
  Schedule::Names order = {*loop};
  Nest nest = NestOf(schedule->tree(), FindBlockNamed(*schedule, block));
  for (const ForNode* other : nest.loops)
    if (other->var.name() != *loop) order.push_back(other->var.name());
  if (order.size() > 1) schedule->Reorder(Around(block, order));
  *loop = schedule->LoopPartition(LoopOf(block, *loop), size / tile * tile)[0];
}

}  // namespace

bool TransposeTiles(Schedule* schedule, const std::string& block, const TargetInfo& target) {
  std::optional<Turn> turn = TurnOf(DescribeBlock(FindBlockNamed(*schedule, block)));
  int64_t lanes = target.vector_bytes / 4;
  if (!turn || lanes < kLeastTile || turn->read_size < kLeastTile ||
      turn->written_size < kLeastTile)
    return false;
  int64_t tile = TileFor(*turn, lanes);
  return Try(schedule, [&](Schedule* attempt) {
    CutOff(attempt, block, tile, turn->read_size, &turn->read);
    CutOff(attempt, block, tile, turn->written_size, &turn->written);
    Schedule::Names rows = {FreshLoopName(*attempt, turn->read + "_o"),
                            FreshLoopName(*attempt, turn->read + "_i")},
                    columns = {FreshLoopName(*attempt, turn->written + "_o"),
                               FreshLoopName(*attempt, turn->written + "_i")};
    int64_t work = WorkOf(*attempt, block);
    attempt->Split(LoopOf(block, turn->read), {tile}, rows);
    attempt->Split(LoopOf(block, turn->written), {tile}, columns);
    Schedule::Names order;
    Nest nest = NestOf(attempt->tree(), FindBlockNamed(*attempt, block));
    for (const ForNode* loop : nest.loops)
      if (!Contains(rows, loop->var.name()) && !Contains(columns, loop->var.name()))
        order.push_back(loop->var.name());
    for (size_t i = 0; i < 2; ++i) order.insert(order.end(), {rows[i], columns[i]});
    attempt->Reorder(Around(block, order));
    ParallelizeOuter(attempt, block, work, target);
    attempt->Tensorize(LoopOf(block, rows[1]), "f32_transpose_" + std::to_string(tile));
  });
}

std::string TransposeChannelsLast(Schedule* schedule, const std::string& block,
                                  const std::string& name) {
  BlockInfo info = DescribeBlock(FindBlockNamed(*schedule, block));
  if (info.accesses.size() != 2) return "";
  const BlockAccess& read = info.accesses[1];
  const Var& channel = info.axes.back().var;
  auto dim = std::find_if(read.indices.begin(), read.indices.end(),
                          [&](const Expr& index) { return index.get() == channel.get(); });
  if (dim == read.indices.end() || dim + 1 == read.indices.end()) return "";
  bool done = Try(schedule, [&](Schedule* attempt) {
    attempt->CacheRead(block, read.buffer->name, StorageScope::kGlobal, name);
    std::string from, to;
    auto last = static_cast<size_t>(dim - read.indices.begin());
    for (size_t d = 0; d < read.indices.size(); ++d) {
      std::string index = "d" + std::to_string(d);
      from += (d ? ", " : "") + index;
      if (d != last) to += index + ", ";
    }
    attempt->TransformLayout(
        name, IndexMap::Parse("(" + from + ") -> (" + to + "d" + std::to_string(last) + ")"));
  });
  return done ? name : "";
}

}  // namespace tern::schedule
