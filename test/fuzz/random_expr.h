// SPDX-License-Identifier: Apache-2.0
//
// Random expressions whose value is defined whatever is in memory: no division by zero, no signed
// overflow, no index out of bounds, no float out of range of an integer, no NaN. Every value
// carries a bound of its magnitude, and is reduced where an operator could leave the bounds of its
// type.
#ifndef TEST_FUZZ_RANDOM_EXPR_H_
#define TEST_FUZZ_RANDOM_EXPR_H_

#include <string>
#include <vector>

#include "tern/ir/expr.h"
#include "test/fuzz/random.h"

namespace tern::fuzz {

// |expr| <= bound
struct Value {
  ir::Expr expr;
  double bound = 0;
};

// The scalar types of the language.
const std::vector<DataType>& AllTypes();

// How large the elements of a buffer of this type may be.
double ContentLimit(DataType dtype);
// The same value where its bound is within `limit`, else one that is brought below it.
Value Fit(Value value, double limit, Random* random);

// A buffer that expressions may read: anywhere, or at one place only.
struct Readable {
  ir::Buffer buffer;
  std::vector<ir::Expr> only_at;
  bool anywhere = true;
};

// A variable in scope. A nonempty `extent` says that it runs over 0..extent.
struct ScopedVar {
  Value value;
  ir::Expr extent;
};

class ExprGenerator {
 public:
  // Without `float_arithmetic`, floats are moved, converted and compared, but never rounded: what
  // every device does exactly.
  ExprGenerator(Random* random, bool float_arithmetic)
      : random_(random), float_arithmetic_(float_arithmetic) {}

  Value Make(DataType dtype, int depth);
  // An int64 within 0..extent.
  ir::Expr Index(const ir::Expr& extent, int depth);
  std::vector<ir::Expr> Indices(const ir::Buffer& buffer, int depth);
  // `a op b` for a random operator that reductions use.
  Value Accumulate(Value a, Value b);

  // a + b or a * b of scalars or vectors, brought below what the type holds.
  Value Combine(ir::ExprKind kind, Value a, Value b) {
    return kind == ir::ExprKind::kMul ? Product(a, b) : Sum(kind, a, b);
  }
  // `value`, a scalar or vector, as another type.
  Value Convert(DataType dtype, Value value);

  // What can be used. Leaving a scope is resizing these.
  std::vector<ScopedVar> vars;
  std::vector<Readable> buffers;

 private:
  Value Choice(const ir::Expr& condition, const Value& yes, const Value& no);
  Value Guarded(DataType dtype, int depth);
  Value Leaf(DataType dtype, int depth);
  Value Constant(DataType dtype);
  Value Load(const Readable& from, int depth);
  Value Bool(int depth);
  Value Cast(DataType dtype, int depth);
  Value Arithmetic(DataType dtype, int depth);
  Value Intrinsic(Value a, Value b);
  Value Sum(ir::ExprKind kind, Value a, Value b);
  Value Product(Value a, Value b);
  Value Divide(Value a, Value b);
  Value Let(DataType dtype, int depth);

  Random* random_;
  bool float_arithmetic_;
  int lets_ = 0;
};

}  // namespace tern::fuzz

#endif  // TEST_FUZZ_RANDOM_EXPR_H_
