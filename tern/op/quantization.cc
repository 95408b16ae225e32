// SPDX-License-Identifier: Apache-2.0
//
// Quantized tensors: integers, and a scale and a zero point of the whole tensor, of each index of
// an axis, or of each block along it.
#include <limits>

#include "tern/graph/builder.h"
#include "tern/op/linear.h"
#include "tern/op/quantize.h"
#include "tern/op/register.h"
#include "tern/op/windows.h"
#include "tern/tir/intrinsics.h"

namespace tern::op {
namespace {

const DataType kFloat = DataType::Float(32);
const DataType kInt = DataType::Int(32);

bool IsOne(const Tensor& tensor) { return ir::IsConst(graph::NumElements(tensor.shape()), 1); }

}  // namespace

Range RangeOf(DataType dtype) {
  int bits = dtype.bits() - (dtype.is_int() ? 1 : 0);
  double top = static_cast<double>(int64_t{1} << bits);
  return {dtype.is_int() ? -top : 0, top - 1};
}

void CheckQuantizedType(DataType dtype) {
  if (!dtype.is_integer() || dtype.bits() > 16)
    TERN_THROW(TypeError) << "quantized elements are integers of at most 16 bits, not "
                          << dtype.str();
}

Expr Quantized(DataType dtype, const Expr& value, const Expr& zero_point, int64_t bits) {
  Expr rounded = tir::Call("round", {Converted(kFloat, value)});
  if (zero_point) rounded = rounded + Converted(kFloat, zero_point);
  TERN_CHECK(bits >= 0 && bits <= dtype.bits()) << dtype.str() << " has no " << bits << " bits";
  int count = bits ? static_cast<int>(bits) : dtype.bits();
  Range range = RangeOf(dtype.is_int() ? DataType::Int(count) : DataType::UInt(count));
  Expr inside = Clamped(rounded, Number(rounded, range.low), Number(rounded, range.high));
  return tir::Cast(dtype, inside);
}

Expr ToFloat8(DataType dtype, const Expr& value, bool saturate) {
  Expr x = Converted(kFloat, value);
  if (!saturate) return tir::Cast(dtype, x);
  double most = dtype == DataType::Float8E4M3FN()     ? 448
                : dtype == DataType::Float8E4M3FNUZ() ? 240
                                                      : 57344;
  Expr inside = Clamped(x, Number(x, -most), Number(x, most));
  return tir::Cast(dtype, Select(tir::Call("isnan", {x}), x, inside));
}

namespace {

// The nearest of 0, 0.5, 1, 1.5, 2, 3, 4 and 6 and their negatives; the even code where two are.
// There is no NaN: it becomes 0.
Expr ToFloat4(const Expr& x) {
  Expr size = Min(tir::Call("abs", {x}), Number(x, 6));
  Expr step = Select(size < Number(x, 2), Number(x, 0.5),
                     Select(size < Number(x, 4), Number(x, 1), Number(x, 2)));
  Expr rounded = tir::Call("round", {size / step}) * step;
  return Select(tir::Call("isnan", {x}), Number(x, 0), tir::Call("copysign", {rounded, x}));
}

// The exponent of a float32 is the code: 0 is 2^-127, 255 is NaN.
Expr ToFloat8E8M0(const Expr& x, bool saturate, const std::string& round_mode) {
  TERN_CHECK(round_mode == "up" || round_mode == "down" || round_mode == "nearest")
      << "round_mode is up, down or nearest, not " << round_mode;
  DataType bits_type = DataType::UInt(32);
  auto number = [&](int64_t value) { return tir::Const(bits_type, value); };
  Expr bits = ir::CallNode::Make(tir::intrinsic::kReinterpret, {x}, bits_type);
  Expr exponent = tir::Call("shift_right", {bits, number(23)});
  exponent = ir::FloorMod(exponent, number(256));
  Expr rest = ir::FloorMod(bits, number(1 << 23));
  Expr more = round_mode == "down" ? tir::Const(DataType::Bool(), 0)
              : round_mode == "up" ? number(0) < rest
                                   : rest >= number(1 << 22);
  Expr next = exponent + Select(more, number(1), number(0));
  // What a float32 has no exponent for is less than 2^-126.
  Expr code = Select(exponent == number(0),
                     Select(number(1 << 22) < rest && more, number(1), number(0)), next);
  Expr most = Min(code, number(254));
  Expr power = Select(most == number(0), number(1 << 22), most * number(1 << 23));
  Expr result = ir::CallNode::Make(tir::intrinsic::kReinterpret, {power}, kFloat);
  Expr nan = Number(x, std::numeric_limits<double>::quiet_NaN());
  Expr is_none = tir::Call("isnan", {x});
  if (!saturate) is_none = is_none || code == number(255) || x == Number(x, 0);
  return Select(is_none, nan, result);
}

}  // namespace

Expr Narrowed(const std::string& type, const Expr& value, bool saturate,
              const std::string& round_mode) {
  if (type == "float4e2m1") return ToFloat4(Converted(kFloat, value));
  if (type == "float8e8m0") return ToFloat8E8M0(Converted(kFloat, value), saturate, round_mode);
  bool is_signed = type == "int2" || type == "int4", is_two = type == "int2" || type == "uint2";
  TERN_CHECK(is_signed || type == "uint2" || type == "uint4")
      << "there is no type of few bits " << type;
  Expr integer = tir::Cast(kInt, value);
  Expr low = ir::FloorMod(integer, tir::Const(kInt, is_two ? 4 : 16));
  if (!is_signed) return tir::Cast(DataType::UInt(8), low);
  Expr middle = tir::Const(kInt, is_two ? 2 : 8);
  return tir::Cast(DataType::Int(8), Select(low >= middle, low - middle - middle, low));
}

namespace {

// ---- To and from floats

// Scale or zero point of the element of x that is there.
Expr ParameterAt(const Call& c, size_t input, const Exprs& at) {
  const Tensor& tensor = c.tensor(input);
  if (IsOne(tensor) && (tensor.rank() == 0 || c.Int("block_size") == 0))
    return tensor.At(Exprs(tensor.rank(), Expr(0)));
  auto axis = static_cast<size_t>(c.Axis("axis", c.rank(0)));
  int64_t block = c.Int("block_size");
  if (block == 0) {
    TERN_CHECK(tensor.rank() == 1)
        << "input " << c.op().inputs[input] << " has one element for each index of the axis, not "
        << graph::ShapeText(tensor.shape());
    c.RequireEqual(tensor.shape()[0], c.shape(0)[axis], "the extent of the axis");
    return tensor(at[axis]);
  }
  TERN_CHECK(tensor.rank() == at.size() && block > 0)
      << "input " << c.op().inputs[input] << " has the rank of x, and blocks of a positive size";
  for (size_t i = 0; i < at.size(); ++i)
    c.RequireEqual(tensor.shape()[i],
                   i == axis ? Simplified(ir::CeilDiv(c.shape(0)[i], block)) : c.shape(0)[i],
                   "the number of blocks");
  return tensor.At(WithIndex(at, axis, ir::FloorDiv(at[axis], block)));
}

DataType TypeOr(const Call& c, const char* attribute, DataType otherwise) {
  if (!c.HasAttr(attribute) || c.String(attribute).empty()) return otherwise;
  std::optional<DataType> given = DataType::Parse(c.String(attribute));
  TERN_CHECK(given) << "there is no type " << c.String(attribute);
  return *given;
}

Tensors QuantizeLinear(Call& c) {
  const Tensor& x = c.tensor(0);
  DataType to = c.has(2) ? c.dtype(2) : TypeOr(c, "output_dtype", DataType::UInt(8));
  // Of few bits, in a wider type.
  std::string narrow = c.String("narrow");
  bool is_float = narrow.starts_with("float");
  if (!narrow.empty() && !is_float)
    to = narrow.starts_with("int") ? DataType::Int(8) : DataType::UInt(8);
  int64_t bits = narrow.empty() || is_float ? 0 : narrow.back() - '0';
  if (!to.is_float8() && !is_float) CheckQuantizedType(to);
  DataType compute = TypeOr(c, "precision", x.dtype().is_float() ? x.dtype() : kFloat);
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Exprs at = Indices(axes);
    auto as = [&](const Expr& value) { return Converted(kFloat, Converted(compute, value)); };
    Expr quotient = as(x.At(at)) / as(ParameterAt(c, 1, at));
    // The quotient as the type has it: quotients of float32 are exact enough to be rounded again.
    quotient = as(quotient);
    if (is_float) return Narrowed(narrow, quotient, c.Flag("saturate"), "up");
    if (to.is_float8()) return ToFloat8(to, quotient, c.Flag("saturate"));
    return Quantized(to, quotient, c.has(2) ? ParameterAt(c, 2, at) : Expr(), bits);
  })};
}

Tensors DequantizeLinear(Call& c) {
  const Tensor& x = c.tensor(0);
  // Numbers of float4e2m1 are float32.
  if (!x.dtype().is_integer() && !x.dtype().is_float8() && x.dtype() != kFloat)
    TERN_THROW(TypeError) << "x is quantized, not " << x.dtype().str();
  if (c.has(2) && c.dtype(2) != x.dtype())
    TERN_THROW(TypeError) << "x and its zero point are of one type, not " << x.dtype().str()
                          << " and " << c.dtype(2).str();
  DataType to = TypeOr(c, "output_dtype", c.dtype(1));
  CheckFloat(c, 1);
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Exprs at = Indices(axes);
    // Differences of integers are exact as integers.
    DataType between = x.dtype().is_float() ? kFloat : kInt;
    Expr value = tir::Cast(between, x.At(at));
    if (c.has(2) && between == kInt) value = value - tir::Cast(kInt, ParameterAt(c, 2, at));
    return Converted(to, Converted(kFloat, value) * Converted(kFloat, ParameterAt(c, 1, at)));
  })};
}

// To uint8, of the range of the elements and 0.
// Of the largest and the smallest element: the scale and the zero point of uint8.
Tensors QuantizationOf(Call& c) {
  CheckRank(c, 0, 0);
  CheckRank(c, 1, 0);
  Expr zero = tir::Const(kFloat, 0), top = tir::Const(kFloat, 255);
  Expr high = Max(c.Scalar(0), zero), low = Min(c.Scalar(1), zero);
  Tensor scale = Compute(c.name("scale"), {}, [&](const Vars&) {
    return Select(high - low == zero, tir::Const(kFloat, 1), high - low) / top;
  });
  Tensor zero_point = Compute(c.name("zero_point"), {}, [&](const Vars&) {
    Expr offset = zero - low / scale.At({});
    return tir::Cast(DataType::UInt(8), tir::Call("round", {Clamped(offset, zero, top)}));
  });
  return {scale, zero_point};
}

// The largest and the smallest element are the same in any order: reductions by themselves.
std::vector<graph::Value> DynamicQuantizeLinear(graph::Builder& b, const graph::Node& node) {
  graph::Value x = node->inputs[0];
  if (x->type.dtype != kFloat)
    TERN_THROW(TypeError) << "x is of float32, not " << x->type.dtype.str();
  ir::Attrs all = {{"keepdims", ffi::Any(0)}};
  graph::Value flat = b.Add("reshape", {x, b.Ints({-1}, "shape")});
  std::vector<graph::Value> by =
      b.Add(graph::GetOp("dynamic_quantization"),
            {b.Add("reduce_max", {flat}, all), b.Add("reduce_min", {flat}, all)});
  return {b.Add("quantize_linear", {x, by[0], by[1]}), by[0], by[1]};
}

// ---- Matmul

// Element [..., m, k] of A or [..., k, n] of B, less the zero point: one of all, of each row of A
// or column of B, or of a shape that is broadcast.
Load LessZeroPoint(const Call& c, size_t operand, size_t zero_point, bool columns) {
  const Tensor& tensor = c.tensor(operand);
  Tensor zero = c.has(zero_point) ? c.tensor(zero_point) : Tensor();
  TERN_CHECK(!zero || IsOne(zero) || zero.rank() == 1 || zero.rank() == tensor.rank())
      << "a zero point is one of all, one of each row or column, or of the operand's rank";
  if (zero && !IsOne(zero) && zero.rank() == 1)
    c.RequireEqual(zero.shape()[0], tensor.shape()[tensor.rank() - (columns ? 1 : 2)],
                   "the number of zero points");
  return [=](const Exprs& at) {
    Expr element = tir::Cast(kInt, tensor.At(at));
    if (!zero) return element;
    Expr point;
    if (IsOne(zero))
      point = zero.At(Exprs(zero.rank(), Expr(0)));
    else if (zero.rank() == 1)
      point = zero(at[at.size() - (columns ? 1 : 2)]);
    else
      point = graph::BroadcastLoad(zero, at, tensor.shape());
    return element - tir::Cast(kInt, point);
  };
}

Tensor IntegerMatMul(const Call& c, const std::string& name, size_t a, size_t a_zero, size_t b,
                     size_t b_zero) {
  CheckQuantizedType(c.dtype(a));
  CheckQuantizedType(c.dtype(b));
  TERN_CHECK(c.rank(a) > 0 && c.rank(b) > 0) << "a scalar cannot be multiplied";
  // Vectors have no rows or columns that could have zero points of their own.
  auto check_vector = [&](size_t operand, size_t zero) {
    TERN_CHECK(c.rank(operand) > 1 || !c.has(zero) || IsOne(c.tensor(zero)))
        << "a vector has one zero point";
  };
  check_vector(a, a_zero);
  check_vector(b, b_zero);
  return MatMulOf(c, name, {c.tensor(a), LessZeroPoint(c, a, a_zero, false)},
                  {c.tensor(b), LessZeroPoint(c, b, b_zero, true)});
}

// The scale of a row, a column, or of all.
Expr ScaleAt(const Tensor& scale, const Exprs& at, bool columns) {
  if (IsOne(scale)) return Converted(kFloat, scale.At(Exprs(scale.rank(), Expr(0))));
  TERN_CHECK(scale.rank() == 1 && at.size() > 1)
      << "a scale is one of all, or one of each row or column";
  return Converted(kFloat, scale(at[at.size() - (columns ? 1 : 2)]));
}

Tensors QLinearMatMul(Call& c) {
  CheckQuantizedType(c.dtype(7));
  Tensor sums = IntegerMatMul(c, c.name("sums"), 0, 2, 3, 5);
  return {Compute(c.name(), sums.shape(), [&](const Vars& axes) {
    Exprs at = Indices(axes);
    Expr scale = ScaleAt(c.tensor(1), at, false) * ScaleAt(c.tensor(4), at, true) /
                 ScaleAt(c.tensor(6), at, true);
    return Quantized(c.dtype(7), Converted(kFloat, sums.At(at)) * scale, c.Scalar(7));
  })};
}

// ---- Convolution

// Of all, or of each output channel, the first index.
Load LessChannelZeroPoint(const Call& c, size_t operand, size_t zero_point) {
  const Tensor& tensor = c.tensor(operand);
  bool has_zero =
      c.has(zero_point) && !(IsOne(c.tensor(zero_point)) && ir::IsConst(c.Scalar(zero_point), 0));
  Tensor zero = has_zero ? c.tensor(zero_point) : Tensor();
  if (zero && !IsOne(zero)) {
    TERN_CHECK(zero.rank() == 1 && tensor.rank() > 0)
        << "a zero point is one of all, or of each output channel";
    c.RequireEqual(zero.shape()[0], tensor.shape()[0], "the number of zero points");
  }
  return [=](const Exprs& at) {
    Expr element = tir::Cast(kInt, tensor.At(at));
    if (!zero) return element;
    Expr point = IsOne(zero) ? zero.At(Exprs(zero.rank(), Expr(0))) : zero(at[0]);
    return element - tir::Cast(kInt, point);
  };
}

// Padding is the zero point: 0 of the difference. Of bytes, whose sums of products fit int32, it
// comes in last, so that the products are those of dot-product instructions:
//   sum of (x - zero) * w = sum of x * w - zero * sum of w
Tensor IntegerConv(const Call& c, const std::string& name, size_t x, size_t x_zero, size_t w,
                   size_t w_zero) {
  CheckQuantizedType(c.dtype(x));
  CheckQuantizedType(c.dtype(w));
  TERN_CHECK(!c.has(x_zero) || IsOne(c.tensor(x_zero))) << "the input has one zero point";
  Operand weights{c.tensor(w), LessChannelZeroPoint(c, w, w_zero)};
  bool has_zero = c.has(x_zero) && !ir::IsConst(c.Scalar(x_zero), 0);
  if (!has_zero || c.dtype(x).bits() > 8 || c.dtype(w).bits() > 8)
    return ConvOf(c, name, {c.tensor(x), LessChannelZeroPoint(c, x, x_zero)}, weights);
  Tensor sums = ConvOf(c, name + "_products", {c.tensor(x), ElementOf(c.tensor(x))}, weights,
                       c.Scalar(x_zero));
  Exprs of_output(weights.tensor.shape().begin() + 1, weights.tensor.shape().end());
  Tensor totals = Compute(name + "_weights", {sums.shape()[1]}, [&](const Vars& axes) {
    std::vector<ReduceAxis> over = ReduceAxes(of_output);
    Exprs at{axes[0]};
    at.insert(at.end(), over.begin(), over.end());
    return tir::Sum(weights.load(at), over);
  });
  return Compute(name, sums.shape(), [&](const Vars& axes) {
    return sums.At(Indices(axes)) - tir::Cast(kInt, c.Scalar(x_zero)) * totals(axes[1]);
  });
}

Tensors QLinearConv(Call& c) {
  CheckQuantizedType(c.dtype(7));
  Tensor sums = IntegerConv(c, c.name("sums"), 0, 2, 3, 5);
  if (c.has(8)) {
    TERN_CHECK(c.dtype(8) == kInt) << "the bias is of int32, not " << c.dtype(8).str();
    c.RequireEqual(graph::NumElements(c.shape(8)), sums.shape()[1],
                   "the number of biases and outputs");
  }
  if (!IsOne(c.tensor(4)))
    c.RequireEqual(graph::NumElements(c.shape(4)), sums.shape()[1],
                   "the number of scales and outputs");
  return {Compute(c.name(), sums.shape(), [&](const Vars& axes) {
    Expr sum = sums.At(Indices(axes));
    if (c.has(8)) sum = sum + c.tensor(8)(axes[1]);
    const Tensor& weights = c.tensor(4);
    Expr scale = c.Scalar(1) * (IsOne(weights) ? c.Scalar(4) : weights(axes[1])) / c.Scalar(6);
    return Quantized(c.dtype(7), Converted(kFloat, sum) * Converted(kFloat, scale), c.Scalar(7));
  })};
}

void RegisterIntegerOps() {
  RegisterOp({.name = "matmul_integer",
              .summary = "product of quantized matrices, as int32",
              .inputs = {"a", "b", "a_zero_point?", "b_zero_point?"},
              .compute = [](Call& c) { return Tensors{IntegerMatMul(c, c.name(), 0, 2, 1, 3)}; }});
  RegisterOp({.name = "qlinear_matmul",
              .summary = "product of quantized matrices, quantized",
              .inputs = {"a", "a_scale", "a_zero_point", "b", "b_scale", "b_zero_point", "y_scale",
                         "y_zero_point"},
              .compute = QLinearMatMul,
              .is_exact = true});
  RegisterOp({.name = "conv_integer",
              .summary = "convolution of quantized tensors, as int32",
              .inputs = {"x", "weights", "x_zero_point?", "weights_zero_point?"},
              .attrs = WindowAttrs({{"group", AttrKind::kInt, ffi::Any(1)}}),
              .compute = [](Call& c) { return Tensors{IntegerConv(c, c.name(), 0, 2, 1, 3)}; }});
  RegisterOp({.name = "qlinear_conv",
              .summary = "convolution of quantized tensors, quantized",
              .inputs = {"x", "x_scale", "x_zero_point", "weights", "weights_scale",
                         "weights_zero_point", "y_scale", "y_zero_point", "bias?"},
              .attrs = WindowAttrs({{"group", AttrKind::kInt, ffi::Any(1)}}),
              .compute = QLinearConv,
              .is_exact = true});
}

}  // namespace

void RegisterQuantizationOps() {
  RegisterMatMulNBits();
  graph::AttrSpec axis{"axis", AttrKind::kInt, ffi::Any(1)},
      block{"block_size", AttrKind::kInt, ffi::Any(0)},
      output{"output_dtype", AttrKind::kString, ffi::Any(std::string())};
  RegisterOp({.name = "quantize_linear",
              .summary = "x / scale + zero_point, rounded, within the range of the type",
              .inputs = {"x", "scale", "zero_point?"},
              .attrs = {axis,
                        block,
                        output,
                        {"precision", AttrKind::kString, ffi::Any(std::string())},
                        {"saturate", AttrKind::kInt, ffi::Any(1)},
                        {"narrow", AttrKind::kString, ffi::Any(std::string())}},
              .compute = QuantizeLinear,
              .is_exact = true});
  RegisterOp({.name = "dequantize_linear",
              .summary = "(x - zero_point) * scale",
              .inputs = {"x", "scale", "zero_point?"},
              .attrs = {axis, block, output},
              .compute = DequantizeLinear});
  RegisterOp({.name = "dynamic_quantize_linear",
              .summary = "x as uint8 by its own range, with scale and zero point",
              .inputs = {"x"},
              .expand = DynamicQuantizeLinear});
  RegisterOp({.name = "dynamic_quantization",
              .summary = "scale and zero point of uint8 for elements from smallest to largest",
              .inputs = {"largest", "smallest"},
              .compute = QuantizationOf,
              .is_exact = true});
  RegisterIntegerOps();
}

}  // namespace tern::op
