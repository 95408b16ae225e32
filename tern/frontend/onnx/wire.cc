// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/wire.h"

namespace tern::frontend::onnx {

const char* NameOf(WireType type) {
  switch (type) {
    case WireType::kVarint:
      return "a varint";
    case WireType::kFixed64:
      return "8 bytes";
    case WireType::kBytes:
      return "bytes with a length";
    case WireType::kFixed32:
      return "4 bytes";
  }
  return "unknown";
}

bool ReadVarint(const char** at, const char* end, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 70 && *at < end; shift += 7) {
    auto byte = static_cast<uint8_t>(*(*at)++);
    *value |= static_cast<uint64_t>(byte & 127u) << shift;
    if (byte < 128) return true;
  }
  return false;
}

static std::string Name(const Field& field) { return "field " + std::to_string(field.number); }

bool FieldReader::Fail(const std::string& problem) {
  problem_ = problem;
  return false;
}

bool FieldReader::ReadFixed(int bytes, uint64_t* value) {
  if (end_ - at_ < bytes) return Fail("a number does not end");
  *value = 0;
  for (int i = 0; i < bytes; ++i)
    *value |= static_cast<uint64_t>(static_cast<uint8_t>(*at_++)) << 8 * i;
  return true;
}

bool FieldReader::Next(Field* field) {
  if (at_ == end_ || !problem_.empty()) return false;
  begin_ = at_;
  uint64_t tag = 0;
  if (!ReadVarint(&at_, end_, &tag)) return Fail("the number of a field does not end");
  if (tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return Fail("there is no field " + std::to_string(tag >> 3));
  field->number = static_cast<uint32_t>(tag >> 3);
  field->type = static_cast<WireType>(tag & 7);
  uint64_t size = 0;
  switch (field->type) {
    case WireType::kVarint:
      return ReadVarint(&at_, end_, &field->value) ||
             Fail("the number in " + Name(*field) + " does not end");
    case WireType::kFixed64:
      return ReadFixed(8, &field->value);
    case WireType::kFixed32:
      return ReadFixed(4, &field->value);
    case WireType::kBytes:
      if (!ReadVarint(&at_, end_, &size))
        return Fail("the length of " + Name(*field) + " does not end");
      if (size > static_cast<uint64_t>(end_ - at_))
        return Fail(Name(*field) + " has " + std::to_string(size) + " bytes, but only " +
                    std::to_string(end_ - at_) + " are left");
      field->bytes = {at_, static_cast<size_t>(size)};
      at_ += size;
      return true;
  }
  return Fail(Name(*field) + " is of the unknown wire type " + std::to_string(tag & 7));
}

}  // namespace tern::frontend::onnx
