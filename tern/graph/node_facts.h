// SPDX-License-Identifier: Apache-2.0
//
// What the formulas of a node say about how it can run.
#ifndef TERN_GRAPH_NODE_FACTS_H_
#define TERN_GRAPH_NODE_FACTS_H_

#include <unordered_map>
#include <vector>

#include "tern/graph/function.h"

namespace tern::graph {

struct NodeFacts {
  std::vector<bool> read;    // of its inputs; of the others the shape or the content was enough
  bool elementwise = false;  // one result, each element from one of each input
  bool reduces = false;      // one result: reductions, and what is computed of them by element
  bool chooses = false;      // one result: elements from where a condition or an index says
  bool moves_rows = false;   // one result: elements of one input, rows of it in another order

  // A result that is elements of an input, in their order and without gaps: nothing has to be
  // computed.
  struct View {
    size_t input = 0;
    int64_t offset = 0;  // in elements
    bool whole = false;  // all elements of the input
  };
  // For each of the outputs; empty where one of them is no view.
  std::vector<View> views;
};

NodeFacts FactsOf(const Node& node);

// Of the nodes that have to run for the results. Computations of shapes are none of them, as what
// they compute is known.
using FactsMap = std::unordered_map<const NodeNode*, NodeFacts>;
FactsMap FactsOfNodes(const Function& function);

// In bytes: memory of views starts at a multiple of this, as that of all tensors does.
inline constexpr int64_t kViewAlignment = 64;

}  // namespace tern::graph

#endif  // TERN_GRAPH_NODE_FACTS_H_
