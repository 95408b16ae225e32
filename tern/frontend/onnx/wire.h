// SPDX-License-Identifier: Apache-2.0
//
// Protobuf's wire format: a message is a list of fields, each a tag (number and wire type) and a
// value.
#ifndef TERN_FRONTEND_ONNX_WIRE_H_
#define TERN_FRONTEND_ONNX_WIRE_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace tern::frontend::onnx {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// "a varint", ...
const char* NameOf(WireType type);

struct Field {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;  // of a varint or a fixed number
  std::string_view bytes;
};

// The fields of a message, one after the other.
class FieldReader {
 public:
  explicit FieldReader(std::string_view message)
      : begin_(message.data()), at_(begin_), end_(message.data() + message.size()) {}

  // False at the end of the message, and where it is malformed.
  bool Next(Field* field);
  // What is wrong with it, or "".
  const std::string& problem() const { return problem_; }
  // Where the field begins that Next gave last, or could not read.
  const char* field_begin() const { return begin_; }

 private:
  bool Fail(const std::string& problem);
  bool ReadFixed(int bytes, uint64_t* value);

  const char *begin_, *at_, *end_;
  std::string problem_;
};

// Reads a varint and advances `*at`; false where it does not end before `end`, or in ten bytes.
bool ReadVarint(const char** at, const char* end, uint64_t* value);

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_WIRE_H_
