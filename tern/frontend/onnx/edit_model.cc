// SPDX-License-Identifier: Apache-2.0
#include "tern/frontend/onnx/edit_model.h"

#include "tern/ffi/error.h"
#include "tern/frontend/onnx/wire.h"
#include "tern/ir/mapped_file.h"

namespace tern::frontend::onnx {
namespace {

void AddVarint(uint64_t value, std::string* out) {
  for (; value >= 128; value >>= 7) out->push_back(static_cast<char>((value & 127) | 128));
  out->push_back(static_cast<char>(value));
}

void AddInteger(uint32_t field, int64_t value, std::string* out) {
  AddVarint(field << 3, out);
  AddVarint(static_cast<uint64_t>(value), out);
}

void AddBytes(uint32_t field, std::string_view bytes, std::string* out) {
  AddVarint(field << 3 | 2, out);
  AddVarint(bytes.size(), out);
  out->append(bytes);
}

// Calls f(field, its bytes with number and length) for each field of a message that was read
// before, so that it is well formed.
template <class F>
void ForEachField(std::string_view message, const F& f) {
  FieldReader fields(message);
  Field field, next;
  if (!fields.Next(&field)) return;
  for (bool more = true; more; field = next) {
    const char* begin = fields.field_begin();
    more = fields.Next(&next);
    const char* end = more ? fields.field_begin() : message.data() + message.size();
    f(field, std::string_view(begin, static_cast<size_t>(end - begin)));
  }
  TERN_ICHECK(fields.problem().empty()) << fields.problem();
}

// The field of this number, as a string; of several the last one counts.
std::string_view StringField(std::string_view message, uint32_t number) {
  std::string_view found;
  ForEachField(message, [&](const Field& field, std::string_view) {
    if (field.number == number && field.type == WireType::kBytes) found = field.bytes;
  });
  return found;
}

std::string WithInputs(std::string_view node, const std::vector<std::string>& inputs) {
  std::string out;
  for (const std::string& input : inputs) AddBytes(1, input, &out);
  ForEachField(node, [&](const Field& field, std::string_view bytes) {
    if (field.number != 1) out += bytes;
  });
  return out;
}

std::string EditedGraph(const Model& model, std::string_view graph, const ModelEdits& edits) {
  constexpr uint32_t kNode = 1, kInitializer = 5, kInput = 11, kOutput = 12;
  std::string out;
  size_t node = 0, initializer = 0;
  ForEachField(graph, [&](const Field& field, std::string_view bytes) {
    if (field.number == kNode) {
      size_t number = node++;
      if (auto it = edits.before.find(number); it != edits.before.end())
        for (const std::string& one : it->second) AddBytes(kNode, one, &out);
      auto replaced = edits.replaced.find(number);
      auto inputs = edits.inputs.find(number);
      if (replaced != edits.replaced.end())
        for (const std::string& one : replaced->second) AddBytes(kNode, one, &out);
      else if (inputs != edits.inputs.end())
        AddBytes(kNode, WithInputs(field.bytes, inputs->second), &out);
      else
        out += bytes;
    } else if (field.number == kInitializer) {
      const Tensor& tensor = model.graph.initializers.at(initializer++);
      if (edits.dropped.contains(tensor.name)) return;
      if (tensor.is_external)
        AddBytes(
            kInitializer,
            TensorMessage(std::string(tensor.name), tensor.type, tensor.dims, tensor.Data().bytes),
            &out);
      else
        out += bytes;
    } else if (field.number != kInput || !edits.dropped.contains(StringField(field.bytes, 1))) {
      out += bytes;
    }
  });
  for (const std::string& tensor : edits.initializers) AddBytes(kInitializer, tensor, &out);
  for (const std::string& name : edits.outputs) {
    std::string info;
    AddBytes(1, name, &info);
    AddBytes(kOutput, info, &out);
  }
  return out;
}

}  // namespace

std::string NodeMessage(const NodeText& node) {
  std::string out;
  for (const std::string& input : node.inputs) AddBytes(1, input, &out);
  for (const std::string& output : node.outputs) AddBytes(2, output, &out);
  AddBytes(3, node.name, &out);
  AddBytes(4, node.op, &out);
  for (const auto& [name, value] : node.attributes) {
    std::string attribute;
    AddBytes(1, name, &attribute);
    AddInteger(3, value, &attribute);
    AddInteger(20, 2, &attribute);  // INT
    AddBytes(5, attribute, &out);
  }
  AddBytes(7, node.domain, &out);
  return out;
}

std::string TensorMessage(const std::string& name, ElemType type, const std::vector<int64_t>& dims,
                          std::string_view bytes) {
  std::string out;
  for (int64_t dim : dims) AddInteger(1, dim, &out);
  AddInteger(2, static_cast<int64_t>(type), &out);
  AddBytes(8, name, &out);
  AddBytes(9, bytes, &out);
  return out;
}

std::string WithEdits(const Model& model, const ModelEdits& edits) {
  TERN_CHECK(model.file) << model.path << " is no file";
  constexpr uint32_t kGraph = 7, kOpset = 8;
  std::string out;
  ForEachField(model.file->bytes(), [&](const Field& field, std::string_view bytes) {
    if (field.number == kGraph)
      AddBytes(kGraph, EditedGraph(model, field.bytes, edits), &out);
    else
      out += bytes;
  });
  for (const auto& [domain, version] : edits.opsets) {
    if (model.OpsetVersion(domain) > 0) continue;
    std::string opset;
    AddBytes(1, domain, &opset);
    AddInteger(2, version, &opset);
    AddBytes(kOpset, opset, &out);
  }
  TERN_CHECK(out.size() < size_t{1} << 31) << model.path << ": the file would have " << out.size()
                                           << " bytes; protobuf has 2 GB at most";
  return out;
}

}  // namespace tern::frontend::onnx
