// SPDX-License-Identifier: Apache-2.0
#include "tools/tern/source.h"

#include <algorithm>
#include <iostream>
#include <sstream>

#include "tern/compile.h"
#include "tern/frontend/onnx/reader.h"
#include "tern/graph/function.h"
#include "tern/runtime/npy.h"
#include "tern/tir/text.h"
#include "tools/run_report.h"

namespace tern::tools {

target::Target ParseTarget(const std::string& target, const std::string& host) {
  return target.empty() ? target::Target::DefaultHost() : target::Target::Parse(target, host);
}

ir::IRModule ReadSource(const std::string& path, const frontend::onnx::ImportOptions& options) {
  Initialize();
  if (path.ends_with(".onnx"))
    return frontend::onnx::Import(frontend::onnx::ReadModel(path), options);
  TERN_CHECK(options.input_shapes.empty() && options.dims.empty())
      << path << ": shapes are given for .onnx files; a .tir file has them in its text";
  if (path == "-") {
    std::stringstream text;
    text << std::cin.rdbuf();
    return tir::ParseModule("<stdin>", text.str());
  }
  return tir::ParseFile(path);
}

frontend::onnx::ImportOptions ParseImportOptions(const std::vector<std::string>& input_shapes,
                                                 const std::vector<std::string>& dims,
                                                 bool freeze) {
  frontend::onnx::ImportOptions options;
  if (freeze) options.overridable.emplace();
  for (const std::string& text : input_shapes) {
    auto [name, shape] = SplitAssignment("--input-shape", text);
    std::istringstream extents(shape);
    std::vector<int64_t>& result = options.input_shapes[name];
    for (std::string extent; std::getline(extents, extent, ',');)
      result.push_back(ParseInteger("--input-shape", extent));
  }
  for (const std::string& text : dims) {
    auto [name, extent] = SplitAssignment("--dim", text);
    options.dims[name] = ParseInteger("--dim", extent);
  }
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
