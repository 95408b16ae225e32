// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/register_tiles.h"

#include <algorithm>

namespace tern::schedule {
namespace {

// Columns, and rows, that one thread takes at least.
constexpr int64_t kLeastRows = 48, kLeastColumns = 48;
// As many parts as any number of threads up to 16 have about the same of.
constexpr int64_t kParts = 32;

// The largest part of a number, not above `most`, that divides it: a block that is cut off costs
// more than one that is somewhat smaller. Or `most`, where that would be 1 or less than a third.
int64_t EvenPart(int64_t number, int64_t most) {
  if (most <= 1) return 1;
  if (most >= number) return number;
  for (int64_t part = most; part > std::max<int64_t>(most / 3, 1); --part)
    if (number % part == 0) return part;
  return most;
}

// Cycles for one step of the sum.
double StepCycles(const RegisterTile& tile, int64_t bytes) {
  return std::max({static_cast<double>(tile.rows * tile.vectors) / kProductsPerCycle,
                   static_cast<double>(tile.rows + tile.vectors) / kLoadsPerCycle,
                   static_cast<double>(tile.columns() * bytes) / kBytesPerCycle,
                   static_cast<double>(kProductLatency)});
}

// For one step of the whole product, which is one of whole tiles.
double Cycles(const RegisterTile& tile, int64_t rows, int64_t columns, int64_t bytes) {
  int64_t tiles = RoundUp(rows, tile.rows) / tile.rows,
          panels = RoundUp(columns, tile.columns()) / tile.columns();
  return static_cast<double>(tiles * panels) * StepCycles(tile, bytes);
}

}  // namespace

int64_t RoundUp(int64_t number, int64_t factor) { return (number + factor - 1) / factor * factor; }

RegisterTile CheapestTile(int64_t rows, int64_t vectors, int64_t lanes,
                          const std::function<double(const RegisterTile&)>& cycles) {
  RegisterTile best;
  double least = kNoTile;
  for (int64_t v = 1; v <= vectors; ++v)
    for (int64_t r = 1; r <= std::min(rows, kMostTileRows); ++r) {
      RegisterTile tile{r, v, lanes};
      double needed = cycles(tile);
      if (needed >= least) continue;
      least = needed;
      best = tile;
    }
  return best;
}

RegisterTile ChooseRegisterTile(int64_t rows, int64_t columns, int64_t registers, int64_t lanes,
                                int64_t bytes, bool all_left) {
  int64_t vectors = std::min(RoundUp(columns, lanes) / lanes, registers);
  return CheapestTile(rows, vectors, lanes, [&](const RegisterTile& tile) {
    int64_t left = all_left ? tile.rows : 1;
    if (tile.rows * tile.vectors + tile.vectors + left > registers) return kNoTile;
    double loads = static_cast<double>(tile.rows + tile.vectors) /
                   static_cast<double>(tile.rows * tile.vectors);
    return Cycles(tile, rows, columns, bytes) * (1 + loads / 8);
  });
}

ProductBlocks ChooseBlocks(int64_t rows, int64_t columns, int64_t tile_rows, int64_t tile_columns,
                           int64_t column_bytes, const MachineFacts& facts, bool rows_first) {
  int64_t panels = columns / tile_columns, panel_bytes = tile_columns * column_bytes;
  int64_t most = std::max<int64_t>(facts.l2_bytes / 2 / panel_bytes, 1);
  ProductBlocks blocks{rows, tile_columns * EvenPart(panels, most)};
  if (facts.threads == 1) return blocks;
  auto half = [](int64_t* size, int64_t tile, int64_t least) {
    int64_t tiles = *size / tile, part = EvenPart(tiles, tiles / 2) * tile;
    if (tiles < 2 || part < least) return false;
    *size = part;
    return true;
  };
  auto half_rows = [&] { return half(&blocks.rows, tile_rows, kLeastRows); };
  auto half_columns = [&] { return half(&blocks.columns, tile_columns, kLeastColumns); };
  if (rows_first) {
    while (rows / blocks.rows < kParts && half_rows()) continue;
    while (rows / blocks.rows < kParts / 2 && columns / blocks.columns < kParts && half_columns())
      continue;
    if (columns / blocks.columns >= rows / blocks.rows) blocks.rows = rows;
    return blocks;
  }
  // Each block packs the factor again, unless that was done ahead.
  while ((columns / blocks.columns) * (rows / blocks.rows) < kParts &&
         ((blocks.rows >= blocks.columns && half_rows()) || half_columns()))
    continue;
  return blocks;
}

}  // namespace tern::schedule
