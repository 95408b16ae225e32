// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/dlpack.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

static_assert(sizeof(TernManagedTensor) == 64 && offsetof(TernManagedTensor, manager) == 48 &&
              offsetof(TernManagedTensor, deleter) == 56);
static_assert(sizeof(TernManagedTensorVersioned) == 80 &&
              offsetof(TernManagedTensorVersioned, manager) == 8 &&
              offsetof(TernManagedTensorVersioned, deleter) == 16 &&
              offsetof(TernManagedTensorVersioned, flags) == 24 &&
              offsetof(TernManagedTensorVersioned, tensor) == 32);

// A tensor of another framework: 2 x 3 int16, column major, two elements into its memory.
template <class Managed>
struct Foreign {
  int16_t memory[8] = {-1, -1, 0, 1, 2, 3, 4, 5};
  int64_t shape[2] = {2, 3}, strides[2] = {1, 2};
  int deleted = 0;
  Managed managed{};

  Foreign() {
    managed.tensor = {memory, {kTernDeviceCpu, 0}, 2, DataType::Int(16).raw(), shape, strides, 4};
    managed.manager = this;
    managed.deleter = [](Managed* self) { ++static_cast<Foreign*>(self->manager)->deleted; };
    if constexpr (requires { managed.major; }) managed.major = 1;
  }
};

template <class Managed>
void ExpectImports() {
  Foreign<Managed> foreign;
  {
    Tensor row;
    {
      Tensor tensor = FromDLPack(&foreign.managed);
      EXPECT_EQ(tensor->data(), foreign.memory + 2);
      EXPECT_EQ(tensor->shape(), (std::vector<int64_t>{2, 3}));
      EXPECT_EQ(GetElement(tensor, 1), 2);
      row = tensor.Slice(0, 1, 2);
    }
    EXPECT_EQ(foreign.deleted, 0);  // a view is left
    EXPECT_EQ(GetElement(row, 2), 5);
    SetElement(row, 2, 9);
    EXPECT_EQ(foreign.memory[7], 9);
  }
  EXPECT_EQ(foreign.deleted, 1);
}

TEST(DLPack, ImportsWithoutACopy) {
  ExpectImports<TernManagedTensor>();
  ExpectImports<TernManagedTensorVersioned>();
}

TEST(DLPack, WithoutStridesAndDeleter) {
  Foreign<TernManagedTensor> foreign;
  foreign.managed.tensor.strides = nullptr;
  foreign.managed.deleter = nullptr;
  EXPECT_EQ(GetElement(FromDLPack(&foreign.managed), 1), 1);
}

TEST(DLPack, RefusesAndTakesNothing) {
  using Versioned = TernManagedTensorVersioned;
  auto error = [](const std::function<void(Foreign<Versioned>*)>& change) {
    Foreign<Versioned> foreign;
    change(&foreign);
    std::string text = ErrorOf([&] { FromDLPack(&foreign.managed); });
    EXPECT_EQ(foreign.deleted, 0);
    return text;
  };
  EXPECT_EQ(error([](auto* f) { f->managed.major = 2; }),
            "the tensor is of version 2.0 of DLPack; expected version 1");
  EXPECT_EQ(error([](auto* f) { f->strides[0] = -1; }),
            "a DLPack tensor has the strides (-1, 2); those below 0 need a copy first");
  EXPECT_EQ(error([](auto* f) { f->shape[0] = -1; }), "shape (-1, 3) has a negative extent");
  EXPECT_EQ(error([](auto* f) { f->managed.tensor.dtype = {3, 64, 1}; }),
            "a tensor cannot have elements of type handle");
  EXPECT_EQ(error([](auto* f) { f->managed.tensor.data = nullptr; }),
            "a DLPack tensor has no memory");
  EXPECT_EQ(error([](auto* f) {
              f->managed.tensor.device.type = 77;
            }).find("no loaded runtime has device type 77"),
            0u);
  EXPECT_EQ(error([](auto* f) {
              f->managed.tensor.dtype = DataType::Int(4).raw();
              f->managed.flags = kTernSubBytePadded;
            }),
            "a DLPack tensor of int4 has a byte for each element; expected elements side by side");
}

TEST(DLPack, ExportKeepsTheTensorAlive) {
  Tensor tensor = Tensor::Empty({2}, DataType::Float(32));
  SetElement(tensor, 1, 3);
  TernManagedTensor* managed = ToDLPack(tensor);
  TernManagedTensorVersioned* versioned = ToDLPackVersioned(tensor);
  EXPECT_EQ(managed->tensor.data, tensor->data());
  EXPECT_EQ(versioned->major, 1u);
  EXPECT_EQ(versioned->flags, 0u);
  tensor = Tensor();
  EXPECT_EQ(static_cast<float*>(managed->tensor.data)[1], 3);
  managed->deleter(managed);
  EXPECT_EQ(versioned->tensor.shape[0], 2);
  versioned->deleter(versioned);
}

TEST(DLPack, RoundTripSharesTheMemory) {
  Tensor tensor = Tensor::Empty({4}, DataType::Int(4));
  Tensor back = FromDLPack(ToDLPackVersioned(tensor));
  EXPECT_EQ(back->data(), tensor->data());
  EXPECT_EQ(back->dtype(), DataType::Int(4));
}

TEST(DLPack, ReadOnlyStaysReadOnly) {
  Foreign<TernManagedTensorVersioned> foreign;
  foreign.managed.flags = kTernReadOnly;
  Tensor tensor = FromDLPack(&foreign.managed);
  EXPECT_TRUE(tensor.Slice(0, 0, 1)->memory().is_read_only);
  EXPECT_EQ(ErrorOf([&] { ToDLPack(tensor); }),
            "the tensor is read-only, which unversioned DLPack cannot say");
  TernManagedTensorVersioned* exported = ToDLPackVersioned(tensor);
  EXPECT_EQ(exported->flags, uint64_t{kTernReadOnly});
  exported->deleter(exported);
}

}  // namespace
}  // namespace tern::runtime
