// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/plan.h"

#include <algorithm>
#include <numeric>

#include "tern/ffi/error.h"

namespace tern::runtime::vm {
namespace {

uint64_t Aligned(uint64_t bytes) {
  constexpr uint64_t kMost = uint64_t{1} << 62;
  TERN_CHECK(bytes <= kMost) << "a tensor of " << bytes << " bytes is too large";
  return (bytes + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
}

// A piece of memory that is taken.
struct Piece {
  uint64_t begin, end;
};

// The start of the smallest gap between pieces, which are in order, for so many bytes; behind all
// where there is none.
uint64_t FindGap(const std::vector<Piece>& pieces, uint64_t bytes) {
  uint64_t best = 0, best_size = ~uint64_t{0}, end = 0;
  for (const Piece& piece : pieces) {
    if (piece.begin > end && piece.begin - end >= bytes && piece.begin - end < best_size) {
      best = end;
      best_size = piece.begin - end;
    }
    end = std::max(end, piece.end);
  }
  return best_size == ~uint64_t{0} ? end : best;
}

}  // namespace

Plan MakePlan(const std::vector<PlanItem>& items, bool reuse) {
  Plan plan;
  plan.offsets.resize(items.size());
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return items[a].bytes > items[b].bytes; });
  std::vector<size_t> placed;  // in the order of offsets
  std::vector<Piece> pieces;
  for (size_t i : order) {
    uint64_t bytes = Aligned(items[i].bytes);
    if (bytes == 0) continue;
    pieces.clear();
    for (size_t other : placed)
      if (!reuse || items[other].lifetime.Overlaps(items[i].lifetime))
        pieces.push_back({plan.offsets[other], plan.offsets[other] + Aligned(items[other].bytes)});
    plan.offsets[i] = FindGap(pieces, bytes);
    uint64_t end = 0;
    TERN_CHECK(!__builtin_add_overflow(plan.offsets[i], bytes, &end) && end >> 62 == 0)
        << "the tensors have more bytes than 64 bits can count";
    plan.bytes = std::max(plan.bytes, end);
    auto place = std::upper_bound(
        placed.begin(), placed.end(), plan.offsets[i],
        [&](uint64_t offset, size_t other) { return offset < plan.offsets[other]; });
    placed.insert(place, i);
  }
  return plan;
}

}  // namespace tern::runtime::vm
