// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_TIR_TRANSFORM_MEMORY_LOWER_ALLOCATIONS_H_
#define TERN_TIR_TRANSFORM_MEMORY_LOWER_ALLOCATIONS_H_

#include "tern/ir/diagnostic.h"
#include "tern/tir/stmt.h"

namespace tern::tir {

// Where memory comes from: an environment, and a device.
struct WorkspaceSource {
  Expr env;             // handle
  int32_t device_type;  // DLPack's code
  Expr device_id;       // int32
};

// The allocations of a function's host code: on the host, those of at most 4 KiB are in scope
// local, of constant size; all others, and on a device all that are there, come from the
// environment, and are given back where their scope ends. A function that returns with an error
// gives nothing back: its caller does. `function` is named in the error of an allocation that
// fails.
Stmt LowerAllocations(const Stmt& body, const WorkspaceSource& source, const std::string& function);

// The same for code without an environment: what is not in scope local is part of one allocation of
// scope global around the body, `workspace: uint8[N] align(64)`, which stands for memory that all
// functions of a module share. Reports an allocation whose size is not constant.
Stmt LowerStaticAllocations(const Stmt& body, const std::string& function,
                            ir::Diagnostics* diagnostics);

}  // namespace tern::tir

#endif  // TERN_TIR_TRANSFORM_MEMORY_LOWER_ALLOCATIONS_H_
