// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/elf_file.h"

#include "tern/runtime/byte_stream.h"

namespace tern::runtime {
namespace {

// Offsets of the ELF-64 file header, section header and program header (System V ABI, chapters 4
// and 5).
constexpr uint64_t kHeaderSize = 64, kSectionHeaderSize = 64, kSegmentHeaderSize = 56;
constexpr uint64_t kClass = 4, kData = 5, kMachine = 18;
constexpr uint64_t kSectionTable = 40, kSectionEntrySize = 58, kSectionCount = 60,
                   kNameSection = 62;
constexpr uint64_t kSegmentTable = 32, kSegmentEntrySize = 54, kSegmentCount = 56;
constexpr uint64_t kSegmentOffset = 8, kSegmentFileSize = 32;
constexpr uint64_t kSectionType = 4, kSectionOffset = 24, kSectionSize = 32;
constexpr uint32_t kTypeNoBits = 8;
constexpr uint16_t kExtendedIndex = 0xffff;

struct Machine {
  uint16_t code;
  const char* name;
};
constexpr Machine kMachines[] = {{3, "i386"},         {8, "mips"},         {20, "powerpc"},
                                 {21, "powerpc64le"}, {22, "s390x"},       {40, "arm"},
                                 {62, "x86_64"},      {183, "aarch64"},    {224, "amdgpu"},
                                 {243, "riscv64"},    {258, "loongarch64"}};

void CheckHeader(std::string_view bytes) {
  TERN_CHECK(IsElf(bytes)) << "not an ELF file";
  TERN_CHECK(bytes.size() >= kHeaderSize) << "the ELF header is truncated";
  TERN_CHECK(bytes[kClass] == 2 && bytes[kData] == 1)
      << "an ELF file for " << (bytes[kClass] == 1 ? "32" : "64") << " bits, "
      << (bytes[kData] == 2 ? "big" : "little") << " endian; 64 bits, little endian expected";
}

template <class T>
T At(std::string_view bytes, uint64_t offset) {
  return LoadLe<T>(bytes.substr(static_cast<size_t>(offset), sizeof(T)));
}

}  // namespace

bool IsElf(std::string_view bytes) {
  return bytes.starts_with(
      "\x7f"
      "ELF");
}

uint16_t ElfMachine(std::string_view bytes) {
  CheckHeader(bytes);
  return At<uint16_t>(bytes, kMachine);
}

std::string ElfMachineName(uint16_t machine) {
  for (const Machine& known : kMachines)
    if (known.code == machine) return known.name;
  return "machine " + std::to_string(machine);
}

uint16_t HostElfMachine() {
#if defined(__x86_64__)
  return 62;
#elif defined(__aarch64__)
  return 183;
#elif defined(__riscv) && __riscv_xlen == 64
  return 243;
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
  return 21;
#elif defined(__loongarch64)
  return 258;
#else
#error "add this machine's ELF code, here and in kMachines"
#endif
}

uint16_t CheckElfExtent(uint64_t size, const std::function<std::string(uint64_t, uint64_t)>& read) {
  std::string header = read(0, kHeaderSize);
  uint16_t machine = ElfMachine(header);
  auto check = [size](const char* what, uint64_t offset, uint64_t bytes) {
    TERN_CHECK(offset <= size && bytes <= size - offset)
        << "the file is truncated: " << what << " of the ELF file has " << bytes
        << " bytes at offset " << offset << ", and the file " << size;
  };
  uint64_t segments = At<uint64_t>(header, kSegmentTable),
           table_bytes = At<uint16_t>(header, kSegmentCount) * kSegmentHeaderSize;
  TERN_CHECK(table_bytes > 0 && At<uint16_t>(header, kSegmentEntrySize) == kSegmentHeaderSize)
      << "the ELF file has no segments to load";
  check("the table of segments", segments, table_bytes);
  std::string table = read(segments, table_bytes);
  TERN_CHECK(table.size() == table_bytes) << "the ELF file's segments cannot be read";
  for (uint64_t at = 0; at < table_bytes; at += kSegmentHeaderSize)
    check("a segment", At<uint64_t>(table, at + kSegmentOffset),
          At<uint64_t>(table, at + kSegmentFileSize));
  check("the table of sections", At<uint64_t>(header, kSectionTable),
        At<uint16_t>(header, kSectionCount) * kSectionHeaderSize);
  return machine;
}

std::optional<ElfSection> FindElfSection(std::string_view bytes, std::string_view name) {
  CheckHeader(bytes);
  uint64_t table = At<uint64_t>(bytes, kSectionTable);
  if (table == 0) return std::nullopt;
  TERN_CHECK(At<uint16_t>(bytes, kSectionEntrySize) == kSectionHeaderSize &&
             table <= bytes.size() && bytes.size() - table >= kSectionHeaderSize)
      << "the ELF file's section table is out of bounds";
  // Counts too large for the header stand in section 0.
  uint64_t count = At<uint16_t>(bytes, kSectionCount);
  if (count == 0) count = At<uint64_t>(bytes, table + kSectionSize);
  TERN_CHECK(count <= (bytes.size() - table) / kSectionHeaderSize)
      << "the ELF file's section table is out of bounds";
  uint64_t names_index = At<uint16_t>(bytes, kNameSection);
  if (names_index == kExtendedIndex) names_index = At<uint32_t>(bytes, table + 40);
  TERN_CHECK(names_index < count) << "the ELF file's section names are out of bounds";

  auto contents = [&](uint64_t index) {
    uint64_t header = table + index * kSectionHeaderSize;
    ElfSection section{At<uint64_t>(bytes, header + kSectionOffset),
                       At<uint64_t>(bytes, header + kSectionSize)};
    TERN_CHECK(At<uint32_t>(bytes, header + kSectionType) != kTypeNoBits &&
               section.offset <= bytes.size() && section.size <= bytes.size() - section.offset)
        << "section " << index << " of the ELF file is out of bounds";
    return section;
  };
  ElfSection where = contents(names_index);
  std::string_view names = bytes.substr(where.offset, where.size);
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t at = At<uint32_t>(bytes, table + i * kSectionHeaderSize);
    if (at >= names.size()) continue;
    std::string_view rest = names.substr(at);
    if (rest.substr(0, rest.find('\0')) == name) return contents(i);
  }
  return std::nullopt;
}

}  // namespace tern::runtime
