// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/hexagon/runtime/elf_image.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "tern/backend/hexagon/runtime/executor.h"
#include "tern/ffi/error.h"

namespace tern::backend::hexagon {
namespace {

std::string ErrorOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// A small shared object: one symbol, one word that needs the address.
struct Object {
  Elf32_Ehdr header{};
  Elf32_Phdr load{}, dynamic_segment{};
  Elf32_Dyn dynamic[6]{};
  uint32_t hash[2] = {0, 2};
  Elf32_Sym symbols[2]{};
  Elf32_Rela relocation{};
  uint32_t word = 0xffffffff;
  char names[8] = "\0kernel";

  Object() {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS32;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = 164;
    header.e_flags = 0x67;
    header.e_phoff = offsetof(Object, load);
    header.e_phnum = 2;
    load.p_type = PT_LOAD;
    load.p_filesz = sizeof(Object);
    load.p_memsz = sizeof(Object) + 64;
    dynamic_segment.p_type = PT_DYNAMIC;
    dynamic_segment.p_vaddr = offsetof(Object, dynamic);
    dynamic_segment.p_memsz = sizeof dynamic;
    auto set = [&](int i, int32_t tag, uint32_t value) {
      dynamic[i].d_tag = tag;
      dynamic[i].d_un.d_val = value;
    };
    set(0, DT_HASH, offsetof(Object, hash));
    set(1, DT_SYMTAB, offsetof(Object, symbols));
    set(2, DT_STRTAB, offsetof(Object, names));
    set(3, DT_RELA, offsetof(Object, relocation));
    set(4, DT_RELASZ, sizeof relocation);
    symbols[1].st_name = 1;
    symbols[1].st_shndx = 1;
    symbols[1].st_value = 100;
    relocation.r_offset = offsetof(Object, word);
    relocation.r_info = 35;
    relocation.r_addend = 16;
  }
  std::string bytes() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
};

TEST(HexagonElfImage, Reads) {
  ElfImage image = ReadElfImage(Object().bytes());
  EXPECT_EQ(image.version, 67);
  EXPECT_EQ(image.bytes.size(), sizeof(Object) + 64);
  EXPECT_EQ(image.symbols.at("kernel"), 100);
  uint32_t word;
  std::memcpy(&word, image.At(0x40000).data() + offsetof(Object, word), sizeof word);
  EXPECT_EQ(word, 0x40010);
}

TEST(HexagonElfImage, Refuses) {
  auto refuses = [](const std::string& bytes, const std::string& why) {
    EXPECT_EQ(ErrorOf([&] { ReadElfImage(bytes); }),
              "the program is no shared object for Hexagon that can be loaded: " + why);
  };
  refuses("", "its header lies outside of it");
  refuses(std::string(100, 'x'), "it is no ELF file");
  refuses(std::string(ExecutorProgram()), "it is no shared object");
  Object other;
  other.header.e_machine = 62;
  refuses(other.bytes(), "it is for another machine");
  Object needs;
  needs.symbols[1].st_shndx = SHN_UNDEF;
  refuses(needs.bytes(), "it needs the symbol kernel of another");
  Object by_name;
  by_name.relocation.r_info = 33;
  refuses(by_name.bytes(), "it has relocations of type 33, by name");
  Object far;
  far.relocation.r_offset = 1 << 20;
  refuses(far.bytes(), "what a relocation is for lies outside of it");
  Object huge;
  huge.load.p_memsz = 0x7fffffff;
  refuses(huge.bytes(), "a segment lies outside of it");
  Object bare;
  bare.header.e_phnum = 0;
  refuses(bare.bytes(), "it has no table of symbols");
}

// No bytes end the process.
TEST(HexagonElfImage, AnyBytes) {
  std::string good = Object().bytes();
  for (size_t size = 0; size < good.size(); ++size)
    ErrorOf([&] { ReadElfImage(good.substr(0, size)); });
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = good;
    for (int k = 0; k < 3; ++k) bytes[random() % bytes.size()] = static_cast<char>(random());
    ErrorOf([&] { ReadElfImage(bytes).At(4096); });
  }
}

}  // namespace
}  // namespace tern::backend::hexagon
