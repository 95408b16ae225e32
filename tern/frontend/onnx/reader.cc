// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <tuple>
#include <type_traits>

#include "tern/ffi/error.h"
#include "tern/ffi/escape_text.h"
#include "tern/frontend/onnx/tensor_data.h"
#include "tern/frontend/onnx/wire.h"

namespace tern::frontend::onnx {
namespace {

constexpr int kMostDepth = 100;
constexpr uint64_t kHeapBytes = uint64_t{64} << 20, kHeapPerByte = 16;

// Text of the file for a message, cut where it is long.
std::string Quoted(std::string_view text) {
  constexpr size_t kMost = 80;
  return "'" + ffi::Escaped(text.substr(0, kMost)) + (text.size() > kMost ? "...'" : "'");
}

// Where in the file the reader is: graph.node[3].attribute[0].
struct Scope {
  const Scope* parent;
  const char* what;
  size_t index;           // among its likes; kOne for what is there once
  std::string_view name;  // as soon as it is known
  std::string_view op_type;

  static constexpr size_t kOne = SIZE_MAX;
};

// "graph.node[3].attribute[0] (node 'conv1' (Conv), attribute 'pads')"
std::string ScopeText(const Scope* scope) {
  std::string path, names;
  for (; scope; scope = scope->parent) {
    std::string step = scope->what;
    if (scope->index != Scope::kOne) step += "[" + std::to_string(scope->index) + "]";
    path = path.empty() ? step : step + "." + path;
    if (scope->name.empty()) continue;
    std::string name = std::string(scope->what) + " " + Quoted(scope->name);
    if (!scope->op_type.empty()) name += " of type " + Quoted(scope->op_type);
    names = names.empty() ? name : name + ", " + names;
  }
  return names.empty() ? path : path + " (" + names + ")";
}

// What all messages of a file share.
struct Source {
  Source(std::string path, std::string_view bytes, std::shared_ptr<const ir::MappedFile> file)
      : path(std::move(path)), bytes(bytes), file(std::move(file)) {}

  std::string path;
  std::string_view bytes;
  std::shared_ptr<const ir::MappedFile> file;  // or null
  std::string what = "an ONNX model";
  uint64_t heap_left = 0;
  std::map<std::string, std::shared_ptr<const ir::MappedFile>, std::less<>> external;

  [[noreturn]] void Fail(const char* at, const Scope* scope, const std::string& problem) const {
    TERN_THROW(ValueError) << path << ": not " << what << ", or damaged: at byte "
                           << at - bytes.data() << ", in " << ScopeText(scope) << ": " << problem;
  }
};

class Message;
struct SparseTensor;
struct TypeOfKind;
struct RecordedList;
void Parse(Message& in, Tensor* tensor);
void Parse(Message& in, Dim* dim);
void Parse(Message& in, std::optional<std::vector<Dim>>* shape);
void Parse(Message& in, Type* type);
void Parse(Message& in, ValueInfo* info);
void Parse(Message& in, Attribute* attribute);
void Parse(Message& in, Node* node);
void Parse(Message& in, Graph* graph);
void Parse(Message& in, OpsetId* opset);
void Parse(Message& in, Metadata* metadata);
void Parse(Message& in, Function* function);
void Parse(Message& in, SparseTensor* sparse);
void Parse(Message& in, TypeOfKind* of_kind);
void Parse(Message& in, RecordedList* list);

// The fields of a message, one after the other. Read(number, name, &value) reads the one that is
// next if it has that number, and does nothing otherwise.
class Message {
 public:
  Message(Source* source, std::string_view bytes, Scope* scope);

  bool Next() { return fields_.Next(&field_); }
  uint32_t number() const { return field_.number; }
  Source* source() const { return source_; }
  const Scope* scope() const { return scope_; }
  std::string_view bytes() const { return bytes_; }
  // Fields of this number.
  size_t CountOf(uint32_t number) const { return counts_[number].fields; }

  [[noreturn]] void Fail(const std::string& problem) const {
    source_->Fail(fields_.field_begin(), scope_, problem);
  }

  bool Read(uint32_t number, const char* name, std::string_view* to) {
    if (!Is(number, name, WireType::kBytes)) return false;
    *to = field_.bytes;
    return true;
  }
  void Read(uint32_t number, const char* name, int64_t* to) {
    if (Is(number, name, WireType::kVarint)) *to = static_cast<int64_t>(field_.value);
  }
  void Read(uint32_t number, const char* name, float* to) {
    if (Is(number, name, WireType::kFixed32))
      *to = std::bit_cast<float>(static_cast<uint32_t>(field_.value));
  }
  template <class T>
    requires std::is_enum_v<T>
  void Read(uint32_t number, const char* name, T* to) {
    if (!Is(number, name, WireType::kVarint)) return;
    if (field_.value > INT32_MAX)
      Fail("field " + std::string(name) + " is " + std::to_string(field_.value));
    *to = static_cast<T>(field_.value);
  }
  // A message that is there once; the last one counts.
  template <class T>
    requires std::is_class_v<T>
  void Read(uint32_t number, const char* name, T* to) {
    if (Is(number, name, WireType::kBytes)) ReadPart(name, Scope::kOne, to);
  }
  // One more element.
  template <class T>
  void Read(uint32_t number, const char* name, std::vector<T>* to) {
    if (!Is(number, name, WireType::kBytes)) return;
    MakeRoom(to, CountOf(number));
    if constexpr (std::is_same_v<T, std::string_view>) {
      to->push_back(field_.bytes);
    } else {
      T& element = to->emplace_back();
      ReadPart(name, to->size() - 1, &element);
    }
  }
  // One or, packed, several more.
  void Read(uint32_t number, const char* name, std::vector<int64_t>* to);
  void Read(uint32_t number, const char* name, std::vector<float>* to);
  // That of what the message describes: for errors.
  void ReadName(uint32_t number, const char* name, std::string_view* to) {
    if (Read(number, name, to)) scope_->name = *to;
  }
  void ReadOpType(uint32_t number, const char* name, std::string_view* to) {
    if (Read(number, name, to)) scope_->op_type = *to;
  }

 private:
  struct Counts {
    size_t fields = 0, bytes = 0;
  };

  void Count();

  // Whether the next field has this number; then it must have that type.
  bool Is(uint32_t number, const char* name, WireType type) const {
    if (field_.number != number) return false;
    if (field_.type != type)
      Fail("field " + std::to_string(field_.number) + " is " + NameOf(field_.type) + "; expected " +
           name + ", " + NameOf(type));
    return true;
  }

  template <class T>
  void ReadPart(const char* name, size_t index, T* to) {
    Scope scope{scope_, name, index, {}, {}};
    Message part(source_, field_.bytes, &scope);
    Parse(part, to);
  }

  // For so many more than are there, where all room is taken.
  template <class T>
  void MakeRoom(std::vector<T>* to, size_t more) {
    if (to->size() < to->capacity()) return;
    uint64_t bytes = (uint64_t{to->size()} + more) * sizeof(T);
    if (bytes > source_->heap_left)
      Fail("to read this file would take more memory than " + std::to_string(kHeapBytes >> 20) +
           " MB and " + std::to_string(kHeapPerByte) + " times its size");
    source_->heap_left -= bytes;
    to->reserve(to->size() + more);
  }

  Source* source_;
  std::string_view bytes_;
  Scope* scope_;
  FieldReader fields_;
  Field field_;
  std::array<Counts, 32> counts_;
};

Message::Message(Source* source, std::string_view bytes, Scope* scope)
    : source_(source), bytes_(bytes), scope_(scope), fields_(bytes) {
  int depth = 0;
  for (const Scope* outer = scope; outer; outer = outer->parent) ++depth;
  if (depth > kMostDepth)
    Fail("messages lie more than " + std::to_string(kMostDepth) + " deep in each other");
  Count();
}

// Also sees whether the fields end where the message does.
void Message::Count() {
  Field field;
  while (fields_.Next(&field)) {
    if (field.number >= counts_.size()) continue;
    ++counts_[field.number].fields;
    if (field.type == WireType::kBytes) counts_[field.number].bytes += field.bytes.size();
  }
  if (!fields_.problem().empty()) Fail(fields_.problem());
  fields_ = FieldReader(bytes_);
}

void Message::Read(uint32_t number, const char* name, std::vector<int64_t>* to) {
  if (field_.number != number) return;
  MakeRoom(to, counts_[number].fields + counts_[number].bytes);
  bool is_packed = field_.type == WireType::kBytes && Is(number, name, WireType::kBytes);
  if (!is_packed && Is(number, name, WireType::kVarint)) {
    to->push_back(static_cast<int64_t>(field_.value));
    return;
  }
  const char *at = field_.bytes.data(), *end = at + field_.bytes.size();
  for (uint64_t value = 0; at < end; to->push_back(static_cast<int64_t>(value)))
    if (!ReadVarint(&at, end, &value)) Fail("a number in " + std::string(name) + " does not end");
}

void Message::Read(uint32_t number, const char* name, std::vector<float>* to) {
  if (field_.number != number) return;
  MakeRoom(to, counts_[number].fields + counts_[number].bytes / sizeof(float));
  bool is_packed = field_.type == WireType::kBytes && Is(number, name, WireType::kBytes);
  if (!is_packed && Is(number, name, WireType::kFixed32)) {
    to->push_back(std::bit_cast<float>(static_cast<uint32_t>(field_.value)));
    return;
  }
  if (field_.bytes.size() % sizeof(float) != 0)
    Fail(std::string(name) + " has " + std::to_string(field_.bytes.size()) +
         " bytes, which are no whole floats");
  for (size_t i = 0; i < field_.bytes.size(); i += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, field_.bytes.data() + i, sizeof value);
    to->push_back(value);
  }
}

// ---- tensors

// The bytes of a file beside the model.
void FindExternalData(const Message& in, const std::vector<Metadata>& entries, Tensor* tensor) {
  std::string_view location;
  uint64_t offset = 0, needed = static_cast<uint64_t>(tensor->NumBytes()), length = needed;
  for (const Metadata& entry : entries) {
    if (entry.key == "location") location = entry.value;
    if (entry.key != "offset" && entry.key != "length") continue;
    uint64_t& number = entry.key == "offset" ? offset : length;
    const char* end = entry.value.data() + entry.value.size();
    auto [stop, error] = std::from_chars(entry.value.data(), end, number);
    if (error != std::errc() || stop != end || entry.value.empty())
      in.Fail("the " + std::string(entry.key) + " of external data is " + Quoted(entry.value) +
              ", and no number");
  }
  Source* source = in.source();
  if (!source->file) in.Fail("external data, of a model that is in no folder");
  auto found = source->external.find(location);
  if (found == source->external.end()) {
    namespace fs = std::filesystem;
    std::error_code failed;
    std::string folder = fs::path(source->path).parent_path();
    // Caches have the model's name, and those of its data, as links to where all of them are.
    fs::path real = fs::canonical(source->path, failed);
    try {
      found = source->external
                  .emplace(location, ir::MappedFile::OpenInside(folder, std::string(location),
                                                                real.parent_path()))
                  .first;
    } catch (const Error& error) {
      TERN_THROW(ValueError) << source->path << ": external data of tensor " << Quoted(tensor->name)
                             << ": " << error.message();
    }
  }
  std::string_view bytes = found->second->bytes();
  if (length != needed || offset > bytes.size() || length > bytes.size() - offset)
    TERN_THROW(ValueError) << source->path << ": external data of tensor " << Quoted(tensor->name)
                           << ": its elements take " << needed << " bytes, and it has " << length
                           << " from byte " << offset << " on in " << Quoted(location)
                           << ", a file of " << bytes.size();
  tensor->file = found->second;
  tensor->raw = bytes.substr(offset, length);
}

// The elements in the field of their type.
void FindTypedData(const Message& in, Tensor* tensor) {
  TypedField typed = TypedFieldOf(tensor->type);
  int64_t count = 0, needed = NumEntries(tensor->type, tensor->NumElements());
  bool are_entries = true;
  bool is_whole = ForEachEntry(in.bytes(), typed, [&](const Field& entry) {
    ++count;
    are_entries = are_entries && IsEntryOf(tensor->type, entry.value);
  });
  std::string data = "the " + std::string(typed.name) + " of a tensor";
  if (!is_whole) in.Fail(data + " are malformed");
  if (count != needed)
    in.Fail(data + " of type " + NameOf(tensor->type) + " are " + std::to_string(count) +
            ", and its dims take " + std::to_string(needed));
  if (!are_entries) in.Fail(data + " have values that " + NameOf(tensor->type) + " does not have");
  if (count == 0) return;
  // Floats in one piece are as they are to be.
  bool is_fixed = typed.type == WireType::kFixed32 || typed.type == WireType::kFixed64;
  if (is_fixed && in.CountOf(typed.number) == 1) {
    FieldReader fields(in.bytes());
    Field field;
    while (fields.Next(&field) && field.number != typed.number) {
    }
    if (field.type == WireType::kBytes) {
      tensor->raw = field.bytes;
      return;
    }
  }
  tensor->fields = in.bytes();
}

void CheckDims(const Message& in, const Tensor& tensor) {
  constexpr int64_t kBitsOfLargest = 128;
  int64_t bits = kBitsOfLargest;
  for (int64_t dim : tensor.dims) {
    if (dim < 0) in.Fail("a tensor has the dim " + std::to_string(dim));
    // A dim of 0 hides none of the others.
    if (__builtin_mul_overflow(bits, std::max<int64_t>(dim, 1), &bits))
      in.Fail("the dims of a tensor are too large");
  }
}

void Parse(Message& in, Tensor* tensor) {
  enum class Location : int32_t { kDefault = 0, kExternal = 1 };
  Location location = Location::kDefault;
  std::vector<Metadata> external;
  while (in.Next()) {
    in.Read(1, "dims", &tensor->dims);
    in.Read(2, "data_type", &tensor->type);
    in.ReadName(8, "name", &tensor->name);
    in.Read(9, "raw_data", &tensor->raw);
    in.Read(13, "external_data", &external);
    in.Read(14, "data_location", &location);
  }
  if (in.CountOf(3) > 0) in.Fail("a segment of a tensor; only whole tensors are supported");
  bool is_string = tensor->type == ElemType::kString, has_raw = in.CountOf(9) > 0;
  if (BitsOf(tensor->type) == 0 && !is_string)
    in.Fail("a tensor has elements of type " + NameOf(tensor->type));
  CheckDims(in, *tensor);
  tensor->file = in.source()->file;
  tensor->is_external = location == Location::kExternal;
  if (is_string && (has_raw || tensor->is_external))
    in.Fail("a tensor has strings in raw or external data; expected string_data");
  if (tensor->is_external) {
    FindExternalData(in, external, tensor);
  } else if (!has_raw) {
    FindTypedData(in, tensor);
  } else if (static_cast<int64_t>(tensor->raw.size()) != tensor->NumBytes()) {
    in.Fail("the raw_data of a tensor are " + std::to_string(tensor->raw.size()) +
            " bytes, and its dims take " + std::to_string(tensor->NumBytes()) + " of type " +
            NameOf(tensor->type));
  }
}

// Named, and refused.
struct SparseTensor {
  Tensor values;
};

void Parse(Message& in, SparseTensor* sparse) {
  while (in.Next()) in.Read(1, "values", &sparse->values);
  TERN_THROW(ValueError) << in.source()->path << ": tensor " << Quoted(sparse->values.name)
                         << " is sparse, in " << ScopeText(in.scope())
                         << "; only dense tensors are supported";
}

// ---- types

void Parse(Message& in, Dim* dim) {
  while (in.Next()) {
    in.Read(1, "dim_value", &dim->value);
    in.Read(2, "dim_param", &dim->param);
  }
  dim->value = std::max<int64_t>(dim->value, -1);
}

void Parse(Message& in, std::optional<std::vector<Dim>>* shape) {
  shape->emplace();
  while (in.Next()) in.Read(1, "dim", &**shape);
}

// What a TypeProto says of one kind of type.
struct TypeOfKind {
  Type* type;
};

void Parse(Message& in, TypeOfKind* of_kind) {
  Type* type = of_kind->type;
  bool has_elem = type->kind == Type::Kind::kTensor || type->kind == Type::Kind::kSparseTensor;
  bool is_map = type->kind == Type::Kind::kMap;
  while (in.Next()) {
    if (has_elem || is_map) in.Read(1, "elem_type", &type->elem);
    if (has_elem) in.Read(2, "shape", &type->shape);
    if (has_elem || type->kind == Type::Kind::kOpaque || in.number() != (is_map ? 2 : 1)) continue;
    auto element = std::make_shared<Type>();
    in.Read(in.number(), "elem_type", element.get());
    type->element = std::move(element);
  }
}

void Parse(Message& in, Type* type) {
  static constexpr std::tuple<uint32_t, const char*, Type::Kind> kKinds[] = {
      {1, "tensor_type", Type::Kind::kTensor},
      {4, "sequence_type", Type::Kind::kSequence},
      {5, "map_type", Type::Kind::kMap},
      {7, "opaque_type", Type::Kind::kOpaque},
      {9, "optional_type", Type::Kind::kOptional},
      {8, "sparse_tensor_type", Type::Kind::kSparseTensor},
  };
  while (in.Next())
    for (const auto& [number, name, kind] : kKinds) {
      if (in.number() != number) continue;
      *type = Type();
      type->kind = kind;
      TypeOfKind of_kind{type};
      in.Read(number, name, &of_kind);
    }
}

void Parse(Message& in, ValueInfo* info) {
  while (in.Next()) {
    in.ReadName(1, "name", &info->name);
    in.Read(2, "type", &info->type);
  }
}

// ---- nodes

// By what is there, for files that do not say it.
Attribute::Kind KindOf(const Message& in) {
  using Kind = Attribute::Kind;
  static constexpr std::pair<uint32_t, Kind> kFields[] = {
      {2, Kind::kFloat}, {3, Kind::kInt},    {4, Kind::kString},   {5, Kind::kTensor},
      {6, Kind::kGraph}, {7, Kind::kFloats}, {8, Kind::kInts},     {9, Kind::kStrings},
      {14, Kind::kType}, {15, Kind::kTypes}, {10, Kind::kTensors}, {11, Kind::kGraphs}};
  for (auto [number, kind] : kFields)
    if (in.CountOf(number) > 0) return kind;
  return Kind::kUndefined;
}

void Parse(Message& in, Attribute* attribute) {
  attribute->kind = KindOf(in);
  SparseTensor sparse;
  while (in.Next()) {
    in.ReadName(1, "name", &attribute->name);
    in.Read(2, "f", &attribute->f);
    in.Read(3, "i", &attribute->i);
    in.Read(4, "s", &attribute->s);
    in.Read(5, "t", &attribute->tensors);
    in.Read(6, "g", &attribute->graphs);
    in.Read(7, "floats", &attribute->floats);
    in.Read(8, "ints", &attribute->ints);
    in.Read(9, "strings", &attribute->strings);
    in.Read(10, "tensors", &attribute->tensors);
    in.Read(11, "graphs", &attribute->graphs);
    in.Read(14, "tp", &attribute->types);
    in.Read(15, "type_protos", &attribute->types);
    in.Read(20, "type", &attribute->kind);
    in.Read(21, "ref_attr_name", &attribute->ref_attr_name);
    in.Read(22, "sparse_tensor", &sparse);
    in.Read(23, "sparse_tensors", &sparse);
  }
  using Kind = Attribute::Kind;
  if (attribute->kind > Kind::kTypes)
    in.Fail("an attribute of type " + std::to_string(static_cast<int32_t>(attribute->kind)));
  auto lacks = [&](Kind kind, size_t size) { return attribute->kind == kind && size != 1; };
  if (attribute->ref_attr_name.empty() && (lacks(Kind::kTensor, attribute->tensors.size()) ||
                                           lacks(Kind::kGraph, attribute->graphs.size()) ||
                                           lacks(Kind::kType, attribute->types.size())))
    in.Fail("an attribute of type " + std::string(NameOf(attribute->kind)) +
            " has none of it, or several");
}

void Parse(Message& in, Node* node) {
  while (in.Next()) {
    in.Read(1, "input", &node->inputs);
    in.Read(2, "output", &node->outputs);
    in.ReadName(3, "name", &node->name);
    in.ReadOpType(4, "op_type", &node->op_type);
    in.Read(5, "attribute", &node->attributes);
    in.Read(7, "domain", &node->domain);
    in.Read(8, "overload", &node->overload);
  }
  node->domain = WithoutDefault(node->domain);
  if (node->op_type.empty()) in.Fail("a node has no op_type");
}

void Parse(Message& in, Graph* graph) {
  SparseTensor sparse;
  while (in.Next()) {
    in.Read(1, "node", &graph->nodes);
    in.Read(2, "name", &graph->name);
    in.Read(5, "initializer", &graph->initializers);
    in.Read(11, "input", &graph->inputs);
    in.Read(12, "output", &graph->outputs);
    in.Read(13, "value_info", &graph->value_infos);
    in.Read(15, "sparse_initializer", &sparse);
  }
}

// ---- models

void Parse(Message& in, OpsetId* opset) {
  while (in.Next()) {
    in.Read(1, "domain", &opset->domain);
    in.Read(2, "version", &opset->version);
  }
  opset->domain = WithoutDefault(opset->domain);
}

void Parse(Message& in, Metadata* metadata) {
  while (in.Next()) {
    in.Read(1, "key", &metadata->key);
    in.Read(2, "value", &metadata->value);
  }
}

void Parse(Message& in, Function* function) {
  while (in.Next()) {
    in.ReadName(1, "name", &function->name);
    in.Read(4, "input", &function->inputs);
    in.Read(5, "output", &function->outputs);
    in.Read(6, "attribute", &function->attributes);
    in.Read(7, "node", &function->nodes);
    in.Read(9, "opset_import", &function->opsets);
    in.Read(10, "domain", &function->domain);
    in.Read(11, "attribute_proto", &function->default_attributes);
    in.Read(12, "value_info", &function->value_infos);
    in.Read(13, "overload", &function->overload);
  }
  function->domain = WithoutDefault(function->domain);
}

void Parse(Message& in, Model* model) {
  while (in.Next()) {
    in.Read(1, "ir_version", &model->ir_version);
    in.Read(2, "producer_name", &model->producer_name);
    in.Read(3, "producer_version", &model->producer_version);
    in.Read(4, "domain", &model->domain);
    in.Read(5, "model_version", &model->model_version);
    if (in.number() == 7 && in.CountOf(7) > 1) in.Fail("there are several graphs");
    in.Read(7, "graph", &model->graph);
    in.Read(8, "opset_import", &model->opsets);
    in.Read(14, "metadata_props", &model->metadata);
    in.Read(25, "functions", &model->functions);
  }
  if (in.CountOf(7) == 0) in.Fail("there is no graph");
}

// A SequenceProto or OptionalProto of tensors.
struct RecordedList {
  std::vector<Tensor> tensors;
  bool has_element = false;  // of an optional
};

void Parse(Message& in, RecordedList* list) {
  while (in.Next()) {
    list->has_element = list->has_element || in.number() == 3 || in.number() == 5;
    in.Read(3, "tensor_values", &list->tensors);
    in.Read(5, "sequence_value", list);
  }
}

// What people have instead of the file, by how it begins; "" where it may be one.
std::string OtherFormat(std::string_view bytes) {
  if (bytes.empty()) return "it is empty";
  if (bytes.starts_with("version https://git-lfs"))
    return "it is a git-lfs pointer, not the file itself; 'git lfs pull' fetches that";
  if (bytes.starts_with("PK\3\4")) return "it is a zip archive, as PyTorch's .pt files are";
  if (bytes.starts_with("\x1f\x8b")) return "it is compressed by gzip";
  if (bytes.starts_with("\x89HDF")) return "it is an HDF5 file, as Keras writes them";
  if (bytes.size() > 8 && bytes.substr(4, 4) == "TFL3") return "it is a TensorFlow Lite file";
  size_t begin = bytes.find_first_not_of(" \t\r\n");
  std::string_view text = begin == std::string_view::npos ? "" : bytes.substr(begin, 512);
  if (text.starts_with("<"))
    return "it is a page of HTML or XML, as servers send in place of a file";
  if (text.starts_with("ir_version:") || text.starts_with("graph {"))
    return "it is in protobuf's text format; expected the binary one";
  // Binary models begin with control characters: the tag and the value of ir_version.
  bool is_text = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
  });
  return is_text ? "it is text" : "";
}

template <class T>
void ReadWhole(Source* source, const char* what, T* to) {
  if (std::string other = OtherFormat(source->bytes); !other.empty())
    TERN_THROW(ValueError) << source->path << ": not " << source->what << ": " << other;
  source->heap_left = kHeapBytes + kHeapPerByte * source->bytes.size();
  Scope scope{nullptr, what, Scope::kOne, {}, {}};
  Message in(source, source->bytes, &scope);
  Parse(in, to);
}

Model ModelOf(Source source) {
  Model model;
  model.path = source.path;
  model.file = source.file;
  ReadWhole(&source, "model", &model);
  return model;
}

Tensor TensorOf(Source source) {
  source.what = "a tensor of ONNX";
  Tensor tensor;
  ReadWhole(&source, "tensor", &tensor);
  return tensor;
}

Source Mapped(const std::string& path) {
  auto file = std::make_shared<const ir::MappedFile>(path);
  return Source(path, file->bytes(), file);
}

}  // namespace

Model ReadModel(const std::string& path) { return ModelOf(Mapped(path)); }
Model ParseModel(std::string_view bytes, const std::string& name) {
  return ModelOf(Source(name, bytes, nullptr));
}
Tensor ReadTensor(const std::string& path) { return TensorOf(Mapped(path)); }
Tensor ParseTensor(std::string_view bytes, const std::string& name) {
  return TensorOf(Source(name, bytes, nullptr));
}

std::optional<std::vector<Tensor>> ReadTensors(const std::string& path, const Type& type) {
  bool is_optional = type.kind == Type::Kind::kOptional;
  if (type.kind != Type::Kind::kSequence && !is_optional) return {{ReadTensor(path)}};
  Source source = Mapped(path);
  source.what = "a sequence or an optional of ONNX";
  RecordedList list;
  ReadWhole(&source, is_optional ? "optional" : "sequence", &list);
  if (is_optional && !list.has_element) return {};
  return std::move(list.tensors);
}

}  // namespace tern::frontend::onnx
