// SPDX-License-Identifier: Apache-2.0
//
// What definitions of operators share: names of the builder, indices, numbers.
#ifndef TERN_OP_FORMULAS_H_
#define TERN_OP_FORMULAS_H_

#include <functional>
#include <string>
#include <vector>

#include "tern/graph/op.h"

namespace tern::op {

using graph::AttrKind;
using graph::Call;
using graph::Content;
using graph::RegisterOp;
using graph::Simplified;
using ir::Expr;
using ir::Var;
using tir::Compute;
using tir::Max;
using tir::Min;
using tir::ReduceAxis;
using tir::Select;
using tir::Tensor;
using Exprs = std::vector<Expr>;
using Vars = std::vector<Var>;
using Tensors = std::vector<Tensor>;

// ---- Indices

inline Exprs Indices(const Vars& axes) { return {axes.begin(), axes.end()}; }

// `value` as another type, where it is of another.
inline Expr Converted(DataType dtype, const Expr& value) {
  return value.dtype() == dtype ? value : tir::Cast(dtype, value);
}
inline Expr AsIndex(const Expr& value) { return Converted(DataType::Int(64), value); }

// An index that is read from memory: -1 is the last, and what is outside is moved inside, since
// data are not trusted.
Expr GuardedIndex(const Expr& index, const Expr& extent);
// An index from the front; -1 is the last.
Expr WrappedIndex(const Expr& index, const Expr& extent);
// The number of an element in row major order.
Expr FlatIndex(const Exprs& indices, const Exprs& shape);
// The indices of the element of that number.
Exprs UnflatIndex(Expr flat, const Exprs& shape);
// `at` with `value` as its element `axis`.
Exprs WithIndex(Exprs at, size_t axis, const Expr& value);

// How an element of an operand is read: as it is, or converted, or less its zero point.
using Load = std::function<Expr(const Exprs& indices)>;
inline Load ElementOf(const Tensor& tensor) {
  return [tensor](const Exprs& indices) { return tensor.At(indices); };
}

// The axes of a shape as axes of a reduction.
std::vector<ReduceAxis> ReduceAxes(const Exprs& shape, const std::string& prefix = "k");

// ---- Numbers

inline Expr Number(const Expr& like, double value) { return tir::Const(like.dtype(), value); }
inline Expr Clamped(const Expr& value, const Expr& low, const Expr& high) {
  return Min(Max(value, low), high);
}
// The type in which sums of that type are computed: float32 for narrower floats.
inline DataType SumType(DataType dtype) {
  return dtype.is_narrow_float() ? DataType::Float(32) : dtype;
}

// ---- Checks

// The extent as a number. Throws where it is not known when compiling; `what` names it.
int64_t StaticExtent(const Expr& extent, const char* what);
// The numbers of an attribute, of which there have to be so many; `value` where it is not given.
std::vector<int64_t> IntsOr(const Call& c, const char* name, size_t count, int64_t value);
// Throws where the inputs from `from` on are not of one type; absent ones are skipped.
void CheckOneType(const Call& c, size_t from = 0);
// Throws where an input is no float.
void CheckFloat(const Call& c, size_t input);
// Throws where an input is of another rank.
void CheckRank(const Call& c, size_t input, int64_t rank);
// An input can be broadcast to a shape as it is.
void RequireBroadcast(const Call& c, size_t input, const Exprs& shape);

}  // namespace tern::op

#endif  // TERN_OP_FORMULAS_H_
