// SPDX-License-Identifier: Apache-2.0
#include "tern/tir/signature_parser.h"

#include <set>

#include "tern/arith/analyzer.h"
#include "tern/ffi/text.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/kernel_shape.h"
#include "tern/tir/reserved_words.h"

namespace tern::tir {

Expr FoldExtent(const Expr& extent) {
  if (!extent.dtype().is_integer() || !extent.dtype().is_scalar()) return extent;
  std::optional<int64_t> value = ir::AsConstInt(extent);
  if (value) return extent.dtype() == DataType::Int(64) ? extent : Expr(*value);
  Expr simple = arith::Analyzer().Simplify(extent);
  value = ir::AsConstInt(simple);
  return value ? ir::IntImmNode::Make(DataType::Int(64), *value, extent.span()) : extent;
}

std::string SignatureParser::ExpectFunctionName(const char* what) {
  const auto* end = std::end(kQualifiers);
  bool qualifies = std::find(std::begin(kQualifiers), end, Peek().text) != end;
  return qualifies ? ExpectIdent(what) : ExpectNewName(what);
}

Buffer SignatureParser::ParseBufferType(const std::string& name, DataType dtype, const Span& span) {
  Expect("[");
  std::vector<Expr> shape = ParseExprs("]"), strides;
  for (Expr& extent : shape) extent = FoldExtent(extent);
  Span strides_at = Peek().span;
  if (Accept("strides")) {
    Expect("(");
    strides = ParseExprs(")");
    if (strides.size() != shape.size())
      Fail(strides_at, name + " has rank " + std::to_string(shape.size()) + ", but " +
                           std::to_string(strides.size()) + " strides");
  }
  auto buffer = ffi::Make<BufferNode>(*BufferNode::Make(
      name, dtype, std::move(shape), std::move(strides), StorageScope::kGlobal, {}, span));
  if (Accept("offset")) {
    Expect("(");
    buffer->offset = ParseExpr().expr;
    Expect(")");
  }
  if (Accept("align")) {
    Expect("(");
    buffer->alignment = ParseInteger(false);
    Expect(")");
  }
  if (Accept("in")) buffer->scope = ParseScope();
  if (dtype.is_handle()) Fail(span, "a buffer cannot hold handles");
  return Buffer(buffer.get());
}

StorageScope SignatureParser::ParseScope() {
  Span span = Peek().span;
  std::string name = ExpectIdent("a storage scope");
  std::optional<StorageScope> scope = ir::FindStorageScope(name);
  if (!scope) Fail(span, ir::NoStorageScope(name));
  return *scope;
}

ir::Attrs SignatureParser::ParseAttrs(AttrPlace place) {
  ir::Attrs attrs;
  if (!Accept("attrs")) return attrs;
  Expect("{");
  CommaList("}", [&] {
    Span span = Peek().span;
    std::string key = ExpectIdent("an attribute's name");
    Expect("=");
    ffi::Any value = ParseAttrValue();
    if (key == attr::kTarget)
      value =
          Located(span, [&] { return ffi::Any(target::Target::Parse(value.As<std::string>())); });
    Located(span, [&] { CheckAttr(place, key, value); });
    if (!attrs.emplace(key, std::move(value)).second)
      Fail(span, "attribute " + key + " is given twice");
  });
  return attrs;
}

std::string SignatureParser::ParseThreadAxis(bool may_be_virtual) {
  static const std::set<std::string> kAxes = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
                                              "threadIdx.x", "threadIdx.y", "threadIdx.z"};
  const std::string& name = Peek().text;
  if (!kAxes.count(name) && !(may_be_virtual && IsVirtualThreadAxis(name)))
    Unexpected(std::string("a thread axis (blockIdx.x, .y, .z, threadIdx.x, .y, .z") +
               (may_be_virtual ? ", vthread.x, .y, .z)" : ")"));
  return Next().text;
}

Expr SignatureParser::ParseDefault(DataType dtype) {
  if (!Accept("=")) return {};
  return ParseElement(dtype);
}

// Extents may name scalars that come later in the list, so names unknown in a shape become
// variables of type int64, which a scalar parameter of that name then takes over.
SignatureParser::Params SignatureParser::ParseParams() {
  Params result;
  std::set<std::string> names;
  Expect("(");
  in_params_ = true;
  CommaList(")", [&] {
    Span span = Peek().span;
    std::string name = ExpectNewName("a parameter's name");
    if (!names.insert(name).second) Fail(span, "parameter " + name + " is given twice");
    Expect(":");
    if (const Struct* fields = FindStruct(Peek().text)) {
      Define(name, {.var = {}, .buffer = {}, .record = Next().text});
      for (const Field& field : *fields) {
        AddScalar(name + "." + field.name, field.dtype, span, &result);
        if (field.default_value) result.defaults[name + "." + field.name] = field.default_value;
      }
      return;
    }
    DataType dtype = ParseDType();
    if (!Is("[")) {
      AddScalar(name, dtype, span, &result);
      if (Expr value = ParseDefault(dtype)) result.defaults[name] = value;
      return;
    }
    Buffer buffer = ParseBufferType(name, dtype, span);
    if (symbols_.count(name))
      Fail(span, "'" + name + "' is used as an extent and cannot be a tensor");
    Define(name, {buffer->data, buffer});
    result.params.push_back({buffer->data, buffer});
  });
  in_params_ = false;
  return result;
}

void SignatureParser::AddScalar(const std::string& name, DataType dtype, const Span& span,
                                Params* params) {
  auto it = symbols_.find(name);
  if (it == symbols_.end()) {
    Define(name, {Var(name, dtype, span), {}});
    it = symbols_.find(name);
  }
  if (!it->second.var) Fail(span, "'" + name + "' is a parameter of the template");
  if (it->second.var.dtype() != dtype)
    Fail(span, "'" + name + "' is used as an extent, so it must be int64, not " + dtype.str());
  params->params.push_back({it->second.var, {}});
}

const SignatureParser::Struct* SignatureParser::FindStruct(const std::string& name) const {
  auto it = structs_.find(name);
  return it == structs_.end() ? nullptr : &it->second;
}

void SignatureParser::ParseStruct() {
  Next();
  Span span = Peek().span;
  std::string name = ExpectNewName("a struct's name");
  if (IsBuiltin(name)) Fail(span, "'" + name + "' is a name of the language");
  if (structs_.count(name)) Fail(span, "struct " + name + " is defined twice");
  ForgetSymbols();
  Expect("{");
  Struct fields;
  CommaList("}", [&] {
    Field field;
    field.span = Peek().span;
    field.name = ExpectNewName("a field's name");
    for (const Field& other : fields)
      if (other.name == field.name) Fail(field.span, "field " + field.name + " is given twice");
    Expect(":");
    if (FindStruct(Peek().text)) Fail(Peek().span, "a struct holds scalars, not other structs");
    field.dtype = ParseDType();
    if (Is("[")) Fail(field.span, "a struct holds scalars; a tensor is a parameter of its own");
    field.default_value = ParseDefault(field.dtype);
    fields.push_back(std::move(field));
  });
  if (fields.empty()) Fail(span, "struct " + name + " has no fields");
  structs_.emplace(name, std::move(fields));
}

}  // namespace tern::tir
