// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tern/ffi/registry.h"
#include "tern/runtime/device.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

TEST(Tensor, HasTheLayoutOfTheAbi) {
  Tensor tensor = Tensor::Empty({2, 3}, DataType::Float(32));
  const auto* view =
      reinterpret_cast<const TernTensorView*>(reinterpret_cast<const char*>(tensor->header()) + 24);
  EXPECT_EQ(view, &tensor->view());
  EXPECT_EQ(view->ndim, 2);
  EXPECT_EQ(view->shape[1], 3);
  EXPECT_EQ(view->strides[0], 3);
  EXPECT_EQ(view->strides[1], 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(view->data) % 64, 0u);
  EXPECT_EQ(tensor->num_bytes(), 24u);
  EXPECT_EQ(ffi::Describe(ffi::Any(tensor).raw()), "float32 tensor of shape (2, 3) on cpu:0");
}

TEST(Tensor, RefusesImpossibleShapes) {
  auto make = [](std::vector<int64_t> shape, DataType type = DataType::Float(32)) {
    return ErrorOf([&] { Tensor::Empty(shape, type); });
  };
  EXPECT_EQ(make({2, -1}), "shape (2, -1) has a negative extent");
  int64_t huge = int64_t{1} << 40;
  EXPECT_EQ(make({huge, huge}),
            "shape (1099511627776, 1099511627776) has more elements than 64 bits can count");
  EXPECT_NE(make({0, huge, huge}), "no error");
  EXPECT_NE(make({int64_t{1} << 61}, DataType::Float(64)), "no error");
  EXPECT_EQ(make({2}, DataType::Handle()), "a tensor cannot have elements of type handle");
}

TEST(Tensor, EmptyAndScalar) {
  EXPECT_EQ(Tensor::Empty({0, 5}, DataType::Int(8))->num_bytes(), 0u);
  EXPECT_EQ(Tensor::Empty({}, DataType::Int(64))->num_bytes(), 8u);
  EXPECT_EQ(Tensor::Empty({0, 5}, DataType::Int(8)).CopyTo({kTernDeviceCpu, 0})->num_elements(), 0);
}

TEST(Tensor, CopiesBetweenDevices) {
  ScopedVariable path("TERN_BACKEND_PATH", TERN_TEST_PLUGINS);
  GetDeviceKind("toy");
  auto live = [] { return ffi::GetGlobal("toy.counter")(2).As<int64_t>(); };
  int64_t before = live();
  {
    Tensor host = Tensor::Empty({3}, DataType::Int(32));
    for (int i = 0; i < 3; ++i) SetElement(host, i, i + 1);
    Tensor there = host.CopyTo({99, 0});
    Tensor elsewhere = there.CopyTo({99, 1});
    Tensor back = elsewhere.CopyTo({kTernDeviceCpu, 0});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(GetElement(back, i), i + 1);
    EXPECT_EQ(live(), before + 2);
  }
  EXPECT_EQ(live(), before);
}

TEST(Half, EveryValueRoundTrips) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto half = static_cast<uint16_t>(bits);
    float value = HalfToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(HalfToFloat(FloatToHalf(value))));
    } else {
      ASSERT_EQ(FloatToHalf(value), half);
    }
    float wide = Bfloat16ToFloat(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(Bfloat16ToFloat(FloatToBfloat16(wide))));
    } else {
      ASSERT_EQ(FloatToBfloat16(wide), half);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(FloatToHalf(1.0f), 0x3c00);
  EXPECT_EQ(FloatToHalf(1.0f + 0x1p-11f), 0x3c00);      // tie, down to even
  EXPECT_EQ(FloatToHalf(1.0f + 3 * 0x1p-11f), 0x3c02);  // tie, up to even
  EXPECT_EQ(FloatToHalf(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);
  EXPECT_EQ(FloatToHalf(65519.0f), 0x7bff);
  EXPECT_EQ(FloatToHalf(65520.0f), 0x7c00);
  EXPECT_EQ(FloatToHalf(0x1p-25f), 0);  // tie with zero
  EXPECT_EQ(FloatToHalf(0x1.8p-25f), 1);
  EXPECT_EQ(FloatToHalf(-0.0f), 0x8000);
  EXPECT_EQ(FloatToBfloat16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(FloatToBfloat16(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(FloatToBfloat16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(Tensor, ElementsOfEveryType) {
  for (const char* name : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                           "float16", "bfloat16", "float32", "float64"}) {
    Tensor tensor = Tensor::Empty({2}, *DataType::Parse(name));
    SetElement(tensor, 0, 7);
    SetElement(tensor, 1, 100);
    EXPECT_EQ(GetElement(tensor, 0), 7) << name;
    EXPECT_EQ(GetElement(tensor, 1), 100) << name;
  }
  Tensor flags = Tensor::Empty({1}, DataType::Bool());
  SetElement(flags, 0, 5);
  EXPECT_EQ(GetElement(flags, 0), 1);
  Tensor small = Tensor::Empty({1}, DataType::Int(8));
  for (auto [from, to] : {std::pair{300.0, 44.0}, {-1.6, -2.0}, {1e30, 0.0}, {std::nan(""), 0.0}}) {
    SetElement(small, 0, from);
    EXPECT_EQ(GetElement(small, 0), to) << from;
  }
  EXPECT_THROW(GetElement(Tensor::Empty({1}, DataType::Float(32, 4)), 0), Error);
}

}  // namespace
}  // namespace tern::runtime
