// SPDX-License-Identifier: Apache-2.0
//
// Resizing by interpolation, along any axes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tern/op/cubic.h"
#include "tern/op/formulas.h"
#include "tern/op/register.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

const DataType kFloat = DataType::Float(32);

Expr Number(double value) { return tir::Const(kFloat, value); }

// An input element that counts for an output element, and how much. A null weight is 1.
struct Tap {
  Expr index, weight;
};

// One axis that changes.
struct Axis {
  int64_t in = 0, out = 0;
  double scale = 1;           // 0: not known
  double start = 0, end = 1;  // of the region that is resized, for tf_crop_and_resize
  Expr open_in, open_out;     // where these are not known when compiling, both

  bool is_open() const { return static_cast<bool>(open_in); }
  bool changes() const { return in > 0 || is_open(); }
  Expr In() const { return is_open() ? open_in : Expr(in); }
  Expr Out() const { return is_open() ? open_out : Expr(out); }
};

int64_t ExtentOf(const Expr& extent) {
  std::optional<int64_t> constant = ir::AsConstInt(extent);
  TERN_CHECK(constant) << "an extent that is resized in this mode has to be known when compiling, "
                       << "as with --input-shape or --dim; it is " << tir::Print(extent);
  return *constant;
}

// An error where the mode is none for extents that are dynamic.
void CheckKnown(const Axis& axis) {
  ExtentOf(axis.In());
  ExtentOf(axis.Out());
}

class Resizer {
 public:
  explicit Resizer(const Call& c)
      : mode_(c.String("mode")),
        coordinates_(c.String("coordinate_transformation_mode")),
        nearest_(c.String("nearest_mode")),
        cubic_(c.Float("cubic_coeff_a")) {
    TERN_CHECK(mode_ == "nearest" || mode_ == "linear" || mode_ == "cubic")
        << "mode is nearest, linear or cubic, not " << mode_;
    antialias_ = c.Flag("antialias");
    exclude_outside_ = c.Flag("exclude_outside");
    TERN_CHECK(!antialias_ || mode_ != "nearest") << "antialias is of linear and cubic";
  }

  std::vector<Tap> Taps(const Expr& i, const Axis& axis) const {
    double whole = std::round(axis.scale);
    bool is_multiple = whole > 0 && whole == axis.scale &&
                       (axis.is_open() || axis.in * static_cast<int64_t>(whole) == axis.out);
    bool repeats =
        is_multiple && mode_ == "nearest" && coordinates_ == "asymmetric" && nearest_ == "floor";
    if (repeats) return {{ir::FloorDiv(i, static_cast<int64_t>(whole)), {}}};
    Expr x = Coordinate(tir::Cast(kFloat, i), axis);
    if (mode_ == "nearest") return {{Inside(AsIndex(Nearest(x)), axis), {}}};
    Expr base = tir::Call("floor", {x}), rest = x - base, at = AsIndex(base);
    bool linear = mode_ == "linear";
    if (linear && !antialias_ && !exclude_outside_)
      return {{Inside(at, axis), Number(1) - rest}, {Inside(at + 1, axis), rest}};
    // Where the result is smaller, the kernel covers as many more pixels.
    if (antialias_) CheckKnown(axis);
    double width = antialias_ ? std::min(axis.scale, 1.0) : 1;
    int64_t reach = linear ? 1 : 2;
    auto first = static_cast<int64_t>(std::floor(-static_cast<double>(reach) / width)) + 1;
    TERN_CHECK(first > -kMostTaps)
        << "antialias to 1 / " << -first << " of an extent is not supported";
    std::vector<Tap> taps;
    Expr total;
    for (int64_t k = first; k <= 1 - first; ++k) {
      Expr index = at + Expr(k);
      Expr distance = (rest - Number(static_cast<double>(k))) * Number(width);
      Expr weight = linear ? Max(Number(1) - tir::Call("abs", {distance}), Number(0))
                           : CubicWeight(distance, cubic_);
      if (exclude_outside_)
        weight = Select(index >= Expr(0) && index < axis.In(), weight, Number(0));
      taps.push_back({Inside(index, axis), weight});
      total = total ? total + weight : weight;
    }
    if (antialias_ || exclude_outside_)
      for (Tap& tap : taps) tap.weight = tap.weight / total;
    return taps;
  }

  // Whether an output element lies in the input; null: it does.
  Expr IsInside(const Expr& i, const Axis& axis) const {
    if (coordinates_ != "tf_crop_and_resize") return {};
    Expr x = Coordinate(tir::Cast(kFloat, i), axis);
    return x >= Number(0) && Number(static_cast<double>(axis.in - 1)) >= x;
  }

 private:
  static constexpr int64_t kMostTaps = 64;

  static Expr Inside(const Expr& at, const Axis& axis) {
    return Clamped(at, 0, axis.is_open() ? axis.open_in - 1 : Expr(axis.in - 1));
  }

  Expr OpenCoordinate(const Expr& x, const Axis& axis) const {
    Expr in = tir::Cast(kFloat, axis.In()), out = tir::Cast(kFloat, axis.Out());
    Expr scale = axis.scale > 0 ? Number(axis.scale) : out / in;
    if (coordinates_ == "asymmetric") return x / scale;
    if (coordinates_ == "half_pixel") return (x + Number(0.5)) / scale - Number(0.5);
    if (coordinates_ == "pytorch_half_pixel")
      return Select(Expr(1) < axis.Out(), (x + Number(0.5)) / scale - Number(0.5), Number(-0.5));
    if (coordinates_ == "align_corners") {
      Expr width = axis.scale > 0 ? scale * in : out;
      return Select(Number(1) < width, x * (in - Number(1)) / (width - Number(1)), Number(0));
    }
    CheckKnown(axis);
    return {};
  }

  // Where an output element lies in the input.
  Expr Coordinate(const Expr& x, const Axis& axis) const {
    if (axis.is_open()) return OpenCoordinate(x, axis);
    auto in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
    double width = axis.scale * in;  // before it was rounded
    if (coordinates_ == "asymmetric") return x / Number(axis.scale);
    if (coordinates_ == "align_corners")
      return width == 1 ? Number(0) : x * Number((in - 1) / (width - 1));
    if (coordinates_ == "tf_half_pixel_for_nn") return (x + Number(0.5)) / Number(axis.scale);
    if (coordinates_ == "tf_crop_and_resize") {
      double range = (axis.end - axis.start) * (in - 1), start = axis.start * (in - 1);
      return width == 1 ? Number(start + range / 2)
                        : Number(start) + x * Number(range / (width - 1));
    }
    if (coordinates_ == "half_pixel" || (coordinates_ == "pytorch_half_pixel" && out > 1))
      return (x + Number(0.5)) / Number(axis.scale) - Number(0.5);
    if (coordinates_ == "pytorch_half_pixel") return Number(-0.5);
    if (coordinates_ == "half_pixel_symmetric") {
      double adjustment = out / width, center = in / 2;
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

  std::string mode_, coordinates_, nearest_;
  double cubic_;
  bool antialias_ = false, exclude_outside_ = false;
};

// The extent times a scale of a few binary digits, rounded down.
Expr ScaledExtent(const Expr& extent, double scale) {
  constexpr int64_t kParts = 1024;
  double parts = scale * static_cast<double>(kParts);
  if (parts != std::floor(parts) || parts > 1e9) ExtentOf(extent);
  auto count = static_cast<int64_t>(parts);
  if (count % kParts == 0) return Simplified(extent * Expr(count / kParts));
  int64_t divisor = std::gcd(count, kParts);
  return Simplified(ir::FloorDiv(extent * Expr(count / divisor), Expr(kParts / divisor)));
}

// One scale for all axes, of which the sizes are at most, or at least, those that are wanted.
void KeepAspectRatio(const Call& c, const std::vector<int64_t>& axes, std::vector<Axis>* all) {
  std::string policy = c.String("keep_aspect_ratio_policy");
  if (policy == "stretch" || !c.has(2)) return;
  TERN_CHECK(policy == "not_larger" || policy == "not_smaller")
      << "keep_aspect_ratio_policy is stretch, not_larger or not_smaller, not " << policy;
  std::optional<double> scale;
  auto at = [&](int64_t axis) { return static_cast<size_t>(c.AxisOf(axis, c.rank(0))); };
  for (int64_t axis : axes) {
    const Axis& given = (*all)[at(axis)];
    CheckKnown(given);
    double own = given.in ? given.scale : 1;
    if (!scale) scale = own;
    scale = policy == "not_larger" ? std::min(*scale, own) : std::max(*scale, own);
  }
  for (int64_t axis : axes) {
    int64_t in = ExtentOf(c.shape(0)[at(axis)]);
    auto out = static_cast<int64_t>(std::lround(*scale * static_cast<double>(in)));
    (*all)[at(axis)] = {in, out, *scale};
  }
}

// Starts, then ends, of the axes.
void AddRegions(const Call& c, const std::vector<int64_t>& axes, std::vector<Axis>* all) {
  if (c.String("coordinate_transformation_mode") != "tf_crop_and_resize") return;
  TERN_CHECK(c.has(3) && c.content(3).size() == 2 * axes.size())
      << "tf_crop_and_resize needs two numbers of roi for each axis";
  auto number = [&](size_t i) {
    const auto* constant = c.content(3)[i].As<ir::FloatImmNode>();
    TERN_CHECK(constant) << "roi has to be known when compiling";
    return constant->value;
  };
  for (size_t k = 0; k < axes.size(); ++k) {
    auto i = static_cast<size_t>(c.AxisOf(axes[k], c.rank(0)));
    double start = number(k), end = number(k + axes.size());
    if (!(*all)[i].in) {
      if (start == 0 && end == 1 && !(*all)[i].is_open()) continue;
      int64_t in = ExtentOf(c.shape(0)[i]);
      (*all)[i] = {in, in, 1};
    }
    (*all)[i].start = start;
    (*all)[i].end = end;
  }
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
      if (!ir::AsConstInt(c.shape(0)[i])) {
        result[i] = {.scale = number->value,
                     .open_in = c.shape(0)[i],
                     .open_out = ScaledExtent(c.shape(0)[i], number->value)};
        continue;
      }
      int64_t in = ExtentOf(c.shape(0)[i]);
      auto out = static_cast<int64_t>(std::floor(static_cast<double>(in) * number->value));
      result[i] = {in, out, number->value};
    } else {
      if (graph::SameExtent(given, c.shape(0)[i])) continue;
      if (!ir::AsConstInt(c.shape(0)[i]) || !ir::AsConstInt(given)) {
        result[i] = {.scale = 0, .open_in = c.shape(0)[i], .open_out = given};
        continue;
      }
      int64_t in = ExtentOf(c.shape(0)[i]), out = ExtentOf(given);
      result[i] = {in, out, static_cast<double>(out) / static_cast<double>(in)};
    }
  }
  KeepAspectRatio(c, axes, &result);
  AddRegions(c, axes, &result);
  for (size_t i = 0; i < result.size(); ++i)
    if (result[i].changes()) (*shape)[i] = result[i].Out();
  return result;
}

Tensors Resize(Call& c) {
  Resizer resizer(c);
  Exprs shape;
  std::vector<Axis> axes = AxesOf(c, &shape);
  const Tensor& x = c.tensor(0);
  bool interpolates = c.String("mode") != "nearest";
  return {tir::Compute(c.name(), shape, [&](const std::vector<Var>& out) {
    // Taps of all axes, multiplied out.
    std::vector<std::pair<Exprs, Expr>> terms{{{}, {}}};
    Expr inside;
    for (size_t i = 0; i < out.size(); ++i) {
      std::vector<Tap> taps{{out[i], {}}};
      if (axes[i].changes()) {
        taps = resizer.Taps(out[i], axes[i]);
        if (Expr here = resizer.IsInside(out[i], axes[i])) inside = inside ? inside && here : here;
      }
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
    if (interpolates) sum = Converted(x.dtype(), sum);
    if (!inside || x.dtype().is_bool()) return sum;
    return Select(inside, sum, tir::Const(x.dtype(), c.Float("extrapolation_value")));
  })};
}

}  // namespace

void RegisterResizeOp() {
  RegisterOp(
      {.name = "resize",
       .summary = "x at other extents, by interpolation; scales or sizes of each axis",
       .inputs = {"x", "scales?", "sizes?", "roi?"},
       .attrs = {{"mode", AttrKind::kString, ffi::Any(std::string("nearest"))},
                 {"coordinate_transformation_mode", AttrKind::kString,
                  ffi::Any(std::string("half_pixel"))},
                 {"nearest_mode", AttrKind::kString, ffi::Any(std::string("round_prefer_floor"))},
                 {"cubic_coeff_a", AttrKind::kFloat, ffi::Any(-0.75)},
                 {"extrapolation_value", AttrKind::kFloat, ffi::Any(0.0)},
                 {"antialias", AttrKind::kInt, ffi::Any(0)},
                 {"exclude_outside", AttrKind::kInt, ffi::Any(0)},
                 {"keep_aspect_ratio_policy", AttrKind::kString, ffi::Any(std::string("stretch"))},
                 {"axes", AttrKind::kInts}},
       .compute = Resize});
}

}  // namespace tern::op
