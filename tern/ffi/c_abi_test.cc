// SPDX-License-Identifier: Apache-2.0
//
// Pins the layout that compiled kernels, plugins and clients in other languages rely on.
#include "tern/ffi/c_abi.h"

#include <gtest/gtest.h>

#include "tern/ffi/containers.h"
#include "tern/ffi/function.h"

namespace {

#define TERN_OFFSET(type, field, offset) static_assert(offsetof(type, field) == offset)

static_assert(sizeof(TernAny) == 16 && alignof(TernAny) == 8);
TERN_OFFSET(TernAny, type_index, 0);
TERN_OFFSET(TernAny, small_len, 4);
TERN_OFFSET(TernAny, v_int, 8);
TERN_OFFSET(TernAny, v_float, 8);
TERN_OFFSET(TernAny, v_obj, 8);
TERN_OFFSET(TernAny, v_dtype, 8);
TERN_OFFSET(TernAny, v_device, 8);
TERN_OFFSET(TernAny, v_small, 8);

static_assert(sizeof(TernDType) == 4 && sizeof(TernDevice) == 8);
TERN_OFFSET(TernDType, code, 0);
TERN_OFFSET(TernDType, bits, 1);
TERN_OFFSET(TernDType, lanes, 2);
TERN_OFFSET(TernDevice, type, 0);
TERN_OFFSET(TernDevice, id, 4);

static_assert(sizeof(TernTensorView) == 48);
TERN_OFFSET(TernTensorView, data, 0);
TERN_OFFSET(TernTensorView, device, 8);
TERN_OFFSET(TernTensorView, ndim, 16);
TERN_OFFSET(TernTensorView, dtype, 20);
TERN_OFFSET(TernTensorView, shape, 24);
TERN_OFFSET(TernTensorView, strides, 32);
TERN_OFFSET(TernTensorView, byte_offset, 40);

static_assert(sizeof(TernObject) == 24);
TERN_OFFSET(TernObject, count, 0);
TERN_OFFSET(TernObject, type_index, 8);
TERN_OFFSET(TernObject, padding, 12);
TERN_OFFSET(TernObject, deleter, 16);

// Cells follow the 24 bytes of the header.
TERN_OFFSET(TernBytesCell, data, 24 - 24);
TERN_OFFSET(TernBytesCell, size, 32 - 24);
TERN_OFFSET(TernShapeCell, data, 24 - 24);
TERN_OFFSET(TernShapeCell, size, 32 - 24);
TERN_OFFSET(TernFunctionCell, safe_call, 24 - 24);
TERN_OFFSET(TernFunctionCell, cpp_call, 32 - 24);
TERN_OFFSET(TernArrayCell, data, 24 - 24);
TERN_OFFSET(TernArrayCell, size, 32 - 24);
TERN_OFFSET(TernArrayCell, capacity, 40 - 24);
TERN_OFFSET(TernArrayCell, data_deleter, 48 - 24);

TERN_OFFSET(TernErrorCell, kind, 24 - 24);
TERN_OFFSET(TernErrorCell, message, 40 - 24);
TERN_OFFSET(TernErrorCell, backtrace, 56 - 24);
TERN_OFFSET(TernErrorCell, update_backtrace, 72 - 24);
TERN_OFFSET(TernErrorCell, cause_chain, 80 - 24);
TERN_OFFSET(TernErrorCell, extra_context, 88 - 24);

TERN_OFFSET(TernEnv, size, 0);
TERN_OFFSET(TernEnv, version, 4);
TERN_OFFSET(TernEnv, module, 8);
TERN_OFFSET(TernEnv, raise, 16);
TERN_OFFSET(TernEnv, call, 24);
TERN_OFFSET(TernEnv, alloc_workspace, 32);
TERN_OFFSET(TernEnv, free_workspace, 40);

static_assert(kTernNone == 0 && kTernInt == 1 && kTernBool == 2 && kTernFloat == 3 &&
              kTernOpaquePtr == 4 && kTernDataType == 5 && kTernDevice == 6 &&
              kTernTensorView == 7 && kTernRawStr == 8 && kTernSmallStr == 11 &&
              kTernSmallBytes == 12);
static_assert(kTernObjectBegin == 64 && kTernStr == 65 && kTernBytes == 66 && kTernError == 67 &&
              kTernFunction == 68 && kTernShape == 69 && kTernTensor == 70 && kTernArray == 71 &&
              kTernMap == 72 && kTernModule == 73 && kTernDynamicBegin == 128);
static_assert(sizeof(tern::ffi::Any) == 16 && sizeof(tern::ffi::AnyView) == 16);
static_assert(sizeof(tern::ffi::FunctionObj) == 40);

template <class Cell>
const Cell& CellOf(const tern::ffi::AnyView& value) {
  return *reinterpret_cast<const Cell*>(reinterpret_cast<const char*>(value.raw().v_obj) + 24);
}

TEST(CAbi, LongStringIsDataAndSizeAfterTheHeader) {
  tern::ffi::Any text("a long string");
  ASSERT_EQ(text.type_index(), kTernStr);
  const auto& cell = CellOf<TernBytesCell>(text);
  EXPECT_EQ(std::string(cell.data, cell.size), "a long string");
  EXPECT_EQ(cell.data[cell.size], '\0');
}

TEST(CAbi, SmallStringFillsTheValueWithZeros) {
  tern::ffi::Any text("abc");
  const unsigned char expected[16] = {11, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c'};
  EXPECT_EQ(memcmp(&text.raw(), expected, 16), 0);
}

TEST(CAbi, ArrayIsContiguousValuesAfterTheHeader) {
  tern::ffi::Any array(tern::ffi::MakeArray({1, 2.5}));
  const auto& cell = CellOf<TernArrayCell>(array);
  ASSERT_EQ(cell.size, 2);
  EXPECT_EQ(cell.capacity, 2);
  EXPECT_EQ(cell.data[0].v_int, 1);
  EXPECT_EQ(cell.data[1].v_float, 2.5);
}

TEST(CAbi, ShapeIsExtentsAndCount) {
  tern::ffi::Any shape(tern::ffi::MakeShape({2, 3}));
  ASSERT_EQ(shape.type_index(), kTernShape);
  const auto& cell = CellOf<TernShapeCell>(shape);
  ASSERT_EQ(cell.size, 2u);
  EXPECT_EQ(cell.data[1], 3);
}

TEST(CAbi, ErrorIsKindMessageAndContext) {
  tern::Error error("KeyError", "no such thing");
  error.AddContext("looking").AddContext("running");
  tern::ffi::Any value(tern::ffi::MakeErrorValue(error));
  ASSERT_EQ(value.type_index(), kTernError);
  const auto& cell = CellOf<TernErrorCell>(value);
  EXPECT_EQ(std::string(cell.kind.data, cell.kind.size), "KeyError");
  EXPECT_EQ(std::string(cell.message.data, cell.message.size), "no such thing");
  std::string more = "calling\n";
  TernBytesCell bytes{more.data(), more.size()};
  cell.update_backtrace(value.raw().v_obj, &bytes, 1);
  EXPECT_STREQ(tern::ffi::ErrorFromValue(value).what(),
               "no such thing\n  while looking\n  while running\n  while calling");
}

TEST(CAbi, FunctionIsCalledWithItselfAsHandle) {
  auto function = tern::ffi::Function::FromTyped("twice", [](int64_t x) { return 2 * x; });
  tern::ffi::Any value(function);
  const auto& cell = CellOf<TernFunctionCell>(value);
  EXPECT_EQ(cell.cpp_call, nullptr);
  TernAny arg{kTernInt, 0, {.v_int = 21}}, result{};
  ASSERT_EQ(cell.safe_call(value.raw().v_obj, &arg, 1, &result), 0);
  EXPECT_EQ(result.type_index, kTernInt);
  EXPECT_EQ(result.v_int, 42);
}

}  // namespace
