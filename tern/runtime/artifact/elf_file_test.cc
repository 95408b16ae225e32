// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/elf_file.h"

#include <gtest/gtest.h>

#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/test_data/test_environment.h"

namespace tern::runtime {
namespace {

std::string Library() { return ReadFile(std::string(TERN_TEST_DATA) + "/embedded.so"); }

TEST(ElfFile, KnowsTheMachine) {
  std::string bytes = Library();
  EXPECT_TRUE(IsElf(bytes));
  EXPECT_EQ(ElfMachine(bytes), HostElfMachine());
  EXPECT_EQ(ElfMachineName(62), "x86_64");
  EXPECT_EQ(ElfMachineName(183), "aarch64");
  EXPECT_EQ(ElfMachineName(9999), "machine 9999");
}

TEST(ElfFile, FindsSections) {
  std::string bytes = Library();
  auto section = FindElfSection(bytes, ".tern");
  ASSERT_TRUE(section);
  EXPECT_EQ(bytes.substr(section->offset, 8), "TERNSEAL");
  EXPECT_EQ(section->offset % 64, 0u);
  EXPECT_FALSE(FindElfSection(bytes, ".nosuch"));
}

TEST(ElfFile, HeadersTellHowLongItIs) {
  std::string bytes = Library();
  EXPECT_EQ(ElfExtent(bytes), bytes.size()) << "linkers put the section table at the end";
  EXPECT_EQ(ElfExtent(bytes + std::string(1000, 'x')), bytes.size());
}

TEST(ElfFile, LooksAtHeadersAndNamesAlone) {
  std::string bytes = Library();
  uint64_t needed = 0;
  FindElfSection(bytes, ".tern", [&](uint64_t offset, uint64_t size) {
    EXPECT_LE(offset + size, bytes.size());
    needed += size;
  });
  EXPECT_LT(needed, bytes.size() / 2);
}

TEST(ElfFile, RefusesOtherFiles) {
  EXPECT_EQ(ErrorOf([] { ElfMachine("text"); }), "not an ELF file");
  EXPECT_EQ(ErrorOf([] {
              ElfMachine(
                  "\x7f"
                  "ELF");
            }),
            "the ELF header is truncated");
  std::string narrow = Library();
  narrow[4] = 1;
  EXPECT_EQ(ErrorOf([&] { ElfMachine(narrow); }),
            "an ELF file for 32 bits, little endian; 64 bits, little endian expected");
}

TEST(ElfFile, NoByteOfTheHeadersLeadsOutOfTheFile) {
  const std::string bytes = Library();
  auto probe = [](const std::string& changed) {
    try {
      if (auto section = FindElfSection(changed, ".tern")) {
        ASSERT_LE(section->offset, changed.size());
        ASSERT_LE(section->size, changed.size() - section->offset);
      }
    } catch (const Error&) {
    }
  };
  for (size_t size = 0; size < bytes.size(); size += 61) probe(bytes.substr(0, size));
  auto mutate = [&](size_t from, size_t to) {
    for (size_t i = from; i < to; ++i)
      for (unsigned char value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
        std::string changed = bytes;
        changed[i] = static_cast<char>(value);
        probe(changed);
      }
  };
  mutate(0, 64);
  // The section table is the last thing in the file, as linkers write it.
  mutate(bytes.size() - std::min<size_t>(bytes.size(), 4096), bytes.size());
}

}  // namespace
}  // namespace tern::runtime
