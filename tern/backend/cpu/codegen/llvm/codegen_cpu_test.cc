// SPDX-License-Identifier: Apache-2.0
//
// Generated code, run and compared with the same computation in C++.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tern/codegen/packed_test_function.h"
#include "tern/compile.h"
#include "tern/ffi/float16.h"
#include "tern/runtime/tensor.h"

namespace tern::backend::cpu {
namespace {

using namespace tern::ir;   // nodes and operators
using namespace tern::tir;  // statements
using codegen::BuildForTest;
using codegen::PackedTestFunction;
using runtime::Tensor;

template <class T>
DataType TypeOf() {
  if constexpr (std::is_same_v<T, bool>) return DataType::Bool();
  if constexpr (std::is_floating_point_v<T>) return DataType::Float(sizeof(T) * 8);
  return std::is_signed_v<T> ? DataType::Int(sizeof(T) * 8) : DataType::UInt(sizeof(T) * 8);
}

template <class T>
Tensor TensorOf(const std::vector<T>& values, DataType dtype = TypeOf<T>()) {
  Tensor tensor = Tensor::Empty({static_cast<int64_t>(values.size())}, dtype);
  std::copy(values.begin(), values.end(), tensor.as<T>());
  return tensor;
}
template <class T>
std::vector<T> Values(const Tensor& tensor) {
  return {tensor.as<T>(), tensor.as<T>() + tensor->num_elements()};
}

// Both the integer arithmetic and, where the machine has them, the instructions for float16.
std::vector<std::string> TestedTargets() { return {"llvm", "llvm -mcpu=native"}; }

ffi::Function Compile(const PrimFunc& function, const std::string& target = "llvm") {
  Initialize();
  return BuildForTest({function}, target::Target::Parse(target))->GetFunction(function->name);
}

std::string Failure(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.kind() + ": " + error.message();
  }
  return "";
}

Stmt Loop(const Var& var, Expr extent, Stmt body, ForKind kind = ForKind::kSerial) {
  return ForNode::Make(var, 0, std::move(extent), kind, std::move(body));
}

// out[i] = f(inputs[0][i], inputs[1][i], ...) for all i.
Tensor Elementwise(const std::vector<Tensor>& inputs, DataType out_type,
                   const std::function<Expr(const std::vector<Expr>&)>& f,
                   const std::string& target = "llvm") {
  Initialize();
  PackedTestFunction packed("elementwise");
  Var i("i");
  std::vector<Expr> elements;
  std::vector<ffi::AnyView> args;
  std::vector<ffi::Any> owned;
  for (const Tensor& input : inputs) {
    elements.push_back(BufferLoadNode::Make(packed.Tensor("x", input->dtype()), {i}));
    owned.emplace_back(input);
  }
  Tensor result = Tensor::Empty(inputs[0]->shape(), out_type);
  owned.emplace_back(result);
  Buffer out = packed.Tensor("out", out_type);
  Stmt store = BufferStoreNode::Make(out, {i}, f(elements));
  ffi::Function function = Compile(packed.Make(Loop(i, inputs[0]->num_elements(), store)), target);
  args.assign(owned.begin(), owned.end());
  function.CallPacked(args);
  return result;
}

// ---- Arithmetic, for every type ----

template <class T>
class ArithmeticTest : public ::testing::Test {};
using NumericTypes = ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t,
                                      uint32_t, uint64_t, float, double>;
TYPED_TEST_SUITE(ArithmeticTest, NumericTypes);

// Pairs of interesting values, as two arrays.
template <class T>
std::pair<std::vector<T>, std::vector<T>> Pairs() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values = {T(0), T(1), T(2), T(3), T(7), T(100), Limits::max(), Limits::lowest()};
  if constexpr (std::is_signed_v<T>)
    values.insert(values.end(), {T(-1), T(-2), T(-3), T(-7), T(-100)});
  if constexpr (std::is_floating_point_v<T>)
    values.insert(values.end(), {T(-0.0), T(0.1), T(-2.5), Limits::infinity(), Limits::quiet_NaN(),
                                 Limits::denorm_min()});
  std::vector<T> a, b;
  for (T x : values)
    for (T y : values) a.push_back(x), b.push_back(y);
  return {a, b};
}

// Equal bits; any NaN equals any other.
template <class T>
void ExpectSame(const std::vector<T>& got, const std::vector<T>& expected, const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] != got[i] && expected[i] != expected[i]) continue;
    EXPECT_EQ(0, std::memcmp(&got[i], &expected[i], sizeof(T)))
        << what << " " << i << ": " << +got[i] << " != " << +expected[i];
  }
}

TYPED_TEST(ArithmeticTest, OperatorsMatchCpp) {
  using T = TypeParam;
  auto [a, b] = Pairs<T>();
  Tensor x = TensorOf(a), y = TensorOf(b);
  auto check = [&](const char* what, Expr (*make)(Expr, Expr, Span), auto reference) {
    Tensor got = Elementwise({x, y}, TypeOf<T>(), [&](auto& e) { return make(e[0], e[1], {}); });
    std::vector<T> expected;
    for (size_t i = 0; i < a.size(); ++i) expected.push_back(static_cast<T>(reference(a[i], b[i])));
    ExpectSame(Values<T>(got), expected, what);
  };
  // Integers wrap: computed unsigned.
  auto wrap = [](auto op) {
    return [op](T p, T q) {
      if constexpr (std::is_integral_v<T>)
        return static_cast<T>(op(static_cast<uint64_t>(p), static_cast<uint64_t>(q)));
      else
        return op(p, q);
    };
  };
  check("add", &AddNode::Make, wrap([](auto p, auto q) { return p + q; }));
  check("sub", &SubNode::Make, wrap([](auto p, auto q) { return p - q; }));
  check("mul", &MulNode::Make, wrap([](auto p, auto q) { return p * q; }));
  check("min", &MinNode::Make, [](T p, T q) { return p < q ? p : q; });
  check("max", &MaxNode::Make, [](T p, T q) { return p > q ? p : q; });
  if constexpr (std::is_floating_point_v<T>)
    check("div", &DivNode::Make, [](T p, T q) { return p / q; });
}

TYPED_TEST(ArithmeticTest, ComparisonsMatchCpp) {
  using T = TypeParam;
  auto [a, b] = Pairs<T>();
  Tensor x = TensorOf(a), y = TensorOf(b);
  auto check = [&](const char* what, Expr (*make)(Expr, Expr, Span), auto reference) {
    Tensor got =
        Elementwise({x, y}, DataType::Bool(), [&](auto& e) { return make(e[0], e[1], {}); });
    std::vector<uint8_t> expected;
    for (size_t i = 0; i < a.size(); ++i) expected.push_back(reference(a[i], b[i]));
    ExpectSame(Values<uint8_t>(got), expected, what);
  };
  check("eq", &EQNode::Make, [](T p, T q) { return p == q; });
  check("ne", &NENode::Make, [](T p, T q) { return p != q; });
  check("lt", &LTNode::Make, [](T p, T q) { return p < q; });
  check("le", &LENode::Make, [](T p, T q) { return p <= q; });
  check("gt", &GTNode::Make, [](T p, T q) { return p > q; });
  check("ge", &GENode::Make, [](T p, T q) { return p >= q; });
}

template <class T>
bool Divides(T a, T b) {  // the division is defined
  return b != 0 &&
         !(std::is_signed_v<T> && a == std::numeric_limits<T>::min() && b == static_cast<T>(-1));
}

TYPED_TEST(ArithmeticTest, IntegerDivisionsMatchCpp) {
  using T = TypeParam;
  if constexpr (std::is_integral_v<T>) {
    auto [all_a, all_b] = Pairs<T>();
    std::vector<T> a, b;
    for (size_t i = 0; i < all_a.size(); ++i)
      if (Divides(all_a[i], all_b[i])) a.push_back(all_a[i]), b.push_back(all_b[i]);
    Tensor x = TensorOf(a), y = TensorOf(b);
    auto check = [&](const char* what, Expr (*make)(Expr, Expr, Span), auto reference) {
      Tensor got = Elementwise({x, y}, TypeOf<T>(), [&](auto& e) { return make(e[0], e[1], {}); });
      std::vector<T> expected;
      for (size_t i = 0; i < a.size(); ++i)
        expected.push_back(static_cast<T>(reference(a[i], b[i])));
      ExpectSame(Values<T>(got), expected, what);
    };
    auto floor_div = [](T p, T q) { return p / q - (p % q != 0 && (p % q < 0) != (q < 0)); };
    check("truncdiv", &TruncDivNode::Make, [](T p, T q) { return p / q; });
    check("truncmod", &TruncModNode::Make, [](T p, T q) { return p % q; });
    check("floordiv", &FloorDivNode::Make, floor_div);
    check("floormod", &FloorModNode::Make, [&](T p, T q) {
      auto wide = [](auto number) { return static_cast<uint64_t>(number); };  // which wraps around
      return wide(p) - wide(floor_div(p, q)) * wide(q);
    });
  }
}

TEST(CodeGenCPU, FloorDivisionByConstants) {
  std::vector<int32_t> a;
  for (int32_t i = -70; i <= 70; ++i) a.push_back(i);
  for (int32_t divisor : {1, 2, 8, 64, 3, 7, -1, -2, -5}) {
    Expr d = IntImmNode::Make(DataType::Int(32), divisor);
    Tensor div =
        Elementwise({TensorOf(a)}, DataType::Int(32), [&](auto& e) { return FloorDiv(e[0], d); });
    Tensor mod =
        Elementwise({TensorOf(a)}, DataType::Int(32), [&](auto& e) { return FloorMod(e[0], d); });
    for (size_t i = 0; i < a.size(); ++i) {
      auto quotient = static_cast<int32_t>(std::floor(static_cast<double>(a[i]) / divisor));
      EXPECT_EQ(div.as<int32_t>()[i], quotient) << a[i] << " // " << divisor;
      EXPECT_EQ(mod.as<int32_t>()[i], a[i] - quotient * divisor) << a[i] << " % " << divisor;
    }
  }
}

// ---- float16 and bfloat16 ----

struct NarrowFormat {
  DataType dtype;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
};
const NarrowFormat kNarrowFormats[] = {{DataType::Float(16), &HalfToFloat, &FloatToHalf},
                                       {DataType::Bfloat16(), &Bfloat16ToFloat, &FloatToBfloat16}};

bool SameOrNaN(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (a != a && b != b);
}

TEST(CodeGenCPU, WidensEveryNarrowFloat) {
  std::vector<uint16_t> bits(65536);
  for (size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<uint16_t>(i);
  for (const NarrowFormat& format : kNarrowFormats)
    for (const std::string& target : TestedTargets()) {
      Tensor got = Elementwise(
          {TensorOf(bits, format.dtype)}, DataType::Float(32),
          [](auto& e) { return CastNode::Make(DataType::Float(32), e[0]); }, target);
      for (size_t i = 0; i < bits.size(); ++i)
        ASSERT_TRUE(SameOrNaN(got.as<float>()[i], format.widen(bits[i])))
            << format.dtype.str() << " " << i << " on " << target;
    }
}

// Every narrow value's neighbourhood: the value, the middle to the next one, and a little to both
// sides.
std::vector<float> RoundingCases(const NarrowFormat& format) {
  std::vector<float> cases = {std::numeric_limits<float>::quiet_NaN(), 1e-40f, -1e-45f, 3e38f};
  for (uint32_t i = 0; i < 65536; i += 7) {
    float value = format.widen(static_cast<uint16_t>(i));
    float next = format.widen(static_cast<uint16_t>(i + 1));
    float middle = value / 2 + next / 2;
    for (float x : {value, middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e38f)})
      cases.push_back(x);
  }
  return cases;
}

TEST(CodeGenCPU, RoundsFloatsToNarrowOnes) {
  for (const NarrowFormat& format : kNarrowFormats)
    for (const std::string& target : TestedTargets()) {
      std::vector<float> cases = RoundingCases(format);
      Tensor got = Elementwise(
          {TensorOf(cases)}, format.dtype,
          [&](auto& e) { return CastNode::Make(format.dtype, e[0]); }, target);
      for (size_t i = 0; i < cases.size(); ++i) {
        float expected = format.widen(format.narrow(cases[i]));
        ASSERT_TRUE(SameOrNaN(format.widen(got.as<uint16_t>()[i]), expected))
            << format.dtype.str() << " " << cases[i] << " on " << target;
      }
    }
}

TEST(CodeGenCPU, RoundsDoublesOnce) {
  for (const NarrowFormat& format : kNarrowFormats)
    for (const std::string& target : TestedTargets()) {
      // Just above and below the middle between two narrow values: the nearest float is the middle
      // itself.
      std::vector<double> cases;
      std::vector<uint16_t> expected;
      for (uint32_t i = 0; i + 1 < 0x7c00 - (format.dtype.is_bfloat16() ? 0 : 1); i += 5) {
        double value = format.widen(static_cast<uint16_t>(i)),
               next = format.widen(static_cast<uint16_t>(i + 1));
        double middle = value / 2 + next / 2;
        cases.insert(cases.end(),
                     {std::nextafter(middle, 1e300), std::nextafter(middle, -1e300), middle});
        auto low = static_cast<uint16_t>(i), high = static_cast<uint16_t>(i + 1);
        expected.insert(expected.end(), {high, low, i % 2 ? high : low});
      }
      Tensor got = Elementwise(
          {TensorOf(cases)}, format.dtype,
          [&](auto& e) { return CastNode::Make(format.dtype, e[0]); }, target);
      for (size_t i = 0; i < cases.size(); ++i)
        ASSERT_EQ(got.as<uint16_t>()[i], expected[i])
            << format.dtype.str() << " " << cases[i] << " on " << target;
    }
}

TEST(CodeGenCPU, NarrowArithmeticRoundsEveryOperation) {
  for (const NarrowFormat& format : kNarrowFormats)
    for (const std::string& target : TestedTargets()) {
      std::vector<uint16_t> a, b, c;
      for (float x : {0.1f, 1.0f, -3.5f, 200.0f, 6e4f, 1e-6f})
        for (float y : {0.3f, -1.0f, 7.0f, 1e-3f}) {
          a.push_back(format.narrow(x)), b.push_back(format.narrow(y)),
              c.push_back(format.narrow(x - y));
        }
      std::vector<Tensor> inputs = {TensorOf(a, format.dtype), TensorOf(b, format.dtype),
                                    TensorOf(c, format.dtype)};
      Tensor got =
          Elementwise(inputs, format.dtype, [](auto& e) { return e[0] * e[1] + e[2]; }, target);
      Tensor less =
          Elementwise(inputs, DataType::Bool(), [](auto& e) { return e[0] < e[2]; }, target);
      Tensor small = Elementwise(
          inputs, format.dtype, [](auto& e) { return MinNode::Make(e[0], e[2]); }, target);
      for (size_t i = 0; i < a.size(); ++i) {
        float x = format.widen(a[i]), y = format.widen(b[i]), z = format.widen(c[i]);
        uint16_t product = format.narrow(x * y);
        EXPECT_EQ(got.as<uint16_t>()[i], format.narrow(format.widen(product) + z))
            << x << " " << y << " " << z;
        EXPECT_EQ(less.as<uint8_t>()[i], x < z);
        EXPECT_EQ(small.as<uint16_t>()[i], x < z ? a[i] : c[i]);
      }
    }
}

// ---- Conversions ----

template <class From, class To>
void CheckCast(const std::vector<From>& values) {
  Tensor got = Elementwise({TensorOf(values)}, TypeOf<To>(),
                           [](auto& e) { return CastNode::Make(TypeOf<To>(), e[0]); });
  std::vector<To> expected;
  for (From value : values) expected.push_back(static_cast<To>(value));
  ExpectSame(Values<To>(got), expected,
             (TypeOf<From>().str() + " to " + TypeOf<To>().str()).c_str());
}

template <class From>
void CheckCastsToAll(const std::vector<From>& values) {
  CheckCast<From, int8_t>(values), CheckCast<From, int16_t>(values),
      CheckCast<From, int32_t>(values), CheckCast<From, int64_t>(values);
  CheckCast<From, float>(values), CheckCast<From, double>(values);
}

TEST(CodeGenCPU, ConversionsMatchCpp) {
  CheckCastsToAll<int8_t>({-128, -1, 0, 1, 127});
  CheckCastsToAll<int32_t>({-70000, -129, -1, 0, 1, 255, 65536, 16777217});
  CheckCastsToAll<int64_t>({std::numeric_limits<int64_t>::min(), -1, 0, 1, (int64_t{1} << 53) + 1});
  CheckCastsToAll<uint8_t>({0, 1, 128, 255});
  CheckCastsToAll<uint32_t>({0, 1, 0x80000000u, 0xffffffffu});
  CheckCastsToAll<uint64_t>({0, 1, uint64_t{1} << 63, ~uint64_t{0}});
  CheckCastsToAll<float>({-100.75f, -1.0f, -0.5f, 0.0f, 0.5f, 99.9f});
  CheckCastsToAll<double>({-100.75, -1.0, -0.5, 0.0, 0.5, 99.9});
  CheckCast<float, uint8_t>({0.0f, 0.9f, 200.5f, 255.0f});
  CheckCast<double, uint64_t>({0.0, 1e19});
  CheckCast<int32_t, uint8_t>({-1, 256, 257});
  CheckCast<uint64_t, uint16_t>({65537, ~uint64_t{0}});
}

TEST(CodeGenCPU, BoolIsZeroOrOneInMemory) {
  Tensor x =
      TensorOf<float>({0.0f, -0.0f, 0.25f, -3.0f, std::numeric_limits<float>::quiet_NaN(), 1e-45f});
  auto to_bool = [](auto& e) { return CastNode::Make(DataType::Bool(), e[0]); };
  EXPECT_EQ(Values<uint8_t>(Elementwise({x}, DataType::Bool(), to_bool)),
            (std::vector<uint8_t>{0, 0, 1, 1, 1, 1}));
  Tensor half = TensorOf<uint16_t>({0, 0x8000, 1, 0x3c00}, DataType::Float(16));
  EXPECT_EQ(Values<uint8_t>(Elementwise({half}, DataType::Bool(), to_bool)),
            (std::vector<uint8_t>{0, 0, 1, 1}));
  Tensor n = TensorOf<int32_t>({0, 1, 256, -1});
  EXPECT_EQ(Values<uint8_t>(Elementwise({n}, DataType::Bool(), to_bool)),
            (std::vector<uint8_t>{0, 1, 1, 1}));
  // Whatever is not zero in memory is true.
  Tensor flags = TensorOf<uint8_t>({0, 1, 2, 255}, DataType::Bool());
  EXPECT_EQ(Values<uint8_t>(Elementwise({flags}, DataType::Bool(),
                                        [](auto& e) { return NotNode::Make(e[0]); })),
            (std::vector<uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(
      Values<int32_t>(Elementwise({flags}, DataType::Int(32),
                                  [](auto& e) { return CastNode::Make(DataType::Int(32), e[0]); })),
      (std::vector<int32_t>{0, 1, 1, 1}));
  EXPECT_EQ(
      Values<float>(Elementwise({flags}, DataType::Float(32),
                                [](auto& e) { return CastNode::Make(DataType::Float(32), e[0]); })),
      (std::vector<float>{0, 1, 1, 1}));
}

TEST(CodeGenCPU, LogicAndSelect) {
  Tensor a = TensorOf<uint8_t>({0, 0, 1, 1}, DataType::Bool()),
         b = TensorOf<uint8_t>({0, 1, 0, 1}, DataType::Bool());
  EXPECT_EQ(
      Values<uint8_t>(Elementwise({a, b}, DataType::Bool(), [](auto& e) { return e[0] && e[1]; })),
      (std::vector<uint8_t>{0, 0, 0, 1}));
  EXPECT_EQ(
      Values<uint8_t>(Elementwise({a, b}, DataType::Bool(), [](auto& e) { return e[0] || e[1]; })),
      (std::vector<uint8_t>{0, 1, 1, 1}));
  EXPECT_EQ(Values<int64_t>(Elementwise({a, b}, DataType::Int(64),
                                        [](auto& e) {
                                          Var x("x", DataType::Bool());
                                          return LetNode::Make(x, e[0] != e[1],
                                                               SelectNode::Make(x, 10, 20));
                                        })),
            (std::vector<int64_t>{20, 10, 10, 20}));
}

TEST(CodeGenCPU, LogicDoesNotEvaluateWhatIsDecided) {
  // index < 2 and x[index] > 0, with an index that must not be read.
  Initialize();
  PackedTestFunction packed("guarded");
  Buffer x = packed.Tensor("x", DataType::Int(32)), out = packed.Tensor("out", DataType::Bool());
  Var index = packed.Int("index");
  Expr positive =
      LTNode::Make(IntImmNode::Make(DataType::Int(32), 0), BufferLoadNode::Make(x, {index}));
  ffi::Function f = Compile(packed.Make(SeqNode::Make({
      BufferStoreNode::Make(out, {0}, Expr(index) < 2 && positive),
      BufferStoreNode::Make(out, {1}, Expr(index) >= 2 || positive),
  })));
  Tensor values = TensorOf<int32_t>({5, -5}), result = TensorOf<uint8_t>({9, 9}, DataType::Bool());
  f(values, result, int64_t{1} << 45);
  EXPECT_EQ(Values<uint8_t>(result), (std::vector<uint8_t>{0, 1}));
  f(values, result, 0);
  EXPECT_EQ(Values<uint8_t>(result), (std::vector<uint8_t>{1, 1}));
  f(values, result, 1);
  EXPECT_EQ(Values<uint8_t>(result), (std::vector<uint8_t>{0, 0}));
}

// ---- Vectors ----

TEST(CodeGenCPU, VectorLoadsAndStores) {
  Initialize();
  PackedTestFunction packed("vectors");
  Buffer x = packed.Tensor("x", DataType::Float(32)), y = packed.Tensor("y", DataType::Float(32));
  auto at = [](int64_t base, int64_t stride) { return RampNode::Make(base, stride, 4); };
  Expr two = BroadcastNode::Make(FloatImmNode::Make(DataType::Float(32), 2), 4);
  Expr first = BroadcastNode::Make(BufferLoadNode::Make(x, {0}), 4);
  ffi::Function f = Compile(packed.Make(SeqNode::Make({
      // Contiguous at an odd element, gather, scatter backwards, one element in all lanes.
      BufferStoreNode::Make(y, {at(0, 1)}, BufferLoadNode::Make(x, {at(1, 1)}) * two),
      BufferStoreNode::Make(y, {at(4, 1)}, BufferLoadNode::Make(x, {at(0, 2)})),
      BufferStoreNode::Make(y, {at(11, -1)}, BufferLoadNode::Make(x, {at(4, 1)})),
      BufferStoreNode::Make(y, {at(12, 1)},
                            BufferLoadNode::Make(x, {BroadcastNode::Make(3, 4)}) + first),
  })));
  Tensor in = TensorOf<float>({1, 2, 3, 4, 5, 6, 7, 8}),
         out = Tensor::Empty({16}, DataType::Float(32));
  f(in, out);
  EXPECT_EQ(Values<float>(out),
            (std::vector<float>{4, 6, 8, 10, 1, 3, 5, 7, 8, 7, 6, 5, 5, 5, 5, 5}));
}

TEST(CodeGenCPU, VectorsOfNarrowTypes) {
  Initialize();
  for (const std::string& target : TestedTargets()) {
    PackedTestFunction packed("narrow_vectors");
    Buffer x = packed.Tensor("x", DataType::Float(16)),
           flags = packed.Tensor("flags", DataType::Bool()),
           out = packed.Tensor("out", DataType::Bfloat16());
    Expr lanes = RampNode::Make(0, 1, 8);
    Expr value = CastNode::Make(DataType::Bfloat16(8), BufferLoadNode::Make(x, {lanes}));
    Expr zero = MakeConst(DataType::Bfloat16(8), 0);
    ffi::Function f = Compile(
        packed.Make(SeqNode::Make({
            BufferStoreNode::Make(
                out, {lanes}, SelectNode::Make(BufferLoadNode::Make(flags, {lanes}), value, zero)),
            BufferStoreNode::Make(flags, {lanes}, zero < value),
        })),
        target);
    std::vector<uint16_t> half;
    for (float v : {-1.0f, 2.0f, -3.0f, 4.0f, 5.0f, 6.5f, 0.0f, 8.0f})
      half.push_back(FloatToHalf(v));
    Tensor in = TensorOf(half, DataType::Float(16));
    Tensor mask = TensorOf<uint8_t>({1, 0, 1, 0, 1, 1, 1, 1}, DataType::Bool());
    Tensor result = Tensor::Empty({8}, DataType::Bfloat16());
    f(in, mask, result);
    std::vector<float> got;
    for (uint16_t bits : Values<uint16_t>(result)) got.push_back(Bfloat16ToFloat(bits));
    EXPECT_EQ(got, (std::vector<float>{-1, 0, -3, 0, 5, 6.5, 0, 8}));
    EXPECT_EQ(Values<uint8_t>(mask), (std::vector<uint8_t>{0, 1, 0, 1, 1, 1, 0, 1}));
  }
}

// ---- Statements ----

TEST(CodeGenCPU, LoopsAndLocalMemory) {
  // out[i] = sum of local[j] for j in 1..1 + i, where local[j] = j; parallel and unrolled loops
  // count too.
  Initialize();
  PackedTestFunction packed("loops");
  Buffer out = packed.Tensor("out", DataType::Int(64));
  Var n = packed.Int("n");
  Buffer local = BufferNode::Make("local", DataType::Int(64), {16}, {}, StorageScope::kLocal);
  Var i("i"), j("j"), k("k");
  Expr out_i = BufferLoadNode::Make(out, {i});
  Stmt sum =
      ForNode::Make(j, 1, i, ForKind::kSerial,
                    BufferStoreNode::Make(out, {i}, out_i + BufferLoadNode::Make(local, {j})));
  ffi::Function f = Compile(packed.Make(AllocateNode::Make(
      local, SeqNode::Make({Loop(k, 16, BufferStoreNode::Make(local, {k}, k), ForKind::kUnrolled),
                            Loop(i, n, SeqNode::Make({BufferStoreNode::Make(out, {i}, 0), sum}),
                                 ForKind::kParallel)}))));
  Tensor result = TensorOf<int64_t>({-1, -1, -1, -1, -1});
  f(result, 4);
  EXPECT_EQ(Values<int64_t>(result), (std::vector<int64_t>{0, 1, 3, 6, -1}));
  f(result, -3);
  EXPECT_EQ(Values<int64_t>(result), (std::vector<int64_t>{0, 1, 3, 6, -1}));
}

TEST(CodeGenCPU, WhileIfAndLet) {
  // Steps of the Collatz sequence from n to 1, in out[0]; out[1] is the number at hand.
  Initialize();
  PackedTestFunction packed("collatz");
  Buffer out = packed.Tensor("out", DataType::Int(64));
  Var n = packed.Int("n"), x("x");
  Expr steps = BufferLoadNode::Make(out, {0}), number = BufferLoadNode::Make(out, {1});
  Stmt step = LetStmtNode::Make(
      x, number,
      SeqNode::Make({IfThenElseNode::Make(FloorMod(x, 2) == 0,
                                          BufferStoreNode::Make(out, {1}, FloorDiv(x, 2)),
                                          BufferStoreNode::Make(out, {1}, Expr(x) * 3 + 1)),
                     BufferStoreNode::Make(out, {0}, steps + 1)}));
  ffi::Function f = Compile(packed.Make(SeqNode::Make({
      BufferStoreNode::Make(out, {0}, 0),
      BufferStoreNode::Make(out, {1}, n),
      WhileNode::Make(number != 1, step),
      IfThenElseNode::Make(steps == 0, BufferStoreNode::Make(out, {0}, -1)),
  })));
  Tensor result = TensorOf<int64_t>({0, 0});
  f(result, 27);
  EXPECT_EQ(result.as<int64_t>()[0], 111);
  f(result, 1);
  EXPECT_EQ(result.as<int64_t>()[0], -1);
}

TEST(CodeGenCPU, UnloweredProgramsAreRefused) {
  Initialize();
  auto failure = [](const std::function<Stmt(const Buffer&)>& body) {
    PackedTestFunction packed("f");
    Buffer out = packed.Tensor("out", DataType::Int(64));
    return Failure([&] { Compile(packed.Make(body(out))); });
  };
  Var i("i");
  auto store = [&](const Buffer& out) { return BufferStoreNode::Make(out, {i}, 1); };
  EXPECT_NE(failure([&](auto& out) {
              return Loop(i, 4, store(out), ForKind::kVectorized);
            }).find("InternalError"),
            std::string::npos);
  std::string thread = failure([&](auto& out) {
    return ForNode::Make(i, 0, 4, ForKind::kThread, store(out), "threadIdx.x");
  });
  EXPECT_NE(thread.find("loop i runs on threadIdx.x"), std::string::npos) << thread;
  std::string shared = failure([&](auto& out) {
    Buffer tile = BufferNode::Make("tile", DataType::Int(64), {16}, {}, StorageScope::kShared);
    return AllocateNode::Make(tile, BufferStoreNode::Make(out, {0}, 1));
  });
  EXPECT_NE(shared.find("buffer tile is allocated in scope shared"), std::string::npos) << shared;
}

// ---- The environment ----

TEST(CodeGenCPU, AssertRaisesItsParts) {
  Initialize();
  PackedTestFunction packed("checked");
  Buffer x = packed.Tensor("x", DataType::Float(32));
  Var n = packed.Int("n");
  Expr second = PackedTestFunction::Move(packed.args(), sizeof(TernAny));
  std::vector<Expr> message = {StringImmNode::Make("n is "),         n,
                               StringImmNode::Make(", x is "),       packed.args(),
                               StringImmNode::Make(", args[1] is "), second};
  Stmt store = BufferStoreNode::Make(x, {0}, FloatImmNode::Make(DataType::Float(32), 1));
  ffi::Function f = Compile(
      packed.Make(SeqNode::Make({AssertNode::Make(Expr(n) < 10, "ValueError", message), store})));
  Tensor tensor = TensorOf<float>({0, 0, 0});
  EXPECT_EQ(
      Failure([&] { f(tensor, 12); }),
      "ValueError: n is 12, x is " + ffi::Describe(ffi::Any(tensor).raw()) + ", args[1] is int 12");
  EXPECT_EQ(tensor.as<float>()[0], 0);
  f(tensor, 9);
  EXPECT_EQ(tensor.as<float>()[0], 1);
}

// A module of functions given by name.
class FunctionsModule : public ffi::ModuleObj {
 public:
  explicit FunctionsModule(std::map<std::string, ffi::Function, std::less<>> functions)
      : functions_(std::move(functions)) {}
  std::string kind() const override { return "functions"; }
  uint32_t properties() const override { return kRunnable; }
  ffi::Function GetFunction(std::string_view name) override {
    auto it = functions_.find(name);
    return it == functions_.end() ? ffi::Function() : it->second;
  }
  std::vector<std::string> FunctionNames() const override { return {}; }

 private:
  std::map<std::string, ffi::Function, std::less<>> functions_;
};

PrimFunc CallingFunction(const std::string& callee) {
  PackedTestFunction packed("caller");
  Buffer x = packed.Tensor("x", DataType::Float(32));
  Var n = packed.Int("n");
  Expr half = FloatImmNode::Make(DataType::Float(16), 0.5);
  Expr flag = IntImmNode::Make(DataType::Bool(), 1),
       byte = IntImmNode::Make(DataType::UInt(8), 200);
  Expr call = PackedTestFunction::Call("call_import", {packed.env(), StringImmNode::Make(callee),
                                                       Expr(n) + 1, x->data, half, flag, byte});
  Stmt done = BufferStoreNode::Make(x, {0}, FloatImmNode::Make(DataType::Float(32), 1));
  return packed.Make(SeqNode::Make({EvaluateNode::Make(call), done}));
}

TEST(CodeGenCPU, CallsReachImportsAndGlobals) {
  Initialize();
  Tensor tensor = TensorOf<float>({0});
  std::string seen;
  ffi::Function callee = ffi::Function::FromPacked([&](ffi::Args args) -> ffi::Any {
    seen = std::to_string(args.size()) + " " + std::to_string(args[0].As<int64_t>()) + " " +
           (args[1].As<void*>() == tensor->data() ? "data" : "other") + " " +
           std::to_string(args[2].As<double>()) + " " +
           (args[3].type_index() == kTernBool && args[3].As<bool>() ? "true" : "no") + " " +
           std::to_string(args[4].As<int64_t>());
    return {};
  });
  const std::string expected = "5 8 data 0.500000 true 200";

  ffi::Module module =
      BuildForTest({CallingFunction("test.callee")}, target::Target::Parse("llvm"));
  ffi::RegisterGlobal("test.callee", callee);
  module->GetFunction("caller")(tensor, 7);
  ffi::RemoveGlobal("test.callee");
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(tensor.as<float>()[0], 1);

  module = BuildForTest({CallingFunction("kernel")}, target::Target::Parse("llvm"));
  module->Import(ffi::Module(ffi::Make<FunctionsModule>(
      std::map<std::string, ffi::Function, std::less<>>{{"kernel", callee}})));
  seen.clear();
  module->GetFunction("caller")(tensor, 7);
  EXPECT_EQ(seen, expected);
}

TEST(CodeGenCPU, AFailedCallEndsTheFunction) {
  Initialize();
  ffi::Function callee = ffi::Function::FromPacked(
      [](ffi::Args) -> ffi::Any { throw Error("ValueError", "not today"); });
  ffi::Module module = BuildForTest({CallingFunction("kernel")}, target::Target::Parse("llvm"));
  module->Import(ffi::Module(ffi::Make<FunctionsModule>(
      std::map<std::string, ffi::Function, std::less<>>{{"kernel", callee}})));
  Tensor tensor = TensorOf<float>({0});
  EXPECT_EQ(Failure([&] { module->GetFunction("caller")(tensor, 7); }), "ValueError: not today");
  EXPECT_EQ(tensor.as<float>()[0], 0);
}

}  // namespace
}  // namespace tern::backend::cpu
