// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/source.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>

#include "tern/compile.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/graph/function.h"
#include "tern/runtime/artifact/npy.h"
#include "tern/tir/default_arguments.h"
#include "tern/tir/parse_unsaved.h"
#include "tern/tir/text.h"
#include "tools/run_report.h"

namespace tern::tools {

target::Target ParseTarget(const std::string& target, const std::string& host) {
  return target.empty() ? target::Target::DefaultHost() : target::Target::Parse(target, host);
}

namespace {

// "gemm[float16, 64]" as an item of a .tir file: func gemm_float16_64 = gemm[float16, 64]
std::string InstanceItem(const std::string& text) {
  if (text.find('=') != std::string::npos) return "func " + text + "\n";
  std::string name;
  for (char c : text) {
    bool is_word = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    if (is_word)
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return "func " + name + " = " + text + "\n";
}

// The name of a file, and the items that the instances behind it are.
std::pair<std::string, std::string> SplitInstances(const std::string& path) {
  constexpr std::string_view kEnding = ".tir:";
  size_t ending = path.find(kEnding);
  if (ending == std::string::npos && !path.starts_with("-:")) return {path, ""};
  size_t colon = ending == std::string::npos ? 1 : ending + kEnding.size() - 1;
  std::istringstream instances(path.substr(colon + 1));
  std::string items;
  for (std::string instance; std::getline(instances, instance, ':');)
    items += InstanceItem(instance);
  return {path.substr(0, colon), items};
}

}  // namespace

ir::IRModule ReadSource(const std::string& input, const frontend::onnx::ImportOptions& options) {
  Initialize();
  auto [path, items] = SplitInstances(input);
  if (path.ends_with(".onnx"))
    return frontend::onnx::Import(frontend::onnx::ReadModel(path), options);
  TERN_CHECK(options.input_shapes.empty() && options.dims.empty())
      << path << ": shapes are given for .onnx files; a .tir file has them in its text";
  if (path == "-") {
    std::stringstream text;
    text << std::cin.rdbuf();
    return tir::ParseModule("<stdin>", text.str() + items);
  }
  return tir::ParseFileWith(path, items);
}

void AddDefaultArguments(const ir::IRModule& module, const std::string& function,
                         runtime::RunOptions* run) {
  if (!module) return;
  auto found = module->functions.find(function);
  tir::PrimFunc source =
      found == module->functions.end() ? tir::PrimFunc() : tir::IfPrimFunc(found->second);
  if (!source) return;
  for (const auto& [name, value] : tir::DefaultsOf(source))
    if (!run->dims.count(name)) run->inputs.emplace(name, value);
}

namespace {

using Version = frontend::onnx::ImportOptions::Version;
using Shape = std::vector<int64_t>;

// "1,3,?,192": -1 is what the model leaves open. By input, in the order in which they are given.
std::map<std::string, std::vector<Shape>> ParseShapes(const std::vector<std::string>& texts) {
  std::map<std::string, std::vector<Shape>> shapes;
  for (const std::string& text : texts) {
    auto [name, list] = SplitAssignment("--input-shape", text);
    std::istringstream extents(list);
    Shape shape;
    for (std::string extent; std::getline(extents, extent, ',');)
      shape.push_back(extent == "?" ? -1 : ParseInteger("--input-shape", extent));
    std::vector<Shape>& known = shapes[name];
    if (std::find(known.begin(), known.end(), shape) == known.end()) known.push_back(shape);
  }
  return shapes;
}

// Open where the shapes differ.
Shape CommonShape(const std::string& name, const std::vector<Shape>& shapes) {
  Shape common = shapes[0];
  for (const Shape& shape : shapes) {
    TERN_CHECK(shape.size() == common.size())
        << "--input-shape " << name << ": the shapes have " << common.size() << " and "
        << shape.size() << " extents";
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] != common[i]) common[i] = -1;
  }
  return common;
}

struct DimChoices {
  std::vector<int64_t> values;
  std::optional<std::pair<int64_t, int64_t>> range;
};

// "1,64,1..512"
DimChoices ParseDim(const std::string& text, const std::string& list) {
  DimChoices choices;
  std::istringstream parts(list);
  for (std::string part; std::getline(parts, part, ',');) {
    size_t dots = part.find("..");
    if (dots == std::string::npos) {
      int64_t value = ParseInteger("--dim", part);
      TERN_CHECK(value >= 0) << "--dim " << text << ": an extent is not negative";
      if (std::find(choices.values.begin(), choices.values.end(), value) == choices.values.end())
        choices.values.push_back(value);
      continue;
    }
    TERN_CHECK(!choices.range) << "--dim " << text << " has two ranges; one is legal";
    choices.range = {ParseInteger("--dim", part.substr(0, dots)),
                     ParseInteger("--dim", part.substr(dots + 2))};
    TERN_CHECK(choices.range->first >= 0 && choices.range->first <= choices.range->second)
        << "--dim " << text << ": a range is LEAST..MOST, as 1..512";
  }
  TERN_CHECK(!choices.values.empty() || choices.range)
      << "--dim " << text << ": expected extents, as in --dim tokens=1,64,1..512";
  return choices;
}

// Each version with each choice.
template <class T, class F>
std::vector<Version> Combined(const std::vector<Version>& versions, const std::vector<T>& choices,
                              F set) {
  std::vector<Version> result;
  for (const Version& version : versions)
    for (const T& choice : choices) {
      result.push_back(version);
      set(&result.back(), choice);
    }
  return result;
}

}  // namespace

frontend::onnx::ImportOptions ParseImportOptions(const std::vector<std::string>& input_shapes,
                                                 const std::vector<std::string>& dims, bool freeze,
                                                 const std::vector<std::string>& bound) {
  frontend::onnx::ImportOptions options;
  for (const std::string& text : bound) {
    auto [name, value] = SplitAssignment("--bind", text);
    double number = 0;
    std::from_chars_result end = std::from_chars(value.data(), value.data() + value.size(), number);
    TERN_CHECK(end.ec == std::errc() && end.ptr == value.data() + value.size())
        << "--bind " << text << ": expected a number, as in --bind sr=16000";
    options.scalars[name] = number;
  }
  if (freeze) options.overridable.emplace();
  std::vector<Version> versions = {{}};
  for (const auto& [name, shapes] : ParseShapes(input_shapes)) {
    if (shapes.size() == 1) {
      options.input_shapes[name] = shapes[0];
      continue;
    }
    versions = Combined(versions, shapes, [&name = name](Version* version, const auto& shape) {
      version->input_shapes[name] = shape;
    });
    options.input_shapes[name] = CommonShape(name, shapes);
    options.versions_only = true;
  }
  for (const std::string& text : dims) {
    auto [name, list] = SplitAssignment("--dim", text);
    TERN_CHECK(!options.dims.contains(name) && !options.ranges.contains(name))
        << "--dim " << name << " is given twice; several extents are one list, as in --dim " << name
        << "=1,64,1..512";
    DimChoices choices = ParseDim(text, list);
    if (choices.range) options.ranges[name] = *choices.range;
    if (choices.values.size() == 1 && !choices.range) {
      options.dims[name] = choices.values[0];
      continue;
    }
    if (choices.values.empty()) continue;
    // Where there is a range, a version may leave the extent open.
    std::vector<std::optional<int64_t>> values(choices.values.begin(), choices.values.end());
    if (choices.range) values.emplace_back();
    versions = Combined(versions, values, [&name = name](Version* version, const auto& value) {
      if (value) version->dims[name] = *value;
    });
    options.versions_only = options.versions_only || !choices.range;
  }
  for (Version& version : versions)
    if (!version.dims.empty() || !version.input_shapes.empty())
      options.versions.push_back(std::move(version));
  return options;
}

frontend::onnx::ImportOptions ImportOptionsFor(const std::vector<std::string>& input_shapes,
                                               const std::vector<std::string>& dims,
                                               const std::vector<std::string>& inputs) {
  frontend::onnx::ImportOptions options = ParseImportOptions(input_shapes, dims);
  options.overridable.emplace();  // others are better as constants
  for (const std::string& text : inputs) {
    auto [name, value] = SplitAssignment("--input", text);
    options.overridable->insert(name);
    if (value.ends_with(".npy") && !options.input_shapes.contains(name))
      options.input_shapes[name] = runtime::ReadNpy(value)->shape();
  }
  return options;
}

bool IsModel(const ir::IRModule& module) {
  auto it = module->functions.find("main");
  return it != module->functions.end() && graph::AsGraph(it->second);
}

}  // namespace tern::tools
