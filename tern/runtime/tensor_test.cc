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

TEST(Tensor, AKindWithoutPageLockedMemoryHasAny) {
  Tensor tensor = Tensor::EmptyPageLocked({3}, DataType::Int(32), {kTernDeviceCpu, 0});
  Tensor copy = Tensor::Empty({3}, DataType::Int(32));
  for (int64_t i = 0; i < 3; ++i) SetElement(tensor, i, 7);
  CopyAsync(tensor, copy);
  EXPECT_EQ(GetElement(copy, 2), 7);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 64, 0u);
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

TEST(Tensor, StridesOfOneElementAreNone) {
  Tensor tensor = Tensor::Empty({1, 2, 1, 3}, DataType::Int(16), {kTernDeviceCpu, 0},
                                {.strides = {0, 3, 77, 1}});
  EXPECT_TRUE(tensor->is_compact());
  EXPECT_EQ(tensor->storage_bytes(), 12u);
  EXPECT_TRUE(tensor->layout().strides.empty());
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

TEST(Tensor, ViewsShareTheMemory) {
  Tensor tensor = Tensor::Empty({2, 6}, DataType::Int(32));
  for (int i = 0; i < 12; ++i) SetElement(tensor, i, i);
  Tensor slice = tensor.Slice(1, 2, 5);
  EXPECT_EQ(GetElement(slice, 3), 8);
  EXPECT_EQ(GetElement(slice.Slice(0, 1, 2).Slice(1, 1, 2), 0), 9);
  EXPECT_EQ(GetElement(tensor.Reshape({3, 4}), 11), 11);
  Tensor transposed = tensor.View({6, 2}, {{1, 6}, 0});
  EXPECT_EQ(GetElement(transposed, 1), 6);
  SetElement(transposed, 1, -1);
  tensor = Tensor();
  EXPECT_EQ(GetElement(slice, 0), 2);
  EXPECT_EQ(GetElement(transposed, 1), -1);
  EXPECT_EQ(GetElement(slice.CopyTo({kTernDeviceCpu, 0}), 3), 8);
}

TEST(Tensor, RefusesImpossibleViews) {
  Tensor tensor = Tensor::Empty({2, 6}, DataType::Int(32));
  EXPECT_EQ(ErrorOf([&] { tensor.View({13}, {}); }),
            "a tensor of int32 with shape (13), strides (1) and offset 0 needs 52 bytes of memory; "
            "there are 48");
  EXPECT_NE(ErrorOf([&] { tensor.View({12}, {{}, 1}); }), "no error");
  EXPECT_EQ(ErrorOf([&] { tensor.Reshape({5}); }), "shape (5) has not as many elements as (2, 6)");
  EXPECT_EQ(ErrorOf([&] { tensor.Slice(1, 0, 2).Reshape({4}); }),
            "a tensor with strides (6, 1) cannot be given another shape without a copy");
  EXPECT_EQ(ErrorOf([&] { tensor.Slice(1, 3, 7); }),
            "a tensor of shape (2, 6) has no slice 3..7 of axis 1");
  EXPECT_EQ(ErrorOf([&] { Tensor::Empty({4}, DataType::UInt(4)).Slice(0, 1, 2); }),
            "a tensor of uint4 cannot start in the middle of a byte, at element 1");
}

TEST(Tensor, NibblesLieLowOneFirst) {
  Tensor tensor = Tensor::Empty({5}, DataType::Int(4));
  EXPECT_EQ(tensor->num_bytes(), 3u);
  for (int i = 0; i < 5; ++i) SetElement(tensor, i, i - 3);
  EXPECT_EQ(tensor.as<uint8_t>()[0], 0xed);  // -3 is 0xd, -2 is 0xe
  EXPECT_EQ(tensor.as<uint8_t>()[1], 0x0f);
  EXPECT_EQ(tensor.as<uint8_t>()[2] & 15, 1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(GetElement(tensor, i), i - 3);
  Tensor wide = Tensor::Empty({5}, DataType::Int(8)), back = Tensor::Empty({5}, DataType::Int(4));
  ConvertElements(tensor, wide);
  ConvertElements(wide, back);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(GetElement(back, i), i - 3);
  Tensor grid = Tensor::Empty({2, 3}, DataType::UInt(4)), copy = grid.CopyTo(grid->device());
  EXPECT_EQ(copy->num_bytes(), 3u);
  SetElement(grid, 4, 31);
  EXPECT_EQ(GetElement(grid, 4), 15);
}

// The value of one element, from one type to another.
template <class From, class To>
To Converted(DataType from, DataType to, From value) {
  Tensor source = Tensor::Empty({1}, from), target = Tensor::Empty({1}, to);
  *source.as<From>() = value;
  ConvertElements(source, target);
  return *target.as<To>();
}

TEST(Tensor, ConversionsAreExact) {
  const DataType i64 = DataType::Int(64), u64 = DataType::UInt(64), f32 = DataType::Float(32),
                 f64 = DataType::Float(64);
  int64_t large = (int64_t{1} << 62) + 1;
  EXPECT_EQ((Converted<int64_t, uint64_t>(i64, u64, large)), static_cast<uint64_t>(large));
  EXPECT_EQ((Converted<int64_t, double>(i64, f64, -large)), -0x1p62);
  EXPECT_EQ((Converted<uint64_t, float>(u64, f32, ~uint64_t{0})), 0x1p64f);
  // Just above a tie: rounding to float64 first would lose the bit that decides.
  int64_t above_tie = (int64_t{1} << 62) + (int64_t{1} << 54) + 1;
  EXPECT_EQ((Converted<int64_t, uint16_t>(i64, DataType::Bfloat16(), above_tie)), 0x5e81);
  EXPECT_EQ((Converted<int64_t, uint16_t>(i64, DataType::Bfloat16(), above_tie - 1)), 0x5e80);
  EXPECT_EQ((Converted<int64_t, float>(i64, f32, (int64_t{1} << 62) + (int64_t{1} << 38) + 1)),
            0x1.000002p62f);
  EXPECT_EQ((Converted<double, uint16_t>(f64, DataType::Float(16), 1 + 0x1p-11 + 0x1p-40)), 0x3c01);
  EXPECT_EQ((Converted<double, int64_t>(f64, i64, -2.9)), -2);
  EXPECT_EQ((Converted<double, int8_t>(f64, DataType::Int(8), 300)), 44);
  EXPECT_EQ((Converted<float, uint8_t>(f32, DataType::Bool(), 0.25f)), 1);
  EXPECT_EQ((Converted<uint8_t, float>(DataType::Float8E4M3FNUZ(), f32, 0x80)) !=
                (Converted<uint8_t, float>(DataType::Float8E4M3FN(), f32, 0x80)),
            true);
}

TEST(Tensor, TypedParametersSayWhatTheyTake) {
  auto matmul = ffi::Function::FromTyped(
      "matmul", [](const TensorOf<float, 2>&, const TensorOf<float, 2>& b) { return b; },
      {"A", "B"});
  Tensor a = Tensor::Empty({2, 2}, DataType::Float(32)),
         b = Tensor::Empty({1, 2, 3}, DataType::Int(64));
  EXPECT_EQ(matmul(a, a).As<Tensor>().get(), a.get());
  EXPECT_EQ(ErrorOf([&] { matmul(a, b); }),
            "matmul: argument 1 (B): expected float32 tensor of rank 2, got int64 tensor of shape "
            "(1, 2, 3) on cpu:0");
  EXPECT_EQ(ErrorOf([&] { matmul(a, 1); }),
            "matmul: argument 1 (B): expected float32 tensor of rank 2, got int 1");
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
                           "float16", "bfloat16", "float32", "float64", "float8_e4m3fn",
                           "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"}) {
    Tensor tensor = Tensor::Empty({2}, *DataType::Parse(name));
    SetElement(tensor, 0, 7);
    SetElement(tensor, 1, 96);
    EXPECT_EQ(GetElement(tensor, 0), 7) << name;
    EXPECT_EQ(GetElement(tensor, 1), 96) << name;
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
