// SPDX-License-Identifier: Apache-2.0
//
// Whether all that an ELF file speaks of lies in it. Drivers get a pointer to code and no length,
// and read on where a header says that there is more. Header-only, for plugins.
#ifndef TERN_RUNTIME_ARTIFACT_ELF_EXTENTS_H_
#define TERN_RUNTIME_ARTIFACT_ELF_EXTENTS_H_

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tern::plugin {

// Why bytes are no whole ELF file of 64 bits for that machine, 0 for any; "" where they are one.
inline std::string WhyNoElf64(std::string_view file, uint16_t machine) {
  Elf64_Ehdr header;
  if (file.size() < sizeof header) return "it has " + std::to_string(file.size()) + " bytes";
  std::memcpy(&header, file.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return "it is no ELF file";
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      (machine != 0 && header.e_machine != machine))
    return "it is for another machine (" + std::to_string(header.e_machine) + ")";
  auto is_inside = [&](uint64_t offset, uint64_t bytes) {
    return offset <= file.size() && bytes <= file.size() - offset;
  };
  if (header.e_phnum > 0 && header.e_phentsize != sizeof(Elf64_Phdr))
    return "its program headers have another size";
  if (header.e_shnum > 0 && header.e_shentsize != sizeof(Elf64_Shdr))
    return "its section headers have another size";
  if (!is_inside(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)) ||
      !is_inside(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr)))
    return "its headers lie outside of it";
  if (header.e_shnum > 0 && header.e_shstrndx >= header.e_shnum)
    return "its sections have no names";
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, file.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (!is_inside(segment.p_offset, segment.p_filesz)) return "a segment lies outside of it";
  }
  for (uint16_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, file.data() + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL &&
        !is_inside(section.sh_offset, section.sh_size))
      return "a section lies outside of it";
  }
  return "";
}

}  // namespace tern::plugin

#endif  // TERN_RUNTIME_ARTIFACT_ELF_EXTENTS_H_
