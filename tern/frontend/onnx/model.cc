// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/model.h"

#include "tern/ffi/escape_text.h"

namespace tern::frontend::onnx {
namespace {

struct ElemInfo {
  const char* name;
  int bits;
  std::optional<DataType> dtype;
};

// By the numbers of ElemType.
const ElemInfo* InfoOf(ElemType type) {
  static const ElemInfo kInfos[] = {
      {"undefined", 0, {}},
      {"float", 32, DataType::Float(32)},
      {"uint8", 8, DataType::UInt(8)},
      {"int8", 8, DataType::Int(8)},
      {"uint16", 16, DataType::UInt(16)},
      {"int16", 16, DataType::Int(16)},
      {"int32", 32, DataType::Int(32)},
      {"int64", 64, DataType::Int(64)},
      {"string", 0, {}},
      {"bool", 8, DataType::Bool()},
      {"float16", 16, DataType::Float(16)},
      {"double", 64, DataType::Float(64)},
      {"uint32", 32, DataType::UInt(32)},
      {"uint64", 64, DataType::UInt(64)},
      {"complex64", 64, {}},
      {"complex128", 128, {}},
      {"bfloat16", 16, DataType::Bfloat16()},
      {"float8e4m3fn", 8, DataType::Float8E4M3FN()},
      {"float8e4m3fnuz", 8, DataType::Float8E4M3FNUZ()},
      {"float8e5m2", 8, DataType::Float8E5M2()},
      {"float8e5m2fnuz", 8, DataType::Float8E5M2FNUZ()},
      {"uint4", 4, DataType::UInt(4)},
      {"int4", 4, DataType::Int(4)},
      {"float4e2m1", 4, DataType::Float4E2M1FN()},
      {"float8e8m0", 8, {}},
      {"uint2", 2, {}},
      {"int2", 2, {}},
  };
  auto number = static_cast<int32_t>(type);
  return number < 0 || number > static_cast<int32_t>(ElemType::kInt2) ? nullptr : &kInfos[number];
}

}  // namespace

std::string_view WithoutDefault(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

std::string NameOf(ElemType type) {
  const ElemInfo* info = InfoOf(type);
  return info ? info->name : "type " + std::to_string(static_cast<int32_t>(type));
}

std::optional<DataType> DataTypeOf(ElemType type) {
  const ElemInfo* info = InfoOf(type);
  return info ? info->dtype : std::nullopt;
}

std::optional<DataType> DecodedTypeOf(ElemType type) {
  if (type == ElemType::kInt2) return DataType::Int(8);
  if (type == ElemType::kUInt2) return DataType::UInt(8);
  if (type == ElemType::kFloat8E8M0) return DataType::Float(32);
  return {};
}

int BitsOf(ElemType type) {
  const ElemInfo* info = InfoOf(type);
  return info ? info->bits : 0;
}

const char* NameOf(Attribute::Kind kind) {
  static const char* const kNames[] = {"undefined",      "float",   "int",    "string",
                                       "tensor",         "graph",   "floats", "ints",
                                       "strings",        "tensors", "graphs", "sparse_tensor",
                                       "sparse_tensors", "type",    "types"};
  auto number = static_cast<int32_t>(kind);
  return number < 0 || number > static_cast<int32_t>(Attribute::Kind::kTypes) ? "unknown"
                                                                              : kNames[number];
}

bool Dim::is_anonymous() const {
  return !is_known() && (param.empty() || param == "?" || param == "None" || param == "-1" ||
                         param.starts_with("unk__"));
}

std::string TypeText(const Type& type) {
  std::string element = type.element ? TypeText(*type.element) : "?";
  switch (type.kind) {
    case Type::Kind::kNone:
      return "?";
    case Type::Kind::kSequence:
      return "seq(" + element + ")";
    case Type::Kind::kOptional:
      return "optional(" + element + ")";
    case Type::Kind::kMap:
      return "map(" + NameOf(type.elem) + ", " + element + ")";
    case Type::Kind::kOpaque:
      return "opaque";
    case Type::Kind::kTensor:
    case Type::Kind::kSparseTensor:
      break;
  }
  std::string dims;
  if (!type.shape) dims = "...";
  for (const Dim& dim : type.shape ? *type.shape : std::vector<Dim>()) {
    if (!dims.empty()) dims += ", ";
    dims += dim.is_known() ? std::to_string(dim.value)
                           : (dim.is_anonymous() ? "?" : ffi::Escaped(dim.param));
  }
  return (type.kind == Type::Kind::kSparseTensor ? "sparse " : "") + NameOf(type.elem) + "[" +
         dims + "]";
}

const Attribute* Node::Find(std::string_view attribute) const {
  for (const Attribute& candidate : attributes)
    if (candidate.name == attribute) return &candidate;
  return nullptr;
}

int64_t Model::OpsetVersion(std::string_view domain) const {
  for (const OpsetId& opset : opsets)
    if (opset.domain == WithoutDefault(domain)) return opset.version;
  // Before IR version 3 nothing is imported.
  return opsets.empty() && WithoutDefault(domain).empty() && ir_version < 3 ? 1 : 0;
}

}  // namespace tern::frontend::onnx
