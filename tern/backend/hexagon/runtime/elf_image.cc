// SPDX-License-Identifier: Apache-2.0
#include "tern/backend/hexagon/runtime/elf_image.h"

#include <elf.h>

#include <cstring>

#include "tern/ffi/error.h"

namespace tern::backend::hexagon {
namespace {

constexpr uint16_t kMachineHexagon = 164;
constexpr uint32_t kRelocNone = 0, kRelocRelative = 35;
constexpr uint64_t kMaxImageBytes = uint64_t{64} << 20;

[[noreturn]] void Refuse(const std::string& why) {
  TERN_THROW(ValueError) << "the program is no shared object for Hexagon that can be loaded: "
                         << why;
}

// A structure at a place of some bytes.
template <class T>
T At(std::string_view bytes, uint64_t offset, const char* what) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset)
    Refuse(std::string(what) + " lies outside of it");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

Elf32_Ehdr ReadHeader(std::string_view file) {
  auto header = At<Elf32_Ehdr>(file, 0, "its header");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) Refuse("it is no ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS32 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachineHexagon)
    Refuse("it is for another machine");
  if (header.e_type != ET_DYN) Refuse("it is no shared object");
  return header;
}

// The numbers of the dynamic section that are needed, by tag.
using Dynamic = std::map<int32_t, uint32_t>;

// Copies the segments to their places, and finds the dynamic section.
Dynamic ReadSegments(std::string_view file, const Elf32_Ehdr& header, std::string* image) {
  Dynamic dynamic;
  Elf32_Phdr found{};
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    auto segment =
        At<Elf32_Phdr>(file, header.e_phoff + uint64_t{i} * sizeof(Elf32_Phdr), "a program header");
    if (segment.p_type == PT_DYNAMIC) found = segment;
    if (segment.p_type != PT_LOAD) continue;
    uint64_t end = uint64_t{segment.p_vaddr} + segment.p_memsz;
    if (uint64_t{segment.p_offset} + segment.p_filesz > file.size() ||
        segment.p_filesz > segment.p_memsz || end > kMaxImageBytes)
      Refuse("a segment lies outside of it");
    if (image->size() < end) image->resize(end);
    std::memcpy(image->data() + segment.p_vaddr, file.data() + segment.p_offset, segment.p_filesz);
  }
  for (uint64_t at = found.p_vaddr; at < uint64_t{found.p_vaddr} + found.p_memsz;
       at += sizeof(Elf32_Dyn)) {
    auto entry = At<Elf32_Dyn>(*image, at, "an entry of the dynamic section");
    if (entry.d_tag == DT_NULL) break;
    dynamic[entry.d_tag] = entry.d_un.d_val;
  }
  return dynamic;
}

std::string_view TextAt(std::string_view image, uint64_t offset) {
  size_t end = offset < image.size() ? image.find('\0', offset) : std::string_view::npos;
  if (end == std::string_view::npos) Refuse("a name lies outside of it");
  return image.substr(offset, end - offset);
}

void ReadSymbols(const Dynamic& dynamic, ElfImage* image) {
  if (!dynamic.count(DT_HASH) || !dynamic.count(DT_SYMTAB) || !dynamic.count(DT_STRTAB))
    Refuse("it has no table of symbols");
  // The second number of the hash table is how many symbols there are.
  uint32_t count = At<uint32_t>(image->bytes, uint64_t{dynamic.at(DT_HASH)} + 4, "its hash table");
  for (uint64_t i = 1; i < count; ++i) {
    auto symbol =
        At<Elf32_Sym>(image->bytes, dynamic.at(DT_SYMTAB) + i * sizeof(Elf32_Sym), "a symbol");
    std::string name(TextAt(image->bytes, uint64_t{dynamic.at(DT_STRTAB)} + symbol.st_name));
    if (symbol.st_shndx == SHN_UNDEF) Refuse("it needs the symbol " + name + " of another");
    if (symbol.st_value >= image->bytes.size()) Refuse("symbol " + name + " lies outside of it");
    image->symbols[name] = symbol.st_value;
  }
}

void ReadRelocations(const Dynamic& dynamic, int32_t where, int32_t size, ElfImage* image) {
  if (!dynamic.count(where)) return;
  if (!dynamic.count(size)) Refuse("its relocations have no end");
  for (uint64_t at = 0; at + sizeof(Elf32_Rela) <= dynamic.at(size); at += sizeof(Elf32_Rela)) {
    auto entry = At<Elf32_Rela>(image->bytes, dynamic.at(where) + at, "a relocation");
    uint32_t type = ELF32_R_TYPE(entry.r_info);
    if (type == kRelocNone) continue;
    if (type != kRelocRelative)
      Refuse("it has relocations of type " + std::to_string(type) + ", by name");
    At<uint32_t>(image->bytes, entry.r_offset, "what a relocation is for");
    std::memcpy(image->bytes.data() + entry.r_offset, &entry.r_addend, sizeof entry.r_addend);
    image->relative_words.push_back(entry.r_offset);
  }
}

}  // namespace

std::string ElfImage::At(uint32_t address) const {
  std::string moved = bytes;
  for (uint32_t offset : relative_words) {
    uint32_t word;
    std::memcpy(&word, moved.data() + offset, sizeof word);
    word += address;
    std::memcpy(moved.data() + offset, &word, sizeof word);
  }
  return moved;
}

ElfImage ReadElfImage(std::string_view file) {
  Elf32_Ehdr header = ReadHeader(file);
  ElfImage image;
  // The digits of the version are hexadecimal ones.
  image.version = static_cast<int>((header.e_flags >> 4 & 15) * 10 + (header.e_flags & 15));
  Dynamic dynamic = ReadSegments(file, header, &image.bytes);
  ReadSymbols(dynamic, &image);
  ReadRelocations(dynamic, DT_RELA, DT_RELASZ, &image);
  ReadRelocations(dynamic, DT_JMPREL, DT_PLTRELSZ, &image);
  return image;
}

}  // namespace tern::backend::hexagon
