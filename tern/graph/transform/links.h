// SPDX-License-Identifier: Apache-2.0
#ifndef TERN_GRAPH_TRANSFORM_LINKS_H_
#define TERN_GRAPH_TRANSFORM_LINKS_H_

#include <unordered_map>

#include "tern/graph/builder.h"

namespace tern::graph {

// Which node makes a value, and how often it is used: as an input, or as a result.
struct Links {
  explicit Links(const Function& function) {
    ForEachNode(function, [&](const Node& node) {
      for (const Value& input : node->inputs) ++uses[input.get()];
      for (const Value& output : node->outputs) makers[output.get()] = node;
      for (const ir::BaseFunc& region : node->regions)
        for (const Value& result : AsGraph(region)->results) ++uses[result.get()];
    });
    for (const Value& result : function->results) ++uses[result.get()];
  }

  std::unordered_map<const ValueNode*, int> uses;
  std::unordered_map<const ValueNode*, Node> makers;
};

}  // namespace tern::graph

#endif  // TERN_GRAPH_TRANSFORM_LINKS_H_
