// SPDX-License-Identifier: Apache-2.0
//
// Operators that compute element by element, on inputs that are broadcast to one shape.
#include <cmath>
#include <numbers>

#include "tern/graph/control.h"
#include "tern/graph/op.h"
#include "tern/op/register.h"
#include "tern/tir/interpreter/evaluate.h"

namespace tern::op {
namespace {

using graph::AttrKind;
using graph::Call;
using graph::RegisterOp;
using ir::Expr;
using tir::Const;
using tir::Max;
using tir::Min;
using tir::Select;
using tir::Tensor;
using Tensors = std::vector<Tensor>;

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

void RegisterUnaryOps() {
  RegisterUnary("relu", "max(x, 0)", [](const Expr& x) { return Max(x, Constant(x, 0)); });
  RegisterUnary("neg", "-x", [](const Expr& x) { return Constant(x, 0) - x; });
  RegisterUnary("reciprocal", "1 / x", [](const Expr& x) { return Constant(x, 1) / x; });
  RegisterUnary("sign", "-1, 0 or 1", Sign);
  RegisterUnary("not", "whether x is false", [](const Expr& x) { return ir::NotNode::Make(x); });
  RegisterUnary("softplus", "log(1 + exp(x))", [](const Expr& x) {
    Expr absolute = tir::Call("abs", {x});
    return Max(x, Constant(x, 0)) +
           tir::Call("log1p", {tir::Call("exp", {Constant(x, 0) - absolute})});
  });
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
  RegisterOp({.name = "cast",
              .summary = "x as another type, converted as C does",
              .inputs = {"x"},
              .attrs = {{"to", AttrKind::kString, {}, true}},
              .compute = [](Call& c) {
                std::optional<DataType> to = DataType::Parse(c.String("to"));
                TERN_CHECK(to) << "there is no type " << c.String("to");
                return c.Elementwise(
                    [&](const Expr& x) { return x.dtype() == *to ? x : tir::Cast(*to, x); });
              }});
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

void CheckOneType(const Call& c, size_t from = 0) {
  for (size_t i = from + 1; i < c.size(); ++i)
    if (c.dtype(i) != c.dtype(from))
      TERN_THROW(TypeError) << "inputs of one type are expected, not " << c.dtype(from).str()
                            << " and " << c.dtype(i).str();
}

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

void RegisterBinaryOps() {
  RegisterBinary("add", "a + b", [](const Expr& a, const Expr& b) { return a + b; });
  RegisterBinary("sub", "a - b", [](const Expr& a, const Expr& b) { return a - b; });
  RegisterBinary("mul", "a * b", [](const Expr& a, const Expr& b) { return a * b; });
  RegisterBinary("div", "a / b; of integers rounded to zero", [](const Expr& a, const Expr& b) {
    return a.dtype().is_float() ? a / b : ir::TruncDivNode::Make(a, b);
  });
  RegisterOp({.name = "mod",
              .summary = "the remainder, of b's sign, or with fmod of a's",
              .inputs = {"a", "b"},
              .attrs = {{"fmod", AttrKind::kInt, ffi::Any(0)}},
              .compute = [](Call& c) {
                CheckOneType(c);
                bool truncate = c.Flag("fmod");
                if (c.dtype(0).is_float() && !truncate)
                  TERN_THROW(TypeError) << "floats have a remainder with fmod = 1 alone";
                return c.Elementwise([&](const Expr& a, const Expr& b) {
                  if (a.dtype().is_float()) return a - tir::Call("trunc", {a / b}) * b;
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
  RegisterResizeOp();
  RegisterSelectOps();
}

}  // namespace tern::op
