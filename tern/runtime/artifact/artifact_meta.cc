// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <unordered_set>

#include "tern/ffi/json.h"
#include "tern/ffi/text.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/artifact/value_reader.h"

namespace tern::runtime {
namespace {

ffi::Any Texts(const std::vector<std::string>& texts) {
  return ffi::MakeArray({texts.begin(), texts.end()});
}
ffi::Any Numbers(const std::vector<int>& numbers) {
  return ffi::MakeArray({numbers.begin(), numbers.end()});
}

ffi::Any WriteParam(const ParamInfo& param) {
  return ffi::MakeMap({{"name", param.name},
                       {"dtype", param.dtype.str()},
                       {"is_tensor", param.is_tensor},
                       {"shape", Texts(param.shape)},
                       {"strides", Texts(param.strides)},
                       {"is_output", param.is_output}});
}

ParamInfo ReadParam(const ValueReader& value) {
  ParamInfo param;
  param.name = value.Field("name").Text();
  param.dtype = value.Field("dtype").Type();
  param.is_tensor = value.Field("is_tensor").Flag();
  for (const ValueReader& extent : value.Field("shape").Items())
    param.shape.push_back(extent.Text());
  for (const ValueReader& stride : value.Field("strides").Items())
    param.strides.push_back(stride.Text());
  param.is_output = value.Field("is_output").Flag();
  value.ExpectOnly({"name", "dtype", "is_tensor", "shape", "strides", "is_output"});
  if (param.name.empty()) value.Fail("the name is empty");
  if (!param.is_tensor && (!param.shape.empty() || param.is_output))
    value.Fail("a scalar has no shape and is no output");
  if (!param.strides.empty() && param.strides.size() != param.shape.size())
    value.Fail("there are " + std::to_string(param.strides.size()) + " strides for " +
               std::to_string(param.shape.size()) + " axes");
  return param;
}

FunctionInfo ReadFunction(const ValueReader& value) {
  FunctionInfo function;
  function.name = value.Field("name").Text();
  if (function.name.empty()) value.Fail("the name is empty");
  std::unordered_set<std::string> names;
  for (const ValueReader& item : value.Field("params").Items()) {
    function.params.push_back(ReadParam(item));
    if (!names.insert(function.params.back().name).second)
      item.Fail("a second parameter named " + function.params.back().name);
  }
  if (value.Has("device")) {
    function.device = value.Field("device").Text();
    if (function.device.empty()) value.Fail("the device is empty");
  }
  if (value.Has("prepare") || value.Has("prepared")) {
    function.prepare = value.Field("prepare").Text();
    function.prepared = value.Field("prepared").Text();
  }
  value.ExpectOnly({"name", "params", "device", "prepare", "prepared"});
  return function;
}

// The parts of a function are functions, and have no parts themselves.
void CheckParts(const ArtifactMeta& meta) {
  std::unordered_set<std::string_view> simple;
  for (const FunctionInfo& function : meta.functions)
    if (function.prepare.empty()) simple.insert(function.name);
  for (const FunctionInfo& function : meta.functions) {
    if (function.prepare.empty() && function.prepared.empty()) continue;
    for (const std::string& part : {function.prepare, function.prepared})
      TERN_CHECK(simple.contains(part)) << "meta.functions: " << function.name
                                        << " is prepared by '" << part << "', which is no function";
  }
}

std::vector<int> ReadIndices(const ValueReader& value, size_t count) {
  std::vector<int> indices;
  for (const ValueReader& item : value.Items()) {
    int64_t index = item.Int(0, std::numeric_limits<int>::max());
    if (index >= static_cast<int64_t>(count))
      item.Fail("import " + std::to_string(index) + " of " + std::to_string(count));
    indices.push_back(static_cast<int>(index));
  }
  return indices;
}

// From the root every import is reached, and reached once: no cycle, nothing shared, nothing lost.
// Trees are walked by recursion, so their depth is bounded.
void CheckTree(const ArtifactMeta& meta) {
  constexpr int kMaxDepth = 100;
  std::vector<bool> reached(meta.imports.size());
  std::vector<int> level = meta.root_imports, below;
  for (int depth = 1; !level.empty(); ++depth, level.swap(below)) {
    TERN_CHECK(depth <= kMaxDepth) << "meta.imports: nested deeper than " << kMaxDepth;
    below.clear();
    for (int index : level) {
      auto at = static_cast<size_t>(index);
      TERN_CHECK(!reached[at]) << "meta.imports: import " << index
                               << " is imported twice or imports itself";
      reached[at] = true;
      below.insert(below.end(), meta.imports[at].imports.begin(), meta.imports[at].imports.end());
    }
  }
  for (size_t i = 0; i < reached.size(); ++i)
    TERN_CHECK(reached[i]) << "meta.imports: import " << i << " is not reached from the root";
}

}  // namespace

const FunctionInfo& ArtifactMeta::Get(const std::string& function) const {
  for (const FunctionInfo& info : functions)
    if (info.name == function) return info;
  TERN_THROW(ValueError) << "there is no function " << function;
}

std::set<std::string> ArtifactMeta::PartNames() const {
  std::set<std::string> names;
  for (const FunctionInfo& function : functions)
    if (!function.prepare.empty()) names.insert({function.prepare, function.prepared});
  return names;
}

std::string SignatureText(const FunctionInfo& function) {
  std::string text = function.name + "(";
  for (size_t i = 0; i < function.params.size(); ++i) {
    const ParamInfo& param = function.params[i];
    text += (i ? ", " : "") + param.name + ": " + param.dtype.str();
    if (!param.is_tensor) continue;
    text += "[";
    for (size_t d = 0; d < param.shape.size(); ++d) text += (d ? ", " : "") + param.shape[d];
    text += param.strides.empty() ? "]" : "] strides(" + ffi::Join(param.strides) + ")";
    if (param.is_output) text += " (written)";
  }
  text += ")" + (function.device.empty() ? "" : " on " + function.device);
  if (function.prepare.empty()) return text;
  return text + ", or " + function.prepare + " once, then " + function.prepared;
}

std::string WriteMeta(const ArtifactMeta& meta) {
  std::vector<ffi::Any> functions, imports;
  for (const FunctionInfo& function : meta.functions) {
    std::vector<ffi::Any> params;
    for (const ParamInfo& param : function.params) params.push_back(WriteParam(param));
    ffi::Map map =
        ffi::MakeMap({{"name", function.name}, {"params", ffi::MakeArray(std::move(params))}});
    if (!function.device.empty()) map->items["device"] = function.device;
    if (!function.prepare.empty()) {
      map->items["prepare"] = function.prepare;
      map->items["prepared"] = function.prepared;
    }
    functions.push_back(map);
  }
  for (const ArtifactMeta::Import& import : meta.imports)
    imports.push_back(ffi::MakeMap({{"kind", import.kind}, {"imports", Numbers(import.imports)}}));
  return ffi::WriteJson(ffi::Any(ffi::MakeMap({
      {"tern_version", meta.tern_version},
      {"abi_version", meta.abi_version},
      {"target", meta.target},
      {"hosts", Texts(meta.hosts)},
      {"device", meta.device},
      {"functions", ffi::MakeArray(std::move(functions))},
      {"imports", ffi::MakeArray(std::move(imports))},
      {"root_imports", Numbers(meta.root_imports)},
  })));
}

ArtifactMeta ReadMeta(std::string_view json) {
  ValueReader value("meta", ffi::ParseJson(json));
  ArtifactMeta meta;
  meta.tern_version = value.Field("tern_version").Text();
  meta.abi_version = value.Field("abi_version").Int(1, std::numeric_limits<int64_t>::max());
  meta.target = value.Field("target").Text();
  for (const ValueReader& item : value.Field("hosts").Items()) meta.hosts.push_back(item.Text());
  meta.device = value.Field("device").Text();
  std::unordered_set<std::string> names;
  for (const ValueReader& item : value.Field("functions").Items()) {
    meta.functions.push_back(ReadFunction(item));
    if (!names.insert(meta.functions.back().name).second)
      item.Fail("a second function named " + meta.functions.back().name);
  }
  CheckParts(meta);
  std::vector<ValueReader> imports = value.Field("imports").Items();
  for (const ValueReader& item : imports) {
    ArtifactMeta::Import import{item.Field("kind").Text(),
                                ReadIndices(item.Field("imports"), imports.size())};
    item.ExpectOnly({"kind", "imports"});
    if (import.kind.empty()) item.Fail("the kind is empty");
    meta.imports.push_back(std::move(import));
  }
  meta.root_imports = ReadIndices(value.Field("root_imports"), imports.size());
  value.ExpectOnly({"tern_version", "abi_version", "target", "hosts", "device", "functions",
                    "imports", "root_imports"});
  CheckTree(meta);
  return meta;
}

}  // namespace tern::runtime
