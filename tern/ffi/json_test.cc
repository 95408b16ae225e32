// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/json.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tern::ffi {
namespace {

std::string ErrorOf(std::string_view text) {
  try {
    ParseJson(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), "ValueError");
    return error.what();
  }
  return "no error";
}

std::string Again(std::string_view text) { return WriteJson(ParseJson(text)); }

TEST(Json, RoundTrips) {
  for (const char* text :
       {"null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808", "1.5",
        "-0.0", "1e+300", "\"\"", "\"a long enough string\"", "[]", "{}", "[1,[2,[3]],{}]",
        "{\"a\":{\"b\":[null,true]},\"c\":\"\\\"\\\\\\n\\u0001\"}"})
    EXPECT_EQ(Again(text), text);
}

TEST(Json, WritesKeysInOrderAndFloatsAsFloats) {
  EXPECT_EQ(Again(" { \"b\" : 1.0 , \"a\" : 2 } "), "{\"a\":2,\"b\":1.0}");
}

TEST(Json, Indents) {
  EXPECT_EQ(WriteJson(ParseJson("{\"a\":[1,{}],\"b\":[]}"), true),
            "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}");
}

TEST(Json, Escapes) {
  EXPECT_EQ(
      ParseJson("\"\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\"").As<std::string>(),
      "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80/\b\f\n\r\t");
  for (const char* text :
       {"\"\\x\"", "\"\\", "\"\\u12\"", "\"\\u12g4\"", "\"\\u-123\"", "\"\\ud800\"", "\"\\ud800x\"",
        "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\n\"", "\"\\u+123\""})
    EXPECT_NE(ErrorOf(text), "no error") << text;
}

TEST(Json, Numbers) {
  EXPECT_EQ(ParseJson("1e2").As<double>(), 100.0);
  EXPECT_EQ(ParseJson("-2.5E-1").As<double>(), -0.25);
  for (const char* text : {"01", "-", "+1", ".5", "1.", "1e", "1e+", "0x1", "--1", "1 2", "NaN",
                           "Infinity", "1e999", "9223372036854775808", "-9223372036854775809"})
    EXPECT_NE(ErrorOf(text), "no error") << text;
}

TEST(Json, ErrorsCarryTheOffset) {
  EXPECT_EQ(ErrorOf("{\"a\":1,}"), "bad JSON at offset 7: expected a key in quotes");
  EXPECT_EQ(ErrorOf("[1 2]"), "bad JSON at offset 3: expected ',' or ']'");
  EXPECT_EQ(ErrorOf("{\"a\":1,\"a\":2}"), "bad JSON at offset 7: key \"a\" stands twice");
  EXPECT_EQ(ErrorOf("[true] x"), "bad JSON at offset 7: expected the end of the text");
  EXPECT_EQ(ErrorOf(""), "bad JSON at offset 0: the text ends where a value should be");
}

TEST(Json, EveryTruncationIsAnError) {
  std::string text = "{\"key\":[1,-2.5e3,\"s\\u00e9\\n\",true,false,null,{\"x\":{}}]}";
  ASSERT_EQ(ErrorOf(text), "no error");
  for (size_t size = 0; size < text.size(); ++size)
    EXPECT_NE(ErrorOf(std::string_view(text).substr(0, size)), "no error") << size;
}

TEST(Json, EveryChangedByteIsReadOrRefused) {
  std::string text = "{\"key\":[1,-2.5e3,\"s\\u00e9\\n\",true,false,null,{\"x\":{}}]}";
  for (size_t i = 0; i < text.size(); ++i)
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = text;
      changed[i] = static_cast<char>(byte);
      if (ErrorOf(changed) != "no error") continue;
      EXPECT_EQ(Again(Again(changed)), Again(changed));
    }
}

TEST(Json, DepthIsBounded) {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(ErrorOf(nested(100)), "no error");
  EXPECT_EQ(ErrorOf(nested(101)), "bad JSON at offset 100: nested deeper than 100");
  EXPECT_NE(ErrorOf(std::string(1000000, '[')), "no error");
}

TEST(Json, RefusesToWriteWhatItCannotHold) {
  EXPECT_THROW(WriteJson(Any(std::nan(""))), Error);
  EXPECT_THROW(WriteJson(Any(HUGE_VAL)), Error);
  EXPECT_THROW(WriteJson(Any(Bytes{"x"})), Error);
}

}  // namespace
}  // namespace tern::ffi
