// SPDX-License-Identifier: Apache-2.0
//
// The tiles of a GEMM on a host: accumulators in vector registers, blocks of packed B in L2.
#ifndef TERN_SCHEDULE_RULES_REGISTER_TILES_H_
#define TERN_SCHEDULE_RULES_REGISTER_TILES_H_

#include <vector>

#include "tern/schedule/rules/target_info.h"

namespace tern::schedule {

// An accumulator, a vector of B and an element of A.
inline constexpr int64_t kLeastRegisters = 3;

int64_t CeilDiv(int64_t a, int64_t b);
int64_t RoundUp(int64_t number, int64_t factor);

// M x (vectors of N).
struct RegisterTile {
  int64_t m = 0, vectors = 0, lanes = 0;

  int64_t n() const { return vectors * lanes; }
};

// All tiles of up to so many rows (and l1_ways) and vectors, those with fewer vectors first.
std::vector<RegisterTile> RegisterTiles(int64_t m, int64_t vectors, int64_t lanes,
                                        const TargetInfo& target);
// Whether the accumulators, a row of vectors of B and so many elements of A are in registers.
bool FitsRegisters(const RegisterTile& tile, int64_t a, const TargetInfo& target);

// Cycles of one step along K of a GEMM as whole tiles, where a column of B is so many bytes of L2.
// FMAs, loads and the latency of accumulators overlap; a tile that loads less is up to 12% better.
double GemmStepCycles(const RegisterTile& tile, int64_t m, int64_t n, int64_t bytes,
                      const TargetInfo& target);

// The block that one thread computes: N whose packed B stays in L2 through the M loop, and M.
struct GemmBlocks {
  int64_t m = 0, n = 0;
};
// Of M and N that are multiples of a tile's; `column_bytes` are those of a column of B.
// `m_first`: threads share the M tiles of a block of N where there are enough.
GemmBlocks ChooseBlocks(int64_t m, int64_t n, int64_t tile_m, int64_t tile_n, int64_t column_bytes,
                        const TargetInfo& target, bool m_first = false);

}  // namespace tern::schedule

#endif  // TERN_SCHEDULE_RULES_REGISTER_TILES_H_
