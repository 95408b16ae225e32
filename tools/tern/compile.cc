// SPDX-License-Identifier: Apache-2.0
//
// tern compile: a .tir file to a file that the runtime loads, or that another tool takes.
#include "tern/compile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tern/codegen/device_hooks.h"
#include "tern/codegen/export.h"
#include "tern/compile_model.h"
#include "tern/runtime/file_bytes.h"
#include "tern/runtime/npy.h"
#include "tern/runtime/vm/text.h"
#include "tools/run_report.h"
#include "tools/tern/commands.h"
#include "tools/tern/source.h"

namespace tern::tools {
namespace {

// The target once for every host. A host target is its own first host.
std::vector<target::Target> TargetsOf(const CompileOptions& options) {
  using target::Target;
  Target target = options.target.empty() ? Target::DefaultHost() : Target::Parse(options.target);
  std::vector<Target> targets;
  if (!target->is_device() || options.hosts.empty()) targets.push_back(target);
  for (const std::string& host : options.hosts) {
    if (target->is_device()) {
      targets.push_back(Target::Parse(options.target, host));
      continue;
    }
    targets.push_back(Target::Parse(host));
    TERN_CHECK(!targets.back()->is_device()) << "--host " << host << " is a device, not a host";
  }
  return targets;
}

struct NamedHook {
  std::string option, path;
  std::unique_ptr<codegen::HookLibrary> library;
};

std::vector<NamedHook> LoadHooks(const CompileOptions& options) {
  using Part = codegen::HookLibrary::Part;
  std::vector<NamedHook> hooks;
  auto load = [&](const char* option, Part part, const std::string& path) {
    if (path.empty()) return;
    try {
      hooks.push_back({option, path, std::make_unique<codegen::HookLibrary>(part, path)});
    } catch (const Error& error) {
      throw Error(error.kind(), std::string(option) + " " + error.message());
    }
  };
  load("--postproc", Part::kPostproc, options.postproc);
  load("--compile-hook", Part::kCompile, options.compile_hook);
  return hooks;
}

// The program of a model with its weights, which `files` hold.
codegen::ModelContents ReadModel(const CompileOptions& options,
                                 std::vector<runtime::Tensor>* files) {
  codegen::ModelContents model;
  model.program = runtime::vm::ParseProgram(
      runtime::ReadFile(options.program, runtime::kMostTextBytes), options.program);
  for (const std::string& text : options.weights) {
    auto [name, path] = SplitAssignment("--weight", text);
    files->push_back(runtime::ReadNpy(path));
    const runtime::Tensor& tensor = files->back();
    model.weights.push_back(
        {name, tensor->dtype(), tensor->shape(), {tensor.as<char>(), tensor->num_bytes()}});
  }
  return model;
}

// "2.9 MB"
std::string BytesText(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), bytes < 1000000 ? "%.0f KB" : "%.1f MB",
                static_cast<double>(bytes) / (bytes < 1000000 ? 1e3 : 1e6));
  return text;
}

// A graph: its kernels, program and weights in one file.
void CompileGraph(const CompileOptions& options, const ir::IRModule& module) {
  std::vector<target::Target> targets = TargetsOf(options);
  TERN_CHECK(targets.size() == 1) << "--host: a model is compiled for one host";
  TERN_CHECK(options.output.ends_with(".so") || options.output.ends_with(".tern"))
      << "-o " << options.output << ": a model is a .so or .tern file";
  auto start = std::chrono::steady_clock::now();
  ModelOptions model_options;
  model_options.bounds_checks = options.bounds_checks;
  model_options.default_schedules = options.default_schedules;
  model_options.fuse = options.fuse;
  model_options.strict_math = options.strict_math;
  CompiledModel model = CompileModel(module, targets[0], model_options);
  codegen::ModelContents contents{model.program, {}};
  uint64_t bytes = 0;
  for (const ir::Constant& constant : model.weights) {
    auto it = std::find_if(model.program.constants.begin(), model.program.constants.end(),
                           [&](const auto& one) { return one.name == constant->name; });
    contents.weights.push_back({constant->name, constant->dtype, it->shape, constant->data()});
    bytes += constant->data().size();
  }
  codegen::ExportOptions export_options{options.keep_source};
  export_options.model = &contents;
  codegen::Export({model.module}, model.meta, options.output, export_options);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("%s: %zu calls of %zu kernels, %s of weights, %.1f s\n", options.output.c_str(),
              model.calls.size(), model.program.kernels.size(), BytesText(bytes).c_str(), seconds);
}

}  // namespace

void Compile(const CompileOptions& options) {
  TERN_CHECK(options.weights.empty() || !options.program.empty())
      << "--weight is for models: there is no --program";
  ir::IRModule module =
      ReadSource(options.input, ParseImportOptions(options.input_shapes, options.dims));
  if (IsModel(module)) return CompileGraph(options, module);
  tern::CompileOptions compile_options;
  compile_options.bounds_checks = options.bounds_checks;
  compile_options.default_schedules = options.default_schedules;
  std::vector<target::Target> targets = TargetsOf(options);
  // Machines differ in what they prepack, and functions are described once for all.
  using Prepacking = tern::CompileOptions::Prepack;
  TERN_CHECK(targets.size() == 1 || options.prepack.empty() || options.prepack == "none")
      << "--prepack " << options.prepack << ": a file for several hosts has no prepacked functions";
  compile_options.prepack = targets.size() > 1 || options.prepack == "none" ? Prepacking::kNone
                            : options.prepack == "only"                     ? Prepacking::kOnly
                                                                            : Prepacking::kBeside;
  std::vector<NamedHook> hooks = LoadHooks(options);
  std::vector<ffi::Module> compiled;
  runtime::ArtifactMeta meta;
  std::vector<std::string> hosts;
  for (const target::Target& target : targets) {
    PrepackedModule prepacked = Prepack(module, target, compile_options);
    compiled.push_back(tern::Compile(prepacked, compile_options));
    if (hosts.empty()) meta = std::move(prepacked.meta);
    hosts.push_back((target->is_device() ? target->host : target)->str());
  }
  meta.hosts = std::move(hosts);
  for (const NamedHook& hook : hooks)
    TERN_CHECK(hook.library->calls() > 0)
        << hook.option << " " << hook.path << ": nothing asked for it: target " << targets[0]->str()
        << " makes no code of a device that this hook is for (docs/hooks.md)";
  codegen::ExportOptions export_options{options.keep_source};
  std::vector<runtime::Tensor> files;
  std::optional<codegen::ModelContents> model;
  if (!options.program.empty()) model = ReadModel(options, &files);
  export_options.model = model ? &*model : nullptr;
  codegen::Export(compiled, std::move(meta), options.output, export_options);
}

}  // namespace tern::tools
