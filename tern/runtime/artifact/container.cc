// SPDX-License-Identifier: Apache-2.0
#include "tern/runtime/artifact/container.h"

#include <algorithm>

#include "tern/ffi/text.h"
#include "tern/runtime/artifact/sha256.h"

namespace tern::runtime {
namespace {

// docs/artifact_format.md gives the reasons for these numbers.
constexpr uint64_t kHeaderSize = 64;
constexpr uint64_t kHashedHeaderSize = 32;
constexpr uint64_t kHashSize = 32;
constexpr uint64_t kAlignment = 64;
constexpr uint64_t kMaxNameSize = 255;
constexpr uint64_t kEntrySize = 8 + 8 + 8 + kHashSize;  // of the table, without the name

// Sizes read from a file are compared with the file's size before they get here: no overflow.
uint64_t AlignUp(uint64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

bool IsLegalName(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameSize) return false;
  for (char c : name)
    if (c <= ' ' || c > '~') return false;
  return true;
}

uint64_t TableSize(const std::map<std::string, std::string>& sections) {
  uint64_t size = 0;
  for (const auto& [name, bytes] : sections) size += kEntrySize + name.size();
  return size;
}

}  // namespace

void ContainerWriter::Add(std::string name, std::string bytes) {
  TERN_ICHECK(IsLegalName(name)) << "section name \"" << name << "\"";
  TERN_ICHECK(sections_.try_emplace(name, std::move(bytes)).second)
      << "section " << name << " is added twice";
}

std::string ContainerWriter::Finish() const {
  uint64_t table_size = TableSize(sections_);
  uint64_t end = kHeaderSize + table_size;
  std::string table;
  for (const auto& [name, bytes] : sections_) {
    uint64_t offset = AlignUp(end);
    AppendSized(name, &table);
    AppendLe<uint64_t>(offset, &table);
    AppendLe<uint64_t>(bytes.size(), &table);
    table += Sha256(bytes);
    end = offset + bytes.size();
  }

  std::string out(kContainerMagic);
  AppendLe<uint32_t>(kContainerVersion, &out);
  AppendLe<uint32_t>(static_cast<uint32_t>(sections_.size()), &out);
  AppendLe<uint64_t>(table_size, &out);
  AppendLe<uint64_t>(end, &out);
  out += Sha256({out, table});
  out += table;
  for (const auto& [name, bytes] : sections_) {
    out.resize(AlignUp(out.size()));
    out += bytes;
  }
  return out;
}

std::string_view ContainerReader::Part(uint64_t offset, uint64_t size) const {
  if (need_) need_(offset, size);
  return bytes_.substr(static_cast<size_t>(offset), static_cast<size_t>(size));
}

ContainerReader::ContainerReader(std::string_view bytes, NeedBytes need)
    : bytes_(bytes), need_(std::move(need)) {
  ByteReader header(Part(0, std::min<uint64_t>(kHeaderSize, bytes.size())),
                    "the container's header");
  TERN_CHECK(header.Take(kContainerMagic.size()) == kContainerMagic) << "not a Tern container";
  uint32_t version = header.Int<uint32_t>();
  TERN_CHECK(version == kContainerVersion)
      << "container version " << version << " is not supported: this runtime reads version "
      << kContainerVersion;
  uint64_t count = header.Int<uint32_t>();
  uint64_t table_size = header.Int<uint64_t>();
  uint64_t total_size = header.Int<uint64_t>();
  table_hash_ = header.Take(kHashSize);
  TERN_CHECK(total_size == bytes.size())
      << "the container is "
      << (bytes.size() < total_size ? "truncated" : "followed by other bytes") << ": " << total_size
      << " bytes expected, " << bytes.size() << " found";
  TERN_CHECK(table_size <= bytes.size() - kHeaderSize)
      << "the container's table ends beyond its end";
  TERN_CHECK(table_size >= count * (kEntrySize + 1) &&
             table_size <= count * (kEntrySize + kMaxNameSize))
      << "the container's table has " << table_size << " bytes, which " << count
      << " sections do not take";
  std::string_view table_bytes = Part(kHeaderSize, table_size);
  TERN_CHECK(Sha256({bytes.substr(0, kHashedHeaderSize), table_bytes}) == table_hash_)
      << "the container's table was altered: its hash is wrong";

  // The hash says that nothing changed by accident; what follows holds against a file made to harm.
  // There is one legal layout, so every byte outside the sections is known.
  ByteReader table(table_bytes, "the container's table");
  uint64_t end = kHeaderSize + table_size;
  for (uint64_t i = 0; i < count; ++i) {
    Section section;
    section.name = table.Sized();
    uint64_t offset = table.Int<uint64_t>();
    uint64_t size = table.Int<uint64_t>();
    section.sha256 = table.Take(kHashSize);
    TERN_CHECK(IsLegalName(section.name)) << "section " << i << " of the container has a bad name";
    TERN_CHECK(sections_.empty() || sections_.back().name < section.name)
        << "section " << section.name << " of the container is out of order";
    TERN_CHECK(offset == AlignUp(end) && offset <= bytes.size() && size <= bytes.size() - offset)
        << "section " << section.name << " of the container is out of place: " << size
        << " bytes at " << offset;
    TERN_CHECK(Part(end, offset - end).find_first_not_of('\0') == std::string_view::npos)
        << "the bytes before section " << section.name << " of the container are not zero";
    section.bytes = bytes.substr(static_cast<size_t>(offset), static_cast<size_t>(size));
    end = offset + size;
    sections_.push_back(std::move(section));
  }
  table.ExpectEnd();
  TERN_CHECK(end == bytes.size()) << "the container has " << bytes.size() - end
                                  << " bytes behind its last section";
}

const ContainerReader::Section* ContainerReader::Find(std::string_view name) const {
  auto found = std::lower_bound(
      sections_.begin(), sections_.end(), name,
      [](const Section& section, std::string_view key) { return section.name < key; });
  return found != sections_.end() && found->name == name ? &*found : nullptr;
}

bool ContainerReader::Has(std::string_view name) const { return Find(name) != nullptr; }

std::optional<std::string_view> ContainerReader::Verified(const Section& section) const {
  auto offset = static_cast<uint64_t>(section.bytes.data() - bytes_.data());
  std::string_view bytes = Part(offset, section.bytes.size());
  return Sha256(bytes) == section.sha256 ? std::optional(bytes) : std::nullopt;
}

std::string_view ContainerReader::Get(std::string_view name) const {
  if (const Section* section = Find(name)) {
    std::optional<std::string_view> bytes = Verified(*section);
    TERN_CHECK(bytes) << "section " << name << " of the container was altered: its hash is wrong";
    return *bytes;
  }
  std::vector<std::string> names;
  for (const Section& section : sections_) names.push_back(section.name);
  TERN_THROW(ValueError) << "the container has no section " << name << "; it has "
                         << ffi::Join(names);
  return {};
}

std::vector<std::string> ContainerReader::AlteredSections() const {
  std::vector<std::string> names;
  for (const Section& section : sections_)
    if (!Verified(section)) names.push_back(section.name);
  return names;
}

}  // namespace tern::runtime
