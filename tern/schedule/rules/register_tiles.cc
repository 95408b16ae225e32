// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/register_tiles.h"

#include <algorithm>
#include <limits>

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

RegisterTile ChooseRegisterTile(int64_t rows, int64_t columns, int64_t registers, int64_t lanes,
                                int64_t bytes, bool all_left) {
  RegisterTile best;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t vectors = 1; vectors * lanes < columns + lanes; ++vectors) {
    int64_t room =
        all_left ? (registers - vectors) / (vectors + 1) : (registers - 1 - vectors) / vectors;
    int64_t most = std::min(room, kMostTileRows);
    for (int64_t tile_rows = 1; tile_rows <= std::min(most, rows); ++tile_rows) {
      RegisterTile tile{tile_rows, vectors, lanes};
      double loads =
          static_cast<double>(tile_rows + vectors) / static_cast<double>(tile_rows * vectors);
      double cycles = Cycles(tile, rows, columns, bytes) * (1 + loads / 8);
      if (cycles >= least) continue;
      least = cycles;
      best = tile;
    }
    if (most < 1) break;
  }
  return best;
}

ProductBlocks ChooseBlocks(int64_t rows, int64_t columns, int64_t tile_rows, int64_t tile_columns,
                           int64_t column_bytes, const MachineFacts& facts) {
  int64_t panels = columns / tile_columns, panel_bytes = tile_columns * column_bytes;
  int64_t most = std::max<int64_t>(facts.l2_bytes / 2 / panel_bytes, 1);
  ProductBlocks blocks{rows, tile_columns * EvenPart(panels, most)};
  // Each block packs the factor again, unless that was done ahead.
  while (facts.threads != 1 && (columns / blocks.columns) * (rows / blocks.rows) < kParts) {
    int64_t row_tiles = blocks.rows / tile_rows, panels_there = blocks.columns / tile_columns;
    int64_t half_rows = EvenPart(row_tiles, row_tiles / 2) * tile_rows,
            half_columns = EvenPart(panels_there, panels_there / 2) * tile_columns;
    if (row_tiles > 1 && half_rows >= kLeastRows && blocks.rows >= blocks.columns)
      blocks.rows = half_rows;
    else if (panels_there > 1 && half_columns >= kLeastColumns)
      blocks.columns = half_columns;
    else
      break;
  }
  return blocks;
}

}  // namespace tern::schedule
