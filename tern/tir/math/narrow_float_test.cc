// SPDX-License-Identifier: Apache-2.0
//
// Conversions of narrow floats as bit operations, in compiled code, against those of tern/ffi.
#include "tern/tir/math/narrow_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/runtime/tensor.h"
#include "tern/tir/text.h"
#include "tern/tir/visitor.h"

namespace tern::tir::math {
namespace {

class NarrowFloatConversions : public testing::TestWithParam<DataType> {
 protected:
  static void SetUpTestSuite() { Initialize(); }

  // B[i] = A[i] of another type.
  static runtime::Tensor Convert(const runtime::Tensor& from, DataType to) {
    std::string text = "func f(A: " + from->dtype().str() + "[n], B: " + to.str() +
                       "[n]) {\n  for i in 0..n {\n    B[i] = " + to.str() + "(A[i])\n  }\n}\n";
    ffi::Module compiled = codegen::LoadLinkable(
        Compile(ParseModule("convert.tir", text), target::Target::DefaultHost()));
    auto result = runtime::Tensor::Empty(from->shape(), to);
    compiled->GetFunction("f")(from, result);
    return result;
  }
  static uint16_t BitsAt(const runtime::Tensor& tensor, int64_t i) {
    uint16_t bits = 0;
    if (tensor->dtype().is_packed())
      return static_cast<const uint8_t*>(tensor->data())[i / 2] >> (i % 2 * 4) & 15;
    int bytes = tensor->dtype().bytes();
    std::memcpy(&bits, static_cast<const char*>(tensor->data()) + i * bytes,
                static_cast<size_t>(bytes));
    return bits;
  }
  // The bits of element i become i.
  static void SetBits(const runtime::Tensor& tensor, int64_t i) {
    auto* bytes = static_cast<uint8_t*>(tensor->data());
    if (tensor->dtype().is_packed())
      bytes[i / 2] = static_cast<uint8_t>(i % 2 ? bytes[i / 2] | i << 4 : i);
    else
      std::memcpy(bytes + i * tensor->dtype().bytes(), &i,
                  static_cast<size_t>(tensor->dtype().bytes()));
  }
};

TEST_P(NarrowFloatConversions, EveryNumberWidensAndComesBack) {
  DataType dtype = GetParam();
  int64_t count = int64_t{1} << dtype.bits();
  auto narrow = runtime::Tensor::Empty({count}, dtype);
  for (int64_t i = 0; i < count; ++i) SetBits(narrow, i);
  runtime::Tensor wide = Convert(narrow, DataType::Float(32)), back = Convert(wide, dtype);
  for (int64_t i = 0; i < count; ++i) {
    float actual = static_cast<const float*>(wide->data())[i];
    float expected = WidenFloat(dtype, static_cast<uint16_t>(i));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << i;
      EXPECT_TRUE(std::isnan(WidenFloat(dtype, BitsAt(back, i)))) << i;
      continue;
    }
    EXPECT_EQ(std::bit_cast<uint32_t>(actual), std::bit_cast<uint32_t>(expected)) << i;
    EXPECT_EQ(BitsAt(back, i), i);
  }
}

TEST_P(NarrowFloatConversions, RoundToNearestEven) {
  DataType dtype = GetParam();
  // Every number of the type, the middle to the next one, and the neighbours of both.
  std::vector<double> values = {INFINITY, -INFINITY, NAN, 0.0, -0.0, 1e30, -1e-30, 1e300, 1e-300};
  for (int64_t i = 0; i < (int64_t{1} << (dtype.bits() - 1)) - 1; ++i) {
    double low = WidenFloat(dtype, static_cast<uint16_t>(i));
    double high = WidenFloat(dtype, static_cast<uint16_t>(i + 1));
    if (!std::isfinite(high)) high = 2 * low - WidenFloat(dtype, static_cast<uint16_t>(i - 1));
    if (!std::isfinite(low)) break;
    for (double x : {low, (low + high) / 2})
      for (double y : {x, std::nextafter(x, 0), std::nextafter(x, INFINITY),
                       static_cast<double>(std::nextafter(static_cast<float>(x), 0.0f)),
                       static_cast<double>(std::nextafter(static_cast<float>(x), INFINITY))}) {
        values.push_back(y);
        values.push_back(-y);
      }
  }
  auto n = static_cast<int64_t>(values.size());
  auto singles = runtime::Tensor::Empty({n}, DataType::Float(32)),
       doubles = runtime::Tensor::Empty({n}, DataType::Float(64));
  for (int64_t i = 0; i < n; ++i) {
    static_cast<double*>(doubles->data())[i] = values[static_cast<size_t>(i)];
    static_cast<float*>(singles->data())[i] = static_cast<float>(values[static_cast<size_t>(i)]);
  }
  runtime::Tensor from_singles = Convert(singles, dtype), from_doubles = Convert(doubles, dtype);
  for (int64_t i = 0; i < n; ++i) {
    double value = values[static_cast<size_t>(i)];
    double of_double = WidenFloat(dtype, BitsAt(from_doubles, i));
    double of_single = WidenFloat(dtype, BitsAt(from_singles, i));
    if (double expected = RoundToType(dtype, value); std::isnan(expected))
      EXPECT_TRUE(std::isnan(of_double)) << value;
    else
      EXPECT_EQ(of_double, expected) << value;
    if (double expected = RoundToType(dtype, static_cast<float>(value)); std::isnan(expected))
      EXPECT_TRUE(std::isnan(of_single)) << value;
    else
      EXPECT_EQ(of_single, expected) << value;
  }
}

// A conversion of integers to float32, as it is where the target has no float64.
class Replace : public StmtMutator {
  using StmtMutator::MutateNode;
  Expr MutateNode(const ir::CastNode* node, const Expr& self) override {
    bool is_it = node->dtype == DataType::Float(32) && node->value.dtype().is_integer();
    return is_it ? Float32ForNarrowingOfInteger(node->value) : MutateChildren(node, self);
  }
};

runtime::Tensor ConvertForNarrowing(const runtime::Tensor& from) {
  std::string text = "func f(A: " + from->dtype().str() +
                     "[n], B: float32[n]) {\n  for i in 0..n {\n    B[i] = float32(A[i])\n  }\n}\n";
  ir::IRModule module = ParseModule("convert.tir", text);
  auto changed = ffi::Make<ir::IRModuleNode>(*module);
  for (auto& [name, function] : changed->functions)
    function = Replace().MutateFunction(AsPrimFunc(function));
  ffi::Module compiled =
      codegen::LoadLinkable(Compile(ir::IRModule(changed), target::Target::DefaultHost()));
  auto result = runtime::Tensor::Empty(from->shape(), DataType::Float(32));
  compiled->GetFunction("f")(from, result);
  return result;
}

// Rounded once: a double that is inexact is the odd one of the two neighbours.
double RoundOnce(DataType dtype, long double exact) {
  auto nearest = static_cast<double>(exact);
  if (static_cast<long double>(nearest) != exact && !(std::bit_cast<uint64_t>(nearest) & 1))
    nearest = std::nextafter(nearest, exact > nearest ? INFINITY : -INFINITY);
  return RoundToType(dtype, nearest);
}

// Middles between two numbers of a type, at every place, and what is beside them.
TEST_P(NarrowFloatConversions, OfIntegersWithoutFloat64) {
  std::vector<uint64_t> values = {0, 1, ~uint64_t{0}, uint64_t{1} << 63, ~uint64_t{0} >> 1};
  for (int shift = 0; shift < 64; ++shift)
    for (uint64_t middle : {0x17, 0x101, 0x103, 0x1001, 0x1003, 0x1ff, 0x1fff})
      for (int more : {-1, 0, 1}) {
        values.push_back((middle << shift) + static_cast<uint64_t>(more));
        values.push_back(0 - values.back());
      }
  auto n = static_cast<int64_t>(values.size());
  for (DataType from :
       {DataType::Int(32), DataType::UInt(32), DataType::Int(64), DataType::UInt(64)}) {
    auto integers = runtime::Tensor::Empty({n}, from);
    for (int64_t i = 0; i < n; ++i)
      std::memcpy(static_cast<char*>(integers->data()) + i * from.bytes(),
                  &values[static_cast<size_t>(i)], static_cast<size_t>(from.bytes()));
    runtime::Tensor singles = ConvertForNarrowing(integers);
    for (int64_t i = 0; i < n; ++i) {
      uint64_t value = values[static_cast<size_t>(i)];
      long double exact = from == DataType::Int(32)    ? static_cast<int32_t>(value)
                          : from == DataType::UInt(32) ? static_cast<uint32_t>(value)
                          : from == DataType::Int(64)  ? static_cast<int64_t>(value)
                                                       : static_cast<long double>(value);
      double expected = RoundOnce(GetParam(), exact);
      double actual = RoundToType(GetParam(), static_cast<const float*>(singles->data())[i]);
      EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected)))
          << from.str() << " " << value << ": " << actual << ", not " << expected;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, NarrowFloatConversions,
                         testing::Values(DataType::Float(16), DataType::Bfloat16(),
                                         DataType::Float8E4M3FN(), DataType::Float8E5M2(),
                                         DataType::Float4E2M1FN()),
                         [](const auto& info) { return info.param.str(); });

}  // namespace
}  // namespace tern::tir::math
