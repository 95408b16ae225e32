// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/any.h"

#include <gtest/gtest.h>

#include <vector>

#include "tern/ffi/containers.h"

namespace tern::ffi {
namespace {

TEST(DataType, NamesRoundTrip) {
  for (const char* name :
       {"bool", "int8", "int64", "uint16", "float16", "bfloat16", "float32", "float64", "handle",
        "float32x4", "boolx16", "int4", "uint4", "float4_e2m1fn", "float8_e4m3fn",
        "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"}) {
    std::optional<DataType> type = DataType::Parse(name);
    ASSERT_TRUE(type) << name;
    EXPECT_EQ(type->str(), name);
  }
}

TEST(DataType, RefusesOtherNames) {
  for (const char* name : {"", "float", "int", "int7", "float32x", "float32x0", "float32x1",
                           "float32x04", "float32x70000", "float32x4 ", "x4", "handlex2", "Float32",
                           "int2", "int4x2", "float4_e2m1fnx2"})
    EXPECT_FALSE(DataType::Parse(name)) << name;
}

TEST(Any, ScalarsConvertWithTheUsualCoercions) {
  EXPECT_EQ(Any(5).As<double>(), 5.0);
  EXPECT_EQ(Any(true).As<int>(), 1);
  EXPECT_TRUE(Any(7).As<bool>());
  EXPECT_FALSE(Any(2.5).TryAs<int>());
  EXPECT_FALSE(Any("x").TryAs<int>());
}

TEST(Any, IntegersDoNotWrap) {
  EXPECT_FALSE(Any(300).TryAs<int8_t>());
  EXPECT_FALSE(Any(int64_t{1} << 40).TryAs<int32_t>());
  EXPECT_EQ(Any(-128).As<int8_t>(), -128);
}

TEST(Any, StringsOfEveryLength) {
  std::string text;
  for (int i = 0; i < 20; ++i, text += static_cast<char>('a' + i)) {
    Any any(text);
    EXPECT_EQ(any.type_index(), text.size() <= 7 ? kTernSmallStr : kTernStr);
    EXPECT_EQ(any.As<std::string>(), text);
    EXPECT_FALSE(any.TryAs<Bytes>());
  }
}

TEST(Any, BytesKeepZeros) {
  std::string data("a\0b\0c\0d\0e\0", 10);
  EXPECT_EQ(Any(Bytes{data}).As<Bytes>().data, data);
  EXPECT_EQ(Any(Bytes{data.substr(0, 3)}).As<Bytes>().data, data.substr(0, 3));
}

TEST(Any, OwnsACopyOfARawString) {
  std::string text = "borrowed text";
  TernAny raw{kTernRawStr, 0, {.v_str = text.c_str()}};
  Any owned{AnyView(raw)};
  text.assign("overwritten!!");
  EXPECT_EQ(owned.As<std::string>(), "borrowed text");
}

TEST(Any, CountsObjects) {
  Array array = MakeArray({1});
  {
    std::vector<Any> copies(2, Any(array));
    Any c(AnyView{copies[1]});
    EXPECT_FALSE(array->unique());
    TernAny released = c.Release();
    EXPECT_TRUE(c.is_none());
    Any::Adopt(released);
  }
  EXPECT_TRUE(array->unique());
}

TEST(Any, NullReferenceIsNone) { EXPECT_TRUE(Any(Array()).is_none()); }

TEST(Any, ConversionErrorNamesBothTypes) {
  try {
    Any("hello").As<int>();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "TypeError");
    EXPECT_STREQ(error.what(), "expected int, got string \"hello\"");
  }
}

TEST(Describe, Tensors) {
  int64_t shape[] = {2, 3};
  TernTensorView view{nullptr, {kTernDeviceCpu, 0}, 2, DataType::Float(32).raw(), shape, nullptr,
                      0};
  TernAny value{kTernTensorView, 0, {.v_tensor = &view}};
  EXPECT_EQ(Describe(value), "float32 tensor of shape (2, 3) on cpu:0");
  view.device = {4, 1};
  view.ndim = 1;
  EXPECT_EQ(Describe(value), "float32 tensor of shape (2,) on device 4:1");
  view.ndim = 0;
  EXPECT_EQ(Describe(value), "float32 tensor of shape () on device 4:1");
  value.v_tensor = nullptr;
  EXPECT_EQ(Describe(value), "null tensor");
}

TEST(Describe, OtherValues) {
  EXPECT_EQ(Describe(TernAny{}), "none");
  EXPECT_EQ(Describe(Any(5).raw()), "int 5");
  EXPECT_EQ(Describe(Any(2.5).raw()), "float 2.5");
  EXPECT_EQ(Describe(Any(true).raw()), "bool true");
  EXPECT_EQ(Describe(Any(DataType::Int(8)).raw()), "data type int8");
  EXPECT_EQ(Describe(Any(MakeMap()).raw()), "Map");
  EXPECT_EQ(Describe(Any(std::string(100, 'x')).raw()),
            "string \"" + std::string(40, 'x') + "...\"");
}

}  // namespace
}  // namespace tern::ffi
