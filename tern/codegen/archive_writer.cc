// SPDX-License-Identifier: Apache-2.0
#include "tern/codegen/archive_writer.h"

#include <cstdint>
#include <cstdio>

#include "tern/ffi/error.h"

namespace tern::codegen {
namespace {

// ---- ar: members start at even places.

constexpr std::string_view kArMagic = "!<arch>\n";
constexpr size_t kArHeaderSize = 60;

std::string ArMember(const std::string& name, const std::string& bytes) {
  char header[kArHeaderSize + 1];
  // Name, time, owner, group, mode, size.
  int length = std::snprintf(header, sizeof(header), "%-16s%-12d%-6d%-6d%-8o%-10zu`\n",
                             name.c_str(), 0, 0, 0, 0644, bytes.size());
  TERN_ICHECK(length == kArHeaderSize) << "member " << name << " does not fit an archive";
  return std::string(header, kArHeaderSize) + bytes + (bytes.size() % 2 ? "\n" : "");
}

std::string BigEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

// ---- tar: blocks of 512 bytes.

constexpr size_t kTarBlock = 512;

std::string Octal(uint64_t value, int digits) {
  char text[24];
  std::snprintf(text, sizeof(text), "%0*llo", digits, static_cast<unsigned long long>(value));
  return text;
}

std::string TarHeader(const ArchiveMember& file) {
  TERN_ICHECK(file.name.size() <= 100) << file.name << " is too long for a tar file";
  std::string header(kTarBlock, '\0');
  auto put = [&](size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  put(0, file.name);
  put(100, Octal(0644, 7));  // mode
  put(108, Octal(0, 7));     // owner
  put(116, Octal(0, 7));     // group
  put(124, Octal(file.bytes.size(), 11));
  put(136, Octal(0, 11));  // time
  put(148, "        ");    // the sum, taken with blanks in its place
  put(156, "0");           // a plain file
  put(257, "ustar");
  put(263, "00");
  put(329, Octal(0, 7));  // device numbers
  put(337, Octal(0, 7));
  uint64_t sum = 0;
  for (unsigned char c : header) sum += c;
  put(148, Octal(sum, 6) + std::string(1, '\0'));
  return header;
}

}  // namespace

std::string WriteStaticLibrary(const ArchiveMember& object,
                               const std::vector<std::string>& symbols) {
  // The index: how many symbols, the place of each one's member, their names.
  std::string names;
  for (const std::string& symbol : symbols) names += symbol + '\0';
  if (names.size() % 2) names += '\0';
  size_t index_size = 4 + 4 * symbols.size() + names.size();
  size_t place = kArMagic.size() + kArHeaderSize + index_size;
  std::string index = BigEndian(static_cast<uint32_t>(symbols.size()));
  for (size_t i = 0; i < symbols.size(); ++i) index += BigEndian(static_cast<uint32_t>(place));
  index += names;
  return std::string(kArMagic) + ArMember("/", index) + ArMember(object.name + "/", object.bytes);
}

std::string WriteTar(const std::vector<ArchiveMember>& files) {
  std::string tar;
  for (const ArchiveMember& file : files) {
    tar += TarHeader(file) + file.bytes;
    tar.resize((tar.size() + kTarBlock - 1) / kTarBlock * kTarBlock);
  }
  return tar.append(2 * kTarBlock, '\0');
}

}  // namespace tern::codegen
