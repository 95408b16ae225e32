// SPDX-License-Identifier: Apache-2.0
//
// The container: a table of named, hashed sections behind a magic number and a version. It is the
// body of a .tern file, and a section of an exported .so. docs/artifact_format.md is its
// specification.
#ifndef TERN_RUNTIME_ARTIFACT_CONTAINER_H_
#define TERN_RUNTIME_ARTIFACT_CONTAINER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tern/runtime/artifact/byte_stream.h"

namespace tern::runtime {

// The first eight bytes. Not ASCII at either end, and with a line end inside, so that a transfer
// that takes it for text is noticed.
inline constexpr std::string_view kContainerMagic = "\x7fTERN\r\n\x1a";
inline constexpr uint32_t kContainerVersion = 1;
// Where the size of the whole stands, a u64.
inline constexpr uint64_t kContainerSizeOffset = 24;

class ContainerWriter {
 public:
  // Section names are unique.
  void Add(std::string name, std::string bytes);
  // Sections in order of name; the same sections give the same bytes.
  std::string Finish() const;

 private:
  std::map<std::string, std::string> sections_;
};

// Reads a container in memory that outlives it. The constructor checks magic, version, the table's
// bounds and the table's hash; a section's own hash is checked when it is asked for, so that what
// nobody asks for stays untouched.
class ContainerReader {
 public:
  explicit ContainerReader(std::string_view bytes, NeedBytes need = nullptr);

  struct Section {
    std::string name;
    std::string_view bytes;  // see Get
    std::string sha256;      // 32 raw bytes
  };
  const std::vector<Section>& sections() const { return sections_; }
  // Of the table, which has the hashes of all sections; 32 raw bytes.
  const std::string& table_hash() const { return table_hash_; }
  bool Has(std::string_view name) const;
  // Throws where there is none or its hash is wrong.
  std::string_view Get(std::string_view name) const;
  // Those whose hash is wrong. Reads everything.
  std::vector<std::string> AlteredSections() const;

 private:
  // Null where there is none.
  const Section* Find(std::string_view name) const;
  // Its bytes, if their hash is right.
  std::optional<std::string_view> Verified(const Section& section) const;
  // The bytes at that place, which are within the container.
  std::string_view Part(uint64_t offset, uint64_t size) const;

  std::string_view bytes_;
  NeedBytes need_;
  std::string table_hash_;
  std::vector<Section> sections_;
};

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_ARTIFACT_CONTAINER_H_
