// SPDX-License-Identifier: Apache-2.0
//
// tern opt: text IR in, passes, text IR out.
#include <cstdio>

#include "tern/ir/pass.h"
#include "tern/target/target.h"
#include "tern/tir/analysis/verify.h"
#include "tern/tir/text.h"
#include "tools/tern/commands.h"

namespace tern::tools {
void Opt(const OptOptions& options) {
  if (options.list) {
    for (const std::string& name : ir::PassNames())
      std::printf("%-20s %s\n", name.c_str(), ir::GetPass(name).description.c_str());
    return;
  }
  TERN_CHECK(!options.input.empty()) << "opt: no input file; see tern opt --help";
  ir::IRModule module = tir::ParseFile(options.input);
  if (!options.target.empty()) {
    target::Target target = target::Target::Parse(options.target);
    module = tir::MapFunctions(module, [&](const tir::PrimFunc& function) {
      return function.WithAttr(tir::attr::kTarget, target);
    });
  }
  std::vector<std::pair<std::string, double>> timing;
  ir::PassOptions pass_options;
  pass_options.print_after = options.print_after;
  pass_options.print = [](const ir::IRModule& module, const std::string& pass) {
    std::fprintf(stderr, "# after %s\n%s\n", pass.c_str(), tir::PrintModule(module).c_str());
  };
  if (!options.no_verify)
    pass_options.verify = [](const ir::IRModule& module, const std::string& pass) {
      if (pass.empty()) return tir::Verify(module);
      WithContext("verifying what pass " + pass + " made", [&] { tir::Verify(module); });
    };
  pass_options.timing = &timing;
  module = ir::RunPasses(module, options.passes, pass_options);
  std::fputs(tir::PrintModule(module).c_str(), stdout);
  if (options.timing)
    for (const auto& [name, seconds] : timing)
      std::fprintf(stderr, "%-20s %8.3f ms\n", name.c_str(), 1e3 * seconds);
}

}  // namespace tern::tools
