// SPDX-License-Identifier: Apache-2.0
#include "tern/schedule/rules/register_tiles.h"

#include <algorithm>

namespace tern::schedule {
namespace {

// M and N that one thread takes at least.
constexpr int64_t kLeastM = 48, kLeastN = 48;
// The same of the factor: where sums are short, storing long rows takes the time.
constexpr int64_t kLeastBytes = 1 << 13;
// Where there would be fewer than so many blocks, one may be a tile wide, of so many bytes of B
// times rows of A.
constexpr int64_t kFewBlocks = 4, kLeastBlockWork = 1 << 20;
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

}  // namespace

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t RoundUp(int64_t number, int64_t factor) { return CeilDiv(number, factor) * factor; }

std::vector<RegisterTile> RegisterTiles(int64_t m, int64_t vectors, int64_t lanes,
                                        const TargetInfo& target) {
  std::vector<RegisterTile> tiles;
  for (int64_t v = 1; v <= vectors; ++v)
    for (int64_t r = 1; r <= std::min(m, target.l1_ways); ++r) tiles.push_back({r, v, lanes});
  return tiles;
}

bool FitsRegisters(const RegisterTile& tile, int64_t a, const TargetInfo& target) {
  return tile.m * tile.vectors + tile.vectors + a <= target.vector_registers;
}

double GemmStepCycles(const RegisterTile& tile, int64_t m, int64_t n, int64_t bytes,
                      const TargetInfo& target) {
  auto divide = [](int64_t a, int64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
  };
  double step = std::max({divide(tile.m * tile.vectors, target.fma_per_cycle),
                          divide(tile.m + tile.vectors, target.loads_per_cycle),
                          divide(tile.n() * bytes, target.l2_bytes_per_cycle),
                          static_cast<double>(target.fma_latency)});
  int64_t tiles = CeilDiv(m, tile.m) * CeilDiv(n, tile.n());
  return static_cast<double>(tiles) * step *
         (1 + divide(tile.m + tile.vectors, tile.m * tile.vectors) / 8);
}

GemmBlocks ChooseBlocks(int64_t m, int64_t n, int64_t tile_m, int64_t tile_n, int64_t column_bytes,
                        const TargetInfo& target, bool m_first) {
  int64_t panels = n / tile_n, panel_bytes = tile_n * column_bytes;
  int64_t most = std::max<int64_t>(target.l2_bytes / 2 / panel_bytes, 1);
  GemmBlocks blocks{m, tile_n * EvenPart(panels, most)};
  if (target.threads == 1) return blocks;
  auto halve = [](int64_t* size, int64_t tile, int64_t least) {
    int64_t tiles = *size / tile, part = EvenPart(tiles, tiles / 2) * tile;
    if (tiles < 2 || part < least) return false;
    *size = part;
    return true;
  };
  auto halve_m = [&] { return halve(&blocks.m, tile_m, kLeastM); };
  int64_t least_n = std::max(kLeastN, kLeastBytes / std::max<int64_t>(column_bytes, 1));
  auto halve_n = [&] { return halve(&blocks.n, tile_n, least_n); };
  if (m_first) {
    while (m / blocks.m < kParts && halve_m()) continue;
    while (m / blocks.m < kParts / 2 && n / blocks.n < kParts && halve_n()) continue;
    least_n = std::max(tile_n, kLeastBlockWork / std::max<int64_t>(m * column_bytes, 1));
    while ((m / blocks.m) * (n / blocks.n) < kFewBlocks && halve_n()) continue;
    if (n / blocks.n >= m / blocks.m) blocks.m = m;
    return blocks;
  }
  // Each block packs the factor again, unless that was done ahead.
  while ((n / blocks.n) * (m / blocks.m) < kParts &&
         ((blocks.m >= blocks.n && halve_m()) || halve_n()))
    continue;
  return blocks;
}

}  // namespace tern::schedule
