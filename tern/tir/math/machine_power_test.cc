// SPDX-License-Identifier: Apache-2.0
//
// The functions compiled for the host, with powers of two that are off by what a machine's may be,
// in both directions, against long double.
#include "tern/tir/math/machine_power.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/builder.h"
#include "tern/tir/math/expr_builder.h"

namespace tern::tir::math {
namespace {

using Function = Expr (*)(const Expr&, const MachinePower&);

// Off by `error` of the result before it is rounded; subnormal results are 0.
Expr RoughPower(const Expr& x, double error) {
  DataType wide = DataType::Float(64);
  Expr exact = Call("exp2", {Cast(wide, x)});
  Expr rough = Cast(x.dtype(), exact * Const(exact, 1 + error));
  return Select(Less(rough, Const(x, std::numeric_limits<float>::min())), Const(x, 0), rough);
}

Expr RoughReciprocal(const Expr& x, double error) {
  Expr exact = Const(Cast(DataType::Float(64), x), 1) / Cast(DataType::Float(64), x);
  return Cast(x.dtype(), exact * Const(exact, 1 + error));
}

MachinePower Machine(double error) {
  return {.power = [=](const Expr& x) { return RoughPower(x, error); },
          .saturated_fma =
              [](const Expr& x, const Expr& scale, const Expr& offset) {
                return Min(Max(Call("fma", {x, scale, offset}), Const(x, 0)), Const(x, 1));
              },
          .reciprocal = [=](const Expr& x) { return RoughReciprocal(x, error / 2); }};
}

std::vector<float> Evaluate(Function function, double error, const std::vector<float>& inputs) {
  ir::Var n("n");
  Tensor a = Input("A", DataType::Float(32), {n});
  Tensor b = Compute("B", {n}, [&](ir::Var i) {
    Lets let;
    Expr x = let(a(i));
    return let.In(function(x, Machine(error)));
  });
  ir::IRModule module = ir::IRModule::Make({MakeFunction("f", {a, b})});
  ffi::Module compiled = codegen::LoadLinkable(Compile(module, target::Target::DefaultHost()));
  auto count = static_cast<int64_t>(inputs.size());
  auto in = runtime::Tensor::Empty({count}, DataType::Float(32)),
       out = runtime::Tensor::Empty({count}, DataType::Float(32));
  std::copy(inputs.begin(), inputs.end(), static_cast<float*>(in->data()));
  compiled->GetFunction("f")(in, out);
  const auto* results = static_cast<const float*>(out->data());
  return {results, results + count};
}

// Every 1009th float32, and what is special.
std::vector<float> Samples() {
  std::vector<float> values = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0.92f, 4.0f, 88.72f, 88.73f};
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1009)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  return values;
}

// In units of the last digit; 0 for equal infinities and two NaN.
double Distance(float actual, long double exact) {
  auto rounded = static_cast<float>(exact);
  if (std::isnan(rounded) && std::isnan(actual)) return 0;
  if (std::isinf(rounded) || std::isinf(actual)) {
    constexpr float kMost = std::numeric_limits<float>::max();
    return actual == rounded ? 0 : std::min(actual, rounded) == kMost ? 1 : INFINITY;
  }
  int exponent;
  std::frexp(rounded, &exponent);
  exponent = std::max(exponent, std::numeric_limits<float>::min_exponent);
  return static_cast<double>(std::fabs(actual - exact) / std::ldexp(1.0L, exponent - 24));
}

// `most` with powers that are right but for the last digit, `most_rough` with those of a machine.
void CheckErrors(Function function, long double (*exact)(long double), double most,
                 double most_rough) {
  constexpr double kError = 0x1.e5p-24;  // with the rounding, 2^-22.5
  std::vector<float> inputs = Samples();
  for (double error : {-kError, 0.0, kError}) {
    std::vector<float> results = Evaluate(function, error, inputs);
    double worst = 0;
    float worst_at = 0;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (double distance = Distance(results[i], exact(inputs[i])); !(distance <= worst)) {
        worst = distance;
        worst_at = inputs[i];
      }
    EXPECT_LE(worst, error == 0 ? most : most_rough)
        << "at " << worst_at << ", powers off by " << error;
  }
}

class MachinePowers : public testing::Test {
 protected:
  static void SetUpTestSuite() { Initialize(); }
};

TEST_F(MachinePowers, Exp) { CheckErrors(ExpByPower, std::exp, 1.5, 3.5); }
TEST_F(MachinePowers, Erf) { CheckErrors(ErfByPower, std::erf, 1.5, 2); }
TEST_F(MachinePowers, Tanh) { CheckErrors(TanhByPower, std::tanh, 1.75, 2); }

// What is 0 keeps its sign.
TEST_F(MachinePowers, ErfOfZero) {
  std::vector<float> results = Evaluate(ErfByPower, 0, {0.0f, -0.0f});
  EXPECT_FALSE(std::signbit(results[0]));
  EXPECT_TRUE(std::signbit(results[1]));
}

}  // namespace
}  // namespace tern::tir::math
