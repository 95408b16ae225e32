// SPDX-License-Identifier: Apache-2.0
//
// Signals: discrete Fourier transforms, window functions, mel filters. Complex numbers are a last
// axis of two, real and imaginary.
#include <cmath>
#include <functional>
#include <numbers>

#include "tern/op/formulas.h"
#include "tern/op/register.h"
#include "tern/tir/text.h"

namespace tern::op {
namespace {

DataType TypeOf(const Call& c, DataType otherwise) {
  if (!c.HasAttr("output_datatype")) return otherwise;
  std::optional<DataType> given = DataType::Parse(c.String("output_datatype"));
  TERN_CHECK(given && !given->is_bool())
      << "there are no numbers of type " << c.String("output_datatype");
  return *given;
}

// ---- Fourier transforms

// cos and sin of 2 * pi * k / length, for each k.
struct Roots {
  Tensor cos, sin;
};

Roots RootsOf(const Call& c, const Expr& length, DataType dtype) {
  auto make = [&](const char* name) {
    return Compute(c.name(name), {length}, [&](const Var& k) {
      Expr angle = tir::Const(DataType::Float(64), 2 * std::numbers::pi) *
                   tir::Cast(DataType::Float(64), k) / tir::Cast(DataType::Float(64), length);
      return Converted(dtype, tir::Call(name, {angle}));
    });
  };
  return {make("cos"), make("sin")};
}

Expr KnownCount(const Call& c, size_t input, const Expr& otherwise) {
  if (!c.has(input)) return otherwise;
  c.content(input);
  return Simplified(AsIndex(c.Scalar(input)));
}

void CheckPositive(const Expr& count, const char* what) {
  std::optional<int64_t> known = ir::AsConstInt(count);
  TERN_CHECK(!known || *known > 0) << what << " is positive, not " << *known;
}

// Element `n` of a signal: 0 behind its end.
struct Complex {
  Expr real, imaginary;  // null: 0
};
Complex SampleAt(const Tensor& x, Exprs at, size_t axis, const Expr& n, bool is_complex,
                 const Expr& length) {
  const Expr& extent = x.shape()[axis];
  auto part = [&](int64_t which) {
    Exprs in = WithIndex(at, axis, n);
    in.back() = Expr(which);
    std::optional<int64_t> beyond = ir::AsConstInt(Simplified(length - extent));
    if (beyond && *beyond <= 0) return x.At(std::move(in));
    in[axis] = Min(n, extent - 1);
    Expr value = x.At(std::move(in));
    return Select(n < extent, value, Number(value, 0));
  };
  return {part(0), is_complex ? part(1) : Expr()};
}

Tensors Dft(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  TERN_CHECK(x.rank() >= 2) << "the input is [..., length, ..., 1 or 2]";
  int64_t parts = StaticExtent(x.shape().back(), "the last axis");
  TERN_CHECK(parts == 1 || parts == 2) << "the last axis has an extent of 1 or 2, not " << parts;
  int64_t given = -2;
  if (c.has(2)) {
    c.content(2);
    std::optional<int64_t> known = ir::AsConstInt(c.Scalar(2));
    TERN_CHECK(known) << "the axis has to be known when compiling";
    given = *known;
  }
  auto axis = static_cast<size_t>(c.AxisOf(given, c.rank(0)));
  TERN_CHECK(axis + 1 < x.rank()) << "the last axis is that of real and imaginary parts";
  bool inverse = c.Flag("inverse"), onesided = c.Flag("onesided"), real = inverse && onesided;
  const Expr& extent = x.shape()[axis];
  Expr length = KnownCount(c, 1, real ? Simplified((extent - 1) * Expr(2)) : extent);
  CheckPositive(length, "the length of the transform");
  TERN_CHECK(!real || parts == 2) << "an inverse transform of one side is of complex numbers";
  Expr half = Simplified(ir::FloorDiv(length, 2) + 1);
  Exprs shape = x.shape();
  shape[axis] = onesided && !inverse ? half : length;
  shape.back() = real ? 1 : 2;
  Roots roots = RootsOf(c, length, x.dtype());
  Expr count = Simplified(tir::Cast(x.dtype(), length));
  bool scaled = inverse;
  Tensor sums = Compute(scaled ? c.name("sums") : c.name(), shape, [&](const Vars& axes) {
    ReduceAxis n("n", real ? half : length);
    Expr number = ir::FloorMod(axes[axis] * Expr(n), length);
    Expr cos = roots.cos(number), sin = roots.sin(number);
    Complex sample = SampleAt(x, Indices(axes), axis, n, parts == 2, real ? half : length);
    if (real) {
      // Frequencies above the half are conjugates of those below.
      Expr one = Number(cos, 1);
      Expr single = Expr(n) == Expr(0) || Expr(n) * Expr(2) == length;
      Expr weight = Select(single, one, one + one);
      return tir::Sum((sample.real * cos - sample.imaginary * sin) * weight, {n});
    }
    if (!inverse) sin = Number(sin, 0) - sin;
    Expr re = sample.real * cos, im = sample.real * sin;
    if (sample.imaginary) {
      re = re - sample.imaginary * sin;
      im = im + sample.imaginary * cos;
    }
    return tir::Sum(Select(axes.back() == Expr(0), re, im), {n});
  });
  if (!scaled) return {sums};
  return {
      Compute(c.name(), shape, [&](const Vars& axes) { return sums.At(Indices(axes)) / count; })};
}

// Transforms of frames, of which each starts frame_step behind the one before.
Tensors Stft(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  TERN_CHECK(x.rank() == 2 || x.rank() == 3) << "the signal is [batch, length, 1 or 2]";
  int64_t parts = x.rank() == 2 ? 1 : StaticExtent(x.shape()[2], "the last axis");
  TERN_CHECK(parts == 1 || parts == 2) << "the last axis has an extent of 1 or 2, not " << parts;
  if (c.has(2)) {
    CheckRank(c, 2, 1);
    TERN_CHECK(c.dtype(2) == x.dtype()) << "the window is of the signal's type";
  }
  Expr step = KnownCount(c, 1, 1);
  Expr length = KnownCount(c, 3, c.has(2) ? c.shape(2)[0] : x.shape()[1]);
  CheckPositive(step, "the step of frames");
  CheckPositive(length, "the length of frames");
  if (c.has(2)) c.RequireEqual(c.shape(2)[0], length, "the length of window and frames");
  bool onesided = c.Flag("onesided");
  TERN_CHECK(!onesided || parts == 1) << "a transform of one side is of real numbers";
  Expr frames = Simplified(Max(ir::FloorDiv(x.shape()[1] - length, step) + 1, 0));
  Exprs shape{x.shape()[0], frames, onesided ? Simplified(ir::FloorDiv(length, 2) + 1) : length, 2};
  Roots roots = RootsOf(c, length, x.dtype());
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    ReduceAxis n("n", length);
    Expr number = ir::FloorMod(axes[2] * Expr(n), length);
    Expr cos = roots.cos(number), sin = Number(cos, 0) - roots.sin(number);
    Expr place = axes[1] * step + n;
    auto part = [&](int64_t which) {
      Expr value = x.rank() == 2 ? x(axes[0], place) : x(axes[0], place, Expr(which));
      return c.has(2) ? value * c.tensor(2)(n) : value;
    };
    Expr re = part(0) * cos, im = part(0) * sin;
    if (parts == 2) {
      re = re - part(1) * sin;
      im = im + part(1) * cos;
    }
    return tir::Sum(Select(axes[3] == Expr(0), re, im), {n});
  })};
}

// ---- Windows

// Sums of cosines: a0 - a1 * cos(2 pi n / N) + a2 * cos(4 pi n / N).
void RegisterWindow(const char* name, const char* summary, double a0, double a1, double a2) {
  RegisterOp({.name = name,
              .summary = summary,
              .inputs = {"size"},
              .attrs = {{"output_datatype", AttrKind::kString, ffi::Any(std::string("float32"))},
                        {"periodic", AttrKind::kInt, ffi::Any(1)}},
              .compute = [=](Call& c) {
                Expr size = KnownCount(c, 0, 1);
                DataType type = TypeOf(c, DataType::Float(32)), wide = DataType::Float(64);
                Expr period = c.Flag("periodic") ? size : size - 1;
                return Tensors{Compute(c.name(), {Simplified(Max(size, 0))}, [&](const Var& n) {
                  Expr angle = tir::Const(wide, 2 * std::numbers::pi) * tir::Cast(wide, n) /
                               tir::Cast(wide, period);
                  Expr value =
                      tir::Const(wide, a0) - tir::Const(wide, a1) * tir::Call("cos", {angle});
                  if (a2 != 0)
                    value = value + tir::Const(wide, a2) * tir::Call("cos", {angle + angle});
                  return Converted(type, value);
                })};
              }});
}

// Triangles of equal width in mel, over the bins of a spectrogram.
Tensors MelWeightMatrix(Call& c) {
  const DataType wide = DataType::Float(64), whole = DataType::Int(64);
  for (size_t i = 0; i < 5; ++i) c.content(i);
  Expr bins = KnownCount(c, 0, 1), length = KnownCount(c, 1, 1);
  CheckPositive(bins, "the number of mel bins");
  CheckPositive(length, "the length of the transform");
  auto number = [&](size_t i) { return Converted(wide, c.Scalar(i)); };
  auto constant = [&](double value) { return tir::Const(wide, value); };
  auto mel = [&](const Expr& hertz) {
    return constant(2595 / std::numbers::ln10) * tir::Call("log1p", {hertz / constant(700)});
  };
  Expr low = mel(number(3)), high = mel(number(4));
  Tensor edges = Compute(c.name("edges"), {Simplified(bins + 2)}, [&](const Var& i) {
    Expr step = (high - low) / Converted(wide, bins + 2);
    Expr at = low + Converted(wide, i) * step;
    Expr hertz = constant(700) * tir::Call("expm1", {at * constant(std::numbers::ln10 / 2595)});
    Expr bin = Converted(wide, length + 1) * hertz / number(2);
    return tir::Cast(whole, tir::Call("floor", {bin}));
  });
  DataType type = TypeOf(c, DataType::Float(32));
  Exprs shape{Simplified(ir::FloorDiv(length, 2) + 1), bins};
  return {Compute(c.name(), shape, [&](Var j, Var i) {
    Expr left = edges(i), center = edges(i + Expr(1)), right = edges(i + Expr(2));
    auto ratio = [&](const Expr& part, const Expr& all) {
      return Converted(wide, part) / Converted(wide, Max(all, 1));
    };
    Expr zero = constant(0);
    Expr up = Select(left == center, Select(j == center, constant(1), zero),
                     Select(j >= left && center >= j, ratio(j - left, center - left), zero));
    Expr down = Select(j >= center && j < right, ratio(right - j, right - center), up);
    return Converted(type, down);
  })};
}

}  // namespace

void RegisterSignalOps() {
  RegisterOp({.name = "dft",
              .summary = "discrete Fourier transform along an axis",
              .inputs = {"x", "dft_length?", "axis?"},
              .attrs = {{"inverse", AttrKind::kInt, ffi::Any(0)},
                        {"onesided", AttrKind::kInt, ffi::Any(0)}},
              .compute = Dft});
  RegisterOp({.name = "stft",
              .summary = "Fourier transforms of windowed frames of a signal",
              .inputs = {"signal", "frame_step", "window?", "frame_length?"},
              .attrs = {{"onesided", AttrKind::kInt, ffi::Any(1)}},
              .compute = Stft});
  RegisterWindow("hann_window", "sin(pi n / N) squared", 0.5, 0.5, 0);
  RegisterWindow("hamming_window", "25/46 - 21/46 cos(2 pi n / N)", 25.0 / 46, 21.0 / 46, 0);
  RegisterWindow("blackman_window", "0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)", 0.42, 0.5,
                 0.08);
  RegisterOp({.name = "mel_weight_matrix",
              .summary = "weights that make mel bins of the bins of a spectrogram",
              .inputs = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz",
                         "upper_edge_hertz"},
              .attrs = {{"output_datatype", AttrKind::kString, ffi::Any(std::string("float32"))}},
              .compute = MelWeightMatrix});
}

}  // namespace tern::op
