// SPDX-License-Identifier: Apache-2.0
#include "tern/ffi/escape_text.h"

#include <gtest/gtest.h>

namespace tern::ffi {
namespace {

TEST(Escaped, NothingLeavesItsLine) {
  EXPECT_EQ(Escaped("plain \"text\" \\ \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "plain \"text\" \\ \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(Escaped("a\nb\tc\r\x1b[31m\x7f"), "a\\u000ab\\u0009c\\u000d\\u001b[31m\\u007f");
  EXPECT_EQ(Escaped(std::string_view("\0", 1)), "\\u0000");
  // C1, marks of direction, separators of lines.
  EXPECT_EQ(Escaped("\xc2\x9b \xe2\x80\xae \xe2\x81\xa6 \xd8\x9c \xe2\x80\xa8"),
            "\\u009b \\u202e \\u2066 \\u061c \\u2028");
  EXPECT_EQ(Escaped("a\nb\tc\r", /*keep_lines=*/true), "a\nb\tc\\u000d");
}

// As browsers decode it: the JavaScript reader says the same.
TEST(Escaped, WhatIsNoTextIsReplaced) {
  const std::string kBad = "\xef\xbf\xbd";
  EXPECT_EQ(Escaped("a\x80z"), "a" + kBad + "z");
  EXPECT_EQ(Escaped("\xc3"), kBad);
  EXPECT_EQ(Escaped("\xc0\xaf"), kBad + kBad);
  EXPECT_EQ(Escaped("\xe2\x82z"), kBad + "z");
  EXPECT_EQ(Escaped("\xed\xa0\x80"), kBad + kBad + kBad);
  EXPECT_EQ(Escaped("\xf0\x9f\x98"), kBad);
  EXPECT_EQ(Escaped("\xf4\x90\x80\x80\xff"), kBad + kBad + kBad + kBad + kBad);
}

}  // namespace
}  // namespace tern::ffi
