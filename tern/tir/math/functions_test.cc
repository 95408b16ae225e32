// SPDX-License-Identifier: Apache-2.0
//
// The functions of tern/tir/math, compiled for the host, against long double over the whole range
// of their types. The errors are those that docs/numerics.md states.
#include "tern/tir/math/functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <mutex>
#include <random>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/intrinsic_rules.h"
#include "tern/tir/text.h"

namespace tern::tir::math {
namespace {

using Exact = long double (*)(long double);

struct Case {
  const char* name;
  Exact exact;
  double float32_error, float64_error;  // in units of the last digit
  double limit = INFINITY;              // of |x|, for which the errors hold
};

long double SigmoidOf(long double x) {
  long double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

const Case kCases[] = {
    {"exp", std::exp, 2, 1},
    {"exp2", std::exp2, 1.5, 1.5},
    {"expm1", std::expm1, 2, 2},
    {"log", std::log, 1.5, 1.5},
    {"log2", std::log2, 2, 2},
    {"log10", std::log10, 3, 3},
    {"log1p", std::log1p, 2, 2},
    {"tanh", std::tanh, 2, 2},
    {"sinh", std::sinh, 4, 3},
    {"cosh", std::cosh, 4, 3},
    {"sigmoid", SigmoidOf, 3, 2.5},
    {"erf", std::erf, 3, 2.5},
    {"sin", std::sin, 1, 1.5, 1e6},
    {"cos", std::cos, 1, 1.5, 1e6},
    {"tan", std::tan, 2, 3, 1e6},
    {"asin", std::asin, 2.5, 2.5},
    {"acos", std::acos, 1.5, 1.5},
    {"atan", std::atan, 2.5, 2.5},
    {"sqrt", std::sqrt, 0.5, 0.5},
    {"rsqrt", [](long double x) { return 1 / std::sqrt(x); }, 1.5, 1.5},
    {"floor", std::floor, 0, 0},
    {"ceil", std::ceil, 0, 0},
    {"trunc", std::trunc, 0, 0},
    {"round", std::rint, 0, 0},
    {"abs", std::fabs, 0, 0},
};

// The distance in units of the last digit of T; 0 for equal infinities and for two NaN.
template <class T>
double Distance(T actual, long double exact) {
  T rounded = static_cast<T>(exact);
  if (std::isnan(rounded) || std::isnan(actual))
    return std::isnan(rounded) == std::isnan(actual) ? 0 : INFINITY;
  if (std::isinf(rounded) || std::isinf(actual)) {
    if (actual == rounded) return 0;
    // The largest number and infinity are neighbours.
    T largest = std::numeric_limits<T>::max();
    return std::fabs(actual) >= largest && std::fabs(rounded) >= largest ? 1 : INFINITY;
  }
  int exponent;
  std::frexp(rounded == 0 ? std::numeric_limits<T>::denorm_min() : rounded, &exponent);
  exponent = std::max(exponent, std::numeric_limits<T>::min_exponent);
  return static_cast<double>(std::fabs(static_cast<long double>(actual) - exact) /
                             std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits));
}

template <class T>
std::vector<T> SpecialValues() {
  using L = std::numeric_limits<T>;
  std::vector<T> values;
  for (T x : {T(0),
              L::denorm_min(),
              L::min() / 2,
              L::min(),
              L::epsilon(),
              T(0.5),
              T(1),
              T(1.5),
              T(2.5),
              T(2),
              T(3),
              L::max(),
              L::infinity(),
              T(0.625),
              T(60),
              T(0.34657),
              T(1) - L::epsilon(),
              T(1) + L::epsilon(),
              T(1) / L::epsilon(),
              T(3.141592653589793),
              T(1.5707963267948966)}) {
    values.push_back(x);
    values.push_back(-x);
  }
  values.push_back(L::quiet_NaN());
  return values;
}

// Every so many bit patterns, with the special ones.
template <class T, class Bits>
std::vector<T> Samples(size_t count) {
  std::vector<T> values = SpecialValues<T>();
  Bits step = std::numeric_limits<Bits>::max() / static_cast<Bits>(count) | 1;
  Bits bits = 12345;
  for (size_t i = 0; i < count; ++i, bits += step) values.push_back(std::bit_cast<T>(bits));
  // Where most arguments are.
  std::mt19937 random(1);
  std::uniform_real_distribution<double> usual(-100, 100), small(-1, 1);
  for (size_t i = 0; i < count / 8; ++i) {
    values.push_back(static_cast<T>(usual(random)));
    values.push_back(static_cast<T>(small(random)));
  }
  return values;
}

// With all instructions that it has.
target::Target ThisMachine() {
  target::Target host = target::Target::DefaultHost();
  if (!host->kind->attrs.count("mcpu")) return host;
  return target::Target::Parse(host->kind->name + " -mcpu=native");
}

// What a function may say: where it is the second, products are added without rounding.
constexpr const char *kAsWritten = "", *kReassociated = " attrs {reassociate = true}";

// B[v] = expression of A[v], in vectors, compiled for this machine.
ffi::Module CompileExpression(const std::string& expression, DataType dtype,
                              const std::string& attrs) {
  std::string type = dtype.str();
  ir::IRModule module = ParseModule(
      "math.tir", "func f(A: " + type + "[n], B: " + type + "[n])" + attrs +
                      " {\n  for i in 0..n {\n    block b(v: spatial(n) = i) { B[v] = " +
                      expression + " }\n  }\n}\n");
  return codegen::LoadLinkable(Compile(module, ThisMachine()));
}

template <class T>
std::vector<T> Evaluate(const std::string& expression, const std::vector<T>& inputs,
                        const std::string& attrs = kAsWritten) {
  DataType dtype = DataType::Float(8 * sizeof(T));
  ffi::Module compiled = CompileExpression(expression, dtype, attrs);
  auto n = static_cast<int64_t>(inputs.size());
  auto a = runtime::Tensor::Empty({n}, dtype), b = runtime::Tensor::Empty({n}, dtype);
  std::copy(inputs.begin(), inputs.end(), static_cast<T*>(a->data()));
  compiled->GetFunction("f")(a, b);
  const T* results = static_cast<const T*>(b->data());
  return {results, results + n};
}

template <class T>
void CheckErrors(const std::vector<T>& inputs, double Case::* limit,
                 const std::string& attrs = kAsWritten) {
  for (const Case& test : kCases) {
    std::string name = test.name;
    // An estimate of 1 / sqrt(0) is refined.
    if (attrs == kReassociated && name == "rsqrt") continue;
    std::vector<T> results = Evaluate<T>(name + "(A[v])", inputs, attrs);
    double worst = 0;
    T worst_at = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (std::isfinite(inputs[i]) && std::fabs(inputs[i]) > test.limit) continue;
      double error = Distance(results[i], test.exact(inputs[i]));
      if (error > worst) {
        worst = error;
        worst_at = inputs[i];
      }
    }
    EXPECT_LE(worst, test.*limit) << test.name << "(" << testing::PrintToString(worst_at) << ")";
  }
}

class MathFunctions : public testing::Test {
 protected:
  static void SetUpTestSuite() { Initialize(); }
};

// A product that underflows takes a hundred cycles; masks have many of them.
TEST_F(MathFunctions, ExponentialsOfMasksDoNotUnderflow) {
  for (const char* expression : {"exp(A[v])", "exp2(A[v])"})
    for (DataType dtype : {DataType::Float(32), DataType::Float(64)}) {
      ffi::Module compiled = CompileExpression(expression, dtype, kAsWritten);
      auto a = runtime::Tensor::Empty({40}, dtype), b = runtime::Tensor::Empty({40}, dtype);
      for (int64_t i = 0; i < 40; ++i) {
        double x = i % 2 == 0 ? -INFINITY : -1e9;
        if (dtype.bits() == 32)
          a.as<float>()[i] = static_cast<float>(x);
        else
          a.as<double>()[i] = x;
      }
      std::feclearexcept(FE_ALL_EXCEPT);
      compiled->GetFunction("f")(a, b);
      EXPECT_FALSE(std::fetestexcept(FE_UNDERFLOW)) << expression << " of " << dtype.str();
    }
}

TEST_F(MathFunctions, Float32) {
  CheckErrors(Samples<float, uint32_t>(1 << 18), &Case::float32_error);
}

TEST_F(MathFunctions, Float64) {
  CheckErrors(Samples<double, uint64_t>(1 << 16), &Case::float64_error);
}

TEST_F(MathFunctions, Reassociated) {
  CheckErrors(Samples<float, uint32_t>(1 << 18), &Case::float32_error, kReassociated);
  CheckErrors(Samples<double, uint64_t>(1 << 16), &Case::float64_error, kReassociated);
}

// Those that are used most, over every 997th number.
TEST_F(MathFunctions, Float32Densely) {
  std::vector<float> inputs;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 997)
    inputs.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (const Case& test : kCases) {
    std::string name = test.name;
    if (name != "exp" && name != "log" && name != "tanh" && name != "erf") continue;
    for (const char* attrs : {kAsWritten, kReassociated}) {
      std::vector<float> results = Evaluate<float>(name + "(A[v])", inputs, attrs);
      for (size_t i = 0; i < inputs.size(); ++i)
        ASSERT_LE(Distance(results[i], test.exact(inputs[i])), test.float32_error)
            << name << "(" << inputs[i] << ")" << attrs;
    }
  }
}

template <class T>
void CheckBinary(const char* name, long double (*exact)(long double, long double),
                 const std::function<double(double, double)>& limit) {
  std::vector<T> special = SpecialValues<T>(), inputs, others;
  for (T x : special)
    for (T y : special) {
      inputs.push_back(x);
      others.push_back(y);
    }
  std::mt19937 random(2);
  std::uniform_real_distribution<double> usual(-10, 10);
  for (int i = 0; i < 100000; ++i) {
    inputs.push_back(static_cast<T>(std::fabs(usual(random))));
    others.push_back(static_cast<T>(usual(random)));
  }
  DataType dtype = DataType::Float(8 * sizeof(T));
  std::string type = dtype.str();
  ir::IRModule module = ParseModule(
      "math.tir", "func f(A: " + type + "[n], B: " + type + "[n], C: " + type +
                      "[n]) {\n  for i in 0..n {\n    C[i] = " + name + "(A[i], B[i])\n  }\n}\n");
  ffi::Module compiled = codegen::LoadLinkable(Compile(module, target::Target::DefaultHost()));
  auto n = static_cast<int64_t>(inputs.size());
  runtime::Tensor a = runtime::Tensor::Empty({n}, dtype), b = runtime::Tensor::Empty({n}, dtype),
                  c = runtime::Tensor::Empty({n}, dtype);
  std::copy(inputs.begin(), inputs.end(), static_cast<T*>(a->data()));
  std::copy(others.begin(), others.end(), static_cast<T*>(b->data()));
  compiled->GetFunction("f")(a, b, c);
  for (int64_t i = 0; i < n; ++i) {
    T result = static_cast<const T*>(c->data())[i];
    long double expected = exact(inputs[i], others[i]);
    ASSERT_LE(Distance(result, expected), limit(inputs[i], others[i]))
        << name << "(" << inputs[i] << ", " << others[i] << ") = " << result;
  }
}

TEST_F(MathFunctions, OfTwoArguments) {
  auto at_most = [](double limit) { return [=](double, double) { return limit; }; };
  CheckBinary<float>("pow", std::pow, at_most(1));
  // An error of the exponent grows with it.
  CheckBinary<double>("pow", std::pow, [](double x, double y) {
    double exponent = std::fabs(y * std::log2(std::fabs(x)));
    return 1 + 2 * (exponent < 1100 ? exponent : 0);
  });
  CheckBinary<float>("atan2", std::atan2, at_most(3));
  CheckBinary<double>("atan2", std::atan2, at_most(3));
  CheckBinary<float>("copysign", std::copysign, at_most(0));
  CheckBinary<double>("copysign", std::copysign, at_most(0));
}

// a * b + c, of numbers that nearly cancel and of numbers far apart.
template <class T>
void CheckFma() {
  std::vector<T> a, b, c;
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> mantissa(-2, 2);
  std::uniform_int_distribution<int> exponent(-40, 40), near(-3, 3);
  for (int i = 0; i < 50000; ++i) {
    a.push_back(std::ldexp(static_cast<T>(mantissa(random)), exponent(random)));
    b.push_back(std::ldexp(static_cast<T>(mantissa(random)), exponent(random)));
    T product = a.back() * b.back();
    c.push_back(i % 2 ? -product * (1 + near(random) * std::numeric_limits<T>::epsilon())
                      : std::ldexp(product, exponent(random)));
  }
  for (T x : SpecialValues<T>())
    for (T y : {T(1), T(0), T(1.5), std::numeric_limits<T>::infinity()}) {
      a.push_back(x);
      b.push_back(y);
      c.push_back(T(0.25));
    }
  DataType dtype = DataType::Float(8 * sizeof(T));
  std::string type = dtype.str();
  ir::IRModule module = ParseModule(
      "fma.tir", "func f(A: " + type + "[n], B: " + type + "[n], C: " + type + "[n], D: " + type +
                     "[n]) {\n  for i in 0..n {\n    D[i] = fma(A[i], B[i], C[i])\n  }\n}\n");
  ffi::Module compiled = codegen::LoadLinkable(Compile(module, target::Target::DefaultHost()));
  auto n = static_cast<int64_t>(a.size());
  std::vector<runtime::Tensor> tensors;
  for (int i = 0; i < 4; ++i) tensors.push_back(runtime::Tensor::Empty({n}, dtype));
  std::copy(a.begin(), a.end(), static_cast<T*>(tensors[0]->data()));
  std::copy(b.begin(), b.end(), static_cast<T*>(tensors[1]->data()));
  std::copy(c.begin(), c.end(), static_cast<T*>(tensors[2]->data()));
  compiled->GetFunction("f")(tensors[0], tensors[1], tensors[2], tensors[3]);
  for (int64_t i = 0; i < n; ++i)
    ASSERT_EQ(Distance(static_cast<const T*>(tensors[3]->data())[i],
                       static_cast<long double>(std::fma(a[i], b[i], c[i]))),
              0)
        << a[i] << " * " << b[i] << " + " << c[i];
}

TEST_F(MathFunctions, FusedMultiplyAdd) {
  CheckFma<float>();
  CheckFma<double>();
}

// What targets without float64 get, compiled for this machine.
class Float32Alone : public MathFunctions {
 protected:
  void SetUp() override {
    static std::once_flag once;
    std::call_once(once, [] {
      target::TargetKind kind;
      kind.name = "float32_alone";
      kind.attrs["float64"] = {.type = target::AttrSpec::Type::kBool, .default_value = false};
      target::RegisterTargetKind(kind);
      for (auto [name, lower] :
           {std::pair<const char*, Lower>{
                "sin", [](const ir::CallNode* call) { return Sin(call->args[0]); }},
            {"cos", [](const ir::CallNode* call) { return Cos(call->args[0]); }},
            {"pow", [](const ir::CallNode* call) { return Pow(call->args[0], call->args[1]); }},
            {"fma", [](const ir::CallNode* call) {
               return Fma(call->args[0], call->args[1], call->args[2]);
             }}})
        RegisterLoweringRule(name, target::Target::DefaultHost()->kind->name,
                             [lower = lower](const ir::CallNode* call) {
                               if (!is_in_use) return Expr();
                               target::TargetScope scope(target::Target::Parse("float32_alone"));
                               return lower(call);
                             });
    });
    is_in_use = true;
  }
  void TearDown() override { is_in_use = false; }

 private:
  using Lower = Expr (*)(const ir::CallNode*);
  static inline bool is_in_use = false;
};

TEST_F(Float32Alone, Sine) {
  std::vector<float> inputs = Samples<float, uint32_t>(1 << 18);
  std::mt19937 random(4);
  std::uniform_real_distribution<double> far(-1e6, 1e6);
  for (int i = 0; i < 100000; ++i) inputs.push_back(static_cast<float>(far(random)));
  for (auto [name, exact] : {std::pair<const char*, Exact>{"sin", std::sin}, {"cos", std::cos}}) {
    std::vector<float> results = Evaluate<float>(std::string(name) + "(A[v])", inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (std::fabs(inputs[i]) > 1e6 && std::isfinite(inputs[i])) {
        ASSERT_LE(std::fabs(results[i]), 1) << name << "(" << inputs[i] << ")";
        continue;
      }
      // Near its zeros, far away, the last digits are lost, as those of pi are.
      double error = std::fabs(static_cast<double>(results[i] - exact(inputs[i])));
      ASSERT_TRUE(error <= 1e-9 || Distance(results[i], exact(inputs[i])) <= 3)
          << name << "(" << inputs[i] << ") = " << results[i];
    }
  }
}

TEST_F(Float32Alone, Power) {
  CheckBinary<float>("pow", std::pow, [](double x, double y) {
    double exponent = std::fabs(y * std::log2(std::fabs(x)));
    return 1 + 2 * (exponent < 160 ? exponent : 0);
  });
}

TEST_F(Float32Alone, FusedMultiplyAdd) { CheckFma<float>(); }

}  // namespace
}  // namespace tern::tir::math
