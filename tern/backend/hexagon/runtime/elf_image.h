// SPDX-License-Identifier: Apache-2.0
//
// A shared object for Hexagon as it lies in memory.
#ifndef TERN_BACKEND_HEXAGON_RUNTIME_ELF_IMAGE_H_
#define TERN_BACKEND_HEXAGON_RUNTIME_ELF_IMAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tern::backend::hexagon {

struct ElfImage {
  int version = 0;    // of the instruction set, like 67
  std::string bytes;  // from address 0 of the object
  // Where words of 32 bits are that need the address of the image added.
  std::vector<uint32_t> relative_words;
  std::map<std::string, uint32_t, std::less<>> symbols;  // that it exports

  // The bytes for an image that lies at `address`.
  std::string At(uint32_t address) const;
};

// Every number of the file is checked; throws ValueError on those that lie, on files for another
// machine, and where symbols of others are needed.
ElfImage ReadElfImage(std::string_view file);

}  // namespace tern::backend::hexagon

#endif  // TERN_BACKEND_HEXAGON_RUNTIME_ELF_IMAGE_H_
