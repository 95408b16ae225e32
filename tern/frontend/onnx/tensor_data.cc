// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/tensor_data.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tern/ffi/error.h"
#include "tern/ffi/escape_text.h"
#include "tern/ir/constant.h"

namespace tern::frontend::onnx {

static_assert(std::endian::native == std::endian::little, "raw data are little endian");

TypedField TypedFieldOf(ElemType type) {
  switch (type) {
    case ElemType::kFloat:
    case ElemType::kComplex64:
      return {4, "float_data", WireType::kFixed32, 4};
    case ElemType::kString:
      return {6, "string_data", WireType::kBytes, 0};
    case ElemType::kInt64:
      return {7, "int64_data", WireType::kVarint, 8};
    case ElemType::kDouble:
    case ElemType::kComplex128:
      return {10, "double_data", WireType::kFixed64, 8};
    case ElemType::kUInt32:
      return {11, "uint64_data", WireType::kVarint, 4};
    case ElemType::kUInt64:
      return {11, "uint64_data", WireType::kVarint, 8};
    default:
      return {5, "int32_data", WireType::kVarint, std::max(BitsOf(type) / 8, 1)};
  }
}

int64_t NumEntries(ElemType type, int64_t count) {
  if (type == ElemType::kComplex64 || type == ElemType::kComplex128) return count * 2;
  int64_t in_byte = BitsOf(type) > 0 && BitsOf(type) < 8 ? 8 / BitsOf(type) : 1;
  return count / in_byte + (count % in_byte != 0);
}

bool IsEntryOf(ElemType type, uint64_t value) {
  if (type == ElemType::kUInt32) return value <= UINT32_MAX;
  TypedField field = TypedFieldOf(type);
  if (field.number != 5 || type == ElemType::kInt32 || type == ElemType::kBool) return true;
  int64_t entry = static_cast<int32_t>(value), end = int64_t{1} << 8 * field.entry_bytes;
  bool is_signed = type == ElemType::kInt8 || type == ElemType::kInt16;
  bool is_unsigned = type == ElemType::kUInt8 || type == ElemType::kUInt16;
  // Bits of floats, and of packed elements, may have been widened either way.
  return entry >= (is_unsigned ? 0 : -end / 2) && entry < (is_signed ? end / 2 : end);
}

int64_t Tensor::NumElements() const {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

int64_t Tensor::NumBytes() const {
  int64_t count = NumElements(), bits = BitsOf(type);
  return bits < 8 ? (count * bits + 7) / 8 : count * (bits / 8);
}

TensorData Tensor::Data() const {
  TERN_CHECK(type != ElemType::kString)
      << "tensor '" << ffi::Escaped(name) << "' has strings, and numbers are expected";
  auto is_bit = [](char byte) { return byte == 0 || byte == 1; };
  bool is_as_expected = type != ElemType::kBool || std::all_of(raw.begin(), raw.end(), is_bit);
  if (fields.empty() && is_as_expected) return {raw, file, nullptr};
  auto decoded = std::make_shared<std::string>();
  decoded->reserve(static_cast<size_t>(NumBytes()));
  if (fields.empty()) {
    for (char byte : raw) decoded->push_back(byte != 0);
  } else {
    TypedField typed = TypedFieldOf(type);
    bool is_whole = ForEachEntry(fields, typed, [&](const Field& entry) {
      uint64_t value = type == ElemType::kBool ? entry.value != 0 : entry.value;
      for (int i = 0; i < typed.entry_bytes; ++i)
        decoded->push_back(static_cast<char>(value >> 8 * i));
    });
    TERN_ICHECK(is_whole && static_cast<int64_t>(decoded->size()) == NumBytes()) << name;
  }
  return {*decoded, nullptr, decoded};
}

std::vector<std::string_view> Tensor::Strings() const {
  TERN_CHECK(type == ElemType::kString) << "tensor '" << ffi::Escaped(name) << "' has elements of "
                                        << "type " << NameOf(type) << ", and strings are expected";
  std::vector<std::string_view> strings;
  strings.reserve(static_cast<size_t>(NumElements()));
  ForEachEntry(fields, TypedFieldOf(type),
               [&](const Field& entry) { strings.push_back(entry.bytes); });
  return strings;
}

namespace {

double DecodedCode(ElemType type, unsigned code) {
  if (type == ElemType::kInt2) return static_cast<int>(code) - (code < 2 ? 0 : 4);
  if (type == ElemType::kUInt2) return code;
  // float8e8m0: a power of two
  return code == 255 ? std::numeric_limits<double>::quiet_NaN()
                     : std::ldexp(1.0, static_cast<int>(code) - 127);
}

}  // namespace

std::string Tensor::Decoded() const {
  DataType dtype = DecodedTypeOf(type).value();
  TensorData data = Data();
  int bits = BitsOf(type);
  std::string bytes(static_cast<size_t>(NumElements() * dtype.bytes()), '\0');
  for (int64_t i = 0; i < NumElements(); ++i) {
    auto byte = static_cast<unsigned char>(data.bytes[static_cast<size_t>(i * bits / 8)]);
    unsigned code = byte >> (i * bits % 8) & ((1U << bits) - 1);
    ir::StoreElement(dtype, ir::MakeConst(dtype, DecodedCode(type, code)), bytes.data(), i);
  }
  return bytes;
}

}  // namespace tern::frontend::onnx
