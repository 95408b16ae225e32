// SPDX-License-Identifier: Apache-2.0
//
// tern compile: a .tir file to a .so or .tern file.
#include "tern/compile.h"

#include <cstdio>

#include "tern/codegen/export.h"
#include "tern/tir/text.h"
#include "tools/tern/commands.h"

namespace tern::tools {
namespace {

struct Options {
  std::string input, output, target, host;
  bool keep_source = false;
};

void Run(const Options& options) {
  ir::IRModule module = tir::ParseFile(options.input);
  target::Target target = options.target.empty() ? target::Target::DefaultHost()
                                                 : target::Target::Parse(options.target, options.host);
  ffi::Module compiled = Compile(module, target);
  codegen::Export(compiled, DescribeModule(module, target), options.output, {options.keep_source});
}

}  // namespace

void AddCompileCommand(CLI::App* app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app->add_subcommand("compile", "compile a .tir file for a target");
  command->add_option("input", options->input, ".tir file")->required();
  command->add_option("-t,--target", options->target, "target, as in \"llvm -mcpu=native\"; tern targets lists them");
  command->add_option("--host", options->host, "host target, for a device target");
  command->add_option("-o,--output", options->output, "file to write: x.so or x.tern")->required();
  command->add_flag("--keep-source", options->keep_source, "store readable forms of the device code too");
  command->callback([options] { Run(*options); });
}

}  // namespace tern::tools
