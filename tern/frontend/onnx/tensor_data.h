// SPDX-License-Identifier: Apache-2.0
//
// Elements of a TensorProto that are not in raw_data: a field per kind of type, packed or not.
#ifndef TERN_FRONTEND_ONNX_TENSOR_DATA_H_
#define TERN_FRONTEND_ONNX_TENSOR_DATA_H_

#include "tern/frontend/onnx/model.h"
#include "tern/frontend/onnx/wire.h"

namespace tern::frontend::onnx {

// The field that has elements of a type.
struct TypedField {
  uint32_t number;
  const char* name;  // "float_data"
  WireType type;     // of an entry, where the field is not packed
  int entry_bytes;   // that an entry becomes; 0 for strings
};
TypedField TypedFieldOf(ElemType type);

// How many entries of it `count` elements take: complex numbers two each, two 4-bit elements one.
int64_t NumEntries(ElemType type, int64_t count);

// Whether the type has this value, an entry of its field: 300 is no uint8.
bool IsEntryOf(ElemType type, uint64_t value);

// Calls f(const Field&) for the entries of a field, packed or not; bytes as such for strings. False
// where the field is malformed.
template <class F>
bool ForEachEntry(std::string_view message, const TypedField& typed, F&& f) {
  FieldReader fields(message);
  Field field;
  while (fields.Next(&field)) {
    if (field.number != typed.number) continue;
    if (field.type == typed.type) {
      f(field);
      continue;
    }
    if (field.type != WireType::kBytes) return false;
    const char *at = field.bytes.data(), *end = at + field.bytes.size();
    Field entry{typed.number, typed.type, 0, {}};
    while (at < end) {
      if (typed.type == WireType::kVarint) {
        if (!ReadVarint(&at, end, &entry.value)) return false;
      } else {
        int size = typed.type == WireType::kFixed32 ? 4 : 8;
        if (end - at < size) return false;
        entry.value = 0;
        __builtin_memcpy(&entry.value, at, size);
        at += size;
      }
      f(entry);
    }
  }
  return fields.problem().empty();
}

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_TENSOR_DATA_H_
