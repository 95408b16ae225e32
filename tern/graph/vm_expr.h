// SPDX-License-Identifier: Apache-2.0
//
// Extents as a program computes them.
#ifndef TERN_GRAPH_VM_EXPR_H_
#define TERN_GRAPH_VM_EXPR_H_

#include <unordered_map>
#include <vector>

#include "tern/ir/expr.h"
#include "tern/runtime/vm/program.h"

namespace tern::graph {

// The int registers that hold variables.
using DimRegisters = std::unordered_map<const ir::VarNode*, uint32_t>;

// Whether a register holds each variable of the expression.
bool IsKnownIn(const DimRegisters& dims, const ir::Expr& expr);

// Throws where a program cannot compute it.
runtime::vm::IntExpr ToVm(const DimRegisters& dims, const ir::Expr& expr);
std::vector<runtime::vm::IntExpr> ToVm(const DimRegisters& dims,
                                       const std::vector<ir::Expr>& shape);

}  // namespace tern::graph

#endif  // TERN_GRAPH_VM_EXPR_H_
