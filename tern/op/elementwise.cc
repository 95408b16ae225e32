// SPDX-License-Identifier: Apache-2.0
//
// Operators that compute element by element, on inputs that are broadcast to one shape.
#include <cmath>
#include <limits>
#include <numbers>

#include "tern/graph/control.h"
#include "tern/graph/op.h"
#include "tern/op/formulas.h"
#include "tern/op/quantize.h"
#include "tern/op/register.h"
#include "tern/tir/interpreter/evaluate.h"
#include "tern/tir/intrinsics.h"

namespace tern::op {
namespace {

using tir::Const;

// ---- One input

using Unary = std::function<Expr(const Expr& x)>;

void RegisterUnary(const char* name, const char* summary, Unary f) {
  RegisterOp({.name = name, .summary = summary, .inputs = {"x"}, .compute = [f](Call& c) {
                return c.Elementwise([&](const Expr& x) { return f(x); });
              }});
}

Unary Intrinsic(const char* name) {
  return [name](const Expr& x) { return tir::Call(name, {x}); };
}

Expr Constant(const Expr& like, double value) { return Const(like.dtype(), value); }

Expr Clamp(const Expr& x, double low, double high) {
  return Min(Max(x, Constant(x, low)), Constant(x, high));
}

Expr Sign(const Expr& x) {
  Expr zero = Constant(x, 0), one = Constant(x, 1);
  if (x.dtype().is_uint()) return Select(zero < x, one, zero);
  // A NaN stays one.
  return Select(zero < x, one, Select(x < zero, Constant(x, -1), x * zero));
}

// x * Phi(x), by the error function or by tanh.
Expr Gelu(const Expr& x, bool by_tanh) {
  Expr half = x * Constant(x, 0.5), one = Constant(x, 1);
  if (!by_tanh) return half * (one + tir::Call("erf", {x * Constant(x, std::numbers::sqrt2 / 2)}));
  Expr inner =
      Constant(x, std::sqrt(2 / std::numbers::pi)) * (x + Constant(x, 0.044715) * x * x * x);
  return half * (one + tir::Call("tanh", {inner}));
}

Expr Softplus(const Expr& x) {
  Expr absolute = tir::Call("abs", {x});
  return Max(x, Constant(x, 0)) +
         tir::Call("log1p", {tir::Call("exp", {Constant(x, 0) - absolute})});
}

Expr IsInf(const Call& c, const Expr& x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  bool negative = c.Flag("detect_negative"), positive = c.Flag("detect_positive");
  if (negative && positive) return tir::Call("isinf", {x});
  if (negative) return x == Constant(x, -kInfinity);
  if (positive) return x == Constant(x, kInfinity);
  return Expr(0) < Expr(0);
}

// With parameters that are attributes.
void RegisterActivations() {
  using Formula = Expr (*)(const Call&, const Expr&);
  auto add = [](const char* name, const char* summary, std::vector<graph::AttrSpec> attrs,
                Formula f) {
    RegisterOp({.name = name,
                .summary = summary,
                .inputs = {"x"},
                .attrs = std::move(attrs),
                .compute = [f](Call& c) {
                  return c.Elementwise([&](const Expr& x) { return f(c, x); });
                }});
  };
  auto number = [](const char* name, double value) {
    return graph::AttrSpec{name, AttrKind::kFloat, ffi::Any(value)};
  };
  add("celu", "max(0, x) + min(0, alpha * (exp(x / alpha) - 1))", {number("alpha", 1)},
      [](const Call& c, const Expr& x) {
        Expr alpha = Constant(x, c.Float("alpha")), zero = Constant(x, 0);
        return Max(x, zero) + Min(alpha * tir::Call("expm1", {x / alpha}), zero);
      });
  add("selu", "gamma * (x, or alpha * (exp(x) - 1) where that is negative)",
      {number("alpha", 1.67326319217681884765625), number("gamma", 1.05070102214813232421875)},
      [](const Call& c, const Expr& x) {
        Expr gamma = Constant(x, c.Float("gamma"));
        Expr slope = Constant(x, c.Float("gamma") * c.Float("alpha"));
        return Select(Constant(x, 0) < x, gamma * x, slope * tir::Call("expm1", {x}));
      });
  add("shrink", "x moved by bias to 0, and 0 between -lambd and lambd",
      {number("bias", 0), number("lambd", 0.5)}, [](const Call& c, const Expr& x) {
        Expr bias = Constant(x, c.Float("bias")), most = Constant(x, c.Float("lambd"));
        if (x.dtype().is_uint()) return Select(most < x, x - bias, Constant(x, 0));
        return Select(x < Constant(x, 0) - most, x + bias,
                      Select(most < x, x - bias, Constant(x, 0)));
      });
  add("thresholded_relu", "x where it is greater than alpha, else 0", {number("alpha", 1)},
      [](const Call& c, const Expr& x) {
        return Select(Constant(x, c.Float("alpha")) < x, x, Constant(x, 0));
      });
  add("swish", "x * sigmoid(alpha * x)", {number("alpha", 1)}, [](const Call& c, const Expr& x) {
    return x * tir::Call("sigmoid", {x * Constant(x, c.Float("alpha"))});
  });
  add("isinf", "whether x is infinite",
      {{"detect_negative", AttrKind::kInt, ffi::Any(1)},
       {"detect_positive", AttrKind::kInt, ffi::Any(1)}},
      IsInf);
}

// The same bits as another type of the same size.
Tensors BitCast(Call& c) {
  std::optional<DataType> to = DataType::Parse(c.String("to"));
  TERN_CHECK(to) << "there is no type " << c.String("to");
  DataType from = c.dtype(0), byte = DataType::UInt(8);
  if (to->bytes() != from.bytes() || from.is_packed() || to->is_packed())
    TERN_THROW(TypeError) << from.str() << " and " << to->str() << " are not of one size";
  auto as = [](DataType type, const Expr& x) {
    return x.dtype() == type ? x : ir::CallNode::Make(tir::intrinsic::kReinterpret, {x}, type);
  };
  return c.Elementwise([&](const Expr& x) {
    if (from == *to) return x;
    // A bool is a byte of 0 or 1.
    if (from.is_bool()) return as(*to, Select(x, Const(byte, 1), Const(byte, 0)));
    if (to->is_bool()) return as(byte, x) != Const(byte, 0);
    return as(*to, x);
  });
}

Tensors CastTo(Call& c) {
  std::optional<DataType> to = DataType::Parse(c.String("to"));
  TERN_CHECK(to) << "there is no type " << c.String("to");
  return c.Elementwise([&](const Expr& x) {
    if (x.dtype() == *to) return x;
    if (to->is_float8() && c.Flag("saturate")) return ToFloat8(*to, x, true);
    return tir::Cast(*to, x);
  });
}

void RegisterUnaryOps() {
  RegisterUnary("relu", "max(x, 0)", [](const Expr& x) { return Max(x, Constant(x, 0)); });
  RegisterUnary("neg", "-x", [](const Expr& x) { return Constant(x, 0) - x; });
  RegisterUnary("reciprocal", "1 / x", [](const Expr& x) { return Constant(x, 1) / x; });
  RegisterUnary("sign", "-1, 0 or 1", Sign);
  RegisterUnary("not", "whether x is false", [](const Expr& x) { return ir::NotNode::Make(x); });
  RegisterUnary("softplus", "log(1 + exp(x))", Softplus);
  RegisterUnary("softsign", "x / (1 + |x|)",
                [](const Expr& x) { return x / (Constant(x, 1) + tir::Call("abs", {x})); });
  RegisterUnary("hard_swish", "x * max(0, min(1, x / 6 + 0.5))", [](const Expr& x) {
    return x * Clamp(x * Constant(x, 1.0 / 6) + Constant(x, 0.5), 0, 1);
  });
  for (const char* name :
       {"exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
        "erf", "sigmoid", "floor", "ceil", "round", "abs"})
    RegisterUnary(name, "of each element", Intrinsic(name));
  RegisterUnary("isnan", "whether x is NaN", Intrinsic("isnan"));
  RegisterUnary("bit_not", "all bits inverted", Intrinsic("bit_not"));
  RegisterUnary("asinh", "the inverse of sinh", [](const Expr& x) {
    Expr size = tir::Call("abs", {x}), square = x * x, one = Constant(x, 1);
    Expr more = size + square / (one + tir::Call("sqrt", {square + one}));
    return tir::Call("copysign", {tir::Call("log1p", {more}), x});
  });
  RegisterUnary("acosh", "the inverse of cosh", [](const Expr& x) {
    Expr less = x - Constant(x, 1);
    Expr root = tir::Call("sqrt", {less * (x + Constant(x, 1))});
    return tir::Call("log1p", {less + root});
  });
  RegisterUnary("atanh", "the inverse of tanh", [](const Expr& x) {
    Expr one = Constant(x, 1);
    return Constant(x, 0.5) * tir::Call("log1p", {(x + x) / (one - x)});
  });
  RegisterUnary("mish", "x * tanh(softplus(x))",
                [](const Expr& x) { return x * tir::Call("tanh", {Softplus(x)}); });
  RegisterActivations();
  RegisterOp({.name = "hard_sigmoid",
              .summary = "max(0, min(1, alpha * x + beta))",
              .inputs = {"x"},
              .attrs = {{"alpha", AttrKind::kFloat, ffi::Any(0.2)},
                        {"beta", AttrKind::kFloat, ffi::Any(0.5)}},
              .compute = [](Call& c) {
                return c.Elementwise([&](const Expr& x) {
                  return Clamp(x * Constant(x, c.Float("alpha")) + Constant(x, c.Float("beta")), 0,
                               1);
                });
              }});
  RegisterOp({.name = "leaky_relu",
              .summary = "x, or alpha * x where that is negative",
              .inputs = {"x"},
              .attrs = {{"alpha", AttrKind::kFloat, ffi::Any(0.01)}},
              .compute = [](Call& c) {
                return c.Elementwise([&](const Expr& x) {
                  return Select(x < Constant(x, 0), x * Constant(x, c.Float("alpha")), x);
                });
              }});
  RegisterOp({.name = "elu",
              .summary = "x, or alpha * (exp(x) - 1) where that is negative",
              .inputs = {"x"},
              .attrs = {{"alpha", AttrKind::kFloat, ffi::Any(1.0)}},
              .compute = [](Call& c) {
                return c.Elementwise([&](const Expr& x) {
                  return Select(x < Constant(x, 0),
                                Constant(x, c.Float("alpha")) * tir::Call("expm1", {x}), x);
                });
              }});
  RegisterOp({.name = "gelu",
              .summary = "x times the normal distribution's probability of less than x",
              .inputs = {"x"},
              .attrs = {{"approximate", AttrKind::kString, ffi::Any(std::string("none"))}},
              .compute = [](Call& c) {
                bool by_tanh = c.String("approximate") == "tanh";
                return c.Elementwise([&](const Expr& x) { return Gelu(x, by_tanh); });
              }});
  RegisterOp(
      {.name = "cast",
       .summary = "x as another type, converted as C does; with saturate, float8 stays finite",
       .inputs = {"x"},
       .attrs = {{"to", AttrKind::kString, {}, true}, {"saturate", AttrKind::kInt, ffi::Any(0)}},
       .compute = CastTo});
  RegisterOp({.name = "narrow",
              .summary = "x as int2, uint2, int4, uint4, float4e2m1 or float8e8m0 has it, as int8, "
                         "uint8 or float32",
              .inputs = {"x"},
              .attrs = {{"to", AttrKind::kString, {}, true},
                        {"saturate", AttrKind::kInt, ffi::Any(1)},
                        {"round_mode", AttrKind::kString, ffi::Any(std::string("up"))}},
              .compute = [](Call& c) {
                return c.Elementwise([&](const Expr& x) {
                  return Narrowed(c.String("to"), x, c.Flag("saturate"), c.String("round_mode"));
                });
              }});
  RegisterOp({.name = "bit_cast",
              .summary = "the bits of x as another type of the same size",
              .inputs = {"x"},
              .attrs = {{"to", AttrKind::kString, {}, true}},
              .compute = BitCast});
  RegisterOp({.name = "clip",
              .summary = "min(max(x, low), high)",
              .inputs = {"x", "low?", "high?"},
              .compute = [](Call& c) {
                const Tensor& x = c.tensor(0);
                return Tensors{
                    tir::Compute(c.name(), x.shape(), [&](const std::vector<ir::Var>& i) {
                      Expr y = x.At({i.begin(), i.end()});
                      if (c.has(1)) y = Max(y, c.Scalar(1));
                      if (c.has(2)) y = Min(y, c.Scalar(2));
                      return y;
                    })};
              }});
}

// ---- Several inputs

using Binary = std::function<Expr(const Expr& a, const Expr& b)>;

void RegisterBinary(const char* name, const char* summary, Binary f) {
  RegisterOp({.name = name, .summary = summary, .inputs = {"a", "b"}, .compute = [f](Call& c) {
                CheckOneType(c);
                return c.Elementwise([&](const Expr& a, const Expr& b) { return f(a, b); });
              }});
}

// Any number of inputs, from the first on.
void RegisterFold(const char* name, const char* summary, Binary f) {
  RegisterOp({.name = name, .summary = summary, .inputs = {"x..."}, .compute = [f](Call& c) {
                CheckOneType(c);
                return Tensors{c.BroadcastCompute([&](const std::vector<Expr>& x) {
                  Expr y = x[0];
                  for (size_t i = 1; i < x.size(); ++i) y = f(y, x[i]);
                  return y;
                })};
              }});
}

// Exponents that are small integers are products, as everybody else computes them too.
Expr PowerOf(const Expr& x, const Expr& y) {
  if (const auto* constant = y.As<ir::FloatImmNode>()) {
    if (constant->value == 2) return x * x;
    if (constant->value == 3) return x * x * x;
    if (constant->value == 1) return x;
    if (constant->value == 0.5) return tir::Call("sqrt", {x});
  }
  return tir::Call("pow", {x, y});
}

// x ** y, of x's type.
Tensors Power(Call& c) {
  DataType type = c.dtype(0);
  // Integers by the widest float: exact as long as the result is below 2^53.
  DataType compute = type.is_float() ? type : DataType::Float(64);
  return c.Elementwise([&](const Expr& a, const Expr& b) {
    auto as = [&](const Expr& e) {
      return e.dtype() == compute ? e : tir::FoldConstants(tir::Cast(compute, e));
    };
    Expr result = PowerOf(as(a), as(b));
    return type == compute ? result : tir::Cast(type, result);
  });
}

Binary BitIntrinsic(const char* name) {
  return [name](const Expr& a, const Expr& b) { return tir::Call(name, {a, b}); };
}

Tensors BitShift(Call& c) {
  CheckOneType(c);
  std::string direction = c.String("direction");
  TERN_CHECK(direction == "LEFT" || direction == "RIGHT")
      << "direction is LEFT or RIGHT, not " << direction;
  return c.Elementwise([&](const Expr& a, const Expr& b) {
    // Beyond the width all bits are gone; of a negative number its sign is left by RIGHT. A
    // negative b is beyond, too.
    Expr zero = Constant(a, 0), last = Constant(b, b.dtype().bits() - 1);
    bool left = direction == "LEFT", has_sign = a.dtype().is_int();
    Expr beyond = has_sign ? b < zero || last < b : last < b;
    Expr moved = tir::Call(left ? "shift_left" : "shift_right", {a, Select(beyond, last, b)});
    return left || !has_sign ? Select(beyond, zero, moved) : moved;
  });
}

// Of the sign of a, or else of b.
Expr FloatRemainder(const Expr& a, const Expr& b, bool truncate) {
  Expr rest = a - tir::Call("trunc", {a / b}) * b, zero = Constant(a, 0);
  // An infinite divisor leaves all of a.
  rest = Select(tir::Call("isinf", {b}) && tir::Call("isfinite", {a}), a, rest);
  if (truncate) return tir::Call("copysign", {rest, a});
  Expr other_side = (rest < zero) != (b < zero);
  Expr moved = Select(other_side, rest + b, rest);
  return Select(rest == zero, tir::Call("copysign", {zero, b}), moved);
}

void RegisterBinaryOps() {
  RegisterBinary("add", "a + b", [](const Expr& a, const Expr& b) { return a + b; });
  RegisterBinary("sub", "a - b", [](const Expr& a, const Expr& b) { return a - b; });
  RegisterBinary("mul", "a * b", [](const Expr& a, const Expr& b) { return a * b; });
  RegisterOp({.name = "div",
              .summary = "a / b; of integers rounded to zero",
              .inputs = {"a", "b"},
              .compute =
                  [](Call& c) {
                    CheckOneType(c);
                    return c.Elementwise([&](const Expr& a, const Expr& b) {
                      return a.dtype().is_float() ? a / b : ir::TruncDivNode::Make(a, b);
                    });
                  },
              .is_exact = true});
  RegisterOp({.name = "mod",
              .summary = "the remainder, of b's sign, or with fmod of a's",
              .inputs = {"a", "b"},
              .attrs = {{"fmod", AttrKind::kInt, ffi::Any(0)}},
              .compute = [](Call& c) {
                CheckOneType(c);
                bool truncate = c.Flag("fmod");
                return c.Elementwise([&](const Expr& a, const Expr& b) {
                  if (a.dtype().is_float()) return FloatRemainder(a, b, truncate);
                  return truncate ? ir::TruncModNode::Make(a, b) : ir::FloorModNode::Make(a, b);
                });
              }});
  RegisterOp(
      {.name = "pow", .summary = "a to the power of b", .inputs = {"a", "b"}, .compute = Power});
  RegisterBinary("equal", "a == b", [](const Expr& a, const Expr& b) { return a == b; });
  RegisterBinary("less", "a < b", [](const Expr& a, const Expr& b) { return a < b; });
  RegisterBinary("greater", "a > b", [](const Expr& a, const Expr& b) { return b < a; });
  RegisterBinary("less_or_equal", "a <= b", [](const Expr& a, const Expr& b) { return b >= a; });
  RegisterBinary("greater_or_equal", "a >= b", [](const Expr& a, const Expr& b) { return a >= b; });
  RegisterBinary("and", "a and b", [](const Expr& a, const Expr& b) { return a && b; });
  RegisterBinary("or", "a or b", [](const Expr& a, const Expr& b) { return a || b; });
  RegisterBinary("xor", "either a or b", [](const Expr& a, const Expr& b) { return a != b; });
  RegisterBinary("bit_and", "the bits of both", BitIntrinsic("bit_and"));
  RegisterBinary("bit_or", "the bits of either", BitIntrinsic("bit_or"));
  RegisterBinary("bit_xor", "the bits of one of both", BitIntrinsic("bit_xor"));
  RegisterOp({.name = "bit_shift",
              .summary = "a with its bits moved by b, LEFT or RIGHT; 0 beyond its width",
              .inputs = {"a", "b"},
              .attrs = {{"direction", AttrKind::kString, {}, true}},
              .compute = BitShift});
  RegisterBinary(
      "prelu", "x, or slope * x where that is negative",
      [](const Expr& x, const Expr& slope) { return Select(x < Constant(x, 0), x * slope, x); });
  RegisterFold("sum", "the sum of all inputs", [](const Expr& a, const Expr& b) { return a + b; });
  RegisterFold("max", "the largest of all inputs",
               [](const Expr& a, const Expr& b) { return Max(a, b); });
  RegisterFold("min", "the smallest of all inputs",
               [](const Expr& a, const Expr& b) { return Min(a, b); });
  RegisterOp({.name = "where",
              .summary = "a where the condition holds, b elsewhere",
              .inputs = {"condition", "a", "b"},
              .compute = [](Call& c) {
                CheckOneType(c, 1);
                return c.Elementwise([](const Expr& condition, const Expr& a, const Expr& b) {
                  return Select(condition, a, b);
                });
              }});
}

}  // namespace

void RegisterElementwiseOps() {
  RegisterUnaryOps();
  RegisterBinaryOps();
}

void RegisterOps() {
  graph::RegisterControlOps();
  RegisterElementwiseOps();
  RegisterShapeOps();
  RegisterReductionOps();
  RegisterNeuralOps();
  RegisterRecurrentOps();
  RegisterConvolutionOps();
  RegisterPoolingOps();
  RegisterIndexingOps();
  RegisterCumulativeOps();
  RegisterNormalizationOps();
  RegisterQuantizationOps();
  RegisterIntegerArithmetic();
  RegisterAlgebraOps();
  RegisterSignalOps();
  RegisterImageOps();
  RegisterAttentionOps();
  RegisterRandomOps();
  RegisterTableOps();
  RegisterTrainingOps();
  RegisterResizeOp();
  RegisterSelectOps();
  RegisterBlas();
}

}  // namespace tern::op
