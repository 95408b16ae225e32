// SPDX-License-Identifier: Apache-2.0
//
// Random numbers. Element i of a tensor is a function of the seed and of i alone, so that results
// are the same on every target, for any number of threads, and in every run (docs/onnx.md):
//
//   bits(seed, i) = mix(mix(i + 0x9e3779b9) ^ seed)    of uint32, where mix is MurmurHash3's last
//                                                       step
//   uniform       = (bits >> 8) * 2^-24                 in [0, 1)
//   normal        = sqrt(-2 log(1 - u)) * cos(2 pi v)   u and v of seeds that differ
#include <numbers>

#include "tern/op/formulas.h"
#include "tern/op/register.h"

namespace tern::op {
namespace {

const DataType kWord = DataType::UInt(32);
const DataType kFloat = DataType::Float(32);

Expr Word(uint32_t value) { return tir::Const(kWord, value); }

Expr Mix(Expr x) {
  auto shift = [](const Expr& value, uint32_t bits) {
    return tir::Call("shift_right", {value, Word(bits)});
  };
  x = tir::Call("bit_xor", {x, shift(x, 16)}) * Word(0x85ebca6b);
  x = tir::Call("bit_xor", {x, shift(x, 13)}) * Word(0xc2b2ae35);
  return tir::Call("bit_xor", {x, shift(x, 16)});
}

// In [0, 1).
Expr Uniform(const Expr& number, uint32_t seed) {
  Expr bits =
      Mix(tir::Call("bit_xor", {Mix(tir::Cast(kWord, number) + Word(0x9e3779b9)), Word(seed)}));
  Expr top = tir::Call("shift_right", {bits, Word(8)});
  return tir::Cast(kFloat, top) * tir::Const(kFloat, 1.0 / (1 << 24));
}

Expr Normal(const Expr& number, uint32_t seed) {
  Expr u = Uniform(number, seed), v = Uniform(number, ~seed);
  Expr size = tir::Call("sqrt", {Number(u, -2) * tir::Call("log", {Number(u, 1) - u})});
  return size * tir::Call("cos", {v * Number(v, 2 * std::numbers::pi)});
}

uint32_t SeedOf(const Call& c) { return static_cast<uint32_t>(c.Int("seed")); }

DataType TypeOf(const Call& c, DataType otherwise) {
  if (!c.HasAttr("dtype")) return otherwise;
  std::optional<DataType> given = DataType::Parse(c.String("dtype"));
  TERN_CHECK(given) << "there is no type " << c.String("dtype");
  return *given;
}

DataType FloatTypeOf(const Call& c, DataType otherwise) {
  DataType type = TypeOf(c, otherwise);
  if (!type.is_float()) TERN_THROW(TypeError) << "random numbers are floats, not " << type.str();
  return type;
}

// The element of that shape as a float32 of 0 to 1, or of mean 0 and deviation 1.
Tensors Random(const Call& c, const Exprs& shape, DataType type, bool normal) {
  double a = c.Float(normal ? "mean" : "low"), b = c.Float(normal ? "scale" : "high");
  return {Compute(c.name(), shape, [&](const Vars& axes) {
    Expr number = FlatIndex(Indices(axes), shape);
    Expr value = normal ? Normal(number, SeedOf(c)) : Uniform(number, SeedOf(c));
    return Converted(type, tir::Const(kFloat, a) + value * tir::Const(kFloat, normal ? b : b - a));
  })};
}

Exprs GivenShape(const Call& c) {
  Exprs shape;
  for (int64_t extent : c.Ints("shape")) {
    TERN_CHECK(extent >= 0) << "extents are not negative";
    shape.emplace_back(extent);
  }
  return shape;
}

Tensors Bernoulli(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  DataType type = TypeOf(c, x.dtype());
  return {Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Expr number = FlatIndex(Indices(axes), x.shape());
    Expr one = Uniform(number, SeedOf(c)) < Converted(kFloat, x.At(Indices(axes)));
    return type.is_bool() ? one : Select(one, tir::Const(type, 1), tir::Const(type, 0));
  })};
}

// Classes by their logarithms of probabilities: the largest of these plus Gumbel noise.
Tensors Multinomial(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  CheckRank(c, 0, 2);
  DataType type = TypeOf(c, DataType::Int(32));
  TERN_CHECK(type.is_integer()) << "classes are integers, not " << type.str();
  int64_t samples = c.Int("sample_size");
  TERN_CHECK(samples > 0) << "sample_size is positive";
  Exprs shape{x.shape()[0], samples};
  Tensors found = tir::ComputeAll({c.name("class"), c.name("value")}, shape, [&](Var b, Var s) {
    ReduceAxis k("k", x.shape()[1]);
    Expr number = (b * Expr(samples) + s) * x.shape()[1] + k;
    Expr u = Uniform(number, SeedOf(c)) + tir::Const(kFloat, 0.5 / (1 << 24));
    Expr zero = Number(u, 0);
    Expr noise = zero - tir::Call("log", {zero - tir::Call("log", {u})});
    return tir::ArgMax(Converted(kFloat, x(b, k)) + noise, k);
  });
  return {Compute(c.name(), shape, [&](Var b, Var s) { return Converted(type, found[0](b, s)); })};
}

// Some elements, of probability `ratio`, become 0, the others larger by as much; and a mask of
// those.
Tensors Dropout(Call& c) {
  const Tensor& x = c.tensor(0);
  CheckFloat(c, 0);
  c.content(1);
  Expr ratio = Converted(kFloat, c.Scalar(1));
  auto keeps = [&](const Vars& axes) {
    return Uniform(FlatIndex(Indices(axes), x.shape()), SeedOf(c)) >= ratio;
  };
  Tensor mask = Compute(c.name("mask"), x.shape(), [&](const Vars& axes) { return keeps(axes); });
  Tensor y = Compute(c.name(), x.shape(), [&](const Vars& axes) {
    Expr value = x.At(Indices(axes));
    Expr left = Converted(x.dtype(), Number(ratio, 1) - ratio);
    return Select(keeps(axes), value / left, Number(value, 0));
  });
  return {y, mask};
}

}  // namespace

void RegisterRandomOps() {
  auto number = [](const char* name, double value) {
    return graph::AttrSpec{name, AttrKind::kFloat, ffi::Any(value)};
  };
  graph::AttrSpec seed{"seed", AttrKind::kInt, ffi::Any(0)}, dtype{"dtype", AttrKind::kString},
      shape{"shape", AttrKind::kInts, {}, true};
  for (bool normal : {false, true}) {
    graph::AttrSpec a = normal ? number("mean", 0) : number("low", 0),
                    b = normal ? number("scale", 1) : number("high", 1);
    RegisterOp({.name = normal ? "random_normal" : "random_uniform",
                .summary = normal ? "random numbers of a mean and a deviation"
                                  : "random numbers from low to before high",
                .inputs = {},
                .attrs = {a, b, seed, dtype, shape},
                .compute = [normal](Call& c) {
                  return Random(c, GivenShape(c), FloatTypeOf(c, kFloat), normal);
                }});
    RegisterOp({.name = normal ? "random_normal_like" : "random_uniform_like",
                .summary = "the same, of the shape of x",
                .inputs = {"x"},
                .attrs = {a, b, seed, dtype},
                .compute = [normal](Call& c) {
                  return Random(c, c.shape(0), FloatTypeOf(c, c.dtype(0)), normal);
                }});
  }
  RegisterOp({.name = "bernoulli",
              .summary = "1 with the probability that x says, else 0",
              .inputs = {"x"},
              .attrs = {seed, dtype},
              .compute = Bernoulli});
  RegisterOp({.name = "multinomial",
              .summary = "classes drawn by the logarithms of their probabilities",
              .inputs = {"x"},
              .attrs = {seed, dtype, {"sample_size", AttrKind::kInt, ffi::Any(1)}},
              .compute = Multinomial});
  RegisterOp({.name = "dropout",
              .summary = "x with elements of probability `ratio` set to 0, and the mask",
              .inputs = {"x", "ratio"},
              .attrs = {seed},
              .compute = Dropout});
}

}  // namespace tern::op
