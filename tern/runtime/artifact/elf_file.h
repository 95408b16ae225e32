// SPDX-License-Identifier: Apache-2.0
//
// As much of ELF as is needed to look at a file before it is mapped: what machine it is for, and
// where a section lies.
#ifndef TERN_RUNTIME_ARTIFACT_ELF_FILE_H_
#define TERN_RUNTIME_ARTIFACT_ELF_FILE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tern/runtime/artifact/byte_stream.h"

namespace tern::runtime {

bool IsElf(std::string_view bytes);

// The machine of an ELF file for 64 bits, little endian. Needs the first 64 bytes; throws on other
// classes and on fewer bytes.
uint16_t ElfMachine(std::string_view bytes);
// "x86_64", "aarch64", "riscv64", ...; "machine 1234" where the number is not known.
std::string ElfMachineName(uint16_t machine);
// Of the machine this runs on.
uint16_t HostElfMachine();

// Before a file of `size` bytes is mapped: throws unless its segments and its section table lie
// within it, as those of a truncated file do not. `read` gives bytes from an offset on, fewer where
// the file ends. Returns the machine.
uint16_t CheckElfExtent(uint64_t size,
                        const std::function<std::string(uint64_t offset, uint64_t bytes)>& read);

struct ElfSection {
  uint64_t offset = 0, size = 0;
};
// Where the section of that name lies, if the file has one. Every number of the file is checked;
// throws on those that lie. Looks at headers and names alone.
std::optional<ElfSection> FindElfSection(std::string_view bytes, std::string_view name,
                                         const NeedBytes& need = nullptr);
// How many bytes the section table accounts for: where it, or the last section, ends.
uint64_t ElfExtent(std::string_view bytes, const NeedBytes& need = nullptr);

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_ARTIFACT_ELF_FILE_H_
