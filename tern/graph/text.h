// SPDX-License-Identifier: Apache-2.0
//
// The text form of graphs, docs/graph.md. Whatever is printed is read back to the same graph.
#ifndef TERN_GRAPH_TEXT_H_
#define TERN_GRAPH_TEXT_H_

#include <string>

#include "tern/graph/function.h"
#include "tern/tir/expr_parser.h"

namespace tern::graph {

std::string PrintGraph(const Function& function);
// From the keyword on. Types of nodes may be left out; where they are there, they are compared with
// what is inferred.
Function ParseGraph(tir::ExprParser& parser);

}  // namespace tern::graph

#endif  // TERN_GRAPH_TEXT_H_
