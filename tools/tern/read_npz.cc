// SPDX-License-Identifier: Apache-2.0
//
// A .npz file is a ZIP archive of .npy files. Its end says where the directory is, the directory
// where each file is. Nothing in it is trusted.
#include "tools/tern/read_npz.h"

#include "tern/runtime/artifact/file_bytes.h"
#include "tern/runtime/artifact/npy.h"
#include "tools/tern/inflate.h"

namespace tern::tools {
namespace {

constexpr uint64_t kFileMagic = 0x04034b50, kEntryMagic = 0x02014b50, kEndMagic = 0x06054b50;
constexpr size_t kFileBytes = 30, kEntryBytes = 46, kEndBytes = 22, kMostComment = 0xffff;
// A size or place that is in an extra field, for files beyond 4 GB.
constexpr uint64_t kElsewhere = 0xffffffff;
// How a file is compressed.
constexpr uint64_t kStored = 0, kDeflated = 8;

class Archive {
 public:
  explicit Archive(std::string bytes) : bytes_(std::move(bytes)) {}

  std::vector<std::pair<std::string, runtime::Tensor>> Read() const {
    size_t end = FindEnd();
    uint64_t count = Number(end + 10, 2), at = Number(end + 16, 4);
    TERN_CHECK(at != kElsewhere) << "archives beyond 4 GB are not supported";
    std::vector<std::pair<std::string, runtime::Tensor>> arrays;
    for (uint64_t i = 0; i < count; ++i) {
      TERN_CHECK(Number(at, 4) == kEntryMagic) << "entry " << i << " of its directory is damaged";
      uint64_t flags = Number(at + 8, 2), method = Number(at + 10, 2), size = Number(at + 20, 4),
               unpacked = Number(at + 24, 4), name_size = Number(at + 28, 2),
               place = Number(at + 42, 4);
      std::string name(Bytes(at + kEntryBytes, name_size));
      TERN_CHECK(size != kElsewhere && unpacked != kElsewhere && place != kElsewhere)
          << name << ": arrays beyond 4 GB are not supported";
      TERN_CHECK((flags & 1) == 0) << name << " is encrypted";
      TERN_CHECK(method == kStored || method == kDeflated)
          << name << " is compressed by method " << method << "; deflate (8) is supported";
      TERN_CHECK(name.ends_with(".npy")) << name << " is no .npy file";
      TERN_CHECK(Number(place, 4) == kFileMagic) << name << " is damaged";
      uint64_t start = place + kFileBytes + Number(place + 26, 2) + Number(place + 28, 2);
      std::string_view array = Bytes(start, size);
      name.resize(name.size() - 4);
      arrays.emplace_back(name, WithContext("reading " + name, [&] {
                            return runtime::ParseNpy(method == kStored ? std::string(array)
                                                                       : Inflate(array, unpacked));
                          }));
      at += kEntryBytes + name_size + Number(at + 30, 2) + Number(at + 32, 2);
    }
    return arrays;
  }

 private:
  // A comment may follow it.
  size_t FindEnd() const {
    for (size_t behind = kEndBytes; behind <= std::min(bytes_.size(), kEndBytes + kMostComment);
         ++behind)
      if (Number(bytes_.size() - behind, 4) == kEndMagic) return bytes_.size() - behind;
    TERN_THROW(ValueError) << "not a .npz file: it has no end of a ZIP archive";
  }
  std::string_view Bytes(uint64_t at, uint64_t size) const {
    TERN_CHECK(at <= bytes_.size() && size <= bytes_.size() - at)
        << "the archive is cut off, or damaged: it has " << bytes_.size() << " bytes, and " << size
        << " at byte " << at << " are needed";
    return std::string_view(bytes_).substr(at, size);
  }
  // Little endian.
  uint64_t Number(uint64_t at, size_t size) const {
    uint64_t value = 0;
    std::string_view bytes = Bytes(at, size);
    for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
    return value;
  }

  std::string bytes_;
};

}  // namespace

std::vector<std::pair<std::string, runtime::Tensor>> ReadNpz(const std::string& path) {
  return WithContext("reading " + path, [&] { return Archive(runtime::ReadFile(path)).Read(); });
}

}  // namespace tern::tools
