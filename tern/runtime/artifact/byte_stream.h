// SPDX-License-Identifier: Apache-2.0
//
// Little-endian integers and length-prefixed bytes, written to and read from memory. The reader
// trusts no length.
#ifndef TERN_RUNTIME_ARTIFACT_BYTE_STREAM_H_
#define TERN_RUNTIME_ARTIFACT_BYTE_STREAM_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tern/ffi/error.h"

namespace tern::runtime {

// Called before bytes of a file are looked at, with their place, where they are read by and by.
using NeedBytes = std::function<void(uint64_t offset, uint64_t size)>;

template <class T>
void AppendLe(T value, std::string* out) {
  for (size_t i = 0; i < sizeof(T); ++i)
    *out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
}

// `bytes` has at least sizeof(T).
template <class T>
T LoadLe(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return static_cast<T>(value);
}

class ByteReader {
 public:
  // `what` is being read: it stands in the messages.
  ByteReader(std::string_view bytes, std::string what) : rest_(bytes), what_(std::move(what)) {}

  bool empty() const { return rest_.empty(); }

  std::string_view Take(uint64_t size) {
    TERN_CHECK(size <= rest_.size()) << what_ << " is truncated: " << size
                                     << " more bytes expected, " << rest_.size() << " left";
    std::string_view taken = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(taken.size());
    return taken;
  }
  template <class T>
  T Int() {
    return LoadLe<T>(Take(sizeof(T)));
  }
  // A 64-bit length and as many bytes.
  std::string_view Sized() { return Take(Int<uint64_t>()); }
  void ExpectEnd() const {
    TERN_CHECK(rest_.empty()) << what_ << " has " << rest_.size() << " bytes too many";
  }

 private:
  std::string_view rest_;
  std::string what_;
};

inline void AppendSized(std::string_view bytes, std::string* out) {
  AppendLe<uint64_t>(bytes.size(), out);
  *out += bytes;
}

}  // namespace tern::runtime

#endif  // TERN_RUNTIME_ARTIFACT_BYTE_STREAM_H_
