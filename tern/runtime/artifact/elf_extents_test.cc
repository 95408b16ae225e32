// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/elf_extents.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace tern::plugin {
namespace {

// This program; any ELF file would do.
std::string ThisProgram() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

template <class Change>
std::string WhyWith(std::string file, Change change) {
  Elf64_Ehdr header;
  std::memcpy(&header, file.data(), sizeof header);
  change(&header, &file);
  std::memcpy(file.data(), &header, sizeof header);
  return WhyNoElf64(file, 0);
}

TEST(ElfExtents, WhatLiesOutsideIsFound) {
  std::string file = ThisProgram();
  EXPECT_EQ(WhyNoElf64(file, 0), "");
  EXPECT_EQ(WhyNoElf64(file.substr(0, 20), 0), "it has 20 bytes");
  EXPECT_EQ(WhyNoElf64("no ELF file, but long enough for the header of one, which has 64 bytes", 0),
            "it is no ELF file");
  EXPECT_EQ(WhyNoElf64(file, 0xffff).find("it is for another machine ("), 0u);
  EXPECT_EQ(WhyNoElf64(file.substr(0, file.size() - 100), 0), "its headers lie outside of it");
  using Header = Elf64_Ehdr;
  EXPECT_EQ(WhyWith(file, [](Header* header, auto*) { header->e_shoff = ~0ull - 8; }),
            "its headers lie outside of it");
  EXPECT_EQ(WhyWith(file, [](Header* header, auto*) { header->e_phentsize = 1; }),
            "its program headers have another size");
  EXPECT_EQ(WhyWith(file, [](Header* header, auto*) { header->e_shstrndx = 0xfff0; }),
            "its sections have no names");
  EXPECT_EQ(WhyWith(file,
                    [](Header* header, std::string* bytes) {
                      uint64_t size = ~0ull;
                      bytes->replace(header->e_phoff + offsetof(Elf64_Phdr, p_filesz), sizeof size,
                                     reinterpret_cast<const char*>(&size), sizeof size);
                    }),
            "a segment lies outside of it");
  EXPECT_EQ(WhyWith(file,
                    [](Header* header, std::string* bytes) {
                      uint64_t offset = bytes->size() + 1;
                      bytes->replace(
                          header->e_shoff + sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_offset),
                          sizeof offset, reinterpret_cast<const char*>(&offset), sizeof offset);
                    }),
            "a section lies outside of it");
}

}  // namespace
}  // namespace tern::plugin
