// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/elf_file.h"

#include <algorithm>

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
constexpr uint32_t kTypeNull = 0, kTypeNoBits = 8;
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

// The section headers, all within the file.
class SectionTable {
 public:
  SectionTable(std::string_view bytes, const NeedBytes& need) : bytes_(bytes) {
    if (need) need(0, std::min<uint64_t>(bytes.size(), kHeaderSize));
    CheckHeader(bytes);
    table_ = At<uint64_t>(bytes, kSectionTable);
    if (table_ == 0) return;
    TERN_CHECK(At<uint16_t>(bytes, kSectionEntrySize) == kSectionHeaderSize &&
               table_ <= bytes.size() && bytes.size() - table_ >= kSectionHeaderSize)
        << "the ELF file's section table is out of bounds";
    if (need) need(table_, kSectionHeaderSize);
    // Counts too large for the header stand in section 0.
    count_ = At<uint16_t>(bytes, kSectionCount);
    if (count_ == 0) count_ = At<uint64_t>(bytes, table_ + kSectionSize);
    TERN_CHECK(count_ <= (bytes.size() - table_) / kSectionHeaderSize)
        << "the ELF file's section table is out of bounds";
    names_index_ = At<uint16_t>(bytes, kNameSection);
    if (names_index_ == kExtendedIndex) names_index_ = At<uint32_t>(bytes, table_ + 40);
    TERN_CHECK(names_index_ < count_) << "the ELF file's section names are out of bounds";
    if (need) need(table_, count_ * kSectionHeaderSize);
  }

  uint64_t size() const { return count_; }
  uint64_t end() const { return table_ + count_ * kSectionHeaderSize; }
  uint64_t names_index() const { return names_index_; }
  uint32_t NameOffset(uint64_t index) const { return Field<uint32_t>(index, 0); }
  bool HasContents(uint64_t index) const {
    auto type = Field<uint32_t>(index, kSectionType);
    return type != kTypeNull && type != kTypeNoBits;
  }
  ElfSection Contents(uint64_t index) const {
    ElfSection section{Field<uint64_t>(index, kSectionOffset),
                       Field<uint64_t>(index, kSectionSize)};
    TERN_CHECK(HasContents(index) && section.offset <= bytes_.size() &&
               section.size <= bytes_.size() - section.offset)
        << "section " << index << " of the ELF file is out of bounds";
    return section;
  }

 private:
  template <class T>
  T Field(uint64_t index, uint64_t offset) const {
    return At<T>(bytes_, table_ + index * kSectionHeaderSize + offset);
  }

  std::string_view bytes_;
  uint64_t table_ = 0, count_ = 0, names_index_ = 0;
};

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

std::optional<ElfSection> FindElfSection(std::string_view bytes, std::string_view name,
                                         const NeedBytes& need) {
  SectionTable table(bytes, need);
  if (table.size() == 0) return std::nullopt;
  ElfSection names = table.Contents(table.names_index());
  for (uint64_t i = 0; i < table.size(); ++i) {
    uint64_t at = table.NameOffset(i);
    // The name, and the zero behind it.
    if (at >= names.size || names.size - at <= name.size()) continue;
    if (need) need(names.offset + at, name.size() + 1);
    std::string_view text = bytes.substr(names.offset + at, name.size() + 1);
    if (text.starts_with(name) && text.back() == '\0') return table.Contents(i);
  }
  return std::nullopt;
}

uint64_t ElfExtent(std::string_view bytes, const NeedBytes& need) {
  SectionTable table(bytes, need);
  uint64_t end = std::max(kHeaderSize, table.end());
  for (uint64_t i = 0; i < table.size(); ++i) {
    if (!table.HasContents(i)) continue;
    ElfSection section = table.Contents(i);
    end = std::max(end, section.offset + section.size);
  }
  return end;
}

}  // namespace tern::runtime
