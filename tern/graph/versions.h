// SPDX-License-Identifier: Apache-2.0
//
// Versions of a graph: the same model for extents that are known when compiling, as
// `--dim tokens=1,64,1..512` asks for. A module has them beside the graph, whose parameters they
// have under more constant shapes:
//
//   graph main(x: float32[tokens, 4]) attrs {dim_ranges = [["tokens", 1, 512]]} { ... }
//   graph main_v1(x: float32[64, 4]) attrs {version_of = "main"} { ... }
//
// The program takes the first version whose extents the inputs have, those with the most constant
// extents first, else the graph itself. With `versions_only` the graph tells the inputs alone.
#ifndef TERN_GRAPH_VERSIONS_H_
#define TERN_GRAPH_VERSIONS_H_

#include <string>
#include <vector>

#include "tern/graph/function.h"

namespace tern::graph {

namespace attr {
inline constexpr const char* kVersionOf = "version_of";
inline constexpr const char* kVersionsOnly = "versions_only";
}  // namespace attr

// More would take long to compile.
inline constexpr size_t kMaxVersions = 16;

// The name of the graph that it is a version of; "" where it is none.
std::string VersionOf(const Function& function);
// In the order in which a program tries them. Throws where a version does not fit the graph.
std::vector<Function> VersionsOf(const ir::IRModule& module, const Function& function);
bool IsVersionsOnly(const Function& function);

// What the inputs have to be for a version, over the extents of the graph.
Expr ConditionOf(const Function& version, const Function& function);

// Constants of graphs that are equal become one, as the weights of versions are after each of them
// was folded by itself.
ir::IRModule ShareConstants(const ir::IRModule& module);

}  // namespace tern::graph

#endif  // TERN_GRAPH_VERSIONS_H_
