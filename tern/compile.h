// SPDX-License-Identifier: Apache-2.0
//
// The one entry of the compiler.
#ifndef TERN_COMPILE_H_
#define TERN_COMPILE_H_

#include <string>
#include <vector>

#include "tern/ffi/module.h"
#include "tern/ir/pass.h"
#include "tern/runtime/artifact/artifact.h"
#include "tern/target/target.h"

namespace tern {

// Makes everything that is built in known: intrinsics, passes, target kinds. Once; every entry of
// the compiler calls it.
void Initialize();

struct CompileOptions : ir::PassOptions {
  // Host code raises an IndexError where an access is outside of its buffer (inject_bounds_checks).
  bool bounds_checks = false;
  // Functions without a schedule get one by the rules of the target (default_schedules).
  bool default_schedules = true;
  // What is compiled of a host function with constants, where something can be prepacked.
  enum class Prepack {
    kNone,    // the function as it is written
    kBeside,  // that, f_prepare and f_prepared
    kOnly,    // f_prepare and f_prepared, for callers that need no f
  };
  Prepack prepack = Prepack::kBeside;
};

// A module for one target, prepacked: what Compile takes, and how its functions are called once
// compiled. Scheduling for prepacking is done once for both.
struct PrepackedModule {
  ir::IRModule module;  // every function has its target; host functions have no constants
  target::Target target;
  runtime::ArtifactMeta meta;
  // Of functions of which only the parts are compiled (Prepack::kOnly): how they were called, and
  // what their parts are.
  std::vector<runtime::FunctionInfo> split;
};
PrepackedModule Prepack(const ir::IRModule& module, const target::Target& target,
                        const CompileOptions& options = {});

// The functions of such a module alone, none of which is code that was found on disk.
ir::IRModule SplitConstants(const ir::IRModule& module, const target::Target& target,
                            const CompileOptions& options = {});

// Lowers every function of `module` and generates code: the host module, with the device modules as
// imports. A function is for `target`, unless it names another device itself (attr::kTarget).
ffi::Module Compile(const PrepackedModule& prepacked, const CompileOptions& options = {});
ffi::Module Compile(const ir::IRModule& module, const target::Target& target,
                    const CompileOptions& options = {});

// The first half of Compile: what the code generators receive (docs/lowered_tir.md).
ir::IRModule Lower(const ir::IRModule& module, const target::Target& target,
                   const CompileOptions& options = {});

// A stretch of the passes that Lower runs: afterwards a property of the module holds that later
// phases rely on (docs/architecture.md). Passes of a target kind are the phase "target".
struct Phase {
  std::string name;
  std::vector<std::string> passes;
};
std::vector<Phase> LoweringPhases(const target::Target& target, const CompileOptions& options = {});
// The passes of all phases, in order.
std::vector<std::string> LoweringPasses(const target::Target& target,
                                        const CompileOptions& options = {});

// How the functions of a module are called once compiled for `target`: the description that Prepack
// gives.
runtime::ArtifactMeta DescribeModule(const ir::IRModule& module, const target::Target& target,
                                     const CompileOptions& options = {});

}  // namespace tern

#endif  // TERN_COMPILE_H_
