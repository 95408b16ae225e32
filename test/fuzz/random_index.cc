// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/random_index.h"

namespace tern::fuzz {
namespace {

using namespace tern::ir;  // the node classes
const DataType kInt64 = DataType::Int(64), kInt32 = DataType::Int(32);

Expr Number(DataType dtype, int64_t value) { return IntImmNode::Make(dtype, value); }

}  // namespace

RandomScope::RandomScope(Random* random) : random_(random) {
  for (const char* name : {"n", "m"}) {
    extents_.emplace_back(name, random->OneIn(4) ? kInt32 : kInt64);
    int64_t lo = random->OneIn(8) ? -3 : random->Below(3);
    int64_t hi = random->OneIn(8) ? (int64_t{1} << (extents_.back().dtype().bits() - 2)) : lo + 12;
    extent_bounds_.push_back({lo, hi});
  }
  int count = static_cast<int>(random->Between(2, 4));
  const char* names[] = {"i", "j", "k", "l"};
  for (int v = 0; v < count; ++v) {
    Var var(names[v], random->OneIn(4) ? kInt32 : kInt64);
    DataType dtype = var.dtype();
    Expr min = Number(dtype, random->OneIn(3) ? random->Between(-9, 9) : 0);
    Expr extent = Number(dtype, random->Between(1, random->OneIn(2) ? 4 : 17));
    const Var& symbol = extents_[random->Below(2)];
    if (random->OneIn(3) && symbol.dtype() == dtype)
      extent = random->OneIn(3) ? CeilDiv(symbol, extent) : Expr(symbol);
    if (random->OneIn(6) && !loops_.empty() && loops_.back().var.dtype() == dtype)
      (random->OneIn(2) ? min : extent) = loops_.back().var;
    loops_.push_back({var, {min, extent}});
  }
}

arith::Analyzer RandomScope::Outside() const {
  arith::Analyzer analyzer;
  for (size_t i = 0; i < extents_.size(); ++i) analyzer.Bind(extents_[i], extent_bounds_[i]);
  return analyzer;
}

arith::Analyzer RandomScope::Inside() const {
  arith::Analyzer analyzer = Outside();
  for (const arith::IterRange& loop : loops_)
    analyzer.BindRange(loop.var, loop.range.min, loop.range.extent);
  return analyzer;
}

void RandomScope::DrawExtents(VarValues* values) const {
  for (size_t i = 0; i < extents_.size(); ++i) {
    auto [lo, hi] = extent_bounds_[i];
    (*values)[extents_[i].node()] = random_->OneIn(8) ? hi : random_->Between(lo, hi);
  }
}

bool RandomScope::Draw(VarValues* values) const {
  DrawExtents(values);
  for (const arith::IterRange& loop : loops_) {
    auto min = Evaluate(loop.range.min, *values), extent = Evaluate(loop.range.extent, *values);
    if (!min || !extent || *extent < 1) return false;
    int64_t step = random_->OneIn(4) ? *extent - 1 : random_->Below(*extent);
    // A loop whose end is beyond its type does not run.
    auto last = Evaluate(loop.range.min + loop.range.extent, *values);
    if (!last) return false;
    (*values)[loop.var.node()] = *min + step;
  }
  return true;
}

std::vector<VarValues> RandomScope::Iterations(const VarValues& extents, size_t limit) const {
  std::vector<VarValues> all{extents};
  for (const arith::IterRange& loop : loops_) {
    std::vector<VarValues> next;
    for (const VarValues& outer : all) {
      auto min = Evaluate(loop.range.min, outer), extent = Evaluate(loop.range.extent, outer);
      if (!min || !extent || *extent > static_cast<int64_t>(limit)) return {};
      for (int64_t step = 0; step < *extent; ++step) {
        next.push_back(outer);
        next.back()[loop.var.node()] = *min + step;
      }
      if (next.size() > limit) return {};
    }
    all = std::move(next);
  }
  return all;
}

int64_t RandomScope::Constant() const {
  if (random_->OneIn(60)) return random_->Pick(std::vector<int64_t>{INT32_MAX, INT32_MIN});
  if (random_->OneIn(3)) return random_->Between(-20, 20);
  return random_->Pick(std::vector<int64_t>{1, 2, 3, 4, 6, 8, 12, 16, 32, -1, -4});
}

Expr RandomScope::Leaf(DataType dtype) const {
  if (random_->OneIn(4)) {
    if (dtype == kInt64 && random_->OneIn(100))
      return Number(dtype, random_->OneIn(2) ? INT64_MAX : INT64_MIN);
    int64_t value = Constant();
    if (dtype.is_uint() || dtype.bits() < 32) value = value & 63;
    return Number(dtype, value);
  }
  const Var& var =
      random_->OneIn(5) ? extents_[random_->Below(2)] : loops_[random_->Below(loops_.size())].var;
  return CastNode::Make(dtype, var);
}

Expr RandomScope::Int(DataType dtype, int depth) const {
  if (depth == 0) return Leaf(dtype);
  auto part = [&] { return Int(dtype, static_cast<int>(random_->Below(depth))); };
  auto divisor = [&] {
    if (random_->OneIn(4)) return part();
    return Number(dtype, random_->Between(1, 12));
  };
  switch (random_->Below(16)) {
    case 0:
    case 1:
    case 2:
      return part() + part();
    case 3:
      return part() - part();
    case 4:
      return part() * part();
    case 5:
    case 6:
      return part() * Number(dtype, random_->Between(1, 16));
    case 7:
    case 8:
      return FloorDiv(part(), divisor());
    case 9:
    case 10:
      return FloorMod(part(), divisor());
    case 11:
      return MinNode::Make(part(), part());
    case 12:
      return MaxNode::Make(part(), part());
    case 13:
      return SelectNode::Make(Bool(depth - 1), part(), part());
    case 14: {
      static const std::vector<DataType> types{kInt32, kInt64, DataType::Int(8), DataType::UInt(8),
                                               DataType::UInt(32)};
      return CastNode::Make(dtype, Int(random_->Pick(types), depth - 1));
    }
    default:
      return random_->OneIn(2) ? TruncDivNode::Make(part(), divisor())
                               : TruncModNode::Make(part(), divisor());
  }
}

Expr RandomScope::Bool(int depth) const {
  if (depth > 0 && random_->OneIn(3)) {
    Expr a = Bool(depth - 1);
    if (random_->OneIn(3)) return NotNode::Make(a);
    Expr b = Bool(depth - 1);
    return random_->OneIn(2) ? AndNode::Make(a, b) : OrNode::Make(a, b);
  }
  DataType dtype = random_->OneIn(4) ? kInt32 : kInt64;
  Expr a = Int(dtype, depth), b = random_->OneIn(2) ? Leaf(dtype) : Int(dtype, depth);
  switch (random_->Below(6)) {
    case 0:
      return EQNode::Make(a, b);
    case 1:
      return NENode::Make(a, b);
    case 2:
      return LENode::Make(a, b);
    case 3:
      return GTNode::Make(a, b);
    case 4:
      return GENode::Make(a, b);
    default:
      return LTNode::Make(a, b);
  }
}

Expr RandomScope::Index(int depth) const {
  static const std::vector<int64_t> factors{2, 3, 4, 6, 8, 12, 16, 24};
  if (depth == 0) return CastNode::Make(kInt64, loops_[random_->Below(loops_.size())].var);
  Expr a = Index(depth - 1);
  Expr factor = random_->OneIn(6) ? CastNode::Make(kInt64, extents_[random_->Below(2)])
                                  : Expr(random_->Pick(factors));
  switch (random_->Below(6)) {
    case 0:
      return FloorDiv(a, factor);
    case 1:
      return FloorMod(a, factor);
    case 2:
      return FloorDiv(a, factor) * factor + FloorMod(a, factor);
    case 3:
      return a * factor;
    default:
      return a * factor + Index(depth - 1);
  }
}

}  // namespace tern::fuzz
