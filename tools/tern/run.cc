// SPDX-License-Identifier: Apache-2.0
//
// tern run: compile in memory where needed, fill the inputs, call, compare, report.
#include <cstdio>

#include "tern/codegen/load_linkable.h"
#include "tern/compile.h"
#include "tern/ffi/registry.h"
#include "tern/runtime/npy.h"
#include "tern/tir/text.h"
#include "tools/tern/commands.h"
#include "tools/tern/reference.h"

namespace tern::tools {
namespace {

struct Options {
  std::string input, target, host, entry, check;
  std::vector<std::string> inputs, dims, outputs;
  uint64_t seed = 0;
  int repeat = 1;
};

// "name=value" -> (name, value)
std::pair<std::string, std::string> SplitPair(const std::string& flag, const std::string& text) {
  size_t equal = text.find('=');
  TERN_CHECK(equal != std::string::npos && equal > 0) << flag << " " << text << ": expected NAME=VALUE";
  return {text.substr(0, equal), text.substr(equal + 1)};
}

runtime::RunOptions MakeRunOptions(const Options& options) {
  runtime::RunOptions run;
  run.seed = options.seed;
  run.repeat = options.repeat;
  for (const std::string& text : options.inputs) run.inputs.insert(SplitPair("--input", text));
  for (const std::string& text : options.dims) {
    auto [name, value] = SplitPair("--dim", text);
    char* end = nullptr;
    int64_t number = std::strtoll(value.c_str(), &end, 10);
    TERN_CHECK(!value.empty() && *end == '\0' && number >= 0) << "--dim " << text << ": expected a number, 0 or more";
    run.dims[name] = number;
  }
  return run;
}

// What is run: a module with the description of its functions, and their source where there is one.
struct Program {
  ir::IRModule source;
  ffi::Module module;
  runtime::ArtifactMeta meta;
  std::string where;  // "opencl:0", or the kind of a host target
};

Program Load(const Options& options) {
  Program program;
  if (options.input.ends_with(".so") || options.input.ends_with(".tern")) {
    TERN_CHECK(options.target.empty()) << "--target: " << options.input << " is compiled already";
    runtime::Artifact artifact = runtime::Artifact::Open(options.input);
    program.meta = artifact.meta();
    program.module = artifact.Load();
    program.where = program.meta.device + ":0";
    return program;
  }
  target::Target target = options.target.empty() ? target::Target::DefaultHost()
                                                 : target::Target::Parse(options.target, options.host);
  program.source = tir::ParseFile(options.input);
  program.meta = DescribeModule(program.source, target);
  program.module = codegen::LoadLinkable(Compile(program.source, target));
  program.where = target->is_device() ? program.meta.device + ":0" : target->kind->name;
  return program;
}

std::vector<runtime::FunctionInfo> Chosen(const Program& program, const std::string& entry) {
  if (entry.empty()) return program.meta.functions;
  std::vector<std::string> names;
  for (const runtime::FunctionInfo& info : program.meta.functions) {
    if (info.name == entry) return {info};
    names.push_back(info.name);
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  TERN_THROW(ValueError) << "there is no function " << entry << ffi::DidYouMean(entry, names)
                         << "; the functions are: " << list;
}

void WriteOutputs(const Options& options, const runtime::FunctionInfo& info, const runtime::RunResult& result) {
  for (const std::string& text : options.outputs) {
    auto [name, path] = SplitPair("--output", text);
    bool found = false;
    for (size_t i = 0; i < info.params.size(); ++i) {
      if (info.params[i].name != name || !info.params[i].is_tensor) continue;
      runtime::WriteNpy(path, result.args[i]);
      found = true;
    }
    TERN_CHECK(found) << "--output " << text << ": " << info.name << " has no tensor " << name;
  }
}

std::string TimeText(double seconds) {
  char text[32];
  if (seconds < 1e-3)
    std::snprintf(text, sizeof text, "%.2f us", 1e6 * seconds);
  else
    std::snprintf(text, sizeof text, "%.2f ms", 1e3 * seconds);
  return text;
}

int Run(const Options& options) {
  TERN_CHECK(options.check.empty() || options.check == "interp")
      << "--check " << options.check << ": expected interp (tern-run compares with .npy files)";
  Program program = Load(options);
  TERN_CHECK(options.check.empty() || program.source) << "--check interp needs the .tir file, not a compiled one";
  runtime::RunOptions run = MakeRunOptions(options);
  int exit_code = 0;
  for (const runtime::FunctionInfo& info : Chosen(program, options.entry)) {
    ffi::Function function = program.module->GetFunction(info.name);
    runtime::RunResult result = runtime::RunFunction(function, info, program.meta.device, run);
    std::string line = info.name + "  " + program.where;
    for (const auto& [name, value] : result.dims) line += "  " + name + "=" + std::to_string(value);
    line += "  " + TimeText(result.best_seconds);
    if (!options.check.empty()) {
      Comparison comparison = CompareResults(info, result, RunReference(program.source, info, run));
      char text[96];
      std::snprintf(text, sizeof text, "  max error %.2g (relative %.2g)  %s", comparison.error.absolute,
                    comparison.error.relative, comparison.within_tolerance ? "ok" : "TOO LARGE");
      line += text;
      if (!comparison.within_tolerance) exit_code = 1;
    }
    std::printf("%s\n", line.c_str());
    WriteOutputs(options, info, result);
  }
  return exit_code;
}

}  // namespace

void AddRunCommand(CLI::App* app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app->add_subcommand("run", "run the functions of a .tir, .so or .tern file");
  command->add_option("input", options->input, ".tir, .so or .tern file")->required();
  command->add_option("-t,--target", options->target, "target for a .tir file; tern targets lists them");
  command->add_option("--host", options->host, "host target, for a device target");
  command->add_option("--entry", options->entry, "function to run (default: all)");
  command->add_option("--dim", options->dims, "NAME=N: value of a symbolic extent or integer parameter (default: 128)");
  command->add_option("--input", options->inputs, "NAME=file.npy|random|ones|zeros (default: random)");
  command->add_option("--output", options->outputs, "NAME=file.npy: write a tensor after the call");
  command->add_option("--check", options->check, "interp: compare with the interpreter");
  command->add_option("--repeat", options->repeat, "number of timed calls")->check(CLI::Range(1, 1000000));
  command->add_option("--seed", options->seed, "of the random inputs");
  command->callback([options, exit_code] { *exit_code = Run(*options); });
}

}  // namespace tern::tools
