// SPDX-License-Identifier: Apache-2.0
//
// Resizing by interpolation, along any axes.
#include <cmath>

#include "tern/graph/op.h"
#include "tern/op/register.h"
#include "tern/tir/interpreter/evaluate.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

using graph::AttrKind;
using graph::Call;
using graph::RegisterOp;
using ir::Expr;
using ir::Var;
using tir::Max;
using tir::Min;
using tir::Tensor;
using Exprs = std::vector<Expr>;

const DataType kFloat = DataType::Float(32);

Expr Number(double value) { return tir::Const(kFloat, value); }
Expr AsInt(const Expr& value) { return tir::Cast(DataType::Int(64), value); }

// An input element that counts for an output element, and how much. A null weight is 1.
struct Tap {
  Expr index, weight;
};

// One axis that changes.
struct Axis {
  int64_t in = 0, out = 0;
  double scale = 1;
};

class Resizer {
 public:
  explicit Resizer(const Call& c)
      : mode_(c.String("mode")),
        coordinates_(c.String("coordinate_transformation_mode")),
        nearest_(c.String("nearest_mode")),
        cubic_(c.Float("cubic_coeff_a")) {
    TERN_CHECK(mode_ == "nearest" || mode_ == "linear" || mode_ == "cubic")
        << "mode is nearest, linear or cubic, not " << mode_;
    TERN_CHECK(!c.Flag("antialias") && !c.Flag("exclude_outside"))
        << "antialias and exclude_outside are not supported";
  }

  std::vector<Tap> Taps(const Expr& i, const Axis& axis) const {
    double whole = std::round(axis.scale);
    bool repeats = mode_ == "nearest" && coordinates_ == "asymmetric" && nearest_ == "floor" &&
                   whole == axis.scale && axis.in * static_cast<int64_t>(whole) == axis.out;
    if (repeats) return {{ir::FloorDiv(i, static_cast<int64_t>(whole)), {}}};
    Expr x = Coordinate(tir::Cast(kFloat, i), axis);
    if (mode_ == "nearest") return {{Clamped(AsInt(Nearest(x)), axis), {}}};
    Expr base = tir::Call("floor", {x}), rest = x - base, at = AsInt(base);
    if (mode_ == "linear")
      return {{Clamped(at, axis), Number(1) - rest}, {Clamped(at + 1, axis), rest}};
    std::vector<Tap> taps;
    for (int64_t k = -1; k <= 2; ++k)
      taps.push_back(
          {Clamped(at + Expr(k), axis), CubicWeight(rest - Number(static_cast<double>(k)))});
    return taps;
  }

 private:
  static Expr Clamped(const Expr& at, const Axis& axis) { return Min(Max(at, 0), axis.in - 1); }

  // Where an output element lies in the input.
  Expr Coordinate(const Expr& x, const Axis& axis) const {
    auto in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
    if (coordinates_ == "asymmetric") return x / Number(axis.scale);
    if (coordinates_ == "align_corners")
      return out == 1 ? Number(0) : x * Number((in - 1) / (out - 1));
    if (coordinates_ == "half_pixel" || (coordinates_ == "pytorch_half_pixel" && out > 1))
      return (x + Number(0.5)) / Number(axis.scale) - Number(0.5);
    if (coordinates_ == "pytorch_half_pixel") return Number(0);
    if (coordinates_ == "half_pixel_symmetric") {
      double adjustment = out / (axis.scale * in), center = in / 2;
      return Number(center * (1 - adjustment)) + (x + Number(0.5)) / Number(axis.scale) -
             Number(0.5);
    }
    TERN_THROW(ValueError) << "coordinate_transformation_mode " << coordinates_
                           << " is not supported";
  }

  Expr Nearest(const Expr& x) const {
    if (nearest_ == "floor") return tir::Call("floor", {x});
    if (nearest_ == "ceil") return tir::Call("ceil", {x});
    if (nearest_ == "round_prefer_floor") return tir::Call("ceil", {x - Number(0.5)});
    if (nearest_ == "round_prefer_ceil") return tir::Call("floor", {x + Number(0.5)});
    TERN_THROW(ValueError) << "nearest_mode " << nearest_ << " is not supported";
  }

  // Keys' kernel at a distance of up to 2.
  Expr CubicWeight(const Expr& distance) const {
    Expr d = tir::Call("abs", {distance}), a = Number(cubic_);
    Expr near = ((a + Number(2)) * d - (a + Number(3))) * d * d + Number(1);
    Expr far = ((a * d - Number(5 * cubic_)) * d + Number(8 * cubic_)) * d - Number(4 * cubic_);
    return tir::Select(d < Number(1), near, far);
  }

  std::string mode_, coordinates_, nearest_;
  double cubic_;
};

int64_t Static(const Expr& extent) {
  std::optional<int64_t> constant = ir::AsConstInt(extent);
  TERN_CHECK(constant) << "an extent that is resized has to be known when compiling; it is "
                       << tir::Print(extent);
  return *constant;
}

// The scale of each axis, and the shape of the result.
std::vector<Axis> AxesOf(const Call& c, Exprs* shape) {
  std::vector<int64_t> axes;
  if (c.HasAttr("axes"))
    axes = c.Ints("axes");
  else
    for (int64_t i = 0; i < c.rank(0); ++i) axes.push_back(i);
  bool by_scale = c.has(1) && !c.content(1).empty();
  TERN_CHECK(by_scale || c.has(2)) << "neither scales nor sizes are given";
  std::string policy = c.String("keep_aspect_ratio_policy");
  TERN_CHECK(policy == "stretch") << "keep_aspect_ratio_policy " << policy << " is not supported";
  std::vector<Axis> result(static_cast<size_t>(c.rank(0)));
  *shape = c.shape(0);
  TERN_CHECK(c.content(by_scale ? 1 : 2).size() == axes.size())
      << "there are " << axes.size() << " axes to resize";
  for (size_t k = 0; k < axes.size(); ++k) {
    auto i = static_cast<size_t>(c.AxisOf(axes[k], c.rank(0)));
    Expr given = c.content(by_scale ? 1 : 2)[k];
    if (by_scale) {
      const auto* number = given.As<ir::FloatImmNode>();
      TERN_CHECK(number && number->value > 0) << "scales are positive constants";
      if (number->value == 1) continue;
      int64_t in = Static(c.shape(0)[i]);
      auto out = static_cast<int64_t>(std::floor(static_cast<double>(in) * number->value));
      result[i] = {in, out, number->value};
    } else {
      if (graph::SameExtent(given, c.shape(0)[i])) continue;
      int64_t in = Static(c.shape(0)[i]), out = Static(given);
      result[i] = {in, out, static_cast<double>(out) / static_cast<double>(in)};
    }
    (*shape)[i] = result[i].out;
  }
  return result;
}

std::vector<Tensor> Resize(Call& c) {
  Resizer resizer(c);
  Exprs shape;
  std::vector<Axis> axes = AxesOf(c, &shape);
  const Tensor& x = c.tensor(0);
  bool interpolates = c.String("mode") != "nearest";
  return {tir::Compute(c.name(), shape, [&](const std::vector<Var>& out) {
    // Taps of all axes, multiplied out.
    std::vector<std::pair<Exprs, Expr>> terms{{{}, {}}};
    for (size_t i = 0; i < out.size(); ++i) {
      std::vector<Tap> taps{{out[i], {}}};
      if (axes[i].in) taps = resizer.Taps(out[i], axes[i]);
      std::vector<std::pair<Exprs, Expr>> next;
      for (const auto& [at, weight] : terms)
        for (const Tap& tap : taps) {
          next.emplace_back(at, !tap.weight ? weight : !weight ? tap.weight : weight * tap.weight);
          next.back().first.push_back(tap.index);
        }
      terms = std::move(next);
    }
    Expr sum;
    for (const auto& [at, weight] : terms) {
      Expr element = x.At(at);
      if (weight) element = (x.dtype() == kFloat ? element : tir::Cast(kFloat, element)) * weight;
      sum = sum ? sum + element : element;
    }
    return interpolates && sum.dtype() != x.dtype() ? tir::Cast(x.dtype(), sum) : sum;
  })};
}

}  // namespace

void RegisterResizeOp() {
  RegisterOp(
      {.name = "resize",
       .summary = "x at other extents, by interpolation; scales or sizes of each axis",
       .inputs = {"x", "scales?", "sizes?"},
       .attrs = {{"mode", AttrKind::kString, ffi::Any(std::string("nearest"))},
                 {"coordinate_transformation_mode", AttrKind::kString,
                  ffi::Any(std::string("half_pixel"))},
                 {"nearest_mode", AttrKind::kString, ffi::Any(std::string("round_prefer_floor"))},
                 {"cubic_coeff_a", AttrKind::kFloat, ffi::Any(-0.75)},
                 {"antialias", AttrKind::kInt, ffi::Any(0)},
                 {"exclude_outside", AttrKind::kInt, ffi::Any(0)},
                 {"keep_aspect_ratio_policy", AttrKind::kString, ffi::Any(std::string("stretch"))},
                 {"axes", AttrKind::kInts}},
       .compute = Resize});
}

}  // namespace tern::op
