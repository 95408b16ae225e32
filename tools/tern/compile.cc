// SPDX-License-Identifier: Apache-2.0
//
// tern compile: a .tir file to a .so or .tern file.
#include "tern/compile.h"

#include <cstdio>

#include "tern/codegen/export.h"
#include "tern/tir/text.h"
#include "tools/tern/commands.h"

namespace tern::tools {
void Compile(const CompileOptions& options) {
  ir::IRModule module = tir::ParseFile(options.input);
  target::Target target = options.target.empty()
                              ? target::Target::DefaultHost()
                              : target::Target::Parse(options.target, options.host);
  tern::CompileOptions compile_options;
  compile_options.bounds_checks = options.bounds_checks;
  ffi::Module compiled = tern::Compile(module, target, compile_options);
  codegen::Export(compiled, DescribeModule(module, target), options.output, {options.keep_source});
}

}  // namespace tern::tools
