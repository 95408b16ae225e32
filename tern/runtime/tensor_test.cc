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

TEST(Tensor, StridesAndOffset) {
  Tensor tensor = Tensor::Empty({2, 3}, DataType::Int(16), {kTernDeviceCpu, 0},
                                {.strides = {1, 4}, .offset = 5});
  EXPECT_EQ(tensor->view().strides[1], 4);
  EXPECT_EQ(tensor->view().byte_offset, 10u);
  EXPECT_EQ(tensor->num_bytes(), 12u);
  EXPECT_EQ(tensor->storage_bytes(), 2u * (5 + 1 + 1 * 1 + 2 * 4));
  EXPECT_FALSE(tensor->is_compact());
  for (int i = 0; i < 6; ++i) SetElement(tensor, i, i);
  EXPECT_EQ(tensor->PlaceOf(5), 5 + 1 + 2 * 4);
  EXPECT_EQ(tensor.as<int16_t>()[5 + 1 + 2 * 4], 5);
  Tensor copy = tensor.CopyTo({kTernDeviceCpu, 0});
  EXPECT_EQ(copy->layout().strides, (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(copy->layout().offset, 5);
  Tensor compact = Tensor::Empty({2, 3}, DataType::Int(16));
  EXPECT_TRUE(compact->is_compact());
  CopyElements(copy, compact);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(compact.as<int16_t>()[i], i);
}

TEST(Tensor, RefusesImpossibleLayouts) {
  auto make = [](TensorLayout layout) {
    return ErrorOf([&] { Tensor::Empty({2, 3}, DataType::Int(8), {kTernDeviceCpu, 0}, layout); });
  };
  EXPECT_EQ(make({{1}, 0}), "a tensor of shape (2, 3) cannot have strides (1)");
  EXPECT_EQ(make({{-3, 1}, 0}), "strides (-3, 1): a tensor made here has none below 0");
  EXPECT_EQ(make({{}, -1}), "a tensor cannot have the offset -1");
  int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(make({{most, 1}, 0}), "a tensor of int8 with shape (2, 3), strides (" +
                                      std::to_string(most) +
                                      ", 1) and offset 0 has more bytes than 64 bits can count");
  EXPECT_NE(make({{}, most}), "no error");
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
