// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/random_vector.h"

namespace tern::fuzz {

using namespace tern::ir;  // the node classes

Expr VectorGenerator::Places(int lanes) {
  int64_t size = *AsConstInt(memory_->shape[0]);
  int64_t reach = (size - 1) / (lanes - 1);  // the longest stride that fits
  int64_t stride = random_->Between(1, reach);
  int64_t base = random_->Below(size - stride * (lanes - 1));
  if (random_->OneIn(5)) {
    base += stride * (lanes - 1);
    stride = -stride;
  }
  return RampNode::Make(base, stride, lanes);
}

VectorGenerator::MaskedPlaces VectorGenerator::PlacesWithMask(int lanes) {
  int64_t size = *AsConstInt(memory_->shape[0]);
  auto all = [&](int64_t value) { return BroadcastNode::Make(value, lanes); };
  Expr index = RampNode::Make(random_->Between(-lanes, size), random_->Between(1, 2), lanes);
  Expr inside = index >= all(0) && index < all(size);
  if (!random_->OneIn(2)) return {index, inside};
  Expr lane = RampNode::Make(int64_t{0}, int64_t{1}, lanes);
  return {index, inside && lane != all(random_->Below(lanes))};
}

Value VectorGenerator::Leaf(DataType dtype) {
  int lanes = dtype.lanes();
  if (memory_->dtype == dtype.element() && random_->OneIn(4)) {
    MaskedPlaces places = PlacesWithMask(lanes);
    return {BufferLoadNode::Make(memory_, {places.index}, {}, places.predicate),
            ContentLimit(memory_->dtype)};
  }
  if (memory_->dtype == dtype.element() && !random_->OneIn(3))
    return {BufferLoadNode::Make(memory_, {Places(lanes)}), ContentLimit(memory_->dtype)};
  if (dtype.element() == DataType::Int(64) && random_->OneIn(2))
    return {RampNode::Make(random_->Between(-9, 9), random_->Between(-9, 9), lanes), 9.0 * lanes};
  Value value = scalars_->Make(dtype.element(), 2);
  return {BroadcastNode::Make(value.expr, lanes), value.bound};
}

Value VectorGenerator::Make(DataType dtype, int depth) {
  if (depth <= 0 || random_->OneIn(5)) return Leaf(dtype);
  switch (random_->Below(7)) {
    case 0: {
      bool same = random_->OneIn(3);
      Expr condition = same ? scalars_->Make(DataType::Bool(), 1).expr
                            : Make(DataType::Bool(dtype.lanes()), depth - 1).expr;
      Value yes = Make(dtype, depth - 1), no = Make(dtype, depth - 1);
      return {SelectNode::Make(condition, yes.expr, no.expr), std::max(yes.bound, no.bound)};
    }
    case 1:
      return Shuffle(dtype, depth);
    case 2:
      return Convert(dtype, depth);
    case 3: {
      Value value = Make(dtype, depth - 1);
      Var var("w" + std::to_string(lets_++), dtype);
      Value other = Make(dtype, depth - 1);
      Expr body = dtype.is_bool() ? Expr(var) && other.expr : MaxNode::Make(var, other.expr);
      return {LetNode::Make(var, value.expr, body), std::max(value.bound, other.bound)};
    }
    default:
      return Arithmetic(dtype, depth);
  }
}

Value VectorGenerator::Arithmetic(DataType dtype, int depth) {
  if (dtype.is_bool()) {
    if (random_->OneIn(4)) return {NotNode::Make(Make(dtype, depth - 1).expr), 1};
    DataType compared = random_->Pick(AllTypes()).with_lanes(dtype.lanes());
    Expr a = Make(compared, depth - 1).expr, b = Make(compared, depth - 1).expr;
    return {random_->OneIn(2) ? a < b : a == b, 1};
  }
  Value a = Make(dtype, depth - 1), b = Make(dtype, depth - 1);
  if (random_->OneIn(2) || (dtype.is_float() && !float_arithmetic_))
    return {random_->OneIn(2) ? MinNode::Make(a.expr, b.expr) : MaxNode::Make(a.expr, b.expr),
            std::max(a.bound, b.bound)};
  return scalars_->Combine(random_->OneIn(2) ? ExprKind::kMul : ExprKind::kAdd, a, b);
}

Value VectorGenerator::Shuffle(DataType dtype, int depth) {
  std::vector<Expr> vectors;
  double bound = 0;
  int64_t lanes = 0;
  for (int64_t i = random_->Between(1, 3); i > 0; --i) {
    Value value = random_->OneIn(4) ? scalars_->Make(dtype.element(), 1) : Make(dtype, depth - 1);
    vectors.push_back(value.expr);
    lanes += value.expr.dtype().lanes();
    bound = std::max(bound, value.bound);
  }
  std::vector<int64_t> indices(dtype.lanes());
  for (int64_t& index : indices) index = random_->Below(lanes);
  return {ShuffleNode::Make(vectors, indices), bound};
}

Value VectorGenerator::Convert(DataType dtype, int depth) {
  DataType from = random_->Pick(AllTypes()).with_lanes(dtype.lanes());
  return scalars_->Convert(dtype, Make(from, depth - 1));
}

}  // namespace tern::fuzz
