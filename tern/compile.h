// SPDX-License-Identifier: Apache-2.0
//
// The one entry of the compiler.
#ifndef TERN_COMPILE_H_
#define TERN_COMPILE_H_

#include <string>
#include <vector>

#include "tern/ffi/module.h"
#include "tern/ir/pass.h"
#include "tern/runtime/artifact.h"
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
  // Functions of hosts with constants are compiled in two parts too (WithPreparation).
  bool prepare_constants = true;
};

// The module as Compile takes it: functions of hosts that say which of their parameters
// are constant have beside them, where that is of use, a function that makes what they need of
// these and one that does the rest (split_preparation), both scheduled. No function says what is
// constant any more, so that doing it again adds nothing.
ir::IRModule WithPreparation(const ir::IRModule& module, const target::Target& target,
                             const CompileOptions& options = {});

// Lowers every function of `module` and generates code: the host module, with the device modules as
// imports. A function is for `target`, unless it names another device itself (attr::kTarget).
ffi::Module Compile(const ir::IRModule& module, const target::Target& target,
                    const CompileOptions& options = {});

// The first half of Compile: what the code generators receive (docs/lowered_tir.md).
ir::IRModule Lower(const ir::IRModule& module, const target::Target& target,
                   const CompileOptions& options = {});

// The passes that Lower runs, in order.
std::vector<std::string> LoweringPasses(const target::Target& target,
                                        const CompileOptions& options = {});

// How the functions of a module are called once compiled for `target`: as they are written, and
// those that WithPreparation adds.
runtime::ArtifactMeta DescribeModule(const ir::IRModule& module, const target::Target& target,
                                     const CompileOptions& options = {});

}  // namespace tern

#endif  // TERN_COMPILE_H_
