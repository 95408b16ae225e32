// SPDX-License-Identifier: Apache-2.0
//
// Writing numeric code as expressions, of scalars and vectors alike.
#ifndef TERN_TIR_MATH_EXPR_BUILDER_H_
#define TERN_TIR_MATH_EXPR_BUILDER_H_

#include <utility>
#include <vector>

#include "tern/ir/expr.h"

namespace tern::tir::math {

using ir::Expr;

inline Expr Call(const char* name, std::vector<Expr> args) {
  return ir::CallNode::Make(name, std::move(args));
}
// A number of `like`'s type, in all lanes.
inline Expr Const(const Expr& like, double value) { return ir::MakeConst(like.dtype(), value); }
// An integer of that type by its bits: beyond what a double holds.
Expr IntConst(DataType dtype, int64_t bits);

inline Expr Select(Expr condition, Expr yes, Expr no) {
  return ir::SelectNode::Make(std::move(condition), std::move(yes), std::move(no));
}
inline Expr Cast(DataType dtype, Expr x) { return ir::CastNode::Make(dtype, std::move(x)); }
inline Expr Min(Expr a, Expr b) { return ir::MinNode::Make(std::move(a), std::move(b)); }
inline Expr Max(Expr a, Expr b) { return ir::MaxNode::Make(std::move(a), std::move(b)); }
inline Expr Less(Expr a, Expr b) { return ir::LTNode::Make(std::move(a), std::move(b)); }
inline Expr Equal(Expr a, Expr b) { return ir::EQNode::Make(std::move(a), std::move(b)); }

Expr Reinterpret(DataType dtype, Expr x);
// The types of the bits of a float: of the same size and lanes.
inline DataType UIntOf(DataType dtype) { return DataType::UInt(dtype.bits(), dtype.lanes()); }
inline DataType IntOf(DataType dtype) { return DataType::Int(dtype.bits(), dtype.lanes()); }
inline Expr Bits(const Expr& x) { return Reinterpret(UIntOf(x.dtype()), x); }

Expr ShiftLeft(Expr x, int bits);
Expr ShiftRight(Expr x, int bits);
inline Expr And(Expr a, Expr b) { return Call("bit_and", {std::move(a), std::move(b)}); }
inline Expr Or(Expr a, Expr b) { return Call("bit_or", {std::move(a), std::move(b)}); }

// Values that are computed once and used often, in the order in which they are bound:
//   Lets let;
//   Expr square = let(x * x);
//   return let.In(square + square * x);
class Lets {
 public:
  Expr operator()(Expr value) {
    ir::Var var("t", value.dtype());
    bindings_.emplace_back(var, std::move(value));
    return var;
  }
  // `body`, in the scope of all that was bound.
  Expr In(Expr body) const {
    for (size_t i = bindings_.size(); i-- > 0;)
      body = ir::LetNode::Make(bindings_[i].first, bindings_[i].second, std::move(body));
    return body;
  }

 private:
  std::vector<std::pair<ir::Var, Expr>> bindings_;
};

// c[0] + x * (c[1] + x * (c[2] + ...))
Expr Polynomial(const Expr& x, const std::vector<double>& coefficients);

// The layout of float32 and float64.
struct FloatFormat {
  int mantissa_bits;
  int bias;  // of the exponent
  // 1.5 * 2^mantissa_bits: added to a small number, it leaves the nearest integer in the low bits.
  double to_integer;
};
const FloatFormat& FormatOf(DataType dtype);

// 2^n, n an integer of the size of `dtype` in the range of its normal exponents.
Expr PowerOfTwo(DataType dtype, const Expr& n);

}  // namespace tern::tir::math

#endif  // TERN_TIR_MATH_EXPR_BUILDER_H_
