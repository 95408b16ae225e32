// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/random_expr.h"

#include <algorithm>
#include <cmath>

#include "tern/ir/intrinsic.h"
#include "tern/ir/structural.h"

namespace tern::fuzz {
namespace {

using namespace tern::ir;  // the node classes

// Arithmetic of these is modulo 2^bits: any value may be an operand.
bool Wraps(DataType dtype) { return dtype.is_uint() || (dtype.is_int() && dtype.bits() < 32); }

double TypeMax(DataType dtype) { return std::ldexp(1, dtype.bits()); }

// What an operator may make: well within the type, and small enough that floats stay meaningful.
double Limit(DataType dtype) {
  if (dtype.is_bool()) return 1;
  if (Wraps(dtype)) return TypeMax(dtype);
  if (dtype.is_int()) return dtype.bits() == 32 ? 1e8 : 1e12;
  return dtype.is_float8() ? 100 : dtype.bits() == 16 ? 1000 : 1e6;
}

// Integers up to here are exact in the float type.
double ExactLimit(DataType dtype) {
  if (dtype.is_bfloat16()) return 256;
  if (dtype.is_float8()) return dtype.code() == kTernTypeFloat8E4M3FN ? 16 : 8;
  return dtype.bits() == 16 ? 1000 : 1e6;
}

}  // namespace

const std::vector<DataType>& AllTypes() {
  static const std::vector<DataType> types = {
      DataType::Bool(),    DataType::Int(8),         DataType::Int(16),     DataType::Int(32),
      DataType::Int(64),   DataType::UInt(8),        DataType::UInt(16),    DataType::UInt(32),
      DataType::UInt(64),  DataType::Float(16),      DataType::Bfloat16(),  DataType::Float(32),
      DataType::Float(64), DataType::Float8E4M3FN(), DataType::Float8E5M2()};
  return types;
}

double ContentLimit(DataType dtype) {
  if (dtype.is_bool() || Wraps(dtype)) return Limit(dtype);
  return dtype.is_float() ? 16 : 1000;
}

namespace {

// Elements of 4 bits are computed with in a byte.
Value LoadedFrom(const Buffer& buffer, const std::vector<Expr>& indices) {
  Expr load = BufferLoadNode::Make(buffer, indices);
  DataType dtype = buffer->dtype;
  if (!dtype.is_packed()) return {load, ContentLimit(dtype)};
  return {CastNode::Make({dtype.code(), 8}, load), dtype.is_int() ? 8.0 : 15.0};
}

}  // namespace

Value Fit(Value value, double limit, Random* random) {
  if (value.bound <= limit) return value;
  DataType dtype = value.expr.dtype();
  Expr most = MakeConst(dtype, limit);
  if (dtype.is_integer() && random->OneIn(2)) {
    if (random->OneIn(4)) return {TruncModNode::Make(value.expr, most), limit};
    return {FloorModNode::Make(value.expr, most), limit};
  }
  Expr clamped = MinNode::Make(value.expr, most);
  if (!dtype.is_uint()) clamped = MaxNode::Make(clamped, MakeConst(dtype, -limit));
  return {clamped, limit};
}

Value ExprGenerator::Make(DataType dtype, int depth) {
  if (depth <= 0 || random_->OneIn(6)) return Leaf(dtype, depth);
  switch (random_->Below(12)) {
    case 0:
      if (random_->OneIn(2)) return Guarded(dtype, depth);
      return Choice(Bool(depth - 1).expr, Make(dtype, depth - 1), Make(dtype, depth - 1));
    case 1:
    case 2:
      return Cast(dtype, depth);
    case 3:
      return Let(dtype, depth);
    default:
      return dtype.is_bool() ? Bool(depth) : Arithmetic(dtype, depth);
  }
}

Value ExprGenerator::Choice(const Expr& condition, const Value& yes, const Value& no) {
  double bound = std::max(yes.bound, no.bound);
  if (random_->OneIn(3))
    return {CallNode::Make(kIfThenElse, {condition, yes.expr, no.expr}), bound};
  return {SelectNode::Make(condition, yes.expr, no.expr), bound};
}

// A value that may fault where it is not chosen.
Value ExprGenerator::Guarded(DataType dtype, int depth) {
  Value otherwise = Make(dtype, depth - 1);
  Expr condition;
  Value risky;
  std::vector<Readable> loadable;
  for (const Readable& readable : buffers)
    if (readable.anywhere && !readable.buffer->shape.empty()) loadable.push_back(readable);
  Value any = Fit(Make(DataType::Int(64), depth - 1), 1e6, random_);
  Var x("x" + std::to_string(lets_++));
  if (!loadable.empty() && !random_->OneIn(3)) {
    const Buffer& buffer = random_->Pick(loadable).buffer;
    std::vector<Expr> indices = Indices(buffer, depth - 1);
    size_t d = static_cast<size_t>(random_->Below(static_cast<int64_t>(indices.size())));
    indices[d] = x;
    condition = x >= 0 && x < buffer->shape[d];
    risky = LoadedFrom(buffer, indices);
  } else {
    Value dividend = Fit(Make(DataType::Int(64), depth - 1), 1e6, random_);
    condition = x != 0;
    risky = {FloorDiv(dividend.expr, x), dividend.bound};
  }
  Value chosen = Choice(condition, Convert(dtype, risky), otherwise);
  return {LetNode::Make(x, any.expr, chosen.expr), chosen.bound};
}

Value ExprGenerator::Leaf(DataType dtype, int depth) {
  std::vector<Value> known;
  for (const ScopedVar& var : vars)
    if (var.value.expr.dtype() == dtype) known.push_back(var.value);
  std::vector<Readable> loadable;
  for (const Readable& readable : buffers)
    if (readable.buffer->dtype == dtype) loadable.push_back(readable);
  if (!loadable.empty() && !random_->OneIn(3)) return Load(random_->Pick(loadable), depth);
  if (!known.empty() && !random_->OneIn(3)) return random_->Pick(known);
  if (!random_->OneIn(4) && !buffers.empty())
    return Convert(dtype, Load(random_->Pick(buffers), depth));
  return Constant(dtype);
}

Value ExprGenerator::Constant(DataType dtype) {
  if (dtype.is_bool()) return {MakeConst(dtype, static_cast<double>(random_->Below(2))), 1};
  if (dtype.is_float()) {
    // Eighths: exact in every type.
    double value = static_cast<double>(random_->Between(-24, 24)) / 8;
    return {MakeConst(dtype, value), std::abs(value)};
  }
  int64_t value = random_->Between(dtype.is_uint() ? 0 : -9, 9);
  // Now and then an extreme: the arithmetic of these types wraps.
  if (Wraps(dtype) && dtype.bits() < 64 && random_->OneIn(8))
    value =
        dtype.is_uint() ? (int64_t{1} << dtype.bits()) - 1 : -(int64_t{1} << (dtype.bits() - 1));
  return {IntImmNode::Make(dtype, value), Wraps(dtype) ? TypeMax(dtype) : std::abs(value)};
}

Value ExprGenerator::Load(const Readable& from, int depth) {
  std::vector<Expr> indices = from.anywhere ? Indices(from.buffer, depth) : from.only_at;
  return LoadedFrom(from.buffer, indices);
}

std::vector<Expr> ExprGenerator::Indices(const Buffer& buffer, int depth) {
  std::vector<Expr> indices;
  for (const Expr& extent : buffer->shape) indices.push_back(Index(extent, depth));
  return indices;
}

Expr ExprGenerator::Index(const Expr& extent, int depth) {
  std::vector<Expr> fitting;
  for (const ScopedVar& var : vars)
    if (var.extent.get() && StructuralEqual(var.extent, extent)) fitting.push_back(var.value.expr);
  if (!fitting.empty() && !random_->OneIn(4)) {
    Expr index = random_->Pick(fitting);
    return random_->OneIn(5) ? extent - 1 - index : index;
  }
  if (std::optional<int64_t> count = AsConstInt(extent); count && (depth <= 0 || random_->OneIn(3)))
    return random_->Below(*count);
  if (depth <= 0) return random_->OneIn(2) ? Expr(0) : extent - 1;
  return FloorMod(Fit(Make(DataType::Int(64), depth - 1), 1e12, random_).expr, extent);
}

Value ExprGenerator::Bool(int depth) {
  if (depth <= 0) return Leaf(DataType::Bool(), depth);
  int64_t choice = random_->Below(8);
  if (choice == 0) return {NotNode::Make(Bool(depth - 1).expr), 1};
  if (choice == 1) return {Bool(depth - 1).expr && Bool(depth - 1).expr, 1};
  if (choice == 2) return {Bool(depth - 1).expr || Bool(depth - 1).expr, 1};
  DataType dtype = random_->Pick(AllTypes());
  Expr a = Make(dtype, depth - 1).expr, b = Make(dtype, depth - 1).expr;
  switch (random_->Below(6)) {
    case 0:
      return {a == b, 1};
    case 1:
      return {a != b, 1};
    case 2:
      return {a < b, 1};
    case 3:
      return {LENode::Make(a, b), 1};
    case 4:
      return {GTNode::Make(a, b), 1};
    default:
      return {a >= b, 1};
  }
}

Value ExprGenerator::Cast(DataType dtype, int depth) {
  return Convert(dtype, Make(random_->Pick(AllTypes()), depth - 1));
}

Value ExprGenerator::Convert(DataType dtype, Value value) {
  DataType from = value.expr.dtype();
  if (from == dtype) return value;
  if (dtype.is_bool()) return {CastNode::Make(dtype, value.expr), 1};
  if (from.is_bool()) return {CastNode::Make(dtype, value.expr), Wraps(dtype) ? TypeMax(dtype) : 1};
  if (dtype.is_float()) {
    value = Fit(value, from.is_float() ? Limit(dtype) : ExactLimit(dtype), random_);
    // Rounding may lead a little beyond the bound.
    return {CastNode::Make(dtype, value.expr), value.bound * (dtype.is_float8() ? 1.25 : 1.01)};
  }
  if (from.is_float()) {
    value = Fit(value, 100, random_);
    if (dtype.is_uint()) value.expr = MaxNode::Make(value.expr, MakeConst(from, 0));
  }
  double bound = std::min(value.bound, TypeMax(dtype) / 2);
  return {CastNode::Make(dtype, value.expr), Wraps(dtype) ? TypeMax(dtype) : bound};
}

Value ExprGenerator::Arithmetic(DataType dtype, int depth) {
  Value a = Make(dtype, depth - 1), b = Make(dtype, depth - 1);
  int64_t choice = random_->Below(11);
  if (choice >= 8) return Intrinsic(a, b);
  if (choice <= 1 || (dtype.is_float() && !float_arithmetic_)) {
    double bound = std::max(a.bound, b.bound);
    return choice % 2 ? Value{MinNode::Make(a.expr, b.expr), bound}
                      : Value{MaxNode::Make(a.expr, b.expr), bound};
  }
  if (choice <= 3) return Sum(choice == 2 ? ExprKind::kAdd : ExprKind::kSub, a, b);
  if (choice <= 5) return Product(a, b);
  return Divide(a, b);
}

// Those with exact results: the same bits everywhere.
Value ExprGenerator::Intrinsic(Value a, Value b) {
  DataType dtype = a.expr.dtype();
  auto call = [&](const char* name, std::vector<Expr> args) { return CallNode::Make(name, args); };
  if (dtype.is_float()) {
    static const std::vector<std::string> kRounding = {"floor", "ceil", "trunc", "round"};
    int64_t choice = random_->Below(4);
    if (choice == 0) return {call("abs", {a.expr}), a.bound};
    if (choice == 1) return {call("copysign", {a.expr, b.expr}), a.bound};
    if (choice == 2) {
      Expr test = call(random_->OneIn(2) ? "isnan" : "isfinite", {a.expr});
      return {SelectNode::Make(test, a.expr, b.expr), std::max(a.bound, b.bound)};
    }
    a = Fit(a, ExactLimit(dtype) / 2, random_);
    return {CallNode::Make(random_->Pick(kRounding), {a.expr}), a.bound + 1};
  }
  if (!Wraps(dtype)) {
    a = Fit(a, 1e6, random_);
    b = Fit(b, 1e6, random_);
  }
  // All bits of numbers up to a bound make a number up to the next power of two, or its negative.
  double bound = Wraps(dtype) ? TypeMax(dtype) : 2 * std::max(a.bound, b.bound) + 2;
  double count = Wraps(dtype) ? TypeMax(dtype) : dtype.bits();
  Expr by = MakeConst(dtype, static_cast<double>(random_->Below(std::min(dtype.bits(), 7))));
  switch (random_->Below(10)) {
    case 0:
      return {call("bit_and", {a.expr, b.expr}), bound};
    case 1:
      return {call("bit_or", {a.expr, b.expr}), bound};
    case 2:
      return {call("bit_xor", {a.expr, b.expr}), bound};
    case 3:
      return {call("bit_not", {a.expr}), bound};
    case 4:
      return {call("shift_left", {a.expr, by}), Wraps(dtype) ? bound : bound * 64};
    case 5:
      return {call("shift_right", {a.expr, by}), bound};
    case 6:
      return {call("popcount", {a.expr}), count};
    case 7:
      return {call("clz", {a.expr}), count};
    case 8:
      return {call("ctz", {a.expr}), count};
    default:
      return {call("abs", {a.expr}), bound};
  }
}

Value ExprGenerator::Sum(ExprKind kind, Value a, Value b) {
  double limit = Limit(a.expr.dtype());
  if (!Wraps(a.expr.dtype()) && a.bound + b.bound > limit) {
    a = Fit(a, limit / 2, random_);
    b = Fit(b, limit / 2, random_);
  }
  double bound = std::min(a.bound + b.bound, limit);
  return {kind == ExprKind::kAdd ? a.expr + b.expr : a.expr - b.expr, bound};
}

Value ExprGenerator::Product(Value a, Value b) {
  double limit = Limit(a.expr.dtype());
  if (!Wraps(a.expr.dtype()) && a.bound * b.bound > limit) {
    a = Fit(a, std::floor(std::sqrt(limit)), random_);
    b = Fit(b, std::floor(std::sqrt(limit)), random_);
  }
  return {a.expr * b.expr, std::min(a.bound * b.bound, limit)};
}

Value ExprGenerator::Divide(Value a, Value b) {
  DataType dtype = a.expr.dtype();
  auto constant = [&](double value) { return MakeConst(dtype, value); };
  if (dtype.is_float()) {
    b = Fit(b, Limit(dtype) / 2, random_);
    // At least 1 away from zero.
    Var x("x" + std::to_string(lets_++), dtype);
    Expr divisor = SelectNode::Make(x < constant(0), x - constant(1), x + constant(1));
    return {LetNode::Make(x, b.expr, a.expr / divisor), a.bound};
  }
  if (!Wraps(dtype)) {
    a = Fit(a, Limit(dtype), random_);
    b = Fit(b, Limit(dtype), random_);
  }
  Expr divisor;
  switch (random_->Below(4)) {
    case 0:
      divisor = constant(static_cast<double>(random_->Between(1, 7)));
      break;
    case 1:
      divisor = constant(static_cast<double>(random_->Between(1, 7) * (dtype.is_uint() ? 1 : -1)));
      break;
    case 2:
      divisor =
          FloorMod(b.expr, constant(static_cast<double>(random_->Between(2, 7)))) + constant(1);
      break;
    default:
      divisor = SelectNode::Make(b.expr == constant(0), constant(1), b.expr);
  }
  switch (random_->Below(4)) {
    case 0:
      return {FloorDiv(a.expr, divisor), a.bound};
    case 1:
      return {TruncDivNode::Make(a.expr, divisor), a.bound};
    case 2:
      return {FloorMod(a.expr, divisor), std::max(b.bound, Wraps(dtype) ? b.bound : 8.0)};
    default:
      return {TruncModNode::Make(a.expr, divisor), std::max(b.bound, Wraps(dtype) ? b.bound : 8.0)};
  }
}

Value ExprGenerator::Accumulate(Value a, Value b) {
  DataType dtype = a.expr.dtype();
  if (dtype.is_bool()) return {random_->OneIn(2) ? a.expr && b.expr : a.expr || b.expr, 1};
  bool exact = !dtype.is_float() || float_arithmetic_;
  int64_t choice = random_->Below(4);
  if (!exact || choice == 0) return {MaxNode::Make(a.expr, b.expr), std::max(a.bound, b.bound)};
  return choice == 1 ? Product(a, b) : Sum(ExprKind::kAdd, a, b);
}

Value ExprGenerator::Let(DataType dtype, int depth) {
  Value value = Make(random_->Pick(AllTypes()), depth - 1);
  Var var("x" + std::to_string(lets_++), value.expr.dtype());
  vars.push_back({{var, value.bound}, {}});
  Value body = Make(dtype, depth - 1);
  vars.pop_back();
  return {LetNode::Make(var, value.expr, body.expr), body.bound};
}

}  // namespace tern::fuzz
