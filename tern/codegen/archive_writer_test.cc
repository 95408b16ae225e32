// SPDX-License-Identifier: Apache-2.0
//
// test/e2e/formats.test has other programs read what is written here.
#include "tern/codegen/archive_writer.h"

#include <gtest/gtest.h>

namespace tern::codegen {
namespace {

TEST(ArchiveWriter, StaticLibraryHasAnIndex) {
  using namespace std::string_literals;
  EXPECT_EQ(WriteStaticLibrary({"module.o", "abc"}, {"f", "gh"}),
            "!<arch>\n"
            "/               0           0     0     644     18        `\n"
            "\0\0\0\2\0\0\0\x56\0\0\0\x56"
            "f\0gh\0\0"
            "module.o/       0           0     0     644     3         `\n"
            "abc\n"s);
}

TEST(ArchiveWriter, TarHasBlocks) {
  std::string tar = WriteTar({{"a.txt", "hello"}, {"empty", ""}, {"full", std::string(512, 'x')}});
  ASSERT_EQ(tar.size(), 512u * (2 + 1 + 2 + 2));
  EXPECT_STREQ(tar.data(), "a.txt");
  EXPECT_STREQ(tar.data() + 100, "0000644");
  EXPECT_STREQ(tar.data() + 124, "00000000005");
  EXPECT_STREQ(tar.data() + 136, "00000000000");
  EXPECT_STREQ(tar.data() + 257, "ustar");
  EXPECT_STREQ(tar.data() + 512, "hello");
  EXPECT_STREQ(tar.data() + 1024, "empty");
  EXPECT_STREQ(tar.data() + 1536, "full");
  EXPECT_EQ(tar.substr(2560), std::string(1024, '\0'));
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(tar[i]);
  EXPECT_EQ(std::stoul(tar.substr(148, 6), nullptr, 8), sum);
}

}  // namespace
}  // namespace tern::codegen
