// SPDX-License-Identifier: Apache-2.0
//
// Specialization at run time (runtime/vm/specializer.h) by the compiler: a model with dynamic
// extents is compiled again for extents that come. What it compiles is kept on disk function by
// function, as all that is compiled (codegen/compiled_function.h), so the next process links what
// this one made.
#ifndef TERN_SPECIALIZE_MODEL_H_
#define TERN_SPECIALIZE_MODEL_H_

#include <memory>
#include <optional>

#include "tern/compile_model.h"
#include "tern/runtime/vm/specializer.h"

namespace tern {

// For the graph `main` of a module, as it is imported, of which `general` was compiled for this
// target with these options. Null without `when` (Specializer::Parse), and where there is nothing
// to specialize.
std::shared_ptr<runtime::vm::Specializer> MakeSpecializer(
    std::optional<runtime::vm::Specializer::When> when, const ir::IRModule& module,
    const target::Target& target, const ModelOptions& options,
    const std::shared_ptr<const runtime::vm::Model>& general);

}  // namespace tern

#endif  // TERN_SPECIALIZE_MODEL_H_
