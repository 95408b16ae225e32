// SPDX-License-Identifier: Apache-2.0
//
// What a run leaves out that gives some of a model's outputs.
#ifndef TERN_RUNTIME_VM_SELECT_OUTPUTS_H_
#define TERN_RUNTIME_VM_SELECT_OUTPUTS_H_

#include <vector>

#include "tern/runtime/artifact/artifact.h"
#include "tern/runtime/vm/program.h"

namespace tern::runtime::vm {

struct Selection {
  std::vector<bool> wanted;          // by output
  std::vector<bool> skipped;         // by instruction of main: no wanted output needs it
  std::vector<bool> needed_tensors;  // by tensor register of main; others hold nothing
};

// Of a verified program. Dead code elimination without regard to the order of instructions: checks,
// registered functions and branches are always run, with all that they need.
Selection SelectOutputs(const Program& program, const std::vector<FunctionInfo>& functions,
                        const std::vector<bool>& wanted);

}  // namespace tern::runtime::vm

#endif  // TERN_RUNTIME_VM_SELECT_OUTPUTS_H_
