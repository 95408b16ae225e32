// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/vm/plan.h"

#include <algorithm>
#include <numeric>

#include "tern/ffi/error.h"
#include "tern/ffi/text.h"
#include "tern/runtime/vm/int_value.h"

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

bool UsesParamsAlone(const IntExpr& expr, uint32_t params) {
  return std::all_of(expr.tokens.begin(), expr.tokens.end(), [&](const IntToken& token) {
    return token.op != IntOp::kRegister || token.value < params;
  });
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

std::vector<PlannedTensor> PlannedTensors(const Function& function, bool is_main) {
  std::vector<std::vector<uint32_t>> allocations(function.tensors.size());
  std::vector<bool> is_planned(function.tensors.size(), true);
  std::fill_n(is_planned.begin(), function.params.tensors, false);
  for (uint32_t at = 0; at < function.code.size(); ++at) {
    const Instruction& instruction = function.code[at];
    bool is_known =
        instruction.op == Opcode::kAlloc && instruction.index == 0 &&
        std::all_of(instruction.exprs.begin(), instruction.exprs.end(), [&](const IntExpr& extent) {
          return UsesParamsAlone(extent, function.params.ints);
        });
    for (const Operand& result : instruction.results) {
      if (result.kind != OperandKind::kTensor) continue;
      if (!is_known) is_planned[result.index] = false;
      allocations[result.index].push_back(at);
    }
    if (instruction.op == Opcode::kRet && !is_main)
      for (const Operand& arg : instruction.args)
        if (arg.kind == OperandKind::kTensor) is_planned[arg.index] = false;
  }
  std::vector<Lifetime> lifetimes = TensorLifetimes(function);
  std::vector<PlannedTensor> planned;
  for (uint32_t i = 0; i < function.tensors.size(); ++i)
    if (is_planned[i]) planned.push_back({i, std::move(allocations[i]), lifetimes[i]});
  return planned;
}

Plan PlanFunction(const Function& function, const std::vector<PlannedTensor>& planned,
                  const int64_t* ints, bool reuse) {
  std::vector<PlanItem> items;
  std::vector<int64_t> shape;
  for (const PlannedTensor& one : planned) {
    PlanItem item{0, one.lifetime};
    for (uint32_t at : one.allocations) {
      shape.clear();
      for (const IntExpr& extent : function.code[at].exprs) shape.push_back(ValueOf(extent, ints));
      // One on a path that is not taken may have no size: it throws where it is.
      bool is_negative = std::any_of(shape.begin(), shape.end(), [](int64_t x) { return x < 0; });
      if (is_negative) continue;
      item.bytes =
          std::max(item.bytes, TensorBytes(function.tensors[one.tensor].dtype, shape.data(),
                                           static_cast<uint32_t>(shape.size())));
    }
    items.push_back(item);
  }
  return MakePlan(items, reuse);
}

uint64_t TensorBytes(DataType dtype, const int64_t* shape, uint32_t rank) {
  int64_t count = 1;
  bool fits = true;
  for (uint32_t i = 0; i < rank; ++i) {
    if (shape[i] < 0)
      TERN_THROW(ValueError) << "shape " << ffi::ShapeText({shape, shape + rank})
                             << " has a negative extent";
    fits = fits && !__builtin_mul_overflow(count, shape[i], &count);
  }
  constexpr int64_t kMost = int64_t{1} << 58;
  TERN_CHECK(fits && count <= kMost)
      << "a tensor of shape " << ffi::ShapeText({shape, shape + rank}) << " has too many elements";
  return static_cast<uint64_t>(dtype.BytesOf(count));
}

}  // namespace tern::runtime::vm
