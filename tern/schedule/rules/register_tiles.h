// SPDX-License-Identifier: Apache-2.0
//
// How much of a matrix product a host works on at a time: a tile of sums in its registers, and
// blocks whose factors stay in its caches.
#ifndef TERN_SCHEDULE_RULES_REGISTER_TILES_H_
#define TERN_SCHEDULE_RULES_REGISTER_TILES_H_

#include <functional>
#include <limits>

#include "tern/schedule/rules/machine_facts.h"

namespace tern::schedule {

// What a core of the last years does in a cycle; a sum is ready for the next product some cycles
// later.
inline constexpr int64_t kProductsPerCycle = 2, kLoadsPerCycle = 2, kProductLatency = 4;
// Of the right factor, from the second cache.
inline constexpr int64_t kBytesPerCycle = 24;
// Rows of the left factor that are read side by side: their places in a cache may be of one set,
// which has room for so many.
inline constexpr int64_t kMostTileRows = 8;
// A sum, a vector of the right factor and a number of the left one.
inline constexpr int64_t kLeastRegisters = 3;

int64_t RoundUp(int64_t number, int64_t factor);

// A tile of the result: rows, and vectors of columns.
struct RegisterTile {
  int64_t rows = 0, vectors = 0, lanes = 0;

  int64_t columns() const { return vectors * lanes; }
};

// Of tiles of up to so many rows (and kMostTileRows) and vectors the one that takes the fewest
// cycles; of equals the first, with the fewest vectors. Nothing where all are kNoTile.
inline constexpr double kNoTile = std::numeric_limits<double>::infinity();
RegisterTile CheapestTile(int64_t rows, int64_t vectors, int64_t lanes,
                          const std::function<double(const RegisterTile&)>& cycles);

// Of those whose sums, with a row of vectors and one left factor, or those of all rows, are in
// registers, the one that takes the fewest cycles; of equals the one that loads least. `bytes` are
// those of a column of the right factor in one step.
RegisterTile ChooseRegisterTile(int64_t rows, int64_t columns, int64_t registers, int64_t lanes,
                                int64_t bytes, bool all_left = false);

// Of columns, whose packed factor stays in the second cache while rows go by; and of rows. A
// thread has a block of both.
struct ProductBlocks {
  int64_t rows = 0, columns = 0;
};

// Of a product whose rows and columns are multiples of a tile's; `column_bytes` are those of the
// right factor. `rows_first`: threads share the rows of a block of columns where there are enough.
ProductBlocks ChooseBlocks(int64_t rows, int64_t columns, int64_t tile_rows, int64_t tile_columns,
                           int64_t column_bytes, const MachineFacts& facts,
                           bool rows_first = false);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_REGISTER_TILES_H_
