// SPDX-License-Identifier: Apache-2.0
//
// Steps of optimizers: new weights and new state of gradients, weights and old state.
#include "tern/op/formulas.h"
#include "tern/op/register.h"

namespace tern::op {
namespace {

// Inputs: rate and count, scalars, then tensors of one shape. Results are formulas of their
// elements.
struct Step {
  Expr rate, count;
  std::function<Expr(const char*)> number;  // an attribute
};

Tensors Update(const Call& c, size_t results,
               const std::function<std::vector<Expr>(const Step&, const Exprs& elements)>& f) {
  DataType type = c.dtype(2);
  for (size_t i = 2; i < c.size(); ++i) {
    CheckFloat(c, i);
    TERN_CHECK(c.dtype(i) == type && c.rank(i) == c.rank(2))
        << "weights, gradients and state are of one type and shape";
    for (size_t d = 0; d < c.shape(i).size(); ++d)
      c.RequireEqual(c.shape(i)[d], c.shape(2)[d], "the shape of weights, gradients and state");
  }
  Step step{Converted(type, c.Scalar(0)), Converted(type, c.Scalar(1)),
            [&c, type](const char* name) { return tir::Const(type, c.Float(name)); }};
  Tensors all;
  for (size_t k = 0; k < results; ++k)
    all.push_back(Compute(k ? c.name() + "_" + std::to_string(k) : c.name(), c.shape(2),
                          [&](const Vars& axes) {
                            Exprs elements;
                            for (size_t i = 2; i < c.size(); ++i)
                              elements.push_back(c.tensor(i).At(Indices(axes)));
                            return f(step, elements)[k];
                          }));
  return all;
}

// The gradient with a penalty on the weight's size.
Expr Regularized(const Step& s, const Expr& weight, const Expr& gradient) {
  return s.number("norm_coefficient") * weight + gradient;
}

std::vector<Expr> Adagrad(const Step& s, const Exprs& e) {
  Expr rate = s.rate / (Number(s.rate, 1) + s.count * s.number("decay_factor"));
  Expr gradient = Regularized(s, e[0], e[1]), squares = e[2] + gradient * gradient;
  Expr size = tir::Call("sqrt", {squares}) + s.number("epsilon");
  return {e[0] - rate * gradient / size, squares};
}

std::vector<Expr> Adam(const Step& s, const Exprs& e) {
  Expr one = Number(s.rate, 1), alpha = s.number("alpha"), beta = s.number("beta");
  Expr gradient = Regularized(s, e[0], e[1]);
  Expr mean = alpha * e[2] + (one - alpha) * gradient;
  Expr square = beta * e[3] + (one - beta) * gradient * gradient;
  // Early steps have seen few gradients.
  Expr corrected = tir::Call("sqrt", {one - tir::Call("pow", {beta, s.count})}) /
                   (one - tir::Call("pow", {alpha, s.count}));
  Expr rate = Select(Number(s.count, 0) < s.count, s.rate * corrected, s.rate);
  Expr weight = e[0] - rate * mean / (tir::Call("sqrt", {square}) + s.number("epsilon"));
  return {(one - s.number("norm_coefficient_post")) * weight, mean, square};
}

std::vector<Expr> Momentum(const Step& s, const Exprs& e, bool nesterov) {
  Expr gradient = Regularized(s, e[0], e[1]), alpha = s.number("alpha");
  Expr beta = Select(Number(s.count, 0) < s.count, s.number("beta"), Number(s.rate, 1));
  Expr moment = alpha * e[2] + beta * gradient;
  return {e[0] - s.rate * (nesterov ? gradient + alpha * moment : moment), moment};
}

}  // namespace

void RegisterTrainingOps() {
  auto number = [](const char* name, double value) {
    return graph::AttrSpec{name, AttrKind::kFloat, ffi::Any(value)};
  };
  RegisterOp(
      {.name = "adagrad",
       .summary = "a step of Adagrad: weights, squared gradients",
       .inputs = {"rate", "count", "x", "gradient", "squares"},
       .attrs = {number("decay_factor", 0), number("epsilon", 0), number("norm_coefficient", 0)},
       .compute = [](Call& c) { return Update(c, 2, Adagrad); }});
  RegisterOp({.name = "adam",
              .summary = "a step of Adam: weights, mean and mean square of gradients",
              .inputs = {"rate", "count", "x", "gradient", "mean", "square"},
              .attrs = {number("alpha", 0.9), number("beta", 0.999), number("epsilon", 0),
                        number("norm_coefficient", 0), number("norm_coefficient_post", 0)},
              .compute = [](Call& c) { return Update(c, 3, Adam); }});
  RegisterOp({.name = "momentum",
              .summary = "a step with momentum, standard or nesterov: weights, momentum",
              .inputs = {"rate", "count", "x", "gradient", "moment"},
              .attrs = {number("alpha", 0),
                        number("beta", 0),
                        number("norm_coefficient", 0),
                        {"mode", AttrKind::kString, ffi::Any(std::string("standard"))}},
              .compute = [](Call& c) {
                std::string mode = c.String("mode");
                TERN_CHECK(mode == "standard" || mode == "nesterov")
                    << "mode is standard or nesterov, not " << mode;
                return Update(c, 2, [&](const Step& s, const Exprs& e) {
                  return Momentum(s, e, mode == "nesterov");
                });
              }});
}

}  // namespace tern::op
