// SPDX-License-Identifier: Apache-2.0
//
// An ONNX model as plain structs, named as in onnx.proto.
//
// Strings and weights are views of the mapped file, which `Model::file` and `Tensor::file` keep
// mapped. What is here was checked against the bytes it came from (reader.h), and against
// nothing else: names may be unknown, types and shapes may contradict each other.
#ifndef TERN_FRONTEND_ONNX_MODEL_H_
#define TERN_FRONTEND_ONNX_MODEL_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tern/ffi/dtype.h"
#include "tern/ir/mapped_file.h"

namespace tern::frontend::onnx {

// TensorProto.DataType, by its numbers.
enum class ElemType : int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUInt4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUInt2 = 25,
  kInt2 = 26,
};

// "float", "int4", as ONNX spells them; "type 99" for a number that has no name.
std::string NameOf(ElemType type);
// The type of Tern whose elements are the same bits; nothing where there is none: string, complex,
// float8e8m0, uint2, int2.
std::optional<DataType> DataTypeOf(ElemType type);
// Of elements that are codes of few bits, and of which Tern has no type: that of the numbers that
// they mean. int8 and uint8 of int2 and uint2, float32 of float8e8m0.
std::optional<DataType> DecodedTypeOf(ElemType type);
// Of an element, 2 to 128; 0 for strings and for what has no name.
int BitsOf(ElemType type);

// Elements, row major, little endian, at any address; those of less than a byte are packed, the
// first one in the low bits.
struct TensorData {
  std::string_view bytes;
  // The file whose bytes they are, or null: then they are those of `decoded`, or of whoever gave
  // the model's bytes.
  std::shared_ptr<const ir::MappedFile> file;
  std::shared_ptr<const std::string> decoded;
};

// A dense tensor. Its data are as many as its dims say.
struct Tensor {
  std::string_view name;
  std::vector<int64_t> dims;  // none is negative, and their product is an int64_t
  ElemType type = ElemType::kUndefined;
  bool is_external = false;  // in a file of its own
  // The elements, where they lie in the file as TensorData has them; else `fields` is the whole
  // TensorProto, to be decoded.
  std::string_view raw, fields;
  std::shared_ptr<const ir::MappedFile> file;  // that `raw` is of; null for a model in memory

  int64_t NumElements() const;
  int64_t NumBytes() const;  // of Data(); 0 of strings
  // A view of the file where that has them in this form, else decoded (int32_data, ...). Bools are
  // 0 or 1. An error for strings, and for values that the type does not have.
  TensorData Data() const;
  // Of ElemType::kString.
  std::vector<std::string_view> Strings() const;
  // The numbers, of a type that DecodedTypeOf() has.
  std::string Decoded() const;
};

// A dimension of a declared shape.
struct Dim {
  int64_t value = -1;  // or -1
  std::string_view param;

  bool is_known() const { return value >= 0; }
  // Neither a number nor a name that two dimensions can share: "", "?", "None", "-1", "unk__12".
  bool is_anonymous() const;
};

struct Type {
  enum class Kind { kNone, kTensor, kSparseTensor, kSequence, kOptional, kMap, kOpaque };
  Kind kind = Kind::kNone;
  ElemType elem = ElemType::kUndefined;   // of a tensor; of a map: the keys
  std::optional<std::vector<Dim>> shape;  // of a tensor; nothing: not even the rank is known
  std::shared_ptr<const Type> element;    // of a sequence, an optional or a map; may be null
};

// "float[batch, 3, ?]", "seq(int64[?])", "int32[...]" of unknown rank.
std::string TypeText(const Type& type);

struct ValueInfo {
  std::string_view name;
  Type type;
};

struct Graph;

struct Attribute {
  enum class Kind : int32_t {  // AttributeProto.AttributeType, by its numbers
    kUndefined = 0,
    kFloat = 1,
    kInt = 2,
    kString = 3,
    kTensor = 4,
    kGraph = 5,
    kFloats = 6,
    kInts = 7,
    kStrings = 8,
    kTensors = 9,
    kGraphs = 10,
    kSparseTensor = 11,  // refused by the reader, as kSparseTensors
    kSparseTensors = 12,
    kType = 13,
    kTypes = 14,
  };
  std::string_view name;
  // Files of IR version 1 do not say it: then by the field that is set.
  Kind kind = Kind::kUndefined;
  // In the body of a function: the attribute of the function whose value this is.
  std::string_view ref_attr_name;
  float f = 0;
  int64_t i = 0;
  std::string_view s;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string_view> strings;
  // One of them where the kind is kTensor, kGraph, kType.
  std::vector<Tensor> tensors;
  std::vector<Graph> graphs;
  std::vector<Type> types;
};

// "ints", "tensor", ...
const char* NameOf(Attribute::Kind kind);

struct Node {
  std::string_view name;  // often ""
  std::string_view op_type, domain, overload;
  std::vector<std::string_view> inputs, outputs;  // "": not given
  std::vector<Attribute> attributes;

  // Null where there is none.
  const Attribute* Find(std::string_view attribute) const;
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs, value_infos;
};

// "ai.onnx" is written "", which means the same; so are all domains in these structs.
std::string_view WithoutDefault(std::string_view domain);

struct OpsetId {
  std::string_view domain;
  int64_t version = 0;
};

// An operator defined by nodes.
struct Function {
  std::string_view name, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> attributes;   // without a default
  std::vector<Attribute> default_attributes;  // with one
  std::vector<Node> nodes;
  std::vector<OpsetId> opsets;
  std::vector<ValueInfo> value_infos;
};

struct Metadata {
  std::string_view key, value;
};

struct Model {
  std::string path;                            // for messages
  std::shared_ptr<const ir::MappedFile> file;  // null for a model in memory
  int64_t ir_version = 0, model_version = 0;
  std::string_view producer_name, producer_version, domain;
  std::vector<OpsetId> opsets;
  std::vector<Metadata> metadata;
  Graph graph;
  std::vector<Function> functions;

  // Of a domain ("" is ai.onnx's); 0 where the model does not import it.
  int64_t OpsetVersion(std::string_view domain) const;
};

}  // namespace tern::frontend::onnx

#endif  // TERN_FRONTEND_ONNX_MODEL_H_
